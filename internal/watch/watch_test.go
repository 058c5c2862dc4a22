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

func with(p picture.ThreadTrace, change func(*picture.ThreadTrace)) picture.ThreadTrace {
	p.Counters = slices.Clone(p.Counters)
	change(&p)
	return p
}

func timed(p *picture.ThreadTrace)   { p.Timed = true }
func blocked(p *picture.ThreadTrace) { p.Blocked = true }
func woken(p *picture.ThreadTrace)   { p.Blocked, p.Woken = true, true }
func reading(p *picture.ThreadTrace) { p.Blocked, p.Outside = true, true }

// TestVerdicts gives the verdict for each kind of movement.
func TestVerdicts(t *testing.T) {
	busy, asleep := Use{LWP: 1, CPU: time.Second}, Use{LWP: 1}
	for _, c := range []struct {
		name        string
		before, now picture.ThreadTrace
		use         Use
		want, did   string
	}{
		{"asleep in a barrier", waiting, waiting, asleep, Stuck, Still},
		{"woken by the look only", waiting, waiting, Use{LWP: 1, Switches: 2}, Stuck, Still},
		{"spins in a barrier", waiting, waiting, busy, Spinning, Spun},
		{"another barrier at the same place", waiting,
			with(waiting, func(p *picture.ThreadTrace) { p.Counters[0].Value++ }), busy, Progress, Moved},
		{"another turn of the caller", with(waiting, func(p *picture.ThreadTrace) { p.Registers = "1" }),
			with(waiting, func(p *picture.ThreadTrace) { p.Registers = "2" }), busy, Progress, Moved},
		{"computes in one loop", computing, with(computing, func(p *picture.ThreadTrace) { p.Registers = "2" }), busy,
			Progress, Moved},
		{"is seen twice at one instruction", computing, computing, busy, Unknown, Ran},
		{"calls the system in a loop", computing, computing, Use{LWP: 1, Switches: 900}, Unknown, Ran},
		{"computes, and used too little to be counted", computing, computing, asleep, Unknown, Still},
		{"loops on a flag", polling, polling, busy, Spinning, Spun},
		{"loops on a flag, and gets no processor", polling, polling, asleep, Spinning, Spun},
		{"loops on a flag, seen at two places", polling, with(polling, func(p *picture.ThreadTrace) {
			p.Registers, p.Spins = "2", &picture.SpinTrace{Awaited: map[uint64]uint64{0x10: 1}, Kept: "1"}
		}), busy, Spinning, Spun},
		{"loops on a flag that was set in between", polling, with(polling, func(p *picture.ThreadTrace) {
			p.Spins = &picture.SpinTrace{Awaited: map[uint64]uint64{0x10: 3}, Kept: "1"}
		}), busy, Progress, Moved},
		{"loops on a flag, in another turn of its own", polling, with(polling, func(p *picture.ThreadTrace) {
			p.Spins = &picture.SpinTrace{Awaited: map[uint64]uint64{0x10: 1}, Kept: "2"}
		}), busy, Progress, Moved},
		{"polls a flag with sleeps", with(polling, timed), with(polling, timed), asleep, Stuck, Still},
		{"is about to be woken", with(waiting, woken), with(waiting, woken), asleep, Unknown, Still},
		{"sleeps in the program's code", with(computing, blocked), with(computing, blocked), asleep, Stuck, Still},
		{"waits for input", with(computing, reading), with(computing, reading), asleep, Stuck, Still},
		{"waits for input, again and again", with(computing, reading), with(computing, reading), busy, Unknown, Ran},
		{"is in a lock's code, and may get it", locking, locking, busy, Unknown, Ran},
		{"another has had the lock", locking, with(locking, func(p *picture.ThreadTrace) { p.Lock = "2" }), busy,
			Progress, Moved},
		{"another lock in another turn", locking, with(locking, func(p *picture.ThreadTrace) { p.Registers = "2" }),
			busy, Progress, Moved},
		{"another turn outside of this function", with(waiting, func(p *picture.ThreadTrace) { p.Frames = "1" }),
			with(waiting, func(p *picture.ThreadTrace) { p.Frames = "2" }), busy, Progress, Moved},
		{"computes, and gets no processor", computing, computing, Use{LWP: 1, Runnable: true}, Unknown, Still},
		{"spins in a barrier, and gets no processor", waiting, waiting, Use{LWP: 1, Runnable: true}, Unknown, Still},
		{"another function", computing, with(computing, func(p *picture.ThreadTrace) { p.Stack = "c" }), asleep,
			Progress, Moved},
		{"another task", waiting, with(waiting, func(p *picture.ThreadTrace) { p.Task = "0x1" }), asleep, Progress,
			Moved},
		{"runs, not stopped", with(computing, func(p *picture.ThreadTrace) { p.Known = false }),
			with(computing, func(p *picture.ThreadTrace) { p.Known = false }), busy, Unknown, Ran},
		{"spins, not stopped", with(waiting, func(p *picture.ThreadTrace) { p.Known = false }),
			with(waiting, func(p *picture.ThreadTrace) { p.Known = false }), busy, Spinning, Spun},
		{"spins in the pool", idle, idle, busy, Stuck, Spun},
		{"called from the pool", idle, waiting, busy, Progress, Moved},
		{"no thread of OpenMP", foreign, with(foreign, func(p *picture.ThreadTrace) { p.Registers = "2" }), busy,
			Progress, Moved},
	} {
		a, b := &picture.Trace{Threads: map[int]picture.ThreadTrace{1: c.before}},
			&picture.Trace{Threads: map[int]picture.ThreadTrace{1: c.now}}
		got := Since(a, b, time.Second, []Use{c.use})
		if got.Verdict != c.want || len(got.Threads) != 1 || got.Threads[0].Activity != c.did || got.Reason == "" {
			t.Errorf("%s: %+v, want %s, %s", c.name, got, c.want, c.did)
		}
	}
}

