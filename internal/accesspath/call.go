package accesspath

import (
	"fmt"
	"slices"
)

// noReturn names the functions of the C library that end a path.
var noReturn = map[string]bool{
	"__stack_chk_fail": true, "abort": true, "exit": true, "_exit": true, "__assert_fail": true,
	"_Unwind_Resume": true, "__cxa_throw": true, "__cxa_rethrow": true,
}

// target is what the address of a call or a jump leads to.
func (x *explorer) target(to *Expr) Target {
	var t Target
	switch {
	case to.kind == kindGlobal || to.kind == kindConst:
		t.Entry = to.val
	case to.kind == kindLoad && to.a.kind == kindGlobal:
		t.Slot = to.a.val
	default:
		return t
	}
	if x.cfg.Resolve == nil {
		return t
	}
	if r, ok := x.cfg.Resolve(max(t.Entry, t.Slot)); ok {
		t.Name = r.Name
		if t.Entry == 0 {
			t.Entry = r.Entry
		}
	}
	return t
}

// call runs through a call, or takes its result as it is.
func (x *explorer) call(s *state, t Target, tls bool, next uint64) (End, bool) {
	name := x.stub(t)
	tls = tls || name == "__tls_get_addr"
	first := s.content(x.abi.args[0])
	switch {
	case noReturn[name]:
		return EndStop, true
	case tls && first.kind == kindGlobal:
		x.clobber(s, leaf(kindTLSVar, first.val))
	case t.Slot != 0 && s.content(x.abi.result).isGlobal(t.Slot):
		s.regs[x.abi.result] = leaf(kindTLSDesc, t.Slot) // keeps all other registers
	case t.Entry != 0 && x.cfg.Follow != nil && x.cfg.Follow(t) && len(s.frames) <= x.cfg.Bounds.Depth &&
		s.content(x.abi.sp).kind == kindStack:
		sp := add(s.content(x.abi.sp), constant(-x.abi.linkBytes))
		s.regs[x.abi.sp] = sp
		s.frames = append(s.frames, frame{next, sp.val})
		s.pc = t.Entry
		return EndReturn, false
	case s.live != nil:
		s.live.fail(fmt.Errorf("a call of %v %w", t, ErrOpaque))
	default:
		x.opaque(s, t)
		if x.begins(next) {
			return EndStop, true
		}
	}
	s.pc = next
	return EndReturn, false
}

// begins tells whether a function seems to begin at pc, so that the call before
// it does not return: behind padding, at an address to which compilers align
// functions, the stack grows. Code within a function seldom does that right
// after a call; without this, a path would run on through the next functions.
func (x *explorer) begins(pc uint64) bool {
	aligned := false
	for range maxPadding {
		in, ok := x.fetch(pc)
		aligned = aligned || pc%functionAlign == 0
		switch {
		case !ok:
			return false
		case len(in.uops) > 0:
			return aligned && x.grows(in)
		}
		pc += uint64(in.length)
	}
	return false
}

// Padding between functions is a few instructions that do nothing, up to the
// next multiple of 16; the mark of a branch target may follow.
const (
	maxPadding    = 4
	functionAlign = 16
)

// grows tells whether the first thing that an instruction does is to move the
// stack pointer down.
func (x *explorer) grows(in instruction) bool {
	for _, u := range in.uops {
		if u.code == uBinary && u.op == opSub && u.dst == x.abi.sp {
			return true
		}
	}
	return false
}

func (e *Expr) isGlobal(a uint64) bool { return e.kind == kindGlobal && e.val == a }

// stub is the name that a direct call's target passes the call on to, if that
// is a jump through a pointer, as in a procedure linkage table; else "".
func (x *explorer) stub(t Target) string {
	if t.Entry == 0 || t.Name != "" || x.cfg.Resolve == nil {
		return t.Name
	}
	name, ok := x.stubs[t.Entry]
	if !ok {
		name = x.readStub(t.Entry)
		x.stubs[t.Entry] = name
	}
	return name
}

func (x *explorer) readStub(entry uint64) string {
	s := newState(x.abi, entry)
	for range 5 { // the mark of a branch target, an address in up to three steps, the jump
		in, ok := x.fetch(s.pc)
		if !ok {
			return ""
		}
		for i := range in.uops {
			u := &in.uops[i]
			switch {
			case u.code == uJump:
				return x.target(s.value(u.a)).Name
			case u.code >= uSelect && u.code <= uReturn:
				return ""
			}
			s.apply(u)
		}
		s.pc += uint64(in.length)
	}
	return ""
}

// opaque is a call whose code is not followed.
func (x *explorer) opaque(s *state, t Target) {
	t.Name = x.stub(t)
	c := Call{Target: t, Args: make([]*Expr, len(x.abi.args))}
	for i, r := range x.abi.args {
		c.Args[i] = s.content(r)
	}
	s.escape(c.Args)
	s.path.Calls = append(s.path.Calls, c)
	result := leaf(kindCall, 0)
	result.callee = &c
	x.clobber(s, result)
}

// clobber gives the registers the values that they have after a call.
func (x *explorer) clobber(s *state, result *Expr) {
	for i := range s.regs[:temp0] {
		if x.abi.keep&(1<<i) == 0 {
			s.regs[i] = nil
		}
	}
	s.flags = flagState{}
	s.regs[x.abi.result] = result
}

// leave returns to the caller. The stack pointer must be what it was at the
// callee's entry: if not, the code ran on behind a call that does not return.
func (x *explorer) leave(s *state) (End, bool) {
	f := s.frames[len(s.frames)-1]
	sp := s.content(x.abi.sp)
	if sp.kind != kindStack || sp.val != f.sp {
		return EndStop, true
	}
	if len(s.frames) == 1 {
		return EndReturn, true
	}
	s.frames = slices.Clip(s.frames[:len(s.frames)-1]) // forks share what is behind
	s.regs[x.abi.sp] = leaf(kindStack, sp.val+x.abi.linkBytes)
	s.pc = f.pc
	return EndReturn, false
}

// jump continues at an address: of this function, of another one that takes
// its place, or of one of the cases of a table.
func (x *explorer) jump(s *state, to *Expr) (End, bool) {
	if to.kind == kindGlobal || to.kind == kindConst {
		return EndLoop, x.jumpTo(s, to.val)
	}
	t := x.target(to)
	switch {
	case noReturn[t.Name]:
		return EndStop, true
	case t.Entry != 0:
		return EndLoop, x.jumpTo(s, t.Entry)
	case t.Slot != 0: // a call in the place of a return
		x.opaque(s, t)
		return x.leave(s)
	}
	return x.cases(s, to)
}
