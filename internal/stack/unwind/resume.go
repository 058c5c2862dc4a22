package unwind

import (
	"slices"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/code/arch"
)

// Bounds on the search for the callers of code without unwind tables.
const (
	maxGap     = 64 << 10 // bytes of the stack between such code and its caller
	maxSaved   = 256      // bytes before a return address in which its caller's frame pointer may be saved
	maxResumed = 256      // walks from possible callers, in all gaps of a stack together
	maxGaps    = 8
)

// Witness checks a stack with gaps.
type Witness struct {
	// Starts reports whether a frame is of a function that starts a thread: it may lack tables for its caller.
	Starts func(Frame) bool
	// Agrees reports whether the frames are consistent with other knowledge of the stack.
	Agrees func([]Frame) bool
}

// Resume continues a stack that Stack could not follow because code outside of the modules, which was made at
// run time, has no tables. A possible caller is a word of the stack that points after a call through a pointer, into
// code with tables. The nearest one is taken from which the tables lead to the start of the thread, or to other code
// without tables, where the search is repeated; each return address must follow a call, and the witness must agree
// with the frames. The first frame after a gap is HowScan. It returns false if no stack was found, and on architectures
// whose calls do not push the return address.
func (u *Unwinder) Resume(frames []Frame, max int, is Witness) ([]Frame, bool) {
	if arch.Of(u.arch).HasLinkRegister() || len(frames) == 0 {
		return nil, false
	}
	if max <= 0 || max > MaxFrames {
		max = MaxFrames
	}
	s := &resumption{Unwinder: u, max: max, is: is}
	s.stack.reset(u.mem)
	out := s.resume(slices.Clone(frames), 1)
	return out, out != nil
}

// resumption is one call of Resume.
type resumption struct {
	*Unwinder
	stack stackReader
	max   int
	is    Witness
	walks int // done
}

// resume returns the stack that starts with frames, which end at the numbered gap; nil if none was found.
func (s *resumption) resume(frames []Frame, gap int) []Frame {
	last := &frames[len(frames)-1]
	sp := last.Registers.SP()
	if last.Module != nil || !s.IsGenerated(last.PC) || gap > maxGaps {
		return nil
	}
	for at := (sp + 7) &^ 7; at < sp+maxGap && s.walks < maxResumed; at += 8 {
		ret, err := s.stack.read(at, 8)
		if err != nil {
			return nil
		}
		if !s.isCaller(ret) {
			continue
		}
		outer, ended := s.walkFromCaller(last, at, ret, s.max-len(frames))
		if outer == nil {
			continue
		}
		last.CFA = at + 8
		all := slices.Concat(frames, outer)
		if !ended {
			all = s.resume(all, gap+1)
		}
		if all != nil && s.is.Agrees(all) {
			return all
		}
	}
	last.CFA = 0
	return nil
}

// walkFromCaller returns the frames from a possible caller on, whose return address is at address at of the stack. The
// caller's frame pointer, if its table needs it, is still that of the code without tables, or is saved in its frame.
func (s *resumption) walkFromCaller(last *Frame, at, ret uint64, max int) (frames []Frame, ended bool) {
	regs := last.Registers
	regs.Valid = 0
	regs.SetSP(at + 8)
	regs.SetPC(ret)
	if frames, ended = s.walkFrom(regs, max); frames != nil {
		return frames, ended
	}
	number := arch.FramePointer(s.arch)
	if r := s.rowAt(ret - 1); !r.cfa.isBy(number) {
		return nil, false
	}
	fp, known := last.Registers.Get(number)
	for saved := at; ; saved -= 8 {
		if known && fp > at && fp-at < maxGap {
			regs.Set(number, fp)
			if frames, ended = s.walkFrom(regs, max); frames != nil {
				return frames, ended
			}
		}
		if saved <= last.Registers.SP() || at-saved > maxSaved {
			return nil, false
		}
		var err error
		fp, err = s.stack.read(saved-8, 8)
		known = err == nil
	}
}

// IsGenerated reports whether pc is in code that was made at run time: executable memory outside of the modules.
func (u *Unwinder) IsGenerated(pc uint64) bool {
	w := walk{Unwinder: u}
	return w.moduleAt(pc) == nil && w.isExecutable(pc)
}

// isCaller reports whether a word of a stack may be the return address to a caller of code that was made at run time:
// code with tables, after a call through a register or through a pointer to such code.
func (s *resumption) isCaller(ret uint64) bool {
	if s.moduleAt(ret) == nil || s.rowAt(ret-1).err != nil {
		return false
	}
	call, ok := arch.CallBefore(s.arch, s.mem, ret)
	if !ok || call.Kind != arch.CallSlot {
		return ok && call.Kind == arch.CallRegister
	}
	var p [8]byte
	return s.mem.ReadMemory(callbacks.Addr(call.Target), p[:]) == nil && s.IsGenerated(callbacks.Word(p[:]))
}

// walkFrom returns the frames from a possible caller on. ended reports whether they reach the start of the thread,
// rather than other code without tables. It returns nil if they reach neither, or a frame that was not called.
func (s *resumption) walkFrom(regs callbacks.Registers, max int) (frames []Frame, ended bool) {
	if s.walks++; s.walks > maxResumed {
		return nil, false
	}
	w := newWalk(s.Unwinder, regs)
	defer w.release()
	w.exact, w.how, w.depth = false, HowScan, 1
	for more := true; more; {
		if len(w.frames) >= max {
			return nil, false
		}
		w.frames = append(w.frames, Frame{})
		f := &w.frames[len(w.frames)-1]
		var err error
		more, err = w.step(f)
		switch {
		case err != nil && s.is.Starts(*f):
			more = false
		case err != nil && f.Module == nil && s.IsGenerated(f.PC):
			return slices.Clone(w.frames), false
		case err != nil, !s.wasCalled(f), f.How == HowFramePointer || f.How == HowLeaf:
			return nil, false
		}
	}
	f := &w.frames[len(w.frames)-1]
	if !f.Outermost && !s.is.Starts(*f) {
		return nil, false
	}
	return slices.Clone(w.frames), true
}

// wasCalled reports whether a frame is one that a call left: that of a signal handler's trampoline, or one whose
// program counter follows a call.
func (s *resumption) wasCalled(f *Frame) bool {
	if f.Exact || f.Signal {
		return true
	}
	_, ok := arch.CallBefore(s.arch, s.mem, f.PC)
	return ok
}
