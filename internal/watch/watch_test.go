package watch

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// Places of threads that the tests below compare.
var (
	computing = picture.ThreadTrace{Role: "initial", State: "work_serial", Stack: "a", Known: true, Registers: "1"}
	waiting   = picture.ThreadTrace{Role: "worker", State: "wait_barrier_explicit", Stack: "a", Known: true,
		Inside: true, Counters: []picture.Counter{{Name: "barriers", Value: 7}}}
	idle    = picture.ThreadTrace{Role: "idle", State: "idle", Known: true, Inside: true}
	foreign = picture.ThreadTrace{Role: "none", Stack: "b", Known: true, Registers: "1"}
	polling = picture.ThreadTrace{Role: "initial", State: "work_serial", Stack: "a", Known: true,
		Spins: &picture.SpinTrace{Awaited: map[uint64]uint64{0x10: 1, 0x20: 2}, Kept: "1"}}
	locking = picture.ThreadTrace{Role: "worker", State: "wait_lock", Stack: "a", Known: true, Inside: true,
		Registers: "1", Lock: "1"}
)

func changed(p picture.ThreadTrace, change func(*picture.ThreadTrace)) picture.ThreadTrace {
	p.Counters = slices.Clone(p.Counters)
	change(&p)
	return p
}

func timed(p *picture.ThreadTrace)   { p.Timed = true }
func blocked(p *picture.ThreadTrace) { p.Blocked = true }
func woken(p *picture.ThreadTrace)   { p.Blocked, p.Woken = true, true }
func reading(p *picture.ThreadTrace) { p.Blocked, p.Outside = true, true }

