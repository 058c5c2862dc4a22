package teams

import (
	"errors"
	"fmt"

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

// FindOverrunStacks finds the missing stacks that another thread overwrote: with its frames, or until it crashed.
func (r *ThreadTable) FindOverrunStacks() {
	var maps []callbacks.Mapping
	for _, n := range r.wanted() {
		if n.Missing == nil {
			continue
		}
		if maps == nil {
			maps = stacks.MappingsOf(r.Target)
		}
		for _, other := range r.wanted() {
			if reaches(other, n, maps) {
				n.Missing = fmt.Errorf("%s%sLWP %d%s went beyond its own stack into that of this thread, and "+
					"overwrote its thread-local data", missingPrefix, picture.UnreadText, other.LWP,
					r.crashedText(other))
			}
		}
	}
}

// crashedText returns ", which crashed," for the thread that crashed, "" for others.
func (r *ThreadTable) crashedText(n *Thread) string {
	if n.LWP != r.about.CrashedLWP {
		return ""
	}
	return ", which crashed,"
}

// Overrun is a thread with a frame that starts in its own stack and ends in that of another thread, the victim.
type Overrun struct {
	Thread, Victim *Thread
	Own            libc.Stack
	Frame          int // index of the frame
}

// FindOverrun reports whether frames of n reach beyond its own stack into that of another thread, as with an array that
// is larger than the rest of the stack: the guard between the stacks was never accessed. Fibers, signals' handlers and
// Go's code have other stacks, and no frame that starts in one stack and ends in another.
func (r *ThreadTable) FindOverrun(n *Thread, lib *libc.Library) (Overrun, bool) {
	regs := n.Registers()
	if n.LWP == 0 || regs == nil {
		return Overrun{}, false
	}
	own, ok := lib.OwnStack(uint64(n.LWP))
	if !ok || own.Contains(regs.SP()) || regs.SP() > own.Low {
		return Overrun{}, false
	}
	i := crossingFrame(n, own)
	if i < 0 {
		return Overrun{}, false
	}
	maps := stacks.MappingsOf(r.Target)
	for _, other := range r.wanted() {
		s, known := lib.OwnStack(uint64(other.LWP))
		in := known && s.Contains(regs.SP()) || other.Missing != nil && reaches(n, other, maps)
		if other.LWP != 0 && other != n && in {
			return Overrun{n, other, own, i}, true
		}
	}
	return Overrun{}, false
}

// crossingFrame returns the index of the frame of n that starts in its own stack, while the frames further in are below
// the stack; -1 without one.
func crossingFrame(n *Thread, own libc.Stack) int {
	for i, f := range n.Stack().Frames {
		switch {
		case f.Go || f.CFA == 0 || f.CFA >= own.High:
			return -1
		case f.CFA > own.Low && !f.Signal:
			return i
		case f.CFA > own.Low: // the handler has a stack of its own
			return -1
		}
	}
	return -1
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

// reaches reports whether the stack pointer of a thread is in the mapping with the control block of another one, and
// its own control block is not.
func reaches(n, other *Thread, maps []callbacks.Mapping) bool {
	regs, m := n.Registers(), libc.MappingAt(maps, other.Pthread)
	return m != nil && n.LWP != 0 && regs != nil && libc.MappingAt(maps, regs.SP()) == m &&
		libc.MappingAt(maps, n.Pthread) != m
}
