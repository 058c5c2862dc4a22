package inspect

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/code/arch"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/stacks"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// states tells what threads do: it gathers the evidence, and asks their runtimes.
type states struct {
	roster *roster
	code   *stacks.Code
	data   *stacks.Data
	flows  *stacks.Flow
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
	regs := n.Registers()
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
	st := n.Stack()
	top := st.RuntimeFrames()
	ev.Outside = len(st.Kinds) > 0 && !slices.ContainsFunc(st.Kinds, stacks.Kind.InProcess)
	for i := range st.Frames {
		ev.Frames = append(ev.Frames, s.evidenceFrame(n, st, i))
		if st.Kinds[i] == stacks.KindUser {
			break
		}
	}
	ev.TailCalled = st.TailCalled > 0
	ev.Cut = st.Err != nil && !slices.Contains(st.Kinds, stacks.KindUser)
	if top > 0 && top < len(st.Frames) && st.Kinds[top] == stacks.KindUser {
		ev.Entry = s.entry(st, top)
	}
	return ev
}

func (s *states) evidenceFrame(n *native, st *stacks.Stack, i int) handles.EvidenceFrame {
	f := st.Frames[i]
	ef := handles.EvidenceFrame{PC: f.PC, CFA: f.CFA, Between: s.code.KindOf(f) == stacks.KindSystem}
	if f.Module != nil {
		ef.Module = filepath.Base(f.Module.Path)
	}
	ef.Owned = n.rt != nil && n.rt.Owns(f.LookupPC())
	if s.code.Symbols != nil && ef.Owned {
		if name, low, ok := s.code.Symbols.Exported(f.LookupPC()); ok {
			ef.Symbol, ef.Low = name, low
		}
	}
	return ef
}

// entry describes the call by which frame user, the innermost one of user code,
// entered the runtime.
func (s *states) entry(st *stacks.Stack, user int) *handles.Entry {
	ret := st.Frames[user].PC
	e := &handles.Entry{
		Return:    ret,
		StackLow:  callbacks.At(st.Frames[0].Registers.SP()),
		StackHigh: callbacks.At(st.Frames[user-1].CFA),
	}
	e.Function, e.By = st.CalledFunction(user)
	regs := st.Frames[user].Registers
	e.Arg = func(n int) (uint64, bool) {
		if v, ok := s.code.Argument(ret, n, regs); ok {
			return v, true
		}
		return s.flows.Argument(st, user, n)
	}
	if s.code.CallsProgram(ret) { // which ended in a call of the runtime, with arguments of its own
		c, ok := s.flows.TailCall(st, user)
		if ok {
			e.Function, e.By = c.Name, "tail call of the function that was called"
		}
		e.Arg = c.Arg
	}
	e.Shares = func() bool {
		code := s.flows.FunctionAt(st.Frames[user].LookupPC())
		return code == nil || code.MayCall(rtl.SharesWork)
	}
	return e
}

// stateOf asks the runtime of n, at most once, what n does.
func (s *states) stateOf(n *native) (handles.ThreadState, error) {
	if n.state == nil {
		n.state = &threadState{}
		if n.blank != nil {
			n.state.State, n.state.Evidence = handles.StateUndefined, strings.TrimPrefix(stacks.Message(n.blank), blankDoes)
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
	name := s.data.SymbolName(cmp.Or(st.WaitVariable, st.WaitID))
	if _, critical := rtl.CriticalName(name); st.State == handles.StateWaitMutex && critical {
		st.State, st.WaitKind = handles.StateWaitCritical, picture.WaitCritical
		st.Evidence = rtl.JoinEvidence(st.Evidence, "its variable is named like that of a critical section")
	}
}
