package profile_test

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ompd-inspect/ompd-inspect/internal/profile"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// member is a thread of a team of region r1 in a state, at a line of f.
func member(num int, state picture.StateName, line int) picture.Thread {
	level := 1
	t := picture.Thread{
		LWP: 100 + num, Role: picture.RoleWorker, ThreadNum: &num, Region: "r1", Level: &level,
		State: &picture.State{Name: state},
		UserStack: []picture.Frame{
			{Kind: picture.FrameUser, Function: "f", File: "/src/f.c", Line: line},
			{Kind: picture.FrameUser, Function: "main", File: "/src/f.c", Line: 3, LWP: 100},
		},
	}
	if num == 0 {
		t.Role = picture.RoleInitial
	}
	if strings.HasPrefix(string(state), "wait_barrier") {
		t.WaitKind = picture.WaitBarrier
	}
	return t
}

// idle is a thread in the pool.
func idle(num int) picture.Thread {
	return picture.Thread{
		LWP: 100 + num, Role: picture.RoleIdle, State: &picture.State{Name: picture.StateIdle},
		UserStack: []picture.Frame{{Kind: picture.FramePseudo, Function: "<OMP-idle>"}},
	}
}

// holding returns a picture with the threads as the team of region r1, stopped for 1 ms.
func holding(threads ...picture.Thread) *picture.Picture {
	r := picture.Region{ID: "r1", Level: 1, Function: &picture.Code{Name: "f", File: "/src/f.c", Line: 3}}
	for _, t := range threads {
		if t.Region == r.ID {
			r.Threads = append(r.Threads, t.LWP)
		}
	}
	return &picture.Picture{
		Target: picture.Target{
			Kind: picture.TargetProcess, PID: 100, Pause: &picture.Pause{Stops: 1, Microseconds: 1000},
		},
		Threads: threads, Regions: []picture.Region{{ID: "r0", Threads: []int{100}}, r},
	}
}

// profiled returns the profile of n samples of each picture. A sample is 101 ms long, with a stop of 1 ms.
func profiled(t *testing.T, n int, pics ...*picture.Picture) *picture.Profile {
	t.Helper()
	var s profile.Series
	for range n {
		for _, pic := range pics {
			s.Add(pic, 101*time.Millisecond, time.Millisecond)
		}
	}
	p := s.Profile(picture.ProfileTimeOver, nil)
	sum := func(list ...float64) (all float64) {
		for _, v := range list {
			all += v
		}
		return all
	}
	var places, stacks, waits float64
	for _, at := range p.Places {
		places += at.Work + at.Wait + at.Unknown
	}
	for _, st := range p.Stacks {
		if !st.Outside {
			stacks += st.Seconds
		}
	}
	for _, w := range p.Waits {
		waits += w.Seconds
	}
	for name, got := range map[string]float64{
		"classes": sum(p.Work, p.Wait, p.Unknown), "places": places, "stacks": stacks,
	} {
		if math.Abs(got-p.ThreadSeconds) > 1e-6 {
			t.Errorf("%s: %v s of %v", name, got, p.ThreadSeconds)
		}
	}
	if math.Abs(waits-p.Wait) > 1e-6 {
		t.Errorf("waits: %v s of %v", waits, p.Wait)
	}
	return p
}

// TestKinds checks the class and the kind of each state.
func TestKinds(t *testing.T) {
	for _, c := range []struct {
		state picture.StateName
		class picture.ProfileClass
		kind  string
	}{
		{picture.StateWorkParallel, picture.ProfileWork, ""},
		{picture.StateWorkReduction, picture.ProfileWork, ""},
		{picture.StateEndlessLoop, picture.ProfileWork, ""},
		{picture.StateBarrierExplicit, picture.ProfileWaits, "barrier"},
		{picture.StateLock, picture.ProfileWaits, "lock"},
		{picture.StateCritical, picture.ProfileWaits, "critical"},
		{picture.StateOrdered, picture.ProfileWaits, "ordered"},
		{picture.StateTaskwait, picture.ProfileWaits, "taskwait"},
		{picture.StateTarget, picture.ProfileWaits, "target"},
		{picture.StateOverhead, picture.ProfileWaits, "overhead"},
		{picture.StateIdle, picture.ProfileWaits, "idle"},
		{picture.StateMutex, picture.ProfileWaits, "mutex"},
		{picture.StateUndefined, picture.ProfileUnknown, ""},
	} {
		p := profiled(t, 1, holding(member(0, c.state, 7)))
		if len(p.Stacks) != 1 || p.Stacks[0].Class != c.class || p.Stacks[0].Kind != c.kind {
			t.Errorf("%s: %+v, want %s %s", c.state, p.Stacks, c.class, c.kind)
		}
	}
}

