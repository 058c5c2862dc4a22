package trace

import "slices"

// Life is the state of a ring (enum recorder_life).
type Life uint32

// The states of rings.
const (
	Free      Life = 0 // never used
	Alive     Life = 1 // its thread writes
	Ended     Life = 2 // its thread has ended; the records stay
	Inherited Life = 3 // of a thread of the parent process: history up to the fork
)

// Task is a task that a thread executes (struct recorder_task).
type Task struct {
	ID, Region uint64 // 0: unknown
	State      uint32 // of the thread when it left the task (ompt_state_t)
}

// Doing is the activity of a thread at one moment, from the header of its ring. It does not depend on
// overwritten records.
type Doing struct {
	State   uint32  // ompt_state_t
	Since   uint64  // number of the first record in this state, in the main ring
	Held    []Event // mutex_acquired of the held locks, the oldest first
	Forked  []Event // parallel_begin of the thread's open regions, the outermost first
	Tasks   []Task  // being executed, the outermost first; the last is the current one
	Written uint64  // records written by the present thread of the ring
	Foreign uint64  // recorded releases of locks that the thread did not hold
	Omitted int     // entries of the three lists for which there was no room
	Torn    bool    // the thread changed the data during each read
}

// Thread is a ring with its thread.
type Thread struct {
	Index   uint32 // of the ring
	LWP     uint32
	Life    Life
	Epoch   uint32 // number of earlier threads of the ring
	Type    uint32 // ompt_thread_t; 0: unknown
	Pthread uint64
	ID      uint64 // the thread's ompt_data_t; 0: unset
	Last    uint64 // time of its newest record; 0: no record
	Dropped uint64 // events of signal handlers that interrupted the recorder
	Doing
	Main, Rare Run // empty unless requested

	previous       uint32 // LWP of the previous thread
	base, rareBase uint64 // the thread's first record in each ring
}

// parseThread decodes the header of a ring.
func parseThread(b []byte) *Thread {
	word := func(at int) uint32 { return le.Uint32(b[at:]) }
	t := &Thread{
		Index: word(ringIndex), LWP: word(ringTID), Life: Life(word(ringLife)), Epoch: word(ringEpoch),
		Type: word(ringType), Pthread: le.Uint64(b[ringPthread:]), ID: le.Uint64(b[ringThreadID:]),
		Last: le.Uint64(b[ringLast:]), Dropped: le.Uint64(b[ringDropped:]),
		previous: word(ringPreviousTID), base: le.Uint64(b[ringBase:]), rareBase: le.Uint64(b[ringRareBase:]),
	}
	t.Written = le.Uint64(b[ringHead:]) - t.base + le.Uint64(b[ringRare+ringHead:]) - t.rareBase
	t.Foreign = le.Uint64(b[ringForeign:])
	state := le.Uint64(b[ringState:])
	t.State, t.Since = uint32(state&(1<<stateBits-1)), state>>stateBits
	t.Held, t.Omitted = table(b[ringHeldTable:], word(ringHeld), heldMax, MutexAcquired)
	forked, omitted := table(b[ringRegionTable:], word(ringRegions), regionsMax, ParallelBegin)
	t.Forked, t.Omitted = forked, t.Omitted+omitted
	tasks := word(ringTasks)
	for i := range min(tasks, tasksMax) {
		e := b[ringTaskTable+int(i)*recordSize:]
		t.Tasks = append(t.Tasks, Task{le.Uint64(e), le.Uint64(e[8:]), uint32(le.Uint64(e[16:]) & (1<<stateBits - 1))})
	}
	t.Omitted += int(tasks - min(tasks, tasksMax))
	return t
}

// table decodes the n entries of a table in a ring's header. All must have one code: recorders write no other.
func table(b []byte, n uint32, most int, code Code) (out []Event, omitted int) {
	for i := range min(int(n), most) {
		var e Event
		if e.decode(b[i*recordSize:], addressBits); e.Code == code {
			out = append(out, e)
		} else {
			omitted++
		}
	}
	return out, omitted + int(n) - min(int(n), most)
}