// TestVerdicts checks the verdict for each kind of movement.
func TestVerdicts(t *testing.T) {
	busy, asleep := picture.Use{LWP: 1, CPU: time.Second}, picture.Use{LWP: 1}
	for _, c := range []struct {
		name        string
		before, now picture.ThreadTrace
		use         picture.Use
		want, did   string
	}{
		{"asleep in a barrier", waiting, waiting, asleep, picture.WatchStuck, picture.ActivityStill},
		{"woken by the look only", waiting, waiting, picture.Use{LWP: 1, Switches: 2}, picture.WatchStuck,
			picture.ActivityStill},
		{"spins in a barrier", waiting, waiting, busy, picture.WatchSpinning, picture.ActivitySpun},
		{"another barrier at the same place", waiting,
			changed(waiting, func(p *picture.ThreadTrace) { p.Counters[0].Value++ }), busy, picture.WatchProgress,
			picture.ActivityMoved},
		{"another turn of the caller", changed(waiting, func(p *picture.ThreadTrace) { p.Registers = "1" }),
			changed(waiting, func(p *picture.ThreadTrace) { p.Registers = "2" }), busy, picture.WatchProgress,
			picture.ActivityMoved},
		{"computes in one loop", computing, changed(computing, func(p *picture.ThreadTrace) { p.Registers = "2" }),
			busy,
			picture.WatchProgress, picture.ActivityMoved},
		{"is seen twice at one instruction", computing, computing, busy, picture.WatchUnknown, picture.ActivityRan},
		{"calls the system in a loop", computing, computing, picture.Use{LWP: 1, Switches: 900},
			picture.WatchUnknown, picture.ActivityRan},
		{"computes, and used too little to be counted", computing, computing, asleep, picture.WatchUnknown,
			picture.ActivityStill},
		{"loops on a flag", polling, polling, busy, picture.WatchSpinning, picture.ActivitySpun},
		{"loops on a flag, and gets no processor", polling, polling, asleep, picture.WatchSpinning,
			picture.ActivitySpun},
		{"loops on a flag, seen at two places", polling, changed(polling, func(p *picture.ThreadTrace) {
			p.Registers, p.Spins = "2", &picture.SpinTrace{Awaited: map[uint64]uint64{0x10: 1}, Kept: "1"}
		}), busy, picture.WatchSpinning, picture.ActivitySpun},
		{"loops on a flag that was set in between", polling, changed(polling, func(p *picture.ThreadTrace) {
			p.Spins = &picture.SpinTrace{Awaited: map[uint64]uint64{0x10: 3}, Kept: "1"}
		}), busy, picture.WatchProgress, picture.ActivityMoved},
		{"loops on a flag, in another turn of its own", polling, changed(polling, func(p *picture.ThreadTrace) {
			p.Spins = &picture.SpinTrace{Awaited: map[uint64]uint64{0x10: 1}, Kept: "2"}
		}), busy, picture.WatchProgress, picture.ActivityMoved},
		{"polls a flag with sleeps", changed(polling, timed), changed(polling, timed), asleep, picture.WatchStuck,
			picture.ActivityStill},
		{"is about to be woken", changed(waiting, woken), changed(waiting, woken), asleep, picture.WatchUnknown,
			picture.ActivityStill},
		{"sleeps in the program's code", changed(computing, blocked), changed(computing, blocked), asleep,
			picture.WatchStuck, picture.ActivityStill},
		{"waits for input", changed(computing, reading), changed(computing, reading), asleep, picture.WatchStuck,
			picture.ActivityStill},
		{"waits for input, again and again", changed(computing, reading), changed(computing, reading), busy,
			picture.WatchUnknown, picture.ActivityRan},
		{"is in a lock's code, and may get it", locking, locking, busy, picture.WatchUnknown, picture.ActivityRan},
		{"another has had the lock", locking, changed(locking, func(p *picture.ThreadTrace) { p.Lock = "2" }), busy,
			picture.WatchProgress, picture.ActivityMoved},
		{"another lock in another turn", locking, changed(locking, func(p *picture.ThreadTrace) { p.Registers = "2" }),
			busy, picture.WatchProgress, picture.ActivityMoved},
		{"another turn outside of this function", changed(waiting, func(p *picture.ThreadTrace) { p.Frames = "1" }),
			changed(waiting, func(p *picture.ThreadTrace) { p.Frames = "2" }), busy, picture.WatchProgress,
			picture.ActivityMoved},
		{"computes, and gets no processor", computing, computing, picture.Use{LWP: 1, Runnable: true},
			picture.WatchUnknown, picture.ActivityStill},
		{"spins in a barrier, and gets no processor", waiting, waiting, picture.Use{LWP: 1, Runnable: true},
			picture.WatchUnknown, picture.ActivityStill},
		{"another function", computing, changed(computing, func(p *picture.ThreadTrace) { p.Stack = "c" }), asleep,
			picture.WatchProgress, picture.ActivityMoved},
		{"another task", waiting, changed(waiting, func(p *picture.ThreadTrace) { p.Task = "0x1" }), asleep,
			picture.WatchProgress,
			picture.ActivityMoved},
		{"runs, not stopped", changed(computing, func(p *picture.ThreadTrace) { p.Known = false }),
			changed(computing, func(p *picture.ThreadTrace) { p.Known = false }), busy, picture.WatchUnknown,
			picture.ActivityRan},
		{"spins, not stopped", changed(waiting, func(p *picture.ThreadTrace) { p.Known = false }),
			changed(waiting, func(p *picture.ThreadTrace) { p.Known = false }), busy, picture.WatchSpinning,
			picture.ActivitySpun},
		{"spins in the pool", idle, idle, busy, picture.WatchStuck, picture.ActivitySpun},
		{"called from the pool", idle, waiting, busy, picture.WatchProgress, picture.ActivityMoved},
		{"no thread of OpenMP", foreign, changed(foreign, func(p *picture.ThreadTrace) { p.Registers = "2" }), busy,
			picture.WatchProgress, picture.ActivityMoved},
	} {
		a, b := &picture.Trace{Threads: map[int]picture.ThreadTrace{1: c.before}},
			&picture.Trace{Threads: map[int]picture.ThreadTrace{1: c.now}}
		got := Since(a, b, time.Second, []picture.Use{c.use})
		if got.Verdict != c.want || len(got.Threads) != 1 || got.Threads[0].Activity != c.did || got.Reason == "" {
			t.Errorf("%s: %+v, want %s, %s", c.name, got, c.want, c.did)
		}
	}
}

