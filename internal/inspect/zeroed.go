package inspect

import (
	"errors"
	"fmt"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/image/libc"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/stacks"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// blankDoes begins the error of a thread that could not be read.
const blankDoes = "what it does "

// errBlank is the error of a thread whose control block is zeros.
var errBlank = errors.New(blankDoes + picture.UnreadText + "its stack and thread-local data are not in the core")

// findZeroed finds threads whose stack and thread-local data are not in a core: gcore
// leaves zeros where it could not read.
func (r *roster) findZeroed() {
	lib := libc.New(libc.Config{Target: r.target})
	for _, n := range r.wanted() {
		if lib.Zeroed(n.Pthread) {
			n.blank = errBlank
		}
	}
}

// findOverrun finds out of which of them it was the thread that crashed which wrote the zeros.
func (r *roster) findOverrun() {
	for _, n := range r.wanted() {
		if n.blank != nil && r.crashedIn(n) {
			n.blank = fmt.Errorf("%s%sLWP %d, which crashed, went beyond its own stack into that of this thread, and "+
				"overwrote its thread-local data", blankDoes, picture.UnreadText, r.about.CrashedLWP)
		}
	}
}

// zeroed says that stacks are not in a core; empty if all are.
func (r *roster) zeroed() string {
	var lwps []int
	for _, n := range r.wanted() {
		if errors.Is(n.blank, errBlank) {
			lwps = append(lwps, n.LWP)
		}
	}
	if len(lwps) == 0 {
		return ""
	}
	return fmt.Sprintf("the thread control block of %s (first: LWP %d) reads as zeros: whatever wrote the core could "+
		"not read their stacks, as gdb's gcore cannot with glibc 2.42 and newer; what these threads do is not known. "+
		"A core written by the kernel has everything", threads(len(lwps)), lwps[0])
}

// crashedIn reports whether the stack pointer of the thread that crashed is in the stack of n, an other thread.
func (r *roster) crashedIn(n *native) bool {
	crashed := r.byLWP[r.about.CrashedLWP]
	if crashed == nil {
		return false
	}
	regs := crashed.Registers()
	if regs == nil {
		return false
	}
	i := slices.IndexFunc(stacks.MappingsOf(r.target), func(m callbacks.Mapping) bool {
		in := func(addr uint64) bool { return m.Low.Offset <= addr && addr < m.High.Offset }
		return in(n.Pthread) && in(regs.SP()) && !in(crashed.Pthread)
	})
	return i >= 0
}
