package trace

import "slices"

// Life says whose a ring is (enum recorder_life).
type Life uint32

// The lives of rings.
const (
	Free      Life = 0 // nobody has used it
	Alive     Life = 1 // its thread writes
	Ended     Life = 2 // its thread has ended; the records stay
	Inherited Life = 3 // of a thread of the parent process: history up to the fork
)

// Task is a task that a thread is in (struct recorder_task).
type Task struct {
	ID, Region uint64 // 0 none
	State      uint32 // of the thread in it when it was left (ompt_state_t)
}

// Doing is what the header of a ring tells of its thread at one moment, whatever was
// overwritten in the ring.
type Doing struct {
	State   uint32  // ompt_state_t
	Since   uint64  // number of the record in the main ring that began it
	Held    []Event // mutex_acquired of the locks that it has, the oldest first
	Forked  []Event // parallel_begin of the open regions that it has forked, the outermost first
	Tasks   []Task  // that it is in, the outermost first; the last is the current one
	Written uint64  // records that the thread has written since it has the ring
	Foreign uint64  // releases of locks that it did not have, as far as that was recorded
	Omitted int     // entries of the three for which there was no room
	Torn    bool    // the thread changed it while it was read, each time
}

// Thread is a ring and the thread that has it.
type Thread struct {
	Index   uint32 // of the ring
	LWP     uint32
	Life    Life
	Epoch   uint32 // threads that had the ring before
	Type    uint32 // ompt_thread_t, 0 unknown
	Pthread uint64
	ID      uint64 // what the thread's ompt_data_t has, 0 none
	Last    uint64 // time of its newest record, 0: it has none
	Dropped uint64 // events of signal handlers that interrupted the recorder
	Doing
	Main, Rare Run // empty unless they were asked for

	previous       uint32 // LWP of the thread before
	base, rareBase uint64 // the thread's first record in each ring
}

// parseThread takes the header of a ring.
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

// table takes the n records of a table of a ring's header, all of one code: others were
// never left there by a recorder.
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

// LWPOf is the thread that made an event: that which has the ring, or one that had it
// before; 0 if that is not known any more.
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

// writers adds the LWPs of those that wrote the records which the copies have, and of the thread that has the
// ring; 0 is who is not known any more.
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

// Newest is the last event of the thread that has the ring, if the copy has one.
func (t *Thread) Newest() (e Event, ok bool) {
	for _, r := range []*Run{&t.Main, &t.Rare} {
		const back = 1 + 15 // RECORDER_FOLLOW_MAX: an event has no more records
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

// Step is the time of the last event in the copy by which the thread got on, 0 without one. A loop
// that tries to acquire a lock until another thread releases it makes events of other kinds.
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

// Recording is what the recorder has left in a target, as one copy has it.
type Recording struct {
	Header
	Address uint64 // of the header
	Threads []*Thread
	// Problems say what could not be read. Omitted counts those past the first hundred.
	Problems []error
	Omitted  int
	// Runtimes are where the code of runtimes and of the recorder is, from one address to another, as
	// far as a caller has found that.
	Runtimes [][2]uint64
}

// FromRuntime reports whether an event's place is in the code of a runtime or of the recorder: a
// function of the program that ends in the call was left by a jump, and returns to who called it.
func (r *Recording) FromRuntime(pc uint64) bool {
	return slices.ContainsFunc(r.Runtimes, func(in [2]uint64) bool { return in[0] <= pc && pc < in[1] })
}

// problemsMax bounds the problems that are told one by one.
const problemsMax = 100

func (r *Recording) problem(err error) {
	if len(r.Problems) < problemsMax {
		r.Problems = append(r.Problems, err)
	} else {
		r.Omitted++
	}
}

// Last is the time of the newest event of all.
func (r *Recording) Last() (last uint64) {
	for _, t := range r.Threads {
		last = max(last, t.Last)
	}
	return last
}

// Lost is the sum of the records that were overwritten before they could be read, and of
// those that are damaged.
func (r *Recording) Lost() (lost, damaged uint64) {
	for _, t := range r.Threads {
		lost += t.Main.Lost + t.Rare.Lost
		damaged += t.Main.Damaged + t.Rare.Damaged
	}
	return lost, damaged
}

// LWPs are the threads that have a ring, and those of which records are there, in the order of their numbers:
// threads that end leave their rings to others.
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

// Thread is the ring of a thread that lives, nil if it has none.
func (r *Recording) Thread(lwp uint32) *Thread {
	i := slices.IndexFunc(r.Threads, func(t *Thread) bool { return t.LWP == lwp && t.Life == Alive })
	if i < 0 {
		return nil
	}
	return r.Threads[i]
}
