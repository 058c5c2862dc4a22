package diagnose_test

import (
	"testing"
	"time"

	"github.com/ompd-inspect/ompd-inspect/diagnose"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// past returns an event with a lock.
func pastEvent(text string) picture.PastEvent { return picture.PastEvent{Text: text, When: "2s ago"} }

// recording adds recorded states of four threads.
func (s scene) recording() *picture.History {
	s.Facts.History = &picture.History{Threads: 4, Events: 1000, Nanoseconds: 1e9}
	return s.Facts.History
}

// inverted adds two threads that acquired two locks in different orders.
var inverted = picture.LockOrder{Steps: []picture.LockStep{
	{Thread: 1, First: pastEvent("lock a"), Second: pastEvent("lock b")},
	{Thread: 2, First: pastEvent("lock b"), Second: pastEvent("lock a")},
}, Similar: 3}

// late adds a barrier with a share of waiting, at which thread 3 is the last so many times.
func late(count, last int, waited int64) func(scene) {
	return func(s scene) {
		s.recording().Imbalances = []picture.Imbalance{{
			Text: "barrier", Count: count, Nanoseconds: 1e9, Waited: waited, Last: 3, LastCount: last,
		}}
	}
}

// waiting adds a lock that four threads want.
func waiting(contended int, waited int64) func(scene) {
	return func(s scene) {
		s.recording().Contentions = []picture.Contention{{
			Text: "wait for lock a", Count: 100, Contended: contended, Threads: 4, Nanoseconds: 1e9, Waited: waited,
		}}
	}
}

// stillWaiting adds a lock that three threads still wait for.
func stillWaiting(longest time.Duration) func(scene) {
	return func(s scene) {
		ns := longest.Nanoseconds()
		s.recording().Contentions = []picture.Contention{{
			Text: "wait for lock a", Count: 3, Contended: 3, Threads: 3, Nanoseconds: ns, Waited: 3 * ns, Waiting: 3,
			Longest: ns,
		}}
	}
}

// grain adds tasks of one place.
func grain(count, short int, period int64) func(scene) {
	return func(s scene) {
		s.recording().TaskGrains = []picture.TaskGrain{{Count: count, Short: short, Period: period}}
	}
}

// TestHistory checks the verdicts on recorded events, and that too few events give no verdict.
func TestHistory(t *testing.T) {
	const info, warning, certain = picture.SeverityInfo, picture.SeverityWarning, picture.Certain
	order := want{picture.VerdictLockOrder, warning, picture.Likely, []int{1, 2}, "same order", "lock a and lock b"}
	uneven := want{picture.VerdictImbalance, warning, certain, []int{3}, "schedule(dynamic)", "30 %"}
	contended := want{picture.VerdictContention, warning, certain, nil, "reduction", "50 % of their time"}
	tiny := want{picture.VerdictTinyTasks, warning, certain, nil, "grainsize", "less than 2 µs"}
	lighter := func(w want, says string) []want {
		w.severity, w.says = info, says
		return []want{w}
	}
	check(t, []scenario{
		{"nothing", 4, func(s scene) { s.recording() }, nil},
		{"locks in different orders", 4, func(s scene) {
			s.recording().LockOrders = []picture.LockOrder{inverted}
		}, []want{order}},
		{"the threads do wait for each other", 2, func(s scene) {
			s.recording().LockOrders = []picture.LockOrder{inverted}
			for lwp, id := range map[int]string{1: "b", 2: "a"} {
				s.lock(id).Owner = 3 - lwp
				s.waits(lwp, picture.WaitLock, id)
			}
		}, []want{{picture.VerdictDeadlock, picture.SeverityHang, certain, []int{1, 2}, "same order", ""}}},
		{"one thread is late", 4, late(10, 9, 3e8), []want{uneven}},
		{"one or the other is late", 4, late(10, 5, 3e8), lighter(uneven, "now another")},
		{"one thread is a little late", 4, late(10, 9, 2e8), lighter(uneven, "20 %")},
		{"few barriers", 4, late(7, 7, 9e8), nil},
		{"little waiting", 4, late(10, 10, 9e7), nil},
		{"contention", 4, waiting(90, 2e9), []want{contended}},
		{"a wait that is not over", 4, stillWaiting(5 * time.Second),
			[]want{{picture.VerdictContention, warning, certain, nil, "reduction", "100 % of their time"}}},
		{"one that has just begun", 4, stillWaiting(time.Second / 2), nil},
		{"some contention", 4, waiting(90, 8e8), lighter(contended, "20 %")},
		{"little contention", 4, waiting(90, 3e8), nil},
		{"contention now and then", 4, waiting(15, 2e9), nil},
		{"tiny tasks", 4, grain(400, 390, 3000), []want{tiny}},
		{"tiny tasks, slowly", 4, grain(400, 390, 90e3), lighter(tiny, "")},
		{"tiny tasks now and then", 4, grain(400, 390, 2e6), nil},
		{"larger tasks", 4, grain(400, 200, 3000), nil},
		{"few tasks", 4, grain(200, 200, 3000), nil},
	})
}

// TestHistoryDied checks that the history of a program that died gives no verdict.
func TestHistoryDied(t *testing.T) {
	s := team(4)
	s.recording().LockOrders = []picture.LockOrder{inverted}
	s.Facts.Fault = &picture.Fault{Thread: 1}
	for _, v := range diagnose.Run(s.Picture) {
		if v.Kind == picture.VerdictLockOrder {
			t.Errorf("%+v", v)
		}
	}
}
