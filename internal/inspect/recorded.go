package inspect

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/stacks"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/unwind"
	"github.com/ompd-inspect/ompd-inspect/picture"
	"github.com/ompd-inspect/ompd-inspect/trace"
)

// recorded tells what a recorder has kept of the threads, if the program has one.
type recorded struct {
	target    callbacks.Target
	rings     callbacks.Memory // as Config has it
	monotonic func() int64     // the present by CLOCK_MONOTONIC; nil for a target that stands
	about     *picture.Target
	notes     *stacks.Notes
	code      *stacks.Code
	data      *stacks.Data
	locks     recordedLocks
	criticals Criticals
	tasks     map[int][]trace.Task // that each thread is in, by LWP; nil if their ids are not the recorder's
	names     map[uint64]string    // of locks, by wait id, as far as they were asked for
}

// restless is how long ago the last event of a thread is at least that is told: that of a
// thread which makes events all the time is another one before it can be read.
const restless = 10 * time.Millisecond

// newestMax bounds the threads whose last event is read: each takes six reads.
const newestMax = 4096

// mappings are those of the target, as far as it lists them.
func (r *recorded) mappings() []callbacks.Mapping {
	if lister, ok := r.target.(callbacks.MappingLister); ok {
		return lister.Mappings()
	}
	return nil
}

// find reads what the recorder has of each thread that lives, and what its newest events
// show. Without one it costs a pass over the names of the mappings.
func (r *recorded) find() ([]picture.Recorded, *picture.History) {
	reader, err := trace.OpenNamed(r.target, r.mappings(), r.about.PID)
	if errors.Is(err, trace.ErrNone) {
		return nil, nil
	}
	var rec *trace.Recording
	if err == nil {
		rec, err = reader.Doing()
	}
	if err != nil {
		r.notes.Warn("what was recorded cannot be read: %s", stacks.Message(err))
		return nil, nil
	}
	beside, err := r.openRings()
	if err != nil {
		return nil, nil // the process has ended, or replaced itself
	}
	w := &recordedWords{r, rec, rec.Words(r.lockByID), rec.Last(), "before the newest event"}
	if r.monotonic != nil {
		w.now, w.since = r.presentTicks(rec), "ago"
	}
	recent, err := beside.Recent(historyEach, historyAll)
	if err != nil {
		r.notes.Warn("what was recorded cannot be read: %s", stacks.Message(err))
		recent = &trace.Recording{}
	}
	r.locks.read(rec, recent)
	r.keepTasks(rec)
	var out []picture.Recorded
	for _, t := range rec.Threads {
		if t.Life != trace.Alive {
			continue
		}
		one := picture.Recorded{Thread: int(t.LWP), State: handles.State(t.State).Name()}
		if t.Torn {
			one.State = picture.StateUndefined
		}
		for i := range t.Held {
			if !r.locks.isHeld(&t.Held[i]) {
				continue
			}
			held := w.event(&t.Held[i])
			held.Text = "acquired " + w.words.Mutex(&t.Held[i])
			one.Held = append(one.Held, held)
		}
		var newest *trace.Event
		if len(out) < newestMax {
			newest = w.newest(&one, t, beside)
		}
		r.locks.addThread(w, t, newest)
		out = append(out, one)
	}
	if err != nil {
		return out, nil
	}
	return out, r.history(w, recent)
}

// presentTicks is the time in ticks, behind all events that were read.
func (r *recorded) presentTicks(rec *trace.Recording) uint64 {
	return max(rec.Last()+1, rec.Clock.Ticks(r.monotonic()))
}

// newest adds the last event of a thread that makes none all the time, and returns it. A thread that
// has tested a lock, of which LLVM's runtime before 19 tells as of a wait, may be done with that.
func (w *recordedWords) newest(one *picture.Recorded, t *trace.Thread, beside *trace.Reader) *trace.Event {
	settled := w.monotonic == nil || w.rec.Clock.Elapsed(t.Last, w.now) > restless
	waits := one.State == picture.StateLock
	if !settled && !waits || beside.Newest(t) != nil {
		return nil
	}
	e, ok := t.Newest()
	if ok && waits && e.Code == trace.MutexAcquire && w.onlyTests(e.PC) {
		one.State = picture.StateUndefined
	}
	if !ok || !settled {
		return nil
	}
	last := w.event(&e)
	one.Last = &last
	return &e
}

// openRings returns a reader of the rings themselves, and not of a copy of the process: one would
// never have what was written last, and the process would be stopped again for it.
func (r *recorded) openRings() (*trace.Reader, error) {
	var rings callbacks.Memory = r.target
	if r.rings != nil {
		rings = r.rings
	}
	return trace.OpenNamed(rings, r.mappings(), r.about.PID)
}

// addRecordedStates adds the states that were recorded to those of the threads.
func (g *gatherer) addRecordedStates() {
	states := map[int]picture.StateName{}
	for i := range g.facts.Recorded {
		r := &g.facts.Recorded[i]
		if r.State != picture.StateUndefined {
			r.State = g.from.recorded.stateInTask(g.from.roster.ByLWP[r.Thread], r.State)
		}
		states[r.Thread] = r.State
	}
	for i := range g.pic.Threads {
		t := &g.pic.Threads[i]
		if state := states[t.LWP]; t.State != nil && state != picture.StateUndefined {
			t.State.Recorded = state
		}
	}
}

// lockByID is the name of a lock or critical construct by its wait id.
func (r *recorded) lockByID(id uint64) string {
	name, ok := r.names[id]
	if !ok {
		name = r.lockName(id)
		r.names[id] = name
	}
	return name
}

// lockName finds the name of a lock.
func (r *recorded) lockName(id uint64) string {
	name := r.data.PlaceName(id)
	if critical, ok := rtl.CriticalName(name); ok {
		return cmp.Or(critical, picture.Unnamed)
	}
	return cmp.Or(name, r.criticals.Name(id))
}

// recordedWords says events of one recording.
type recordedWords struct {
	*recorded
	rec   *trace.Recording
	words trace.Words
	now   uint64
	since string
}

// event is an event in words, with its place.
func (w *recordedWords) event(e *trace.Event) picture.PastEvent {
	out := picture.PastEvent{
		Text: w.words.Phrase(e), When: fmt.Sprintf("%v %s", trace.Elapsed(w.rec.Clock.Elapsed(e.Time, w.now)), w.since),
		Lock: picture.Address(e.Lock()),
	}
	out.Frame = w.place(e.PC)
	return out
}

// place is where the call of the program is that returns to pc, nil if that is not known.
func (w *recordedWords) place(pc uint64) *picture.Frame {
	if pc == 0 || w.code.InRuntime(pc) {
		return nil
	}
	f := unwind.Frame{PC: pc, Module: w.code.ModuleOf(pc)}
	if w.code.IsRecorder(&f) { // a function that ends in the call was left by a jump
		return nil
	}
	return w.code.InnermostFrame(f, stacks.KindUser)
}
