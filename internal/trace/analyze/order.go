package analyze

import (
	"cmp"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/trace"
)

// Step is an acquisition of a lock by a thread that held another one, or an unfinished wait for it.
type Step struct {
	LWP         uint32
	First       uint64 // the held lock
	Second      uint64 // the acquired lock
	Waits       bool   // the second was not acquired by the end of the recording: At is the time of the request
	FirstPC     uint64 // place of the first acquisition
	SecondPC    uint64
	FirstKind   uint8 // ompt_mutex_t
	SecondKind  uint8
	At          uint64 // time of the second acquisition, in ticks
	thread      *trace.Thread
	region      uint64
	others      []uint64 // further held locks, which exclude other threads
	firstBegins uint64
	taskOf
}

// taskOf is the task in which a thread acquired a lock.
type taskOf struct {
	task     uint64 // 0 if it started before the recording
	explicit bool   // it is an explicit task
	began    uint64 // start of the explicit task
}

// FirstAt returns the time of the first acquisition, in ticks.
func (s *Step) FirstAt() uint64 { return s.firstBegins }

// Events returns the two acquisitions, with the fields that a description needs.
func (s *Step) Events() (first, second trace.Event) {
	return trace.Event{Code: trace.MutexAcquired, Kind: s.FirstKind, B: s.First},
		trace.Event{Code: trace.MutexAcquired, Kind: s.SecondKind, B: s.Second}
}

// Cycle is a sequence of steps of different threads, in which each thread held the lock that the previous one
// acquired: at the same time, all would wait for ever.
type Cycle []Step

// stepsMax bounds the kept steps of one pair of locks, and pairsMax the pairs.
const stepsMax, pairsMax = 32, 1 << 14

// longest bounds the locks of a cycle.
const longest = 4

// pairKey is an order in which two locks were acquired.
type pairKey struct{ first, second uint64 }

// orders collects steps.
type orders struct {
	steps    map[pairKey][]Step
	held     map[*trace.Thread][]Span
	barriers passes
	waits    []uint64 // ends of constructs that order tasks of any threads, such as taskwaits and taskgroups
	tasks    *tasks
	known    *known
	calls    Calls
	ofCalls  bool // the recorder intercepted the runtime's calls, so the kind of each call is known
}

// Calls classifies calls that acquire locks by the addresses to which they return. It is needed if the runtime
// does not report the kind of call: LLVM's before 19 reports a test of a lock as a wait.
type Calls struct {
	Tests func(pc uint64) bool // Tests reports whether the call only tests the lock; nil if that is not known
	// Waits reports whether the call is known to wait. Without it, a lock that was not acquired by the end of
	// the recording does not count.
	Waits func(pc uint64) bool
}

// LockOrder finds the cycles in the order in which locks were acquired. Steps that cannot have happened at the
// same time do not form a cycle: steps of one thread, of different regions, with a barrier in between, under a
// common lock, or of tasks with a known order. Unknown cases do not count either. There are no cycles if events
// that would separate steps are not recorded; after a pause, the events before it are ignored.
func LockOrder(rec *trace.Recording, w Window, calls Calls) []Cycle {
	if calls.Tests == nil {
		calls.Tests = func(uint64) bool { return false }
	}
	if !rec.Records(keepApart...) {
		return nil
	}
	rec, w.Since = rec.Connected(), max(w.Since, rec.Resumed)
	o := orders{
		steps: map[pairKey][]Step{}, held: map[*trace.Thread][]Span{}, tasks: newTasks(rec, w.Since),
		known: newKnown(rec, w.Since), calls: calls,
		ofCalls: rec.OfCalls(),
	}
	o.waits = o.tasks.waits
	Walk(rec, w, func(*trace.Thread) Sink { return &o })
	o.barriers.sort()
	return o.cycles()
}

// keepApart lists the events that show that two acquisitions cannot have happened at the same time, and those
// of locks.
var keepApart = []trace.Code{
	trace.MutexAcquired, trace.MutexReleased, trace.SyncRegion, trace.SyncRegionWait, trace.TaskCreate,
	trace.TaskSchedule, trace.Dependences,
}

// Begin implements Sink.
func (o *orders) Begin(s *Span) {
	if s.What == Task {
		if b := o.tasks.births[s.Task]; b != nil && b.undeferred && b.depends && len(o.waits) < keptMax {
			o.waits = append(o.waits, s.Begin) // its creator waited for other tasks
		}
	}
	if s.What != LockHeld {
		return
	}
	held := o.held[s.Thread]
	if !s.tested && (len(held) == 0 || !o.calls.Tests(s.PC)) { // a test does not wait
		o.record(held, s)
	}
	if len(held) < heldMost {
		o.held[s.Thread] = append(held, *s)
	}
}

// record records that a thread with the locks held acquired another one, or waits for it.
func (o *orders) record(held []Span, s *Span) {
	for i := range held {
		if s.Kind != ordered && held[i].Kind != ordered {
			o.step(held, &held[i], s)
		}
	}
}

