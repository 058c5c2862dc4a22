package libomp

import (
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
)

// exactWords maps the states with a word that is never stale to their barriers. The word of an idle thread may
// be left from the barrier at the end of its region. The code of a task that is executed in a barrier has a word
// of its own.
var exactWords = map[handles.State]barrierKind{
	handles.StateWaitBarrierExplicit:          plainBarrier,
	handles.StateWaitBarrierImplicitWorkshare: plainBarrier,
}

// workWords lists the states of a thread that executes the program's code. The runtime leaves their words
// unchanged in a taskwait, at the end of a taskgroup and in the queue of a lock that a reduction takes.
var workWords = map[handles.State]bool{handles.StateWorkParallel: true, handles.StateWorkSerial: true}

// wordsKept is the set of state words that are known to be maintained.
type wordsKept uint8

const (
	noWords wordsKept = iota
	// allWords: known from the runtime's variable ompt_enabled.
	allWords
	// writtenWords: that variable is unknown, as in a stripped runtime, but ompd_state shows that OMP_DEBUG was
	// set, which sets both. Only a tool that declines clears the other, before the first region: a word that a
	// region has written was maintained after that.
	writtenWords
)

// maintains reports whether the word of a state is maintained. Unwritten memory reads as work_serial.
func (k wordsKept) maintains(word handles.State) bool {
	return k == allWords || k == writtenWords && word != handles.StateWorkSerial
}

// stateFromWord returns the state from the runtime's word alone. It is used if the thread's registers are
// unknown and contradictions are ruled out quickly: it reads a tenth of the memory of an inference from all
// fields. It returns false if such an inference is needed.
func (sr *states) stateFromWord(h handles.Thread) (handles.ThreadState, bool) {
	gtid, ok := sr.threads.gtids[h.Info.Offset]
	if !ok || h.Stamp != sr.stamp || sr.keepsWords == noWords {
		return handles.ThreadState{}, false
	}
	sr.prefetchStates(gtid)
	word, ok := sr.readWord(h.Info)
	barrier, exact := exactWords[word]
	switch {
	case !ok || !sr.keepsWords.maintains(word) || !exact && !workWords[word]:
		return handles.ThreadState{}, false
	case exact:
		return sr.barrierFromWord(h.Info, word, barrier)
	}
	if waits, err := sr.hasMark(h.Info, gtid); err != nil || waits {
		return handles.ThreadState{}, false
	}
	return handles.ThreadState{State: word, Tracked: true,
		Evidence: fmt.Sprintf("the runtime's state word says %v, and "+
			"the thread is in no taskwait and in no queue", word)}, true
}

// readWord returns the state word of the thread at a.
func (sr *states) readWord(a callbacks.Address) (handles.State, bool) {
	f := sr.l.Thread.OmptState
	r := layout.Read(sr.mem, a, f)
	return handles.State(r.Uint(f)), r.Err() == nil
}

// barrierFromWord returns the state of a thread that waits at a barrier of its team.
func (sr *states) barrierFromWord(a callbacks.Address, word handles.State, barrier barrierKind) (handles.ThreadState,
	bool) {
	f := sr.l.Thread.Team
	r := layout.Read(sr.mem, a, f)
	team := r.Address(f)
	if r.Err() != nil || team.IsNull() || !sr.barriers.hasCounters() {
		return handles.ThreadState{}, false
	}
	return handles.ThreadState{State: word, Tracked: true, WaitKind: waitKind(word),
		WaitID: sr.barriers.counterOf(team, barrier).Offset, Evidence: fmt.Sprintf("the runtime's state word says %v, "+
			"which it keeps in this barrier only", word)}, true
}

// hasMark reports whether the thread has a mark of a wait that its word does not show: in its task
// (td_taskwait_thread), or its own mark for spinning in a queue (th_spin_here).
func (sr *states) hasMark(a callbacks.Address, gtid int) (bool, error) {
	f, mark := &sr.l.Thread, sr.l.Taskdata.TaskwaitThread
	r := layout.Read(sr.mem, a, f.CurrentTask)
	spin := layout.Read(sr.mem, a, f.SpinHere)
	task := r.Address(f.CurrentTask)
	if task.IsNull() {
		return true, r.Err()
	}
	t := layout.Read(sr.mem, task, mark)
	waits := spin.Bool(f.SpinHere) || t.Int(mark) == int64(gtid)+1
	for _, err := range []error{r.Err(), spin.Err(), t.Err()} {
		if err != nil {
			return false, err
		}
	}
	return waits, nil
}

// mostAhead bounds the number of prefetched threads.
const mostAhead = 16

// prefetchStates prefetches the memory that stateFromWord reads for a thread. A debugger that shows all threads
// requests them in order: after a request for the previous thread, the following ones are prefetched, twice as
// many each time.
func (sr *states) prefetchStates(gtid int) {
	if _, dear := sr.mem.(callbacks.Sparing); !dear || gtid < sr.ahead.end && gtid >= sr.ahead.begin {
		return
	}
	slots := sr.threads.slots
	if n := &sr.ahead; gtid == n.end && n.end > 0 {
		n.many = min(2*n.many, mostAhead)
	} else {
		n.many = 1
	}
	var group []callbacks.Address
	next := gtid
	for ; next < len(slots) && len(group) < sr.ahead.many; next++ {
		if !slots[next].IsNull() {
			group = append(group, slots[next])
		}
	}
	for next < len(slots) && slots[next].IsNull() { // free slots
		next++
	}
	sr.ahead.begin, sr.ahead.end = gtid, next
	sr.prefetchGroup(group)
}

// prefetchGroup prefetches the words of some threads, then the memory that each word needs.
func (sr *states) prefetchGroup(group []callbacks.Address) {
	f := &sr.l.Thread
	var s layout.Foresee
	for _, a := range group {
		s.Field(a, f.OmptState)
	}
	s.Ask(sr.mem)
	var working []callbacks.Address
	for _, a := range group {
		word, ok := sr.readWord(a)
		if _, exact := exactWords[word]; ok && exact {
			s.Field(a, f.Team)
		} else if ok && workWords[word] {
			s.Field(a, f.CurrentTask)
			s.Field(a, f.SpinHere)
			working = append(working, a)
		}
	}
	s.Ask(sr.mem)
	for _, a := range working {
		r := layout.Read(sr.mem, a, f.CurrentTask)
		s.Field(r.Address(f.CurrentTask), sr.l.Taskdata.TaskwaitThread)
	}
	s.Ask(sr.mem)
}
