package text_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/ompd-inspect/ompd-inspect/internal/print/text"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

var update = flag.Bool("update", false, "write the golden pages again")

// firstLWP is the LWP of the primary thread in the golden pages.
const firstLWP = 454

// doing is the activity of a thread in a golden page.
type doing struct {
	state picture.StateName
	kind  picture.WaitKind
	name  string
	stack []picture.Frame
}

func user(function string, line int) picture.Frame {
	return picture.Frame{Kind: picture.FrameUser, Function: function, File: "/src/mixed.c", Line: line}
}

func construct(in, kind string, line int) picture.Frame {
	return picture.Frame{Kind: picture.FrameUser, Function: in + "._omp_fn.0",
		Outlined: picture.Outlined{In: in, Construct: kind}, File: "/src/mixed.c", Line: line}
}

func pseudo(name string) picture.Frame {
	return picture.Frame{Kind: picture.FramePseudo, Function: "<OMP-" + name + ">"}
}

var (
	atBarrier = doing{"wait_barrier_explicit", picture.WaitBarrier, "",
		[]picture.Frame{pseudo("barrier"), construct("main", "parallel", 31), user("main", 20)}}
	inCritical = doing{"wait_critical", picture.WaitCritical, "ledger",
		[]picture.Frame{pseudo("critical"), user("deposit", 12), construct("main", "parallel", 27), user("main", 20)}}
	asleep = doing{picture.StateSleep, picture.WaitSleep, "nanosleep",
		[]picture.Frame{{Kind: picture.FrameSystem, Function: "nanosleep", Module: "libc.so.6"}, user("work", 7),
			construct("main", "parallel", 24), user("main", 20)}}
)

// team is a picture of a team of n threads with the activities that do returns.
func team(n int, do func(num int) doing) *picture.Picture {
	pic := &picture.Picture{
		Schema: picture.Schema,
		Target: picture.Target{Kind: "process", PID: firstLWP, Executable: "/src/mixed", Threads: n,
			Pause: &picture.Pause{Threads: n, Stops: 1, Microseconds: 1200}},
		Runtimes: []picture.Runtime{{ID: "libomp", Name: "LLVM OpenMP runtime", Version: "19",
			Path: "/usr/lib/llvm-19/lib/libomp.so.5", Layout: "249 from table 19, 70 from memory"}},
		Regions: []picture.Region{{ID: "0x0", TeamSize: 1}, {ID: "0x1", Parent: "0x0", Level: 1, ActiveLevel: 1,
			TeamSize: n, Function: &picture.Code{Name: "main._omp_fn.0", File: "/src/mixed.c", Line: 20}}},
	}
	stacks := map[string]int{}
	for num := range n {
		d := do(num)
		lwp := firstLWP + num
		th := picture.Thread{
			LWP: lwp, Runtime: "libomp", Role: picture.RoleWorker, ThreadNum: ptr(num), TeamSize: ptr(n), Level: ptr(1),
			Region: "0x1", Task: picture.ID(fmt.Sprint("t", num)),
			Levels: []picture.LevelInfo{{Level: 0, ThreadNum: ptr(0), TeamSize: ptr(1), Region: "0x0"},
				{Level: 1, ThreadNum: ptr(num), TeamSize: ptr(n), Region: "0x1"}},
			State: &picture.State{Name: d.state, Source: picture.StateInferred}, WaitKind: d.kind, WaitName: d.name,
			UserStack: d.stack,
		}
		if num == 0 {
			th.Role = picture.RoleInitial
			pic.Regions[0].Threads = []int{lwp}
		}
		if d.kind != "" && d.kind != picture.WaitSleep {
			th.WaitID = ptr(picture.Hex(0x7f00_1000))
		}
		pic.Threads = append(pic.Threads, th)
		pic.Regions[1].Threads = append(pic.Regions[1].Threads, lwp)
		pic.Tasks = append(pic.Tasks, picture.Task{ID: th.Task, Kind: picture.TaskImplicit, State: picture.TaskRunning,
			Thread: lwp, ThreadNum: ptr(num), Region: "0x1", Function: pic.Regions[1].Function})
		key := fmt.Sprint(d.stack)
		if _, ok := stacks[key]; !ok {
			stacks[key] = len(pic.Stacks)
			pic.Stacks = append(pic.Stacks, picture.MergedStack{Frames: d.stack})
		}
		s := &pic.Stacks[stacks[key]]
		s.Count, s.Threads = s.Count+1, append(s.Threads, lwp)
	}
	return pic
}

