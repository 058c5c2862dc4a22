package inspect

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/internal/guard/budget"
)

// notes are what could not be read, and why; each is said once.
type notes struct {
	said      map[string]bool
	list      []string
	budget    Budget
	spent     error    // the error of the budget, once there is one
	unreached []string // what was left out then
}

// Budget bounds work and memory (internal/guard/budget). After an error of it, no more should be
// done.
type Budget interface {
	// Spend counts work that is about to be done, in reads of a structure.
	Spend(work int) error
	// Keep counts bytes that are held as long as the Inspector is.
	Keep(n uint64) error
	// Hold counts bytes that are held as long as an answer is.
	Hold(n uint64) error
}

func (n *notes) warn(format string, args ...any) {
	for _, a := range args {
		if err, ok := a.(error); ok && n.beyond(err, "") {
			return
		}
	}
	w := fmt.Sprintf(format, args...)
	if !n.said[w] {
		n.said[w] = true
		n.list = append(n.list, w)
	}
}

// over reports whether the budget is spent, so that what, a part of the picture, is not
// complete.
func (n *notes) over(what string) bool {
	if n.budget == nil {
		return false
	}
	err := n.budget.Spend(1)
	return err != nil && n.beyond(err, what)
}

// hold counts the memory of what, a part of the picture, which is not complete if there is
// no more.
func (n *notes) hold(what string, size uintptr) {
	if n.budget != nil {
		n.beyond(n.budget.Hold(uint64(size)), what)
	}
}

// keep is hold for what is remembered.
func (n *notes) keep(what string, size uintptr) {
	if n.budget != nil {
		n.beyond(n.budget.Keep(uint64(size)), what)
	}
}

// beyond reports whether err only says that the budget is spent. That is said once for all.
func (n *notes) beyond(err error, what string) bool {
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

// limited are the errors of a budget that is spent.
var limited = [...]error{budget.ErrSpent, budget.ErrMemory}

// limits says in one line what the budget did not reach.
func (n *notes) limits() []string {
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
