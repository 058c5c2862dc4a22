package diagnose

import (
	"slices"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// soleHolder is the one thread that may hold a lock, acquired on some paths to where it is (under
// an if, say), or by a call of which it is not known which lock it acquires, where nobody else can: its
// code may still come to release it, all others that may release it wait for it themselves, and no code
// leaves it without a release but that where the holder is now, which has not come to its end. Where
// code leaves it somewhere, one who waits may be the one that did. Where a thread waits in the very call
// that may have acquired it, that call was made by more than one, and any of them may have left it
// before; but not where the holder is in that call again, for another lock. The same holds where it is not
// known by which call the holder acquired it, of each that its code makes. Nor is it known who of a team
// acquired it in the code of its region, where some of them have come to the end of that.
func (b *builder) soleHolder(w *picture.Wait, l *picture.Lock, may *bundle) (picture.Holder, bool) {
	waiters := b.sameTarget(w)
	others := slices.DeleteFunc(slices.Clone(l.Holders), func(h picture.Holder) bool {
		return slices.Contains(waiters, h.Thread)
	})
	if len(l.Leaks) == 0 && len(l.Holders) == 1 && len(others) == 0 && len(waiters) == 1 {
		others = l.Holders // it waits for what it holds itself, if not in the call that acquired it
	} else if len(l.Leaks) > 0 && len(others) < len(l.Holders) {
		return picture.Holder{}, false
	}
	if len(others) != 1 || !slices.Contains(l.MayRelease.Threads, others[0].Thread) {
		return picture.Holder{}, false
	}
	h := others[0]
	if h.AcquiredAt != nil && h.AcquiredAt.Construct == "parallel" && anyAtEnd(b.facts.Waits, w.Region) {
		return picture.Holder{}, false
	}
	passed := func(at picture.Leak) bool {
		return h.AcquiredAt == nil || at.Frame.Function != h.AcquiredAt.Function || at.Frame.File != h.AcquiredAt.File
	}
	another := len(l.Leaks) == 0 && !slices.Contains(waiters, h.Thread) && b.inCall(h.Thread, h.AcquiredAt)
	if slices.ContainsFunc(l.Leaks, passed) || !another && b.madeByWaiter(h, l, waiters) {
		return picture.Holder{}, false
	}
	for _, e := range may.edges {
		if !e.to.isThread() || e.to.lwp != h.Thread && !slices.Contains(waiters, e.to.lwp) {
			return picture.Holder{}, false
		}
	}
	return h, true
}

// inCall reports whether a thread is in a call, which its frames tell, or in a copy of it: a compiler that
// unrolls a loop makes several of one.
func (b *builder) inCall(lwp int, call *picture.Frame) bool {
	return call != nil && call.PC != nil && slices.ContainsFunc(b.frames(lwp), func(f picture.Frame) bool {
		same := f.PC != nil && *f.PC == *call.PC
		again := f.Line != 0 && f.Line == call.Line && f.File == call.File && f.Function == call.Function
		return f.Module == call.Module && (same || again)
	})
}

// madeByWaiter reports whether one who waits for a lock is in the very call by which it may have been
// acquired by h. If it is not known by which, any that the code which h is in makes counts, and one that
// may have acquired it by as many calls of the same code.
func (b *builder) madeByWaiter(h picture.Holder, l *picture.Lock, waiters []int) bool {
	if h.AcquiredAt != nil {
		return slices.ContainsFunc(waiters, func(lwp int) bool { return b.inCall(lwp, h.AcquiredAt) })
	}
	if slices.ContainsFunc(waiters, func(lwp int) bool { return b.sameCode(h.Thread, lwp) }) {
		return true
	}
	return slices.ContainsFunc(l.Holders, func(o picture.Holder) bool {
		switch {
		case o.Thread == h.Thread || !slices.Contains(waiters, o.Thread):
			return false
		case o.AcquiredAt == nil:
			return o.Evidence == h.Evidence // which names the function
		}
		return b.inCall(o.Thread, o.AcquiredAt) && slices.ContainsFunc(b.frames(h.Thread), func(f picture.Frame) bool {
			return f.Function != "" && f.Function == o.AcquiredAt.Function && f.Module == o.AcquiredAt.Module
		})
	})
}

// sameCode reports whether a thread waits in a function of the program that another is in too, within
// the region or task that it executes.
func (b *builder) sameCode(one, waiter int) bool {
	waits := b.within(waiter)
	return len(waits) > 0 && slices.ContainsFunc(b.within(one), func(f picture.Frame) bool {
		return f.Function == waits[0].Function && f.Module == waits[0].Module
	})
}

// within are the program's frames of a thread up to the function of its region or task.
func (b *builder) within(lwp int) []picture.Frame {
	var own []picture.Frame
	for _, f := range b.frames(lwp) {
		if f.LWP != 0 && f.LWP != lwp {
			break
		}
		if f.Kind == picture.FrameUser && f.Function != "" {
			own = append(own, f)
		}
		if f.Construct != "" {
			break
		}
	}
	return own
}

// anyAtEnd reports whether a thread waits at the end of a region.
func anyAtEnd(waits []picture.Wait, region picture.ID) bool {
	return slices.ContainsFunc(waits, func(w picture.Wait) bool {
		return w.EndOfRegion && w.Region == region
	})
}