// mixed is the team of the benchmark: half of it at a barrier, a quarter waiting for a critical section, the
// rest asleep. With apart, neighbours differ.
func mixed(n int, apart bool) *picture.Picture {
	pic := team(n, func(num int) doing {
		quarter := num * 4 / n
		if apart {
			quarter = num % 4
		}
		return []doing{atBarrier, atBarrier, inCritical, asleep}[quarter]
	})
	pic.Verdicts = []picture.Verdict{{
		Kind: picture.VerdictBarrierMissing, Certainty: picture.Possible, Severity: picture.SeverityInfo,
		Summary: fmt.Sprintf("%d of %d arrived at a barrier (mixed.c:31): thread %d (LWP %d) is waiting for critical "+
			"section ledger in deposit mixed.c:12 and %d more", n/2, n, n/2, firstLWP+n/2, n/2-1),
	}}
	pic.Facts = &picture.Facts{StacksComplete: true, Locks: []picture.Lock{{ID: "lock-1", Held: true,
		Holders: []picture.Holder{{Thread: firstLWP + n - 1, Certainty: picture.Certain,
			AcquiredAt: ptr(user("deposit", 11)), Evidence: "its code"}}}}}
	for _, th := range pic.Threads {
		w := picture.Wait{Thread: th.LWP, Kind: th.WaitKind, Name: th.WaitName, Address: th.WaitID}
		if w.Kind == picture.WaitCritical {
			w.Lock = "lock-1"
		}
		pic.Facts.Waits = append(pic.Facts.Waits, w)
	}
	return pic
}

// deadlock is a cycle of n threads.
func deadlock(n int) *picture.Picture {
	stack := func(num int) []picture.Frame {
		return []picture.Frame{pseudo("lock_wait"), user("transfer", 16), construct("main", "parallel", 27),
			user("main", 20)}
	}
	pic := team(n, func(num int) doing {
		return doing{"wait_lock", picture.WaitLock, fmt.Sprintf("account[%d]", (num+1)%n), stack(num)}
	})
	v := picture.Verdict{
		Kind: picture.VerdictDeadlock, Certainty: picture.Certain, Severity: picture.SeverityHang,
		Summary: fmt.Sprintf("%d threads wait for each other and can never proceed", n),
		Fix:     "acquire these locks in the same order everywhere, or hold only one of them at a time",
	}
	for num := range n {
		v.Cycle = append(v.Cycle, picture.CycleStep{
			Thread: firstLWP + num, HeldBy: firstLWP + (num+1)%n, HeldEvidence: "acquired it with omp_set_lock in " +
				"transfer at mixed.c:12",
			WaitsFor: picture.WaitTarget{Kind: picture.WaitLock, Name: fmt.Sprintf("account[%d]", (num+1)%n)},
			Frames:   stack(num),
			Place:    &picture.ThreadSpot{ThreadNum: num, TeamSize: n},
		})
	}
	pic.Verdicts = []picture.Verdict{v}
	return pic
}

// recursionAt is a stack overflow in tasks that create tasks.
func recursionAt() *picture.Picture {
	pic := mixed(4, false)
	pic.Target = picture.Target{Kind: "core", Path: "core.454", PID: firstLWP, Executable: "/src/mixed",
		Signal: "SIGSEGV", CrashedLWP: firstLWP, FaultAddress: ptr(picture.Hex(0x7ffc_0010)), Place: &picture.Place{}}
	stack := []picture.Frame{user("visit", 3)}
	for i := range 169 {
		stack = append(stack, user("walk", 7+i%2), construct("walk", "task", 9))
	}
	stack = append(stack, construct("main", "parallel", 24), user("main", 20))
	pic.Threads[0].Crashed, pic.Threads[0].UserStack, pic.Target.Frames = true, stack, stack
	pic.Stacks[0] = picture.MergedStack{Count: 1, Threads: []int{firstLWP}, Frames: stack}
	fn := &picture.Code{Name: "walk._omp_fn.1", File: "/src/mixed.c", Line: 9}
	for i := range 169 {
		parent := picture.ID("t0")
		if i > 0 {
			parent = picture.ID(fmt.Sprint("w", i-1))
		}
		pic.Tasks = append(pic.Tasks, picture.Task{ID: picture.ID(fmt.Sprint("w", i)), Parent: parent,
			Kind: picture.TaskExplicit, State: picture.TaskWaiting, Thread: firstLWP, Function: fn,
			IncompleteChildren: ptr(1)})
	}
	pic.Verdicts = []picture.Verdict{{
		Kind: picture.VerdictStackOverflow, Certainty: picture.Certain, Severity: picture.SeverityCrash,
		Summary: "thread 0 (LWP 454) overflowed its stack of 8M",
		Explanation: "walk mixed.c:7 is on the stack 169 times: the recursion is endless, or deeper than the stack " +
			"allows.", Fix: "raise the stack limit of the process (ulimit -s unlimited)",
		Evidence: []string{"it accessed 0x7ffc0010, 16 bytes below the end of its stack"},
	}}
	return pic
}

