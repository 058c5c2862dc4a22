package teams

import (
	"errors"
	"fmt"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/image/libc"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/stacks"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// missingPrefix starts the error of a thread without a stack.
const missingPrefix = "what it does "

// errMissingStack is the error of a thread with a control block of zeros.
var errMissingStack = errors.New(missingPrefix + picture.UnreadText +
	"its stack and thread-local data are not in the core")

// findMissingStacks finds threads without a stack and thread-local data in a core: gcore writes zeros for
// unreadable memory.
func (r *ThreadTable) findMissingStacks() {
	lib := libc.New(libc.Config{Target: r.Target})
	for _, n := range r.wanted() {
		if lib.Zeroed(n.Pthread) {
			n.Missing = errMissingStack
		}
	}
}

// FindOverrunStacks finds the missing stacks that the crashed thread overwrote.
func (r *ThreadTable) FindOverrunStacks() {
	for _, n := range r.wanted() {
		if n.Missing != nil && r.isOverrun(n) {
			n.Missing = fmt.Errorf("%s%sLWP %d, which crashed, went beyond its own stack into that of this thread, "+
				"and overwrote its thread-local data", missingPrefix, picture.UnreadText, r.about.CrashedLWP)
		}
	}
}

// MissingStacks returns a warning about stacks that are not in a core, "" if all are.
func (r *ThreadTable) MissingStacks() string {
	var lwps []int
	for _, n := range r.wanted() {
		if errors.Is(n.Missing, errMissingStack) {
			lwps = append(lwps, n.LWP)
		}
	}
	if len(lwps) == 0 {
		return ""
	}
	return fmt.Sprintf("the thread control block of %s (first: LWP %d) reads as zeros: whatever wrote the core could "+
		"not read their stacks, as gdb's gcore cannot with glibc 2.42 and newer; what these threads do is not known. "+
		"A core written by the kernel has everything", CountThreads(len(lwps)), lwps[0])
}

// isOverrun reports whether the stack pointer of the crashed thread is in the stack of n, another thread.
func (r *ThreadTable) isOverrun(n *Thread) bool {
	crashed := r.ByLWP[r.about.CrashedLWP]
	if crashed == nil {
		return false
	}
	regs := crashed.Registers()
	if regs == nil {
		return false
	}
	i := slices.IndexFunc(stacks.MappingsOf(r.Target), func(m callbacks.Mapping) bool {
		in := func(addr uint64) bool { return m.Low.Offset <= addr && addr < m.High.Offset }
		return in(n.Pthread) && in(regs.SP()) && !in(crashed.Pthread)
	})
	return i >= 0
}
