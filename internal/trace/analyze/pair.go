package analyze

import (
	"slices"

	"github.com/ompd-inspect/ompd-inspect/trace"
)

// machine pairs the events of one thread. Runtimes omit ends, end a loop as another kind of loop, and delay
// ends until the next fork. Therefore an end closes the innermost span of its class within the current task,
// and all spans inside of it.
type machine struct {
	thread *trace.Thread
	index
	rec     *trace.Recording
	sink    Sink
	pairing *Pairing
	stack   []Span
	held    []Span
	known   uint64 // region, before an implicit task has started
	base    uint64 // task that contains the explicit tasks of the stack, if it started before
	lwp     uint32
	last    uint64 // time of the thread's last event
	pushed  uint64 // start of the last span
	// releases reports whether releases of locks are recorded, so that the time of holding them is known.
	releases bool
}

// nestMax bounds the open spans of one thread: recursive tasks nest, and spans without an end must not
// accumulate.
const nestMax = 4096

// heldMost bounds the locks that one thread holds at a time.
const heldMost = 1024

func (m *machine) add(e *trace.Event) {
	m.lwp = m.thread.LWPOf(e)
	if n := len(m.stack); n > 0 && m.stack[n-1].What == LockWait && e.Code != trace.MutexAcquired {
		m.endTest() // it was a test of a lock that another thread held
	}
	switch e.Code {
	case trace.NewThread:
		m.removeThread(e.Time)
	case trace.NewFork:
		m.finish(e.Time)
	case trace.ParallelBegin:
		m.begin(e, Region)
	case trace.ParallelEnd:
		m.end(e, func(s *Span) bool { return s.What == Region && (s.Region == e.Region || e.Region == 0) })
	case trace.TaskSchedule:
		m.schedule(e)
	case trace.MutexAcquire:
		m.begin(e, LockWait)
	case trace.MutexAcquired:
		m.acquire(e)
	case trace.MutexReleased:
		m.release(e)
	default:
		m.addScope(e)
	}
	m.last = e.Time
}

// classes maps events with endpoints to their constructs; 0 for other events.
var classes = [256]What{
	trace.ImplicitTask: Implicit, trace.Work: Work, trace.SyncRegion: Sync, trace.Masked: Masked,
	trace.TargetEMI: Device, trace.TargetDataOpEMI: DataOperation, trace.TargetSubmitEMI: Kernel, trace.Target: Device,
	trace.Reduction: Reduction,
}

// addScope handles an event that has an endpoint.
func (m *machine) addScope(e *trace.Event) {
	what := classes[e.Code]
	if e.Code == trace.SyncRegionWait && m.waitsAlone(e) {
		what = Sync
	}
	switch {
	case what == 0 || e.Endpoint == 0:
		m.sink.Point(m.thread, m.lwp, e)
	case e.Endpoint&trace.Begin != 0:
		if m.begin(e, what); e.Endpoint == trace.Both {
			m.pop(e.Time)
		}
	case what == Implicit: // 14 to 16 end initial tasks that were never started, so the kind is ignored
		m.end(e, func(s *Span) bool { return s.What == Implicit })
	default:
		m.end(e, func(s *Span) bool { return s.What == what })
	}
}

// waitsAlone reports whether a wait is not part of a construct with events of its own, or ends such a wait. Runtimes
// before OpenMP 5.0 report only the wait of the barrier at the end of a region. A taskgroup waits at its end.
func (m *machine) waitsAlone(e *trace.Event) bool {
	const taskgroup = 6 // ompt_sync_region_t
	if e.Kind == taskgroup {
		return false
	}
	n := len(m.stack)
	inside := n > 0 && m.stack[n-1].What == Sync
	if e.Endpoint == trace.Begin {
		return !inside
	}
	return inside && m.stack[n-1].alone
}

// begin opens a span.
func (m *machine) begin(e *trace.Event, what What) {
	if len(m.stack) >= nestMax {
		return
	}
	s := Span{
		Thread: m.thread, LWP: m.lwp, What: what, Kind: e.Kind, Begin: e.Time, PC: e.PC, Region: e.Region,
		Task: e.Task(), Lock: e.Lock(),
	}
	if what == Work || what == Implicit {
		s.Count = e.Count()
	}
	wide := what == Implicit || what == Sync && atEnd(e.Kind)
	if s.PC == 0 && wide || what == Sync && IsBarrier(e.Kind) && m.rec.FromRuntime(s.PC) {
		// A construct of a region as a whole, or the last one in it, has the place of the fork.
		s.PC = m.forkOf(e.Region, e.Time)
	}
	s.alone = e.Code == trace.SyncRegionWait
	m.push(s)
}