// lasts reports whether an unfinished call is known to wait for a lock.
func (o *orders) lasts(s *Span) bool {
	switch {
	case o.calls.Waits == nil || !s.Open || s.Failed || isTest(s.Kind):
		return false
	case s.Kind == mutexLock || s.Kind == mutexNestLock:
		return o.ofCalls || s.PC != 0 && o.calls.Waits(s.PC)
	}
	return true // a thread at a critical section waits
}

// ordered is ompt_mutex_ordered: the order of threads does not depend on their arrival, so it is in no cycle;
// but it excludes other threads, as a lock does.
const ordered = 7

// step records that a thread with the locks held, first among them, acquired second.
func (o *orders) step(held []Span, first, second *Span) {
	key := pairKey{first.Lock, second.Lock}
	list, known := o.steps[key]
	if first.Lock == second.Lock || !known && len(o.steps) >= pairsMax {
		return
	}
	s := Step{
		LWP: second.LWP, First: first.Lock, Second: second.Lock, FirstPC: first.PC, SecondPC: second.PC,
		FirstKind: first.Kind, SecondKind: second.Kind, At: second.Begin, thread: second.Thread,
		region: second.Region, firstBegins: first.Begin, Waits: second.What == LockWait,
		taskOf: taskOf{task: second.Task, explicit: second.explicit, began: second.began},
	}
	for i := range held {
		if held[i].Lock != first.Lock {
			s.others = append(s.others, held[i].Lock)
		}
	}
	if len(list) >= stepsMax { // the newest are kept, because earlier events may be overwritten in other rings
		list = slices.Delete(list, 0, 1)
	}
	o.steps[key] = append(list, s)
}

// End implements Sink.
func (o *orders) End(s *Span) {
	switch {
	case s.What == LockWait:
		if o.lasts(s) {
			o.record(o.held[s.Thread], s)
		}
	case s.What == LockHeld:
		held := o.held[s.Thread]
		i := slices.IndexFunc(held, func(h Span) bool { return h.Lock == s.Lock && h.Begin == s.Begin })
		if i >= 0 {
			o.held[s.Thread] = slices.Delete(held, i, i+1)
		}
	case s.What == Sync && IsBarrier(s.Kind):
		o.barriers.all = append(o.barriers.all, *s)
	case s.What == Sync && len(o.waits) < keptMax:
		o.waits = append(o.waits, s.End)
	}
}

// Point implements Sink.
func (o *orders) Point(*trace.Thread, uint32, *trace.Event) {}

// cycles finds the cycles, by a search from each pair of locks to those that follow it.
func (o *orders) cycles() (out []Cycle) {
	slices.Sort(o.waits)
	next := map[uint64][]pairKey{}
	for key := range o.steps {
		next[key.first] = append(next[key.first], key)
	}
	var keys []pairKey
	for key := range o.steps {
		keys = append(keys, key)
	}
	order := func(a, b pairKey) int { return cmp.Or(cmp.Compare(a.first, b.first), cmp.Compare(a.second, b.second)) }
	slices.SortFunc(keys, order)
	for _, list := range next {
		slices.SortFunc(list, order)
	}
	work := searchMax
	for _, key := range keys {
		if c := o.search(key.first, []pairKey{key}, next, &work); c != nil {
			out = append(out, c)
		}
	}
	return out
}

// searchMax bounds the tried paths.
const searchMax = 1 << 18

// search extends a path of pairs until it returns to its first lock. A cycle starts with the least of its
// locks, so that each is found once.
func (o *orders) search(start uint64, path []pairKey, next map[uint64][]pairKey, work *int) Cycle {
	last := path[len(path)-1].second
	if *work--; *work < 0 || last < start {
		return nil
	}
	if last == start {
		return o.choose(path, nil)
	}
	if len(path) == longest || slices.ContainsFunc(path, func(k pairKey) bool { return k.first == last }) {
		return nil
	}
	for _, key := range next[last] {
		if c := o.search(start, append(path[:len(path):len(path)], key), next, work); c != nil {
			return c
		}
	}
	return nil
}

// choose selects a step of each pair so that all could have happened at the same time.
func (o *orders) choose(path []pairKey, chosen Cycle) Cycle {
	if len(chosen) == len(path) {
		return chosen
	}
	for _, s := range slices.Backward(o.steps[path[len(chosen)]]) {
		apart := slices.ContainsFunc(chosen, func(c Step) bool { return !o.together(&c, &s) })
		if apart {
			continue
		}
		if c := o.choose(path, append(chosen[:len(chosen):len(chosen)], s)); c != nil {
			return c
		}
	}
	return nil
}

// together reports whether two steps can have happened at the same time, by all events of the recording.
func (o *orders) together(a, b *Step) bool {
	if a.thread == b.thread || a.region != b.region || a.region == 0 {
		return false
	}
	if slices.ContainsFunc(a.others, func(l uint64) bool { return slices.Contains(b.others, l) }) {
		return false
	}
	if a.At > b.At {
		a, b = b, a
	}
	if !o.known.covers(a, b) || o.barriers.ranBetween(a, b) || o.isOrdered(a, b) {
		return false
	}
	// The end of a taskwait or taskgroup in between may order tasks of any threads.
	i, _ := slices.BinarySearch(o.waits, a.At)
	return i == len(o.waits) || o.waits[i] > b.firstBegins
}
