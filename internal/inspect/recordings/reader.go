package recordings

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/stacks"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/teams"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/unwind"
	"github.com/ompd-inspect/ompd-inspect/picture"
	"github.com/ompd-inspect/ompd-inspect/trace"
)

// Config is the input of a Reader.
type Config struct {
	Target    callbacks.Target
	Rings     callbacks.Memory // the memory of a running process, if Target is a copy of it; nil if it is not
	Monotonic func() int64     // the time of CLOCK_MONOTONIC, in nanoseconds; nil for a target that does not run
	About     *picture.Target
	Notes     *stacks.Notes
	Threads   *teams.ThreadTable
	Code      *stacks.Code
	Data      *stacks.Data
}

// Reader reads the recording in a target, if the program has a recorder.
type Reader struct {
	Config
	Locks     Locks // the recorded locks, after Read
	criticals Criticals
	tasks     map[int][]trace.Task // the tasks of each thread, by LWP; nil if their IDs are not the recorder's
	names     map[uint64]string    // names of locks, by wait ID
}

// NewReader returns a Reader of the recording in a target.
func NewReader(c Config) *Reader {
	return &Reader{
		Config: c, criticals: Criticals{Memory: c.Target, Symbols: c.Code.Symbols}, names: map[uint64]string{},
	}
}

// restless is the age from which on the last event of a thread is shown. A thread that makes events all the time
// has another last event before that is read.
const restless = 10 * time.Millisecond

// newestMax bounds the threads with a last event: each takes six reads.
const newestMax = 4096

// mappings returns the mappings of the target, if it lists them.
func (r *Reader) mappings() []callbacks.Mapping {
	if lister, ok := r.Target.(callbacks.MappingLister); ok {
		return lister.Mappings()
	}
	return nil
}

// Read returns the recorded state, locks and last event of each live thread, and a summary of the newest events.
// In a target without a recorder, it costs a pass over the names of the mappings.
func (r *Reader) Read() ([]picture.Recorded, *picture.History) {
	reader, err := trace.OpenNamed(r.Target, r.mappings(), r.About.PID)
	if errors.Is(err, trace.ErrNone) {
		return nil, nil
	}
	var rec *trace.Recording
	if err == nil {
		rec, err = reader.Doing()
	}
	if err != nil {
		r.Notes.Warn("what was recorded cannot be read: %s", stacks.Message(err))
		return nil, nil
	}
	beside, err := r.openRings()
	if err != nil {
		return nil, nil // the process has ended, or replaced itself
	}
	w := &describer{r, rec, rec.Words(r.lockByID), rec.Last(), "before the newest event"}
	if r.Monotonic != nil {
		w.now, w.since = r.presentTicks(rec), "ago"
	}
	recent, err := beside.Recent(historyEach, historyAll)
	if err != nil {
		r.Notes.Warn("what was recorded cannot be read: %s", stacks.Message(err))
		recent = &trace.Recording{}
	}
	r.Locks.read(rec, recent)
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
			if !r.Locks.isHeld(&t.Held[i]) {
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
		r.Locks.addThread(w, t, newest)
		out = append(out, one)
	}
	if err != nil {
		return out, nil
	}
	return out, r.history(w, recent)
}

// presentTicks returns the time in ticks, after all events that were read.
func (r *Reader) presentTicks(rec *trace.Recording) uint64 {
	return max(rec.Last()+1, rec.Clock.Ticks(r.Monotonic()))
}