func (m *machine) push(s Span) {
	m.stack, m.pushed = append(m.stack, s), s.Begin
	m.sink.Begin(&m.stack[len(m.stack)-1])
}

// pop ends the innermost span.
func (m *machine) pop(at uint64) {
	n := len(m.stack) - 1
	s := &m.stack[n]
	m.stack = m.stack[:n]
	if ends := s.What == Sync && atEnd(s.Kind); ends || s.What == Implicit {
		join, ok := m.joinOf(s.Region, s.Begin)
		if ok = ok && s.Begin < join; ok && join <= at {
			s.Open = false // it has ended with its region, without an event so far
		}
		if ok && join < at && m.pushed < join {
			s.End = join
			m.close(s)
			if around := n - 1; !ends || around < 0 || m.stack[around].What != Implicit {
				m.addIdle(s, join, at)
			}
			return
		}
	}
	s.End = at
	if s.What == Task {
		for i := range m.stack { // all spans around it
			m.stack[i].Inner += s.Ticks()
		}
	}
	m.close(s)
}

// addIdle adds the idle time of a thread after the end of its region.
func (m *machine) addIdle(s *Span, join, at uint64) {
	idle := Span{Thread: s.Thread, LWP: s.LWP, What: Idle, Begin: join}
	m.sink.Begin(&idle)
	idle.End = at
	m.close(&idle)
}

func (m *machine) close(s *Span) {
	m.pairing.Spans++
	m.sink.End(s)
}

// atEnd reports whether a kind of ompt_sync_region_t ends a region: barrier_implicit of old runtimes, and
// barrier_implicit_parallel.
func atEnd(kind uint8) bool { return kind == 2 || kind == 9 }

// end closes the innermost span within the current task for which is returns true, and the spans inside of it.
func (m *machine) end(e *trace.Event, is func(*Span) bool) {
	i := len(m.stack) - 1
	for ; i >= 0 && !is(&m.stack[i]); i-- {
		if w := m.stack[i].What; w == Implicit || w == Task {
			i = -1
			break
		}
	}
	if i < 0 {
		m.pairing.EndOnly++
		return
	}
	m.closeTo(i, e.Time)
}

// closeTo ends span i and all spans inside of it.
func (m *machine) closeTo(i int, at uint64) {
	m.pairing.Unclosed += len(m.stack) - 1 - i
	for len(m.stack) > i {
		m.pop(at)
	}
}

// endThread ends the open spans of a thread that has ended; GNU's runtime reports only the end of threads that
// it has created. They end with the thread's last event, or with the region for whose end it waited.
func (m *machine) endThread() {
	if n := len(m.stack); n > 0 && m.stack[n-1].What == LockWait {
		m.endTest() // a waiting thread does not end
	}
	at := m.last
	for i := range m.stack {
		if s := &m.stack[i]; s.What == Implicit || s.What == Sync && atEnd(s.Kind) {
			at = max(at, m.joined[s.Region])
		}
	}
	for len(m.stack) > 0 {
		m.pop(at)
	}
}

// removeThread ends the open spans of a missing thread: it has ended, or belongs to the process from which this
// one was forked. Locks that it still holds stay held until a time.
func (m *machine) removeThread(until uint64) {
	if m.last > m.fork {
		m.endThread()
	}
	held := m.held
	m.held = nil
	m.finish(m.last)
	m.held = held
	m.finish(until)
}

// finish ends the open spans after the last event of the thread.
func (m *machine) finish(at uint64) {
	if n := len(m.stack); n > 0 && m.stack[n-1].What == LockWait {
		m.setPlace(&m.stack[n-1])
	}
	for i := range m.stack {
		m.stack[i].Open = true
	}
	for len(m.stack) > 0 {
		m.pop(max(at, m.stack[len(m.stack)-1].Begin))
	}
	for _, s := range m.held {
		s.Open, s.End = true, max(at, s.Begin)
		m.close(&s)
	}
	m.held = m.held[:0]
}

// isOver reports whether a value of ompt_task_status_t means that the prior task has left the thread.
func isOver(status uint8) bool { return status == 1 || status == 3 || status == 4 || status == 6 }

// staysOn reports whether a value of ompt_task_status_t leaves the prior task on the thread.
func staysOn(status uint8) bool { return status == 5 || status == 8 }

