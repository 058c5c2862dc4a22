package recordings

import (
	"slices"

	"github.com/ompd-inspect/ompd-inspect/picture"
	"github.com/ompd-inspect/ompd-inspect/trace"
)

// Locks are the locks that threads hold, by their events. Those of GNU's runtime, and most of LLVM's, name no
// owner. An acquisition is recorded after it was made: a thread that holds a lock by its own events holds it,
// unless another thread has released it. A release is recorded before it is made on GNU's runtime, and just after
// it on LLVM's: until then its thread is at work and does not wait.
type Locks struct {
	trusted bool
	gone    map[uint64]uint64   // by wait ID: the time at which it was last initialized, destroyed or released
	holders map[uint64][]holder // by wait ID
	void    map[int][]uint64    // by LWP: wait IDs of the locks that it acquired, and that are gone since
	awaited map[int]uint64      // by LWP: the wait ID of the lock that it waits for
}

// holder is a thread that holds a lock.
type holder struct {
	lwp  int
	at   *picture.Frame
	when string
}

// oneRuntime reports whether all events of a recording came from one source (enum recorder_source): from a runtime
// by OpenMP 5's interface, or as calls that the recorder intercepts before GNU's runtime.
func oneRuntime(h *trace.Header) bool {
	const ompt = 1
	return h.OfCalls() || h.Source == ompt && !h.Draft()
}

// read prepares the locks from the threads of a recording, and from their newest events.
func (l *Locks) read(rec, recent *trace.Recording) {
	l.gone, l.holders = map[uint64]uint64{}, map[uint64][]holder{}
	l.void, l.awaited = map[int][]uint64{}, map[int]uint64{}
	const both = 1<<trace.MutexAcquired | 1<<trace.MutexReleased
	l.trusted = oneRuntime(&rec.Header) && rec.Header.Events&both == both && !rec.Paused && rec.Unrecorded == 0 &&
		len(rec.Problems) == 0 && len(recent.Problems) == 0 && len(recent.Threads) > 0
	foreign := false
	for _, t := range rec.Threads {
		foreign = foreign || t.Foreign > 0
		l.trusted = l.trusted && t.Dropped == 0 && (t.Life != trace.Alive || !t.Torn)
	}
	for _, t := range recent.Threads {
		l.noteEnds(t.Rare.Events())
		if foreign {
			l.noteEnds(t.Main.Events())
		}
	}
	l.trusted = l.trusted && !foreign
}

// noteEnds notes the events after which an earlier acquisition is void.
func (l *Locks) noteEnds(c trace.Cursor) {
	for e := (trace.Event{}); c.Next(&e); {
		switch e.Code {
		case trace.LockInit, trace.LockDestroy, trace.MutexReleased:
			l.gone[e.Lock()] = max(l.gone[e.Lock()], e.Time)
		}
	}
}

// isHeld reports whether a thread still holds a lock that it acquired, by the events of other threads.
func (l *Locks) isHeld(acquired *trace.Event) bool {
	return l.gone[acquired.Lock()] < acquired.Time
}

// addThread adds the locks that a thread holds, and the lock that it waits for.
func (l *Locks) addThread(w *describer, t *trace.Thread, newest *trace.Event) {
	lwp := int(t.LWP)
	for i := range t.Held {
		e := &t.Held[i]
		switch {
		case !l.isHeld(e):
			l.void[lwp] = append(l.void[lwp], e.Lock())
		case l.trusted && e.Time >= w.rec.Resumed:
			held := w.event(e)
			l.holders[e.Lock()] = append(l.holders[e.Lock()], holder{lwp, held.Frame, held.When})
		}
	}
	if l.trusted && newest != nil && newest.Code == trace.MutexAcquire && newest.Number == t.Since {
		l.awaited[lwp] = newest.Lock()
	}
}

// LockWait is the wait of a thread for a lock.
type LockWait struct {
	Kind     picture.WaitKind
	Thread   int    // LWP
	Address  uint64 // of the lock
	Variable uint64 // of the program, 0 if unknown
	Asleep   bool
}

// Holder returns the thread that holds the lock of a wait, if it is recorded. A thread that is awake and waits for a
// lock that it holds may have just acquired it: it does not count.
func (l *Locks) Holder(w LockWait) (picture.Holder, bool) {
	if w.Kind != picture.WaitLock && w.Kind != picture.WaitNestLock && w.Kind != picture.WaitCritical {
		return picture.Holder{}, false
	}
	for _, id := range [...]uint64{w.Variable, w.Address, l.awaited[w.Thread]} {
		hs := l.holders[id]
		if id == 0 || len(hs) != 1 || hs[0].lwp == w.Thread && !w.Asleep {
			continue
		}
		return picture.Holder{
			Thread: hs[0].lwp, Certainty: picture.Certain, AcquiredAt: hs[0].at,
			Evidence: "recorded: it acquired it " + hs[0].when + ", and has not released it",
		}, true
	}
	return picture.Holder{}, false
}

// WithoutReleased returns the holders hs of the lock of a wait, except those that lost the lock to a recorded
// release by another thread.
func (l *Locks) WithoutReleased(w LockWait, hs []picture.Holder) []picture.Holder {
	return slices.DeleteFunc(slices.Clone(hs), func(h picture.Holder) bool {
		return slices.Contains(l.void[h.Thread], w.Variable) || slices.Contains(l.void[h.Thread], w.Address)
	})
}
