package teams

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

// States finds the states of threads: it gathers evidence and passes it to their runtimes.
type States struct {
	threads *ThreadTable
	code    *stacks.Code
	data    *stacks.Data
	flows   *stacks.Flow
	model   *UserModel
}

// Evidence returns the evidence of n's state, gathered at most once.
func (s *States) Evidence(n *Thread) *handles.Evidence {
	if n.evidence == nil {
		n.evidence = s.gatherEvidence(n)
	}
	return n.evidence
}

// EvidenceByHandle returns the evidence of the thread with handle h.
func (s *States) EvidenceByHandle(h handles.Thread) *handles.Evidence {
	if n := s.threads.ByHandle[h]; n != nil {
		return s.Evidence(n)
	}
	return nil
}

// gatherEvidence collects the evidence of n's state from its registers, its stack and code.
func (s *States) gatherEvidence(n *Thread) *handles.Evidence {
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
		ev.Entry = s.entryOf(st, top)
	}
	if e := s.removedEntry(n); e != nil {
		ev.Entry = e
	}
	return ev
}

// removedEntry describes the call for a lock by which a function without a frame entered the runtime; nil if that was
// another call, or is unknown.
func (s *States) removedEntry(n *Thread) *handles.Entry {
	c, ok := s.model.removedCall(n)
	if !ok {
		return nil
	}
	name := stacks.WaysName(c.ways)
	if call, ok := rtl.LockCallOf(name); !ok || !call.Set {
		return nil
	}
	return &handles.Entry{
		Function: name, By: "tail call of a function that has no frame",
		StackLow:  callbacks.Addr(n.Stack().Frames[0].Registers.SP()),
		StackHigh: callbacks.Addr(n.Stack().Frames[c.frame-1].CFA),
		Arg:       func(i int) (uint64, bool) { return s.model.argument(n, &c, i) },
	}
}

// evidenceFrame describes frame i for the runtime of n.
func (s *States) evidenceFrame(n *Thread, st *stacks.Stack, i int) handles.EvidenceFrame {
	f := st.Frames[i]
	ef := handles.EvidenceFrame{PC: f.PC, CFA: f.CFA, Between: s.code.KindOf(f) == stacks.KindSystem}
	if f.Module != nil {
		ef.Module = filepath.Base(f.Module.Path)
	}
	ef.Owned = n.Runtime != nil && n.Runtime.Owns(f.LookupPC())
	if s.code.Symbols != nil && ef.Owned {
		if name, low, ok := s.code.Symbols.Exported(f.LookupPC()); ok {
			ef.Symbol, ef.Low = name, low
		}
	}
	return ef
}

// entryOf describes the call by which frame user, the innermost one of user code, entered the runtime.
func (s *States) entryOf(st *stacks.Stack, user int) *handles.Entry {
	ret := st.Frames[user].PC
	e := &handles.Entry{
		Return:    ret,
		StackLow:  callbacks.Addr(st.Frames[0].Registers.SP()),
		StackHigh: callbacks.Addr(st.Frames[user-1].CFA),
	}
	e.Function, e.By = st.CalledFunction(user)
	regs := st.Frames[user].Registers
	e.Arg = func(n int) (uint64, bool) {
		if v, ok := s.code.Argument(ret, n, regs); ok {
			return v, true
		}
		return s.flows.Argument(st, user, n)
	}
	if s.code.CallsProgram(ret) { // the called function ended in a call of the runtime with other arguments
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
	e.Ordered = func() bool { return s.startsOrdered(st, user) }
	return e
}

// startsOrdered reports whether a function in the frames from number user on, up to the runtime that called them, may
// start a loop with an ordered clause.
func (s *States) startsOrdered(st *stacks.Stack, user int) bool {
	for i := user; i < len(st.Frames); i++ {
		switch st.Kinds[i] {
		case stacks.KindRuntime:
			return false
		case stacks.KindUser:
			code := s.flows.FunctionAt(st.Frames[i].LookupPC())
			if code == nil || code.MayCallNamed(rtl.StartsOrdered) {
				return true
			}
		}
	}
	return true // the stack ends within the region
}

// StateOf returns the state of n by its runtime, asked at most once.
func (s *States) StateOf(n *Thread) (handles.ThreadState, error) {
	if n.state == nil {
		n.state = &threadState{}
		if n.Missing != nil {
			n.state.State = handles.StateUndefined
			n.state.Evidence = strings.TrimPrefix(stacks.Message(n.Missing), missingPrefix)
			return n.state.ThreadState, nil
		}
		n.state.ThreadState, n.state.err = n.Runtime.State(n.Handle, s.Evidence(n))
		s.refineByVariable(&n.state.ThreadState)
	}
	return n.state.ThreadState, n.state.err
}

// refineByVariable distinguishes a critical section from a lock by the compiler's name for its variable, where
// the runtime cannot.
func (s *States) refineByVariable(st *handles.ThreadState) {
	name := s.data.SymbolName(cmp.Or(st.WaitVariable, st.WaitID))
	if _, critical := rtl.CriticalName(name); st.State == handles.StateWaitMutex && critical {
		st.State, st.WaitKind = handles.StateWaitCritical, picture.WaitCritical
		st.Evidence = rtl.JoinEvidence(st.Evidence, "its variable is named like that of a critical section")
	}
}

// NewStates returns a finder of the states of threads.
func NewStates(r *ThreadTable, code *stacks.Code, data *stacks.Data, fl *stacks.Flow, model *UserModel) *States {
	return &States{r, code, data, fl, model}
}

// LostThreads returns the threads that runtimes have lost, as in a child after fork, and those that are ending. A
// runtime that was initialized again in the child has lost no threads.
func (s *States) LostThreads() []picture.LostThreads {
	var out []picture.LostThreads
	for _, rt := range s.threads.Runtimes {
		r, ok := rt.Runtime.(rtl.LossReader)
		if !ok {
			continue
		}
		if l := r.LostThreads(s.EvidenceByHandle); l.Count > 0 || len(l.Ending) > 0 {
			out = append(out, picture.LostThreads{Runtime: rt.ID, Count: l.Count, Ending: s.threads.LWPs(l.Ending),
				Waiting: s.threads.LWPs(l.Waiting), Evidence: l.Evidence})
		}
	}
	return out
}