// stripped is a team without known symbols.
func stripped() *picture.Picture {
	bare := func(pc, entry picture.Hex) picture.Frame {
		return picture.Frame{Kind: picture.FrameUser, Module: "mixed", PC: &pc, Entry: &entry}
	}
	pic := team(64, func(num int) doing {
		return doing{"work_parallel", "", "", []picture.Frame{bare(picture.Hex(0x1150+num), 0x1140),
			bare(0x1210, 0x1200)}}
	})
	pic.Stacks = []picture.MergedStack{{Count: 64, Threads: pic.Regions[1].Threads,
		Frames: []picture.Frame{{Kind: picture.FrameUser, Module: "mixed", Entry: ptr(picture.Hex(0x1140))},
			bare(0x1210, 0x1200)}}}
	return pic
}

// nested is a tree of regions: a chain of serialized ones, and many teams side by side.
func nested() *picture.Picture {
	pic := team(4, func(int) doing { return asleep })
	fn := &picture.Code{Name: "inner._omp_fn.1", File: "/src/mixed.c", Line: 40}
	for i := range 32 {
		pic.Regions = append(pic.Regions, picture.Region{ID: picture.ID(fmt.Sprint("n", i)), Parent: "0x1", Level: 2,
			ActiveLevel: 2, TeamSize: 4, Function: fn, Threads: []int{600 + 4*i, 601 + 4*i, 602 + 4*i, 603 + 4*i}})
	}
	parent := picture.ID("0x1")
	for i := range 100 {
		id := picture.ID(fmt.Sprint("s", i))
		pic.Regions = append(pic.Regions, picture.Region{ID: id, Parent: parent, Level: 2 + i, ActiveLevel: 1,
			TeamSize: 1, Serialized: true, Function: fn, Threads: []int{firstLWP}})
		parent = id
	}
	return pic
}

// healthy is a team of n threads in a loop, most of them in a library.
func healthy(n int) *picture.Picture {
	work := user("work", 4)
	work.Inlined = true
	stack := []picture.Frame{{Kind: picture.FrameSystem, Function: "sin", Module: "libm.so.6"}, work,
		construct("main", "parallel", 9), user("main", 8)}
	pic := team(n, func(num int) doing {
		if num%5 == 4 {
			return doing{"work_parallel", "", "", stack[1:]}
		}
		return doing{"work_parallel", "", "", stack}
	})
	for i := range pic.Threads {
		at := int64(16*i + i%7)
		pic.Threads[i].Loop = &picture.Loop{Schedule: "dynamic", Chunk: ptr(uint64(1)), First: ptr(int64(0)),
			Last: ptr(int64(1023)), Step: ptr(int64(1)), Iterations: ptr(uint64(1024)), Left: ptr(uint64(37)),
			From: &at, To: &at, At: &at}
	}
	return pic
}

// recursiveTasks is a team of n threads in tasks that create tasks, each at another depth.
func recursiveTasks(n int) *picture.Picture {
	pic := team(n, func(num int) doing {
		stack := []picture.Frame{pseudo("taskwait"), user("fib", 9)}
		for i := range 20 + num {
			stack = append(stack, construct("fib", "task", 6+2*(i*num%2)), user("fib", 9))
		}
		return doing{"wait_taskwait", picture.WaitTaskwait, "", append(stack, construct("main", "parallel", 14),
			user("main", 12))}
	})
	for i := range pic.Threads {
		pic.Threads[i].WaitID = ptr(picture.Hex(0x7f00_0000 + i))
	}
	for i := range 121 {
		pic.Tasks = append(pic.Tasks, picture.Task{ID: picture.ID(fmt.Sprint("q", i)), Kind: picture.TaskExplicit,
			State: picture.TaskQueued, Function: &picture.Code{Name: "fib._omp_fn.1", File: "/src/mixed.c", Line: 6}})
	}
	return pic
}

var pages = map[string]*picture.Picture{
	"mixed-1024": mixed(1024, false), "mixed-1024-apart": mixed(1024, true), "mixed-4": mixed(4, false),
	"deadlock-2": deadlock(2), "deadlock-64": deadlock(64),
	"recursion": recursionAt(), "stripped": stripped(), "nested": nested(),
	"healthy-64": healthy(64), "tasks-8": recursiveTasks(8),
	"one-lock": team(4, func(int) doing { return inCritical }),
}

