package analyze

import (
	"slices"

	"github.com/ompd-inspect/ompd-inspect/trace"
)

// machine pairs the events of one thread. Runtimes leave ends out, end a loop as another
// kind of loop, and hold ends back until the next fork: an end closes the innermost span of
// its class within the present task, and with it all that began in it.
type machine struct {
	thread *trace.Thread
	index
	rec     *trace.Recording
	sink    Sink
	pairing *Pairing
	stack   []Span
	held    []Span
	known   uint64 // region, while no implicit task has begun
	base    uint64 // task in which the explicit tasks of the stack are, if it began before
	lwp     uint32
	last    uint64 // time of the thread's last event
	pushed  uint64 // when the last span began
	// releases: those of locks are recorded, so that it is known how long each was held.
	releases bool
}

// nestMax bounds the spans that are open at once on one thread: recursive tasks nest, and
// what runtimes never end must not gather.
const nestMax = 4096

// heldMost bounds the locks that one thread holds at once.
const heldMost = 1024

func (m *machine) add(e *trace.Event) {
	m.lwp = m.thread.LWPOf(e)
	if n := len(m.stack); n > 0 && m.stack[n-1].What == LockWait && e.Code != trace.MutexAcquired {
		m.failed() // it was a test of a lock that another thread had
	}
	switch e.Code {
	case trace.NewThread:
		m.gone(e.Time)
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
		m.acquired(e)
	case trace.MutexReleased:
		m.released(e)
	default:
		m.scoped(e)
	}
	m.last = e.Time
}

// classes are the constructs whose events have endpoints, 0 of others.
var classes = [256]What{
	trace.ImplicitTask: Implicit, trace.Work: Work, trace.SyncRegion: Sync, trace.Masked: Masked,
	trace.TargetEMI: Device, trace.TargetDataOpEMI: DataOperation, trace.TargetSubmitEMI: Kernel, trace.Target: Device,
	trace.Reduction: Reduction,
}

// scoped takes an event that has an endpoint.
func (m *machine) scoped(e *trace.Event) {
	what := classes[e.Code]
	switch {
	case what == 0 || e.Endpoint == 0:
		m.sink.Point(m.thread, m.lwp, e)
	case e.Endpoint&trace.Begin != 0:
		if m.begin(e, what); e.Endpoint == trace.Both {
			m.pop(e.Time)
		}
	case what == Implicit: // 14 to 16 end initial tasks that never began, so the kind counts for nothing
		m.end(e, func(s *Span) bool { return s.What == Implicit })
	default:
		m.end(e, func(s *Span) bool { return s.What == what })
	}
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
		// What belongs to a region as a whole, or is the last in it, is where it was forked.
		s.PC = m.forkOf(e.Region, e.Time)
	}
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
			s.Open = false // it is over with its region, though no event tells yet
		}
		if ok && join < at && m.pushed < join {
			s.End = join
			m.close(s)
			if around := n - 1; !ends || around < 0 || m.stack[around].What != Implicit {
				m.idle(s, join, at)
			}
			return
		}
	}
	s.End = at
	if s.What == Task {
		for i := range m.stack { // all that is around it
			m.stack[i].Inner += s.Ticks()
		}
	}
	m.close(s)
}

// idle is what a thread did from the end of its region on: nothing.
func (m *machine) idle(s *Span, join, at uint64) {
	idle := Span{Thread: s.Thread, LWP: s.LWP, What: Idle, Begin: join}
	m.sink.Begin(&idle)
	idle.End = at
	m.close(&idle)
}

func (m *machine) close(s *Span) {
	m.pairing.Spans++
	m.sink.End(s)
}

// The kinds of ompt_sync_region_t that end a region: barrier_implicit of old runtimes,
// and barrier_implicit_parallel.
func atEnd(kind uint8) bool { return kind == 2 || kind == 9 }

// end closes the innermost span for which is holds, within the present task, and what is
// in it.
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

// closeTo ends span i and all in it.
func (m *machine) closeTo(i int, at uint64) {
	m.pairing.Unclosed += len(m.stack) - 1 - i
	for len(m.stack) > i {
		m.pop(at)
	}
}

