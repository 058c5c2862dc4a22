package stacks

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/ompd-inspect/ompd-inspect/internal/guard/budget"
)

// Notes collects warnings about unread parts of a target, each once, and enforces a budget.
type Notes struct {
	warned    map[string]bool
	warnings  []string
	budget    Budget
	spent     error    // the first error of the budget
	unreached []string // parts of the picture that are incomplete
}

// Budget limits work and memory (internal/guard/budget). After an error, no more work should be done.
type Budget interface {
	// Spend counts work before it is done, in reads of a structure.
	Spend(work int) error
	// Keep counts bytes that are used as long as the Inspector is.
	Keep(n uint64) error
	// Hold counts bytes that are used as long as an answer is.
	Hold(n uint64) error
}

// NewNotes returns notes without a warning.
func NewNotes(b Budget) *Notes { return &Notes{warned: map[string]bool{}, budget: b} }

// Warnings returns the warnings, those about the budget first.
func (n *Notes) Warnings() []string { return append(n.limitWarnings(), n.warnings...) }

// Incomplete returns the parts of the picture that the budget left incomplete.
func (n *Notes) Incomplete() []string { return slices.Clone(n.unreached) }

// Warn adds a warning for users, unless an argument is a budget's error: one warning covers all of these.
func (n *Notes) Warn(format string, args ...any) {
	for _, a := range args {
		if err, ok := a.(error); ok && n.IsLimit(err, "") {
			return
		}
	}
	w := PlainText(fmt.Sprintf(format, args...))
	if !n.warned[w] {
		n.warned[w] = true
		n.warnings = append(n.warnings, w)
	}
}

// Exceeded reports whether the budget is spent, so that what, a part of the picture, is incomplete.
func (n *Notes) Exceeded(what string) bool {
	if n.budget == nil {
		return false
	}
	err := n.budget.Spend(1)
	return err != nil && n.IsLimit(err, what)
}

// Hold counts the memory of an answer. Without memory, what, a part of the picture, is incomplete.
func (n *Notes) Hold(what string, size uintptr) {
	if n.budget != nil {
		n.IsLimit(n.budget.Hold(uint64(size)), what)
	}
}

// keep counts memory that is used as long as the Inspector is.
func (n *Notes) keep(what string, size uintptr) {
	if n.budget != nil {
		n.IsLimit(n.budget.Keep(uint64(size)), what)
	}
}

// IsLimit reports whether err is a budget's error. If so, it records that a part of the picture, by its name, is
// incomplete.
func (n *Notes) IsLimit(err error, what string) bool {
	i := slices.IndexFunc(limited[:], func(l error) bool { return errors.Is(err, l) })
	if i < 0 {
		return false
	}
	if n.spent == nil {
		n.spent = limited[i]
	}
	if what != "" && !slices.Contains(n.unreached, what) {
		n.unreached = append(n.unreached, what)
	}
	return true
}

// limited lists the errors of a spent budget.
var limited = [...]error{budget.ErrSpent, budget.ErrMemory}

// limitWarnings returns the warning about a spent budget.
func (n *Notes) limitWarnings() []string {
	if n.spent == nil {
		return nil
	}
	left := "not everything was read"
	if len(n.unreached) > 0 {
		left = "incomplete: " + strings.Join(n.unreached, ", ")
	}
	if errors.Is(n.spent, budget.ErrMemory) {
		return []string{fmt.Sprintf("%v, %s; --max-memory raises it, 0 is any, and --lwp N asks for one thread",
			n.spent, left)}
	}
	return []string{fmt.Sprintf("%v, %s; --budget 60s gives more time, --budget 0 any, and --lwp N asks for one thread",
		n.spent, left)}
}

// routine matches the name of a routine of OMPD with its handle (ompd.Error), and returnCode the name of a return code
// at the end of an error's text. Users read the cause only. handle matches the start of a handle's text; pictures have
// the rest of it as an ID.
var (
	routine = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\b(ompd_[a-z_]+|[A-Z][A-Za-z]+)` +
			`\(((thread|parallel|task)@[^()]*|(no )?address space[^()]*|global|address_space)\): |` +
			`\bompd_(get|rel|enumerate|initialize|finalize|process|device)[a-z_]*: `)
	})
	returnCode = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(: ompd_rc_[a-z_]+| \(ompd_rc_[a-z_]+\))+($|\n|; |, )`)
	})
	handle = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\b(thread|parallel|task)@`) })
)

// Message returns the text of err for users.
func Message(err error) string { return PlainText(err.Error()) }

// PlainText returns text without the names of OMPD's routines and return codes, and with handles as IDs of a picture.
func PlainText(text string) string {
	text = returnCode().ReplaceAllString(routine().ReplaceAllString(text, ""), "$2")
	return handle().ReplaceAllStringFunc(text, func(s string) string {
		return strings.Replace(strings.TrimSuffix(s, "@"), "parallel", "region", 1) + " "
	})
}

// Reason returns the part of err's text after the name of the missing thing.
func Reason(err error, what string) string {
	msg := Message(err)
	if _, why, ok := strings.Cut(msg, what+": "); ok {
		return why
	}
	return msg
}
