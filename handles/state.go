package handles

import (
	"fmt"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// State is the state of an OpenMP thread, with the values of ompt_state_t.
type State uint32

// The states of OpenMP 6.0.
const (
	StateWorkSerial                   State = 0x000
	StateWorkParallel                 State = 0x001
	StateWorkReduction                State = 0x002
	StateWorkFreeAgent                State = 0x003
	StateWorkInduction                State = 0x004
	StateWaitBarrier                  State = 0x010
	StateWaitBarrierImplicitParallel  State = 0x011
	StateWaitBarrierImplicitWorkshare State = 0x012
	StateWaitBarrierImplicit          State = 0x013
	StateWaitBarrierExplicit          State = 0x014
	StateWaitBarrierImplementation    State = 0x015
	StateWaitBarrierTeams             State = 0x016
	StateWaitTaskwait                 State = 0x020
	StateWaitTaskgroup                State = 0x021
	StateWaitMutex                    State = 0x040
	StateWaitLock                     State = 0x041
	StateWaitCritical                 State = 0x042
	StateWaitAtomic                   State = 0x043
	StateWaitOrdered                  State = 0x044
	StateWaitTarget                   State = 0x080
	StateWaitTargetMap                State = 0x081
	StateWaitTargetUpdate             State = 0x082
	StateIdle                         State = 0x100
	StateOverhead                     State = 0x101
	StateUndefined                    State = 0x102
)

// stateNames maps states to the specification's names without the prefix ompt_state_.
var stateNames = map[State]picture.StateName{
	StateWorkSerial: picture.StateWorkSerial, StateWorkParallel: picture.StateWorkParallel,
	StateWorkReduction: picture.StateWorkReduction,
	StateWorkFreeAgent: picture.StateWorkFreeAgent, StateWorkInduction: picture.StateWorkInduction,
	StateWaitBarrier:                  picture.StateBarrier,
	StateWaitBarrierImplicitParallel:  picture.StateBarrierParallel,
	StateWaitBarrierImplicitWorkshare: picture.StateBarrierWorkshare,
	StateWaitBarrierImplicit:          picture.StateBarrierImplicit,
	StateWaitBarrierExplicit:          picture.StateBarrierExplicit,
	StateWaitBarrierImplementation:    picture.StateBarrierImplementation,
	StateWaitBarrierTeams:             picture.StateBarrierTeams,
	StateWaitTaskwait:                 picture.StateTaskwait, StateWaitTaskgroup: picture.StateTaskgroup,
	StateWaitMutex: picture.StateMutex, StateWaitLock: picture.StateLock, StateWaitCritical: picture.StateCritical,
	StateWaitAtomic: picture.StateAtomic, StateWaitOrdered: picture.StateOrdered,
	StateWaitTarget: picture.StateTarget, StateWaitTargetMap: picture.StateTargetMap,
	StateWaitTargetUpdate: picture.StateTargetUpdate,
	StateIdle:             picture.StateIdle, StateOverhead: picture.StateOverhead,
	StateUndefined: picture.StateUndefined,
}

// States lists all states in ascending order of their values, the order of ompd_enumerate_states.
func States() []State {
	return []State{
		StateWorkSerial, StateWorkParallel, StateWorkReduction, StateWorkFreeAgent, StateWorkInduction,
		StateWaitBarrier, StateWaitBarrierImplicitParallel, StateWaitBarrierImplicitWorkshare, StateWaitBarrierImplicit,
		StateWaitBarrierExplicit, StateWaitBarrierImplementation, StateWaitBarrierTeams,
		StateWaitTaskwait, StateWaitTaskgroup,
		StateWaitMutex, StateWaitLock, StateWaitCritical, StateWaitAtomic, StateWaitOrdered,
		StateWaitTarget, StateWaitTargetMap, StateWaitTargetUpdate,
		StateIdle, StateOverhead, StateUndefined,
	}
}

// NextState returns the state after current in that order, and whether more follow. After StateUndefined, the
// last, comes the first. An unknown state is callbacks.BadInput.
func NextState(current State) (next State, more bool, err error) {
	all := States()
	i := slices.Index(all, current)
	if i < 0 {
		return 0, false, fmt.Errorf("%v: %w", current, callbacks.BadInput)
	}
	next = all[(i+1)%len(all)]
	return next, next != all[len(all)-1], nil
}

// String returns the specification's name without its prefix, such as "wait_barrier_explicit", or "state 0x…"
// for an unknown value.
func (s State) String() string {
	if n, ok := stateNames[s]; ok {
		return string(n)
	}
	return fmt.Sprintf("state %#x", uint32(s))
}

// Name returns the word of the state in a picture, StateUndefined for a value that the specification lacks.
func (s State) Name() picture.StateName {
	if n, ok := stateNames[s]; ok {
		return n
	}
	return picture.StateUndefined
}

// IsKnown reports whether the specification contains this state.
func (s State) IsKnown() bool { _, ok := stateNames[s]; return ok }

// Waiting reports whether a thread in this state waits for another thread or task.
func (s State) Waiting() bool {
	return s >= StateWaitBarrier && s <= StateWaitTargetUpdate
}

// ThreadState is a thread's state and its evidence.
type ThreadState struct {
	State    State
	Tracked  bool   // the state is the runtime's own record; otherwise it is inferred
	Evidence string // source of the state, for users
	// Ending means that the thread has left the program's code for good: the C library has called the runtime's
	// destructor of the thread's data.
	Ending bool
	// WaitID is the address of the object that the thread waits for (a lock, a barrier's counter, …). It is 0 if
	// the object is unknown or the thread does not wait.
	WaitID uint64
	// WaitKind is the kind of the object at WaitID; empty without a WaitID.
	WaitKind picture.WaitKind
	// WaitVariable is the address of the program's own variable of the lock or critical section at WaitID, or 0
	// if unknown.
	WaitVariable uint64
	// Source is the place of the barrier that the thread waits at, as the compiler passed it to the runtime.
	Source SourceLocation
}
