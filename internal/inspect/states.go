package inspect

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/code/arch"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// states tells what threads do: it gathers the evidence, and asks their runtimes.
type states struct {
	roster *roster
	code   *codeNames
	stacks *stacks
	data   *dataNames
	flows  *flows
}

// evidence returns what the state of n can be inferred from, gathered at most
// once.
func (s *states) evidence(n *native) *handles.Evidence {
	if n.seen == nil {
		n.seen = s.gather(n)
	}
	return n.seen
}

// evidenceOf is the evidence of the thread that a runtime calls h.
func (s *states) evidenceOf(h handles.Thread) *handles.Evidence {
	if n := s.roster.byHandle[h]; n != nil {
		return s.evidence(n)
	}
	return nil
}

func (s *states) gather(n *native) *handles.Evidence {
	regs := s.roster.registers(n)
	if regs == nil {
		return nil
	}
	ev := &handles.Evidence{Registers: regs, Wakes: arch.IsFutexWake(regs)}
	if regs.Syscall >= 0 {
		ev.Syscall = arch.SyscallName(regs.Arch, regs.Syscall)
	}
	if w, ok := arch.IsFutexWait(regs); ok {
		ev.Futex = w
	}
	st := s.stacks.stackOf(n)
	top := st.topSegment()
	ev.Outside = len(st.kinds) > 0 && !slices.ContainsFunc(st.kinds, frameKind.inside)
	for i := range st.frames {
		ev.Frames = append(ev.Frames, s.evidenceFrame(n, st, i))
		if st.kinds[i] == kindUser {
			break
		}
	}
	ev.TailCalled = st.tailCalled > 0
	ev.Cut = st.err != nil && !slices.Contains(st.kinds, kindUser)
	if top > 0 && top < len(st.frames) && st.kinds[top] == kindUser {
		ev.Entry = s.entry(st, top)
	}
	return ev
}

func (s *states) evidenceFrame(n *native, st *stack, i int) handles.EvidenceFrame {
	f := st.frames[i]
	ef := handles.EvidenceFrame{PC: f.PC, CFA: f.CFA, Between: s.code.kindOf(f) == kindSystem}
	if f.Module != nil {
		ef.Module = filepath.Base(f.Module.Path)
	}
	ef.Owned = n.rt != nil && n.rt.Owns(f.LookupPC())
	if s.code.sym != nil && ef.Owned {
		if name, low, ok := s.code.sym.Exported(f.LookupPC()); ok {
			ef.Symbol, ef.Low = name, low
		}
	}
	return ef
}

// entry describes the call by which frame user, the innermost one of user code,
// entered the runtime.
func (s *states) entry(st *stack, user int) *handles.Entry {
	ret := st.frames[user].PC
	e := &handles.Entry{
		Return:    ret,
		StackLow:  callbacks.At(st.frames[0].Registers.SP()),
		StackHigh: callbacks.At(st.frames[user-1].CFA),
	}
	e.Function, e.By = s.stacks.calledFunction(st, user)
	regs := st.frames[user].Registers
	e.Arg = func(n int) (uint64, bool) {
		if v, ok := s.code.argument(ret, n, regs); ok {
			return v, true
		}
		return s.flows.flowArgument(st, user, n)
	}
	if s.code.callsProgram(ret) { // which ended in a call of the runtime, with arguments of its own
		c, ok := s.flows.tailCall(st, user)
		if ok {
			e.Function, e.By = c.Name, "tail call of the function that was called"
		}
		e.Arg = c.Arg
	}
	e.Shares = func() bool {
		code := s.flows.flowAt(st.frames[user].LookupPC())
		return code == nil || code.MayCall(rtl.SharesWork)
	}
	return e
}

// stateOf asks the runtime of n, at most once, what n does.
func (s *states) stateOf(n *native) (handles.ThreadState, error) {
	if n.state == nil {
		n.state = &threadState{}
		if n.blank != nil {
			n.state.State, n.state.Evidence = handles.StateUndefined, strings.TrimPrefix(message(n.blank), blankDoes)
			return n.state.ThreadState, nil
		}
		n.state.ThreadState, n.state.err = n.rt.State(n.h, s.evidence(n))
		s.byVariable(&n.state.ThreadState)
	}
	return n.state.ThreadState, n.state.err
}

// byVariable tells a critical section from a lock, where the runtime cannot, by the
// name that compilers give to its variable.
func (s *states) byVariable(st *handles.ThreadState) {
	name := s.data.dataName(cmp.Or(st.WaitVariable, st.WaitID))
	if _, critical := rtl.CriticalName(name); st.State == handles.StateWaitMutex && critical {
		st.State, st.WaitKind = handles.StateWaitCritical, picture.WaitCritical
		st.Evidence = rtl.JoinEvidence(st.Evidence, "its variable is named like that of a critical section")
	}
}