// TestNames checks that a lock has its name, or its address, and a turn neither.
func TestNames(t *testing.T) {
	at := picture.Hex(0x4040)
	named, unnamed := member(0, picture.StateLock, 7), member(1, picture.StateLock, 7)
	named.WaitKind, named.WaitName, named.WaitID = picture.WaitLock, "ledger", &at
	unnamed.WaitKind, unnamed.WaitID = picture.WaitLock, &at
	turn := member(2, picture.StateOrdered, 7)
	turn.WaitKind, turn.WaitName, turn.WaitID = picture.WaitOrdered, "iteration 5", &at
	p := profiled(t, 1, holding(named, unnamed, turn))
	var got []string
	for _, w := range p.Waits {
		got = append(got, profile.WaitText(w))
	}
	want := []string{"lock at 0x4040", "lock ledger", "its turn in an ordered loop"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// find returns the finding of a kind; nil without one.
func find(p *picture.Profile, kind picture.ProfileFindingKind) *picture.ProfileFinding {
	i := slices.IndexFunc(p.Findings, func(f picture.ProfileFinding) bool { return f.Kind == kind })
	if i < 0 {
		return nil
	}
	return &p.Findings[i]
}

// TestImbalance checks that the thread for which the others wait is named, with its place, and none if the last one
// varies.
func TestImbalance(t *testing.T) {
	wait := picture.StateBarrierExplicit
	late := holding(member(0, wait, 9), member(1, picture.StateWorkParallel, 7), member(2, wait, 9))
	p := profiled(t, 30, late)
	f := find(p, picture.FindingImbalance)
	if f == nil || math.Abs(f.Share-2./3) > 1e-6 || len(f.Details) != 1 ||
		!strings.Contains(f.Details[0], "thread 1 had not come: 100 % at work, most (100 %) in f f.c:7") ||
		!strings.Contains(f.Fix, "schedule(dynamic)") {
		t.Errorf("%+v", p.Findings)
	}
	if len(p.Barriers) != 1 || math.Abs(p.Barriers[0].Span-3) > 1e-6 || math.Abs(p.Barriers[0].Seconds-6) > 1e-6 {
		t.Errorf("barriers %+v", p.Barriers)
	}
	other := holding(member(0, picture.StateWorkParallel, 7), member(1, wait, 9), member(2, wait, 9))
	p = profiled(t, 30, late, other)
	if f := find(p, picture.FindingBarrier); f == nil || find(p, picture.FindingImbalance) != nil ||
		!strings.Contains(f.Details[0], "now one thread comes last") {
		t.Errorf("the last one varies: %+v", p.Findings)
	}
	if text := profile.LastText(&p.Barriers[0]); !strings.HasPrefix(text, "varies: thread ") {
		t.Errorf("last: %s", text)
	}
}

// TestContention checks the findings on one lock, and on many locks that each cost little.
func TestContention(t *testing.T) {
	one := member(1, picture.StateLock, 8)
	one.WaitName = "ledger"
	p := profiled(t, 30, holding(member(0, picture.StateWorkParallel, 7), one))
	f := find(p, picture.FindingContention)
	if f == nil || !strings.Contains(f.Text, "50 % of their time waiting for lock ledger") ||
		!slices.Equal(f.Details, []string{"at f f.c:8"}) || f.Fix == "" {
		t.Errorf("%+v", p.Findings)
	}
	var pics []*picture.Picture
	for i := range 100 {
		at, many := picture.Hex(0x4000+64*i), member(1, picture.StateLock, 8)
		many.WaitID = &at
		pics = append(pics, holding(member(0, picture.StateWorkParallel, 7), many))
	}
	p = profiled(t, 1, pics...)
	if f := find(p, picture.FindingContention); f == nil || !strings.Contains(f.Text, "100 objects of kind lock") {
		t.Errorf("%+v", p.Findings)
	}
}

// TestSerial checks the finding on a serial part, and on a team that is smaller than the pool.
func TestSerial(t *testing.T) {
	zero, serial := 0, member(0, picture.StateWorkSerial, 20)
	serial.Level, serial.Region = &zero, "r0"
	p := profiled(t, 30, holding(serial, idle(1), idle(2)))
	if f := find(p, picture.FindingSerial); f == nil || !strings.Contains(f.Details[0], "f f.c:20 (100 % of it)") {
		t.Errorf("%+v", p.Findings)
	}
	p = profiled(t, 30, holding(member(0, picture.StateWorkParallel, 7), idle(1), idle(2)))
	if find(p, picture.FindingFewThreads) == nil || find(p, picture.FindingSerial) != nil {
		t.Errorf("%+v", p.Findings)
	}
}

// TestHealthy checks that no program is accused without need: one that works and meets at a barrier now and then, one
// with too few samples, and one whose waits are within the doubt of a small number of samples.
func TestHealthy(t *testing.T) {
	work := holding(member(0, picture.StateWorkParallel, 7), member(1, picture.StateWorkParallel, 7))
	meet := holding(member(0, picture.StateBarrierExplicit, 9), member(1, picture.StateWorkParallel, 7))
	lists := map[string][]*picture.Picture{
		"works": slices.Concat(slices.Repeat([]*picture.Picture{work}, 95), slices.Repeat([]*picture.Picture{meet}, 5)),
		"doubt": slices.Concat(slices.Repeat([]*picture.Picture{work}, 18), slices.Repeat([]*picture.Picture{meet}, 5)),
	}
	for name, pics := range lists {
		p := profiled(t, 1, pics...)
		if len(p.Findings) != 1 || p.Findings[0].Kind != picture.FindingWork {
			t.Errorf("%s: %+v", name, p.Findings)
		}
	}
	p := profiled(t, 5, meet)
	if len(p.Findings) != 1 || p.Findings[0].Kind != picture.FindingTooFew {
		t.Errorf("%+v", p.Findings)
	}
}

// TestStarved checks that threads at work which got little CPU time are reported, and those that got all are not.
func TestStarved(t *testing.T) {
	for share, want := range map[float64]bool{0.5: true, 1: false} {
		var s profile.Series
		for i := range 100 {
			pic := holding(member(0, picture.StateWorkParallel, 7), member(1, picture.StateWorkParallel, 7))
			pic.Target.CPU = 1 + 0.2*share*float64(i)
			s.Add(pic, 101*time.Millisecond, 0)
		}
		p := s.Profile(picture.ProfileTimeOver, nil)
		if got := find(p, picture.FindingStarved) != nil; got != want {
			t.Errorf("share %v: %+v", share, p.Findings)
		}
	}
}

// TestOutside checks that threads that OpenMP does not know are apart, unless there are no others.
func TestOutside(t *testing.T) {
	other := picture.Thread{LWP: 300, Role: picture.RoleNone, State: &picture.State{Name: picture.StateCondition}}
	p := profiled(t, 1, holding(member(0, picture.StateWorkParallel, 7), other))
	if p.Threads != 1 || p.Outside == nil || math.Abs(p.Outside.Wait-0.1) > 1e-6 {
		t.Errorf("%d threads, outside %+v", p.Threads, p.Outside)
	}
	p = profiled(t, 1, holding(other))
	if p.Threads != 1 || p.Outside != nil || len(p.Waits) != 1 || p.Waits[0].Kind != "condition" {
		t.Errorf("%d threads, outside %+v, waits %+v", p.Threads, p.Outside, p.Waits)
	}
}

// TestSuspended checks that a process that a signal had stopped gets no time.
func TestSuspended(t *testing.T) {
	pic := holding(member(0, picture.StateWorkParallel, 7))
	pic.Target.Pause.Suspended, pic.Warnings = true, []string{"stopped by a signal"}
	p := profiled(t, 3, pic)
	if p.Samples != 0 || p.ThreadSeconds != 0 || len(p.Warnings) != 1 {
		t.Errorf("%d samples, %v s, warnings %q", p.Samples, p.ThreadSeconds, p.Warnings)
	}
}

// TestSameStacks checks that samples at different instructions of a line, and of other threads, have one stack.
func TestSameStacks(t *testing.T) {
	var pics []*picture.Picture
	for i := range 4 {
		th := member(i, picture.StateWorkParallel, 7)
		pc, entry := picture.Hex(0x1000+i), picture.Hex(0x1000)
		th.UserStack[0].PC, th.UserStack[0].Entry, th.UserStack[0].Offset = &pc, &entry, uint64(i)
		unnamed := picture.Frame{Kind: picture.FrameUser, Module: "prog", PC: &pc, Entry: &entry}
		unnamed.Offset = uint64(0x50 + i)
		th.UserStack = append([]picture.Frame{unnamed}, th.UserStack...)
		pics = append(pics, holding(th))
	}
	p := profiled(t, 1, pics...)
	if len(p.Stacks) != 1 || p.Stacks[0].Samples != 4 || p.Stacks[0].Frames[0].Offset != 0x50 || len(p.Places) != 1 {
		t.Errorf("%+v, %d places", p.Stacks, len(p.Places))
	}
}

// TestDoubt checks the bound of a share's error at its ends and in the middle.
func TestDoubt(t *testing.T) {
	for _, c := range []struct {
		share float64
		n     int
		want  float64
	}{{0.5, 100, 0.1}, {0, 100, 0}, {1, 100, 0}, {0.5, 0, 1}} {
		if got := profile.Doubt(c.share, c.n); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%v of %d: %v, want %v", c.share, c.n, got, c.want)
		}
	}
}

// TestNoProgress checks that a process whose threads all wait, always at the same places, gets no advice for slow
// programs, and that one of which a thread works, moves, ends or starts now and then does.
func TestNoProgress(t *testing.T) {
	lock := func(num, line int) picture.Thread {
		th := member(num, picture.StateLock, line)
		th.WaitKind, th.WaitName = picture.WaitLock, "ledger"
		return th
	}
	still := []picture.Thread{lock(0, 10), lock(1, 11), member(2, picture.StateBarrierExplicit, 12)}
	p := profiled(t, 20, holding(still...))
	if len(p.Findings) != 1 || p.Findings[0].Kind != picture.FindingNoProgress ||
		!strings.Contains(p.Findings[0].Fix, "`ompd-inspect 100`") {
		t.Errorf("findings %+v", p.Findings)
	}
	for name, twin := range map[string][]picture.Thread{
		"moves": {lock(0, 10), lock(1, 13), still[2]},
		"works": {lock(0, 10), member(1, picture.StateWorkParallel, 11), still[2]},
		"ends":  still[:2], "starts": {still[0], still[1], still[2], lock(3, 10)},
	} {
		pics := slices.Repeat([]*picture.Picture{holding(still...)}, 30)
		p := profiled(t, 1, append(pics, holding(twin...))...)
		if slices.ContainsFunc(p.Findings, func(f picture.ProfileFinding) bool {
			return f.Kind == picture.FindingNoProgress
		}) || p.Findings[0].Kind != picture.FindingContention {
			t.Errorf("one that %s: findings %+v", name, p.Findings)
		}
	}
	if p := profiled(t, 20, holding(member(0, picture.StateWorkParallel, 10))); len(p.Findings) == 0 ||
		p.Findings[0].Kind != picture.FindingWork {
		t.Errorf("one that works at one place: findings %+v", p.Findings)
	}
}