// schedule switches from one task to another.
func (m *machine) schedule(e *trace.Event) {
	if staysOn(e.Kind) {
		m.sink.Point(m.thread, m.lwp, e)
		return
	}
	at := func(id uint64) int {
		for i := len(m.stack) - 1; i >= 0; i-- {
			if m.stack[i].What == Task && m.stack[i].Task == id {
				return i
			}
		}
		return -1
	}
	if m.inTasks() == len(m.stack) && !m.isImplicit(e.Task()) { // the spans around it started before the recording
		m.base = e.Task()
	}
	if i := at(e.Task()); i >= 0 && isOver(e.Kind) {
		m.closeTo(i, e.Time)
	}
	next := e.Next()
	if next == 0 {
		return
	}
	i := at(next)
	back := i >= 0
	switch {
	case back: // it continues: the tasks in between have left the thread
		i++
	case next == m.base || m.isImplicit(next):
		i, back = m.inTasks(), true
	}
	if back {
		for ; i < len(m.stack); i++ {
			if m.stack[i].What == Task {
				m.closeTo(i, e.Time)
			}
		}
		return
	}
	if len(m.stack) >= nestMax {
		return
	}
	by := m.created.find(next)
	m.push(Span{
		Thread: m.thread, LWP: m.lwp, What: Task, Kind: e.Kind, Begin: e.Time, Task: next, PC: by.pc,
		detail: detail{deferred: by.deferred},
	})
}

// inTasks returns the index of the first explicit task of the stack, or the length of the stack.
func (m *machine) inTasks() int {
	last := m.inImplicit() + 1
	for i := last; i < len(m.stack); i++ {
		if m.stack[i].What == Task {
			return i
		}
	}
	return len(m.stack)
}

// inImplicit returns the index of the innermost implicit task of the stack, or -1.
func (m *machine) inImplicit() int {
	i := len(m.stack) - 1
	for i >= 0 && m.stack[i].What != Implicit {
		i--
	}
	return i
}

// isImplicit reports whether a task is the thread's current implicit task.
func (m *machine) isImplicit(id uint64) bool {
	i := m.inImplicit()
	return i >= 0 && m.stack[i].Task == id
}

// endTest ends the wait for a lock that was only tested.
func (m *machine) endTest() {
	n := len(m.stack) - 1
	m.stack[n].Failed = true
	m.pop(m.stack[n].Begin)
}

// acquire ends the wait for a lock and starts the time of holding it.
func (m *machine) acquire(e *trace.Event) {
	n := len(m.stack) - 1
	tested := false
	if n >= 0 && m.stack[n].What == LockWait {
		tested = isTest(m.stack[n].Kind)
		if m.stack[n].Lock == e.Lock() {
			m.pop(e.Time)
		} else {
			m.endTest()
		}
	}
	if !m.releases { // the time of holding it is not known
		m.sink.Point(m.thread, m.lwp, e)
		return
	}
	if len(m.held) >= heldMost {
		return
	}
	s := Span{
		Thread: m.thread, LWP: m.lwp, What: LockHeld, Kind: e.Kind, Begin: e.Time, PC: e.PC, Lock: e.Lock(),
		detail: detail{tested: tested || isTest(e.Kind)},
	}
	m.setPlace(&s)
	m.held = append(m.held, s)
	m.sink.Begin(&m.held[len(m.held)-1])
}

// setPlace sets the region and task in which a lock is acquired.
func (m *machine) setPlace(s *Span) {
	s.Region = m.region()
	if i := m.inTask(); i >= 0 {
		s.Task, s.explicit, s.began = m.stack[i].Task, m.stack[i].What == Task, m.stack[i].Begin
	}
}

// isTest reports whether a kind of ompt_mutex_t belongs to a call that does not wait.
func isTest(kind uint8) bool { return kind == 2 || kind == 4 }

// inTask returns the index of the innermost task of the stack, or -1.
func (m *machine) inTask() int {
	for i := len(m.stack) - 1; i >= 0; i-- {
		if w := m.stack[i].What; w == Task || w == Implicit {
			return i
		}
	}
	return -1
}

// region returns the region of the innermost implicit task.
func (m *machine) region() uint64 {
	if i := m.inImplicit(); i >= 0 {
		return m.stack[i].Region
	}
	return m.known
}

// release ends the time of holding a lock.
func (m *machine) release(e *trace.Event) {
	for i := len(m.held) - 1; i >= 0; i-- {
		if s := &m.held[i]; s.Lock == e.Lock() {
			s.End = e.Time
			m.close(s)
			m.held = slices.Delete(m.held, i, i+1)
			return
		}
	}
	m.pairing.EndOnly++
}
