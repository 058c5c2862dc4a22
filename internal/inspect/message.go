package inspect

import (
	"regexp"
	"strings"
	"sync"
)

// returnCode is the name of a return code behind an error's text. Programs ask
// an error for it; people are told the cause.
var returnCode = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(: ompd_rc_[a-z_]+| \(ompd_rc_[a-z_]+\))+$`)
})

// message is the text of err for people.
func message(err error) string { return returnCode().ReplaceAllString(err.Error(), "") }

// reason is the part of err's text that tells why what is not to be had.
func reason(err error, what string) string {
	msg := message(err)
	if _, why, ok := strings.Cut(msg, what+": "); ok {
		return why
	}
	return msg
}