// ended ends what is open of a thread that has ended, which GNU's runtime tells of none that it has not
// made: with the thread's last event, or with the region at whose end it waited.
func (m *machine) ended() {
	if n := len(m.stack); n > 0 && m.stack[n-1].What == LockWait {
		m.failed() // who waits does not end
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

// gone ends what is open of a thread that is not there any more: it has ended, or is one of the process
// that this one was forked from. What it holds still, nobody has given back until a time.
func (m *machine) gone(until uint64) {
	if m.last > m.fork {
		m.ended()
	}
	held := m.held
	m.held = nil
	m.finish(m.last)
	m.held = held
	m.finish(until)
}

// finish ends what is open when the events of the thread do.
func (m *machine) finish(at uint64) {
	if n := len(m.stack); n > 0 && m.stack[n-1].What == LockWait {
		m.place(&m.stack[n-1])
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

// Values of ompt_task_status_t after which the prior task is not on the thread any more.
func over(status uint8) bool { return status == 1 || status == 3 || status == 4 || status == 6 }

// Values of ompt_task_status_t that only tell something of the prior task.
func stays(status uint8) bool { return status == 5 || status == 8 }

// schedule goes from one task to another.
func (m *machine) schedule(e *trace.Event) {
	if stays(e.Kind) {
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
	if m.inTasks() == len(m.stack) && !m.implicit(e.Task()) { // what is around it began before the recording
		m.base = e.Task()
	}
	if i := at(e.Task()); i >= 0 && over(e.Kind) {
		m.closeTo(i, e.Time)
	}
	next := e.Next()
	if next == 0 {
		return
	}
	i := at(next)
	back := i >= 0
	switch {
	case back: // it goes on: what ran in between is not on the thread any more
		i++
	case next == m.base || m.implicit(next):
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
	by := m.created.of(next)
	m.push(Span{
		Thread: m.thread, LWP: m.lwp, What: Task, Kind: e.Kind, Begin: e.Time, Task: next, PC: by.pc,
		detail: detail{deferred: by.deferred},
	})
}

// inTasks is where the explicit tasks of the stack begin, its end if there are none.
func (m *machine) inTasks() int {
	last := m.inImplicit() + 1
	for i := last; i < len(m.stack); i++ {
		if m.stack[i].What == Task {
			return i
		}
	}
	return len(m.stack)
}

// inImplicit is the innermost implicit task of the stack, -1 without.
func (m *machine) inImplicit() int {
	i := len(m.stack) - 1
	for i >= 0 && m.stack[i].What != Implicit {
		i--
	}
	return i
}

// implicit reports whether a task is the implicit task that the thread is in.
func (m *machine) implicit(id uint64) bool {
	i := m.inImplicit()
	return i >= 0 && m.stack[i].Task == id
}

// failed ends the wait for a lock that was only tested.
func (m *machine) failed() {
	n := len(m.stack) - 1
	m.stack[n].Failed = true
	m.pop(m.stack[n].Begin)
}

// acquired ends the wait for a lock and begins the time that it is held.
func (m *machine) acquired(e *trace.Event) {
	n := len(m.stack) - 1
	tested := false
	if n >= 0 && m.stack[n].What == LockWait {
		tested = isTest(m.stack[n].Kind)
		if m.stack[n].Lock == e.Lock() {
			m.pop(e.Time)
		} else {
			m.failed()
		}
	}
	if !m.releases { // how long it has the lock is not known
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
	m.place(&s)
	m.held = append(m.held, s)
	m.sink.Begin(&m.held[len(m.held)-1])
}

// place says in which region and task a lock is acquired.
func (m *machine) place(s *Span) {
	s.Region = m.region()
	if i := m.inTask(); i >= 0 {
		s.Task, s.explicit, s.began = m.stack[i].Task, m.stack[i].What == Task, m.stack[i].Begin
	}
}

// isTest reports whether a kind of ompt_mutex_t is of a call that does not wait.
func isTest(kind uint8) bool { return kind == 2 || kind == 4 }

// inTask is the innermost task of the stack, -1 without.
func (m *machine) inTask() int {
	for i := len(m.stack) - 1; i >= 0; i-- {
		if w := m.stack[i].What; w == Task || w == Implicit {
			return i
		}
	}
	return -1
}

// region is the region of the innermost implicit task.
func (m *machine) region() uint64 {
	if i := m.inImplicit(); i >= 0 {
		return m.stack[i].Region
	}
	return m.known
}

// released ends the time that a lock is held.
func (m *machine) released(e *trace.Event) {
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
