package phrase

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Printable is s with each character that has no look of its own written out, as in Go's
// strings. Names in a program or core are anybody's: they could control a terminal, or turn
// the direction of the text around them.
func Printable(s string) string {
	if IsPlain(s) || !strings.ContainsFunc(s, isOdd) {
		return s
	}
	var b strings.Builder
	for s != "" {
		r, size := utf8.DecodeRuneInString(s)
		if isOdd(r) {
			quoted := strconv.QuoteToASCII(s[:size])
			b.WriteString(quoted[1 : len(quoted)-1])
		} else {
			b.WriteString(s[:size])
		}
		s = s[size:]
	}
	return b.String()
}

// IsPlain reports whether s is nothing but printable ASCII, as nearly all names are.
func IsPlain[S string | []byte](s S) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// isOdd reports whether a character has no look of its own, or is none.
func isOdd(r rune) bool { return r == utf8.RuneError || !unicode.IsPrint(r) }