// TestPages compares reports with golden pages, in 80 columns and without a limit. `go test -update` rewrites
// them: read the difference.
func TestPages(t *testing.T) {
	for name, pic := range pages {
		for suffix, width := range map[string]int{"80": 80, "wide": text.NoLimit} {
			got := printed(t, text.Report, pic, false, width)
			comparePage(t, filepath.Join("testdata", name+"."+suffix+".txt"), got)
		}
	}
}

// goldenPages are golden cores with one page each in 80 and in 160 columns.
var goldenPages = []string{"gnu-deadlock", "gnu-deadlock-join", "gnu-nested", "gnu-stack-overflow", "gnu-tasks-queued",
	"llvm-barrier", "llvm-crash", "llvm-deadlock", "llvm-healthy", "llvm-task-starved"}

// TestGoldenPages compares the reports on golden cores with golden pages. `go test -update` rewrites them: read the
// difference.
func TestGoldenPages(t *testing.T) {
	for _, name := range goldenPages {
		data, err := os.ReadFile(filepath.Join("..", "..", "..", "testdata", "golden", name, "picture.json"))
		if err != nil {
			t.Fatal(err)
		}
		var pic picture.Picture
		if err := json.Unmarshal(data, &pic); err != nil {
			t.Fatal(err)
		}
		for _, width := range []int{80, 160} {
			got := printed(t, text.Report, &pic, false, width)
			comparePage(t, filepath.Join("testdata", "pages", fmt.Sprintf("%s.%d.txt", name, width)), got)
			for line := range strings.Lines(got) {
				if strings.Contains(line, "THREAD ") || strings.Contains(line, "KIND ") {
					continue
				}
				if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width {
					t.Errorf("%s: a line of %d columns: %s", name, n, line)
				}
			}
		}
	}
}

// comparePage compares a page with a file, or writes the file.
func comparePage(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s: is\n%s\nwant\n%s", file, got, want)
	}
}

// TestPageSize checks that the page of a thousand similar threads is short, and that --all prints a row for
// each.
func TestPageSize(t *testing.T) {
	const most = 60
	for _, name := range []string{"mixed-1024", "mixed-1024-apart", "deadlock-64", "recursion", "stripped", "nested"} {
		for _, width := range []int{100, text.NoLimit} {
			page := printed(t, text.Report, pages[name], false, width)
			if n := strings.Count(page, "\n"); n > most {
				t.Errorf("%s in %d columns has %d lines, want at most %d:\n%s", name, width, n, most, page)
			}
		}
	}
	const fewest = 40
	for _, name := range []string{"healthy-64", "tasks-8"} {
		for _, width := range []int{80, text.NoLimit} {
			page := printed(t, text.Report, pages[name], false, width)
			if n := strings.Count(page, "\n"); n > fewest {
				t.Errorf("%s in %d columns has %d lines, want at most %d:\n%s", name, width, n, fewest, page)
			}
		}
	}
	for name, rows := range map[string]int{"mixed-1024": 1 + 1024, "deadlock-64": 64} { // with that of a lock
		page := printed(t, func(p *text.Printer, pic *picture.Picture) { p.FoldNothing(); text.Threads(p, pic) },
			pages[name], false, text.NoLimit)
		if n := strings.Count(page, "\n"); n != rows+3 { // the heading and two lines around it
			t.Errorf("%s with all: %d lines, want %d rows", name, n, rows)
		}
	}
	page := printed(t, func(p *text.Printer, pic *picture.Picture) { p.FoldNothing(); text.Stacks(p, pic) },
		pages["recursion"], false, text.NoLimit)
	if !strings.Contains(page, "#340 ") || strings.Contains(page, "×") {
		t.Errorf("with all, a recursion is folded:\n%s", page)
	}
}

// TestVerdictFirst checks that the fault and the fix are in the first ten lines.
func TestVerdictFirst(t *testing.T) {
	for name, wants := range map[string][]string{
		"deadlock-2": {"DEADLOCK", "fix:"}, "deadlock-64": {"DEADLOCK", "fix:"},
		"recursion": {"STACK OVERFLOW", "fix:"},
		"one-lock": {"not known whether it hangs: all 4 threads wait: for critical section ledger",
			"`ompd-inspect watch 454`"},
	} {
		lines := strings.SplitAfter(printed(t, text.Report, pages[name], false, 120), "\n")
		first := strings.Join(lines[:10], "")
		for _, want := range wants {
			if !strings.Contains(strings.Join(strings.Fields(first), " "), want) {
				t.Errorf("%s: no %q in\n%s", name, want, first)
			}
		}
		if strings.Contains(first, "from memory") {
			t.Errorf("%s: statistics of the layout:\n%s", name, first)
		}
	}
}
