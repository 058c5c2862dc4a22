package text

import (
	"fmt"
	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

func TestRanges(t *testing.T) {
	for _, tt := range []struct {
		ids  []int
		most int
		want string
	}{
		{nil, 0, ""},
		{[]int{3}, 0, "3"},
		{[]int{3, 4}, 0, "3, 4"},
		{[]int{3, 4, 5}, 0, "3-5"},
		{[]int{9, 3, 7, 6, 5, 8}, 0, "3, 5-9"},
		{[]int{5, 5, 6, 6, 7}, 0, "5-7"},
		{[]int{455, 456, 457, 459, 461, 462, 463, 464}, 0, "455-457, 459, 461-464"},
		{[]int{1, 3, 5, 7, 9}, 2, "1, 3 and 3 more"},
		{[]int{1, 2, 3, 5, 6, 7, 9, 10, 11}, 2, "1-3, 5-7 and 3 more"},
		{[]int{1, 3}, 2, "1, 3"},
		{[]int{1, 2, 4}, 1, "1, 2 and 1 more"},
		{[]int{-2, -1, 0, 1}, 0, "-2-1"},
	} {
		if got := phrase.Ranges(tt.ids, tt.most); got != tt.want {
			t.Errorf("ranges(%v, %d) = %q, want %q", tt.ids, tt.most, got, tt.want)
		}
	}
	every := make([]int, 1024)
	for i := range every {
		every[i] = 454 + i
	}
	if got := phrase.Ranges(every, maxPieces); got != "454-1477" {
		t.Errorf("1,024 threads: %q", got)
	}
}

func TestExtent(t *testing.T) {
	for _, tt := range []struct {
		ns   []int
		want string
	}{
		{nil, ""}, {[]int{3}, "3"}, {[]int{4, 4}, "4"}, {[]int{7, 0, 3}, "0..7"}, {[]int{2, 0, 1}, "0-2"},
		{[]int{0}, "0"},
	} {
		var e extent
		for _, n := range tt.ns {
			e.add(n)
		}
		if e.String() != tt.want {
			t.Errorf("%v: %q, want %q", tt.ns, e, tt.want)
		}
	}
}

// frames returns a stack of functions named by letters, each at its own line.
func frames(letters string) []picture.Frame {
	var out []picture.Frame
	for i, c := range letters {
		out = append(out, picture.Frame{Kind: picture.FrameUser, Function: string(c), File: "a.c", Line: i + 1})
	}
	return out
}

func TestFold(t *testing.T) {
	for _, tt := range []struct{ stack, want string }{
		{"", ""},
		{"a", "a"},
		{"abc", "a b c"},
		{"aaa", "a a a"}, // too few to fold
		{"aaaa", "4*a"},
		{"xaaaaay", "x 5*a y"},
		{"abababab", "4*ab"},
		{"xababababay", "x 4*ab a y"}, // half a turn remains
		{"abcabcabcabcabc", "5*abc"},
		{"abab", "a b a b"},
		{"aaaabbbb", "4*a 4*b"},
		{"abcdefghabcdefghabcdefghabcdefgh", "4*abcdefgh"},
		// too long a turn
		{"abcdefghiabcdefghiabcdefghiabcdefghi", "a b c d e f g h i a b c d e f g h i a b c d e f g h i a b c d e f " +
			"g h i"},
	} {
		var got []string
		end := 0
		for _, s := range fold(frames(tt.stack)) {
			if s.at != end {
				t.Fatalf("%s: a stretch at %d, want it at %d", tt.stack, s.at, end)
			}
			end = s.end()
			part := tt.stack[s.at : s.at+s.period]
			if s.times > 1 {
				part = fmt.Sprintf("%d*%s", s.times, part)
			}
			got = append(got, part)
		}
		if end != len(tt.stack) || strings.Join(got, " ") != tt.want {
			t.Errorf("%s: %q, want %q", tt.stack, strings.Join(got, " "), tt.want)
		}
	}
}

// TestFrameKey checks which frames count as the same function.
func TestFrameKey(t *testing.T) {
	pc, other, entry := picture.Hex(0x11), picture.Hex(0x12), picture.Hex(0x10)
	base := picture.Frame{Kind: picture.FrameUser, Function: "f", File: "a.c", Line: 3, PC: &pc}
	with := func(change func(*picture.Frame)) picture.Frame {
		f := base
		change(&f)
		return f
	}
	stripped := picture.Frame{Kind: picture.FrameUser, Module: "a.out", PC: &pc, Entry: &entry}
	for name, tt := range map[string]struct {
		a, b picture.Frame
		same bool
	}{
		"another line":      {base, with(func(f *picture.Frame) { f.Line = 9 }), true},
		"another address":   {base, with(func(f *picture.Frame) { f.PC = &other }), true},
		"another function":  {base, with(func(f *picture.Frame) { f.Function = "g" }), false},
		"another file":      {base, with(func(f *picture.Frame) { f.File = "b.c" }), false},
		"a construct in it": {base, with(func(f *picture.Frame) { f.Construct = "task" }), false},
		"another goroutine": {base, with(func(f *picture.Frame) { f.Goroutine = 7 }), false},
		"stripped, one function": {stripped, picture.Frame{Kind: picture.FrameUser, Module: "a.out", PC: &other,
			Entry: &entry}, true},
		"stripped, entry not known":      {picture.Frame{PC: &pc}, picture.Frame{PC: &other}, false},
		"stripped, the same instruction": {picture.Frame{PC: &pc}, picture.Frame{PC: &pc}, true},
	} {
		if got := frameKey(tt.a) == frameKey(tt.b); got != tt.same {
			t.Errorf("%s: same is %v", name, got)
		}
	}
}

// worker is thread lwp, number num of a team of size.
func worker(lwp, num, size int, state picture.StateName, f picture.Frame) picture.Thread {
	level := 1
	return picture.Thread{
		LWP: lwp, Runtime: "libomp", Role: picture.RoleWorker, ThreadNum: &num, TeamSize: &size, Level: &level,
		Region: "0x1",
		Levels: []picture.LevelInfo{{Level: 0, ThreadNum: new(int), TeamSize: ref(1), Region: "0x0"},
			{Level: 1, ThreadNum: &num, TeamSize: &size, Region: "0x1"}},
		State:     &picture.State{Name: state, Source: picture.StateInferred},
		UserStack: []picture.Frame{f},
	}
}

func ref[T any](v T) *T { return &v }

func TestGroupThreads(t *testing.T) {
	f := picture.Frame{Kind: picture.FrameUser, Function: "f", File: "a.c", Line: 3}
	g := picture.Frame{Kind: picture.FrameUser, Function: "g", File: "a.c", Line: 9}
	team := func(of ...picture.Frame) []picture.Thread {
		var ts []picture.Thread
		for i, f := range of {
			ts = append(ts, worker(100+i, i, len(of), "work_parallel", f))
		}
		return ts
	}
	crashed := team(f, f, f)
	crashed[1].Crashed = true
	gone := team(f, f)
	gone[1].LWP = 0
	states := team(f, f)
	states[1].State = &picture.State{Name: "wait_lock"}
	var mixed []picture.Frame
	for range 20 {
		mixed = append(mixed, f, g)
	}
	for name, tt := range map[string]struct {
		threads []picture.Thread
		all     bool
		want    string // LWPs of each group
	}{
		"none":                      {nil, false, ""},
		"alike":                     {team(f, f, f), false, "100-102"},
		"alike, but all are wanted": {team(f, f, f), true, "100 101 102"},
		"in two functions":          {team(f, f, g), false, "100, 101 102"},
		"apart":                     {team(f, g, f), false, "100 101 102"},
		"one has crashed":           {crashed, false, "100 101 102"},
		"one is gone":               {gone, false, "100 0"},
		"in two states":             {states, false, "100 101"},
		"apart, and many": {team(mixed...), false, phrase.Ranges(each(100, 2, 20), 0) + " " +
			phrase.Ranges(each(101, 2, 20), 0)},
		"apart and many, all of them": {team(mixed...), true, strings.Trim(fmt.Sprint(each(100, 1, 40)), "[]")},
	} {
		var got []string
		for _, g := range groupThreads(tt.threads, nil, tt.all) {
			got = append(got, phrase.Ranges(threadIDs(g.threads), 0))
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s: %q, want %q", name, strings.Join(got, " "), tt.want)
		}
	}
}

// each returns n numbers starting at first.
func each(first, step, n int) []int {
	var out []int
	for i := range n {
		out = append(out, first+step*i)
	}
	return out
}

func TestGroupNumbers(t *testing.T) {
	f := picture.Frame{Kind: picture.FrameUser, Function: "f"}
	one := []picture.Thread{worker(1, 2, 4, "work_parallel", f)}
	three := []picture.Thread{worker(1, 1, 4, "work_parallel", f), worker(2, 3, 4, "work_parallel", f),
		worker(3, 2, 4, "work_parallel", f)}
	nested := slices.Clone(three)
	for i := range nested {
		nested[i].Levels = append(slices.Clone(nested[i].Levels), picture.LevelInfo{Level: 2, ThreadNum: ref(0),
			TeamSize: ref(2)})
	}
	for want, ts := range map[string][]picture.Thread{"2/4": one, "1-3/4": three, "1-3/4 > 0/2": nested} {
		if got := groupNumbers(ts); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestNoVerdict(t *testing.T) {
	f := picture.Frame{Kind: picture.FrameUser, Function: "f"}
	waits := func(n int, state picture.StateName, kind picture.WaitKind, name string) []picture.Thread {
		var ts []picture.Thread
		for i := range n {
			th := worker(10+i, i, n, state, f)
			if th.WaitKind, th.WaitName = kind, name; kind != "" {
				th.WaitID = ref(picture.Hex(0x1000))
			}
			ts = append(ts, th)
		}
		return ts
	}
	locks := waits(4, "wait_lock", picture.WaitLock, "table")
	works := waits(2, "work_parallel", "", "")
	naps, timed := waits(2, picture.StateSleep, picture.WaitSleep, "usleep"), waits(1, picture.StateSleep,
		picture.WaitSleep, "sleep")
	timed[0].Sleep = &picture.Sleep{Left: ref(41.5)}
	idle := waits(3, "idle", "", "")
	tries := waits(2, "work_parallel", "", "") // between two waits with a time limit
	tries[0].UserStack = []picture.Frame{{Kind: picture.FrameSystem, Function: "pthread_cond_timedwait"}}
	tries[1].UserStack = tries[0].UserStack
	live := picture.Target{Kind: "process", PID: 7, Pause: &picture.Pause{Threads: 4, Stops: 1}}
	core := picture.Target{Kind: "core", Path: "core.7", PID: 7}
	died := picture.Target{Kind: "core", Path: "core.7", Signal: "SIGTERM"}
	const next, later = "; next: `ompd-inspect watch 7` shows whether it makes progress",
		"; a core is one moment: `ompd-inspect watch PID` of the running program shows whether it makes progress"
	const limit = "not known whether it hangs: a limit of time or memory was reached before a verdict could be drawn " +
		"(see the warning)"
	if got := NoVerdict(&picture.Picture{Target: live, Incomplete: []string{"verdicts"}}); got != limit {
		t.Errorf("after a limit: %q, want %q", got, limit)
	}
	for _, tt := range []struct {
		target  picture.Target
		threads []picture.Thread
		want    string
	}{
		{live, nil, "no verdict: no cause of a hang was found" + next},
		// held
		{picture.Target{Kind: "process", PID: 7, Pause: &picture.Pause{Threads: 4}}, nil,
			"no verdict: no cause of a hang was found"},
		{picture.Target{Kind: "process", PID: 7, Executable: "/usr/bin/orterun", Pause: live.Pause}, nil,
			"no verdict on orterun itself; next: `ompd-inspect job --mpirun 7`"},
		{live, locks, "not known whether it hangs: all 4 threads wait: for lock table" + next},
		{core, locks, "not known whether it hangs: all 4 threads wait: for lock table" + later},
		{core, slices.Concat(locks, idle), "not known whether it hangs: all 4 threads wait: for lock table" + later},
		{core, locks[:1], "not known whether it hangs: its one thread waits: for lock table" + later},
		{core, waits(2, "wait_lock", picture.WaitLock, ""), "not known whether it hangs: all 2 threads wait: for " +
			"lock at 0x1000" + later},
		{live, slices.Concat(locks[:1], waits(3, "wait_barrier_explicit", picture.WaitBarrier, "")),
			"not known whether it hangs: all 4 threads wait: 3 at a barrier, 1 for lock table" + next},
		{live, waits(2, "wait_taskwait", "", ""), "not known whether it hangs: all 2 threads wait: in a taskwait" +
			next},
		{live, slices.Concat(works, locks), "no deadlock was found: 2 of 6 threads are at work; the others wait: " +
			"for lock table" + next},
		{live, slices.Concat(works, waits(2, "wait_barrier_explicit", picture.WaitBarrier, "")),
			"no sign of a hang: 2 of 4 threads are at work; the others wait: at a barrier" + next},
		{live, naps[:1], "no sign of a hang: its one thread sleeps (usleep)" + next},
		{core, naps, "no sign of a hang: all 2 threads sleep (usleep)"},
		{live, slices.Concat(naps[:1], works), "no sign of a hang: 2 of 3 threads are at work, 1 sleeps (usleep)" +
			next},
		{live, slices.Concat(locks, timed), "no deadlock was found: 1 of 5 threads sleeps (sleep, 41.5 s left); the " +
			"others wait: for lock table" + next},
		{live, slices.Concat(locks, works, naps), "no deadlock was found: 2 of 8 threads are at work, 2 sleep " +
			"(usleep); the others wait: for lock table" + next},
		{core, works, "no sign of a hang: all 2 threads are at work"},
		{live, slices.Concat(tries, locks), "not known whether it hangs: no thread was seen at work: 4 for lock " +
			"table, 2 awake in pthread_cond_timedwait" + next},
		{live, slices.Concat(works, tries), "no sign of a hang: 2 of 4 threads are at work; the others wait: " +
			"awake in pthread_cond_timedwait" + next},
		{core, tries, "not known whether it hangs: no thread was seen at work: awake in pthread_cond_timedwait"},
		{died, works, "no verdict: nothing shows why SIGTERM came"},
		{died, locks, "not known whether it hangs: all 4 threads wait: for lock table"},
	} {
		if got := NoVerdict(&picture.Picture{Target: tt.target, Threads: tt.threads}); got != tt.want {
			t.Errorf("%s of %d threads:\n%q, want\n%q", tt.target.Kind, len(tt.threads), got, tt.want)
		}
	}
}

func TestWaitList(t *testing.T) {
	for _, tt := range []struct {
		waits []string
		want  string
	}{
		{[]string{"for a"}, "for a"},
		{[]string{"for a", "for b", "for b"}, "2 for b, 1 for a"},
		{strings.Split("abcdeef", ""), "2 e, 1 a, 1 b, 1 c, 2 more for other things"},
	} {
		if got := waitList(tt.waits); got != tt.want {
			t.Errorf("%v: %q, want %q", tt.waits, got, tt.want)
		}
	}
}

// TestCounts checks that the first page omits statistics of a layout, and prints other texts.
func TestCounts(t *testing.T) {
	for layout, want := range map[string]bool{"": true, "249 from table 16, 70 from memory": true,
		"derived by running the runtime's own functions": false} {
		if isFieldCount(layout) != want {
			t.Errorf("counts(%q) is %v", layout, !want)
		}
	}
}

// TestTaskKey checks that tasks of one construct are one row, however they are nested.
func TestTaskKey(t *testing.T) {
	fn := &picture.Code{Name: "walk", File: "t.c", Line: 5}
	chain := func(kids *int) []picture.Task {
		tasks := []picture.Task{{ID: "0x1", Kind: picture.TaskImplicit, State: picture.TaskRunning, Thread: 1,
			ThreadNum: ref(0), IncompleteChildren: kids}}
		for i := range 2000 {
			tasks = append(tasks, picture.Task{
				ID: picture.ID(fmt.Sprintf("0x%x", i+2)), Parent: picture.ID(fmt.Sprintf("0x%x", i+1)),
				Kind:  picture.TaskExplicit,
				State: picture.TaskWaiting, Thread: 1 + i%3, Function: fn, IncompleteChildren: kids,
			})
		}
		return tasks
	}
	for name, tt := range map[string]struct {
		tasks []picture.Task
		rows  []string
	}{
		"nested": {chain(ref(1)), []string{"1 implicit 0 | ", "1 explicit | implicit 0",
			"1999 explicit | task t.c:5  walk"}},
		"nested, children are not counted": {chain(nil), []string{"1 implicit 0 | ", "1 explicit | implicit 0",
			"1999 explicit | 1000 tasks or more"}},
	} {
		g := newTaskGroups(false)
		for _, task := range tt.tasks {
			g.add(task)
		}
		var got []string
		for _, r := range g.rows {
			got = append(got, fmt.Sprintf("%d %s | %s", r.n, r.kind(), g.parents(r)))
		}
		if !slices.Equal(got, tt.rows) {
			t.Errorf("%s: %q, want %q", name, got, tt.rows)
		}
	}
}

// TestTaskMemory checks that a row keeps no more parents than it needs to count them.
func TestTaskMemory(t *testing.T) {
	g := newTaskGroups(false)
	for i := range 3 * maxParents {
		g.add(picture.Task{ID: "0x1", Parent: picture.ID(fmt.Sprint("p", i)), Kind: picture.TaskExplicit,
			State: picture.TaskQueued})
	}
	if n := len(g.rows[0].parents); len(g.rows) != 1 || n != maxParents {
		t.Errorf("%d rows, %d parents", len(g.rows), n)
	}
}

// BenchmarkTaskStream is a million tasks.
func BenchmarkTaskStream(b *testing.B) {
	for b.Loop() {
		TaskStream(New(io.Discard, false, NoLimit), func(yield func(picture.Task) bool) {
			for i := range 1_000_000 {
				if !yield(picture.Task{ID: "0x1", Parent: "0x2", Kind: picture.TaskExplicit, State: picture.TaskQueued,
					Function: &picture.Code{Name: "f", Line: i % 3}}) {
					return
				}
			}
		}, false)
	}
}

// TestNoVerdictTaskwait checks that threads that wait for their child tasks are one entry, although each waits
// for those of its own task.
func TestNoVerdictTaskwait(t *testing.T) {
	pic := &picture.Picture{Threads: slices.Concat(ownTasks(0x1000), ownTasks(0x2000)),
		Target: picture.Target{Kind: "process", PID: 7}}
	if got, want := NoVerdict(pic), "not known whether it hangs: all 2 threads wait: in a taskwait"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// ownTasks returns a thread that waits for its child tasks: the address is that of its own task.
func ownTasks(task picture.Hex) []picture.Thread {
	return []picture.Thread{{Runtime: "libomp", State: &picture.State{Name: "wait_taskwait"},
		WaitKind: picture.WaitTaskwait, WaitID: &task}}
}