// TestHandled takes a loop that a handler of a signal may end for a wait.
func TestHandled(t *testing.T) {
	a := &picture.Trace{Threads: map[int]picture.ThreadTrace{1: polling}, Handled: true}
	got := Since(a, a, time.Second, []Use{{LWP: 1, CPU: time.Second}})
	if got.Verdict != Stuck || got.Threads[0].Activity != Spun || !strings.Contains(got.Reason, "a signal") {
		t.Errorf("%+v", got)
	}
}

// TestWatchdogs tells threads that only look after others from those that work.
func TestWatchdogs(t *testing.T) {
	moved := with(foreign, func(p *picture.ThreadTrace) { p.Registers = "2" })
	for _, c := range []struct {
		openmp picture.ThreadTrace
		cpu    time.Duration
		want   string
	}{
		{waiting, 20 * time.Millisecond, Stuck},      // a watchdog beside a hang
		{waiting, 800 * time.Millisecond, Progress},  // others work for those that wait
		{computing, 20 * time.Millisecond, Progress}, // the thread may be joining it
	} {
		a := &picture.Trace{Threads: map[int]picture.ThreadTrace{1: c.openmp, 2: foreign}}
		b := &picture.Trace{Threads: map[int]picture.ThreadTrace{1: c.openmp, 2: moved}}
		if got := Since(a, b, time.Second, []Use{{LWP: 2, CPU: c.cpu}}); got.Verdict != c.want {
			t.Errorf("%s beside %v: %+v, want %s", c.openmp.State, c.cpu, got, c.want)
		}
	}
}

// TestTurnover counts threads, regions and tasks that come and go, and keeps what
// moved in the middle of a longer time.
func TestTurnover(t *testing.T) {
	a := &picture.Trace{Threads: map[int]picture.ThreadTrace{1: waiting, 2: waiting},
		Regions: map[picture.ID]bool{"r": true, "s": true}, Tasks: map[picture.TaskTrace]bool{{ID: "k"}: true}}
	b := &picture.Trace{Threads: map[int]picture.ThreadTrace{1: waiting, 3: waiting},
		Regions: map[picture.ID]bool{"r": true}, Tasks: map[picture.TaskTrace]bool{{ID: "k"}: true, {ID: "l"}: true}}
	got := Since(a, b, time.Second, nil)
	if got.Regions != (Turnover{Ended: 1, Same: 1}) || got.Tasks != (Turnover{New: 1, Same: 1}) ||
		got.Verdict != Progress {
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
	if whole.Verdict != Stuck {
		t.Errorf("%+v", whole)
	}
	there := &picture.Trace{Threads: map[int]picture.ThreadTrace{1: with(waiting,
		func(p *picture.ThreadTrace) { p.Task = "0x1" }), 2: waiting}, Regions: a.Regions, Tasks: a.Tasks}
	whole.Raise(Since(a, there, time.Second, nil))
	whole.Raise(Since(there, a, time.Second, nil))
	if whole.Verdict != Progress || whole.Threads[0].Activity != Moved || whole.Threads[1].Activity != Still ||
		!slices.Equal(whole.Threads[0].Changed, []string{"task"}) {
		t.Errorf("%+v", whole)
	}
}