// LWPOf returns the LWP of the thread that made an event: the ring's present thread or an earlier one; 0:
// unknown.
func (t *Thread) LWPOf(e *Event) uint32 {
	run, base := &t.Main, t.base
	if e.Rare {
		run, base = &t.Rare, t.rareBase
	}
	if e.Number >= base {
		return t.LWP
	}
	if lwp, ok := run.ownerAt(e.Number); ok {
		return lwp
	}
	if len(run.owners) > 0 && run.owners[0].number == base || len(run.owners) == 0 {
		return t.previous
	}
	return 0
}

// writers passes to add the LWPs of the threads that wrote the copied records, and of the ring's thread; 0:
// unknown.
func (t *Thread) writers(add func(lwp uint32)) {
	for _, r := range []*Run{&t.Main, &t.Rare} {
		if r.Len() > 0 {
			add(t.LWPOf(&Event{Number: r.First, Rare: r.Rare}))
		}
		for _, o := range r.owners {
			add(o.lwp)
		}
	}
	add(t.LWP)
}

// Newest returns the last event of the ring's present thread, if the copy contains one.
func (t *Thread) Newest() (e Event, ok bool) {
	for _, r := range []*Run{&t.Main, &t.Rare} {
		const back = 1 + 15 // RECORDER_FOLLOW_MAX, the maximal number of records of an event
		c := r.Events()
		c.at = max(0, len(c.records)-back*recordSize)
		for next := (Event{}); c.Next(&next); {
			if t.LWPOf(&next) == t.LWP && (!ok || next.Time > e.Time) {
				e, ok = next, true
			}
		}
	}
	return e, ok
}

// Step returns the time of the last event in the copy that shows progress of the thread; 0: no such event. A
// loop that tries to acquire a lock until another thread releases it makes only other events.
func (t *Thread) Step() (last uint64) {
	for _, r := range []*Run{&t.Main, &t.Rare} {
		c := r.Events()
		for e := (Event{}); c.Next(&e); {
			if e.step() {
				last = max(last, e.Time)
			}
		}
	}
	return last
}

// Recording is one copy of a recorder's data in a target.
type Recording struct {
	Header
	Address uint64 // of the header
	Threads []*Thread
	// Problems lists the unreadable parts. Omitted counts those past the first hundred.
	Problems []error
	Omitted  int
	// Runtimes are the address ranges of the code of runtimes and of the recorder, as far as a caller has
	// determined them.
	Runtimes [][2]uint64
}

// FromRuntime reports whether an event's place is in the code of a runtime or of the recorder. This happens if
// a function of the program ends in the call: it left by a jump, and the call returns to its caller.
func (r *Recording) FromRuntime(pc uint64) bool {
	return slices.ContainsFunc(r.Runtimes, func(in [2]uint64) bool { return in[0] <= pc && pc < in[1] })
}

// problemsMax bounds the problems that are listed individually.
const problemsMax = 100

func (r *Recording) problem(err error) {
	if len(r.Problems) < problemsMax {
		r.Problems = append(r.Problems, err)
	} else {
		r.Omitted++
	}
}

// Last returns the time of the newest event overall.
func (r *Recording) Last() (last uint64) {
	for _, t := range r.Threads {
		last = max(last, t.Last)
	}
	return last
}

// Lost returns the numbers of records that were overwritten unread, and of damaged ones.
func (r *Recording) Lost() (lost, damaged uint64) {
	for _, t := range r.Threads {
		lost += t.Main.Lost + t.Rare.Lost
		damaged += t.Main.Damaged + t.Rare.Damaged
	}
	return lost, damaged
}

// LWPs returns the threads that have a ring or wrote its records, in ascending order: a thread that ends leaves
// its ring to another.
func (r *Recording) LWPs() []uint32 {
	var out []uint32
	for _, t := range r.Threads {
		t.writers(func(lwp uint32) {
			if lwp != 0 {
				out = append(out, lwp)
			}
		})
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Thread returns the ring of a living thread, nil without one.
func (r *Recording) Thread(lwp uint32) *Thread {
	i := slices.IndexFunc(r.Threads, func(t *Thread) bool { return t.LWP == lwp && t.Life == Alive })
	if i < 0 {
		return nil
	}
	return r.Threads[i]
}