// TestHandled checks that a loop which a signal handler may end counts as a wait.
func TestHandled(t *testing.T) {
	a := &picture.Trace{Threads: map[int]picture.ThreadTrace{1: polling}, Handled: true}
	got := Since(a, a, time.Second, []picture.Use{{LWP: 1, CPU: time.Second}})
	if got.Verdict != picture.WatchStuck || got.Threads[0].Activity != picture.ActivitySpun ||
		!strings.Contains(got.Reason, "a signal") {
		t.Errorf("%+v", got)
	}
}

// TestWatchdogs distinguishes threads that only monitor others from threads that work.
func TestWatchdogs(t *testing.T) {
	moved := changed(foreign, func(p *picture.ThreadTrace) { p.Registers = "2" })
	for _, c := range []struct {
		openmp picture.ThreadTrace
		cpu    time.Duration
		want   string
	}{
		{waiting, 20 * time.Millisecond, picture.WatchStuck},      // a watchdog during a hang
		{waiting, 800 * time.Millisecond, picture.WatchProgress},  // others work for those that wait
		{computing, 20 * time.Millisecond, picture.WatchProgress}, // the thread may be joining it
	} {
		a := &picture.Trace{Threads: map[int]picture.ThreadTrace{1: c.openmp, 2: foreign}}
		b := &picture.Trace{Threads: map[int]picture.ThreadTrace{1: c.openmp, 2: moved}}
		if got := Since(a, b, time.Second, []picture.Use{{LWP: 2, CPU: c.cpu}}); got.Verdict != c.want {
			t.Errorf("%s beside %v: %+v, want %s", c.openmp.State, c.cpu, got, c.want)
		}
	}
}

// TestTurnover counts threads, regions and tasks that start and end, and keeps movements in the middle of a
// longer time.
func TestTurnover(t *testing.T) {
	a := &picture.Trace{Threads: map[int]picture.ThreadTrace{1: waiting, 2: waiting},
		Regions: map[picture.ID]bool{"r": true, "s": true}, Tasks: map[picture.TaskTrace]bool{{ID: "k"}: true}}
	b := &picture.Trace{Threads: map[int]picture.ThreadTrace{1: waiting, 3: waiting},
		Regions: map[picture.ID]bool{"r": true}, Tasks: map[picture.TaskTrace]bool{{ID: "k"}: true, {ID: "l"}: true}}
	got := Since(a, b, time.Second, nil)
	if got.Regions != (picture.Turnover{Ended: 1, Same: 1}) || got.Tasks != (picture.Turnover{New: 1, Same: 1}) ||
		got.Verdict != picture.WatchProgress {
		t.Errorf("%+v", got)
	}
	var did []string
	for _, th := range got.Threads {
		did = append(did, th.Activity)
	}
	if strings.Join(did, " ") != "still ended new" {
		t.Errorf("threads: %v", did)
	}
	whole := Since(a, a, 2*time.Second, nil)
	if whole.Verdict != picture.WatchStuck {
		t.Errorf("%+v", whole)
	}
	there := &picture.Trace{Threads: map[int]picture.ThreadTrace{1: changed(waiting,
		func(p *picture.ThreadTrace) { p.Task = "0x1" }), 2: waiting}, Regions: a.Regions, Tasks: a.Tasks}
	raise(whole, Since(a, there, time.Second, nil))
	raise(whole, Since(there, a, time.Second, nil))
	if whole.Verdict != picture.WatchProgress || whole.Threads[0].Activity != picture.ActivityMoved ||
		whole.Threads[1].Activity != picture.ActivityStill ||
		!slices.Equal(whole.Threads[0].Changed, []string{"task"}) {
		t.Errorf("%+v", whole)
	}
}