// newest adds the last event of a thread that does not make events all the time, and returns it. A thread that has
// tested a lock may have finished the test: LLVM's runtime before 19 reports a test as a wait.
func (w *describer) newest(one *picture.Recorded, t *trace.Thread, beside *trace.Reader) *trace.Event {
	settled := w.Monotonic == nil || w.rec.Clock.Elapsed(t.Last, w.now) > restless
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

// openRings returns a reader of the rings themselves. A copy of the process would lack the newest events, and
// reading them through it would stop the process again.
func (r *Reader) openRings() (*trace.Reader, error) {
	var rings callbacks.Memory = r.Target
	if r.Rings != nil {
		rings = r.Rings
	}
	return trace.OpenNamed(rings, r.mappings(), r.About.PID)
}

// AddStates corrects the recorded states by the runtime's current tasks, and adds them to the threads of a
// picture.
func (r *Reader) AddStates(all []picture.Recorded, threads []picture.Thread) {
	states := map[int]picture.StateName{}
	for i := range all {
		one := &all[i]
		if one.State != picture.StateUndefined {
			one.State = r.stateInTask(r.Threads.ByLWP[one.Thread], one.State)
		}
		states[one.Thread] = one.State
	}
	for i := range threads {
		t := &threads[i]
		if state := states[t.LWP]; t.State != nil && state != picture.StateUndefined {
			t.State.Recorded = state
		}
	}
}

// lockByID returns the name of a lock or critical construct by its wait ID.
func (r *Reader) lockByID(id uint64) string {
	name, ok := r.names[id]
	if !ok {
		name = r.lockName(id)
		r.names[id] = name
	}
	return name
}

// lockName finds the name of a lock.
func (r *Reader) lockName(id uint64) string {
	name := r.Data.PlaceName(id)
	if critical, ok := rtl.CriticalName(name); ok {
		return cmp.Or(critical, picture.Unnamed)
	}
	return cmp.Or(name, r.criticals.Name(id))
}

// describer puts events of one recording into words.
type describer struct {
	*Reader
	rec   *trace.Recording
	words trace.Words
	now   uint64
	since string
}

// event returns an event in words, with its place.
func (w *describer) event(e *trace.Event) picture.PastEvent {
	out := picture.PastEvent{
		Text: w.words.Phrase(e), When: fmt.Sprintf("%v %s", trace.Elapsed(w.rec.Clock.Elapsed(e.Time, w.now)), w.since),
		Lock: picture.Address(e.Lock()),
	}
	out.Frame = w.place(e.PC)
	return out
}

// place returns the place of the program's call that returns to pc, nil if it is unknown.
func (w *describer) place(pc uint64) *picture.Frame {
	if pc == 0 || w.Code.InRuntime(pc) {
		return nil
	}
	f := unwind.Frame{PC: pc, Module: w.Code.ModuleOf(pc)}
	if w.Code.IsRecorder(&f) { // a function that ends in the call was left by a jump
		return nil
	}
	return w.Code.InnermostFrame(f, stacks.KindUser)
}

// keepTasks keeps the tasks of each thread, if their IDs are the tool's words in the runtime. With another tool in
// the program, these words are that tool's.
func (r *Reader) keepTasks(rec *trace.Recording) {
	if !rec.OwnTasks() {
		return
	}
	r.tasks = map[int][]trace.Task{}
	for _, t := range rec.Threads {
		if t.Life == trace.Alive && !t.Torn && t.Omitted == 0 {
			r.tasks[int(t.LWP)] = t.Tasks
		}
	}
}

// stateInTask returns the recorded state of a thread in its current task, by the runtime. LLVM's runtime reports
// no end of the last part of an untied task while another thread is about to leave the part before. By the events
// alone, the thread is in that task until its next event.
func (r *Reader) stateInTask(n *teams.Thread, last picture.StateName) picture.StateName {
	if n == nil || n.Runtime == nil || len(r.tasks[n.LWP]) < 2 {
		return last
	}
	h, err := n.Runtime.CurrentTask(n.Handle)
	if err != nil {
		return last
	}
	word, err := n.Runtime.ToolData(handles.Subject{Scope: handles.ScopeTask, Task: h})
	if err != nil {
		return last
	}
	tasks := r.tasks[n.LWP]
	current := &tasks[len(tasks)-1]
	if word == current.ID {
		return last
	}
	for i := len(tasks) - 2; i >= 0; i-- {
		if tasks[i].ID == word {
			return handles.State(tasks[i].State).Name()
		}
	}
	// The recorder clears the word of an implicit task in a barrier, where the task does not work.
	if word == 0 && trace.Works(current.State) {
		return picture.StateUndefined
	}
	return last
}
