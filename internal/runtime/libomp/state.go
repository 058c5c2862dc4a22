package libomp

import (
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// State returns the activity of the thread.
//
// If the runtime maintains a state word, State uses it unless other facts contradict it. The word is compared
// with the fields and the stack, because it may be stale or incomplete. Idle threads keep the word of their last
// barrier. There is no word for taskwait, taskgroup and reductions, and a wait for a critical section looks like
// one for a lock.
func (sr *states) State(h handles.Thread, ev *handles.Evidence) (handles.ThreadState, error) {
	if ev == nil && sr.id.Tracking {
		if st, ok := sr.stateFromWord(h); ok {
			return st, nil
		}
	}
	undefined := handles.ThreadState{State: handles.StateUndefined}
	th, err := sr.threads.byHandle(h)
	if err != nil {
		return undefined, err
	}
	gs, err := sr.regions.regionsOf(th)
	if err != nil {
		return undefined, err
	}
	if ev == nil {
		sr.locks.prefetchQueue(th)
	}
	var in inference
	if len(gs) == 0 {
		in = inference{handles.ThreadState{State: handles.StateIdle, Evidence: sr.idleText(th)}, true}
	} else {
		in = sr.observe(th, gs, ev).inferState()
	}
	if !sr.id.Tracking {
		return in.ThreadState, nil
	}
	st := sr.crossCheck(th, in)
	if len(gs) > 0 {
		sr.nameBarrier(&st, gs[0].team)
	}
	return st, nil
}

// nameBarrier sets the identifier of the barrier for a thread that only the state word shows at a barrier. The
// identifier equals that of the other threads there. States that are not listed do not show which of the team's
// barriers it is.
func (sr *states) nameBarrier(st *handles.ThreadState, t *team) {
	kinds := map[handles.State]barrierKind{
		handles.StateWaitBarrierExplicit: plainBarrier, handles.StateWaitBarrierImplicitWorkshare: plainBarrier,
		handles.StateWaitBarrierImplicitParallel: forkjoinBarrier, handles.StateWaitBarrierTeams: forkjoinBarrier,
	}
	kind, ok := kinds[st.State]
	if !ok || st.WaitID != 0 || !sr.barriers.hasCounters() {
		return
	}
	st.WaitID, st.WaitKind = sr.barriers.counterOf(t.addr, kind).Offset, waitKind(st.State)
}

// idleText explains why a thread is idle.
func (sr *states) idleText(th *thread) string {
	ts, err := sr.threads.ancestors(th.team)
	if err != nil {
		return err.Error()
	}
	outer := len(ts)
	if th.inTeams() {
		outer = leagueParent(ts, th.teamsLevel)
	}
	return sr.regions.idleReason(th, ts, outer)
}

// crossCheck compares the runtime's state word with the inference.
func (sr *states) crossCheck(th *thread, in inference) handles.ThreadState {
	f := &sr.l.Thread
	r := layout.Read(sr.mem, th.addr, f.OmptState, f.OmptWaitId)
	word, wait := handles.State(r.Uint(f.OmptState)), r.Uint(f.OmptWaitId)
	if r.Err() != nil {
		return in.ThreadState
	}
	st := in.ThreadState
	switch {
	case word == in.State || in.sure && generalizes(word, in.State):
		st.Tracked = true
		st.Evidence = rtl.JoinEvidence(fmt.Sprintf("the runtime's state word says %v", word), st.Evidence)
		if st.WaitID == 0 && word.Waiting() && wait != 0 {
			st.WaitID, st.WaitKind = wait, waitKind(word)
		}
	case in.State == handles.StateWaitMutex && lockStates[word]:
		st.State, st.Tracked, st.WaitKind = word, true, waitKind(word)
		if st.WaitID == 0 {
			st.WaitID = wait
		}
		st.Evidence = rtl.JoinEvidence(fmt.Sprintf("the runtime's state word says %v", word), st.Evidence)
	case !in.sure && word.IsKnown():
		st = handles.ThreadState{State: word, Tracked: true, Evidence: fmt.Sprintf("the runtime's state word says %v",
			word)}
		if word.Waiting() && wait != 0 {
			st.WaitID, st.WaitKind = wait, waitKind(word)
		}
	default:
		st.Evidence = rtl.JoinEvidence(st.Evidence, fmt.Sprintf("the runtime's state word says %v, which is stale or "+
			"not kept for this wait", word))
		if word == handles.StateWaitLock && st.WaitID == 0 && st.State.Waiting() && wait != 0 {
			st.WaitID, st.WaitKind = wait, waitKind(st.State)
		}
	}
	return st
}

// generalizes reports whether word is a name, obsolete since OpenMP 5.1, for a group of states that includes s.
func generalizes(word, s handles.State) bool {
	implicit := s == handles.StateWaitBarrierImplicitParallel || s == handles.StateWaitBarrierImplicitWorkshare
	switch word {
	case handles.StateWaitBarrier:
		return implicit || s == handles.StateWaitBarrierExplicit || s == handles.StateWaitBarrierImplementation
	case handles.StateWaitBarrierImplicit:
		return implicit
	}
	return false
}

// waitKind returns the kind of wait of a thread in state s.
func waitKind(s handles.State) picture.WaitKind {
	switch {
	case s == handles.StateWaitCritical:
		return picture.WaitCritical
	case s == handles.StateWaitOrdered:
		return picture.WaitOrdered
	case s == handles.StateWaitAtomic:
		return picture.WaitAtomic
	case s == handles.StateWaitLock, s == handles.StateWaitMutex:
		return picture.WaitLock
	case s == handles.StateWaitTaskwait:
		return picture.WaitTaskwait
	case s == handles.StateWaitTaskgroup:
		return picture.WaitTaskgroup
	}
	return picture.WaitBarrier
}
