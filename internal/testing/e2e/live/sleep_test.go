package live

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/cli"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// asleepCase is a program in which all threads of a team wait for one that sleeps.
type asleepCase struct {
	program string
	args    []string
	held    string // locks that the thread holds, as its line starts; empty if the others wait at a barrier
	cell    string // the same in the table of threads
	at      string // source position of the thread
	calls   string // calls by which it may sleep
	waiters int
	left    bool // the remaining time is always known
	live    bool // and in a process
	seconds bool // the requested time is known
	endless bool
	writes  bool // the kernel writes the remaining time into the program's own frame, which watch may notice
}

// asleepCases returns the ways to sleep, in three languages.
func asleepCases() []asleepCase {
	c := func(what, way, call string) asleepCase {
		out := asleepCase{program: "verdict_sleep", args: []string{what, way}, at: `(rest|wait_outside) (near )?verdict_sleep\.c:\d+`,
			calls: call, waiters: 3}
		switch what {
		case "0":
			out.held, out.cell = "critical section transfer", "critical transfer"
		case "1":
			out.held, out.cell = "mutex stock", "mutex stock"
		}
		return out
	}
	list := []asleepCase{
		c("0", "0", "sleep"), c("1", "1", "usleep"), c("0", "2", "nanosleep"), c("1", "3", "clock_nanosleep"),
		c("0", "4", "select"), c("2", "5", "poll"), c("0", "6", "poll"), c("0", "7", "pause"),
		c("1", "8", "sigsuspend"), c("2", "9", "sigwait"),
		{program: "cxx_asleep", held: "mutex stock", cell: "mutex stock", at: `rest(\(\))? cxx_asleep\.cc:\d+`,
			calls: "std::this_thread::sleep_for", waiters: 2, left: true, writes: true},
		{program: "fortran_asleep", held: "critical section halo", cell: "critical halo",
			at: `(grid::)?relax(_)? fortran_asleep\.f90:\d+`, calls: "sleep", waiters: 2, left: true},
	}
	for i, way := range []asleepCase{{left: true}, {seconds: true}, {left: true, seconds: true, writes: true},
		{live: true}, {left: true}, {seconds: true}, {endless: true}, {endless: true}, {endless: true},
		{endless: true}} {
		c := &list[i]
		c.left, c.live, c.seconds, c.endless, c.writes = way.left, way.live, way.seconds, way.endless, way.writes
	}
	return list
}

// TestSleepingHolder looks at sleeping threads: they are not at work. If others wait for a lock or barrier that
// such a thread blocks, the first lines of the report and watch's message about missing progress name both. It is
// no hang.
func TestSleepingHolder(t *testing.T) {
	for _, l := range []struct {
		name     string
		compiler omptest.Compiler
		runtime  func(testing.TB) omptest.Runtime
		flags    string
	}{
		{"libgomp-O0", omptest.GCC, omptest.Libgomp, "-O0"}, {"libgomp-O2", omptest.GCC, omptest.Libgomp, "-O2"},
		{"libomp-16-O0", omptest.LLVM, func(tb testing.TB) omptest.Runtime { return omptest.RuntimeOf(tb, 16) }, "-O0"},
		{"libomp-19-O2", omptest.LLVM, func(tb testing.TB) omptest.Runtime { return omptest.RuntimeOf(tb, 19) }, "-O2"},
	} {
		for _, c := range asleepCases() {
			t.Run(l.name+"-"+strings.Join(append([]string{c.program}, c.args...), "-"), func(t *testing.T) {
				r := omptest.Run{Runtime: l.runtime(t), Args: c.args, Mode: omptest.Live, Exe: omptest.Compile(t,
					omptest.Build{Program: c.program, Compiler: l.compiler, Flags: []string{l.flags, "-g"}})}
				p := omptest.Start(t, r)
				if c.program != "verdict_sleep" {
					p.AwaitTimed(t)
				}
				pid := strconv.Itoa(p.PID)
				c.checkText(t, pid, cli.ExitOK)
				c.checkPicture(t, pid, c.left || c.live)
				if !c.writes {
					c.checkWatch(t, pid)
				}
			})
		}
	}
}

// TestSleepingHolderInCores checks the same programs in cores of gdb and of the kernel. A dump interrupts the call: the
// time that the kernel wrote then is in the core, but the clock of that moment is not.
func TestSleepingHolderInCores(t *testing.T) {
	for _, mode := range []omptest.Mode{omptest.Gcore, omptest.Kernel} {
		for _, c := range asleepCases()[:10] {
			t.Run(string(mode)+"-"+strings.Join(c.args, "-"), func(t *testing.T) {
				r := omptest.Run{Runtime: omptest.Libgomp(t), Args: c.args, Mode: mode, Exe: omptest.Compile(t,
					omptest.Build{Program: c.program, Compiler: omptest.GCC, Flags: []string{"-O1", "-g"}})}
				core := omptest.Dump(t, r).Core
				status := cli.ExitOK
				if mode == omptest.Kernel { // the program aborts to be dumped
					status = cli.ExitCrash
				}
				c.checkText(t, core, status)
				c.checkPicture(t, core, c.left)
			})
		}
	}
}

// checkText checks the texts of the report, the verdicts and the table of threads.
func (c asleepCase) checkText(t *testing.T, target string, want int) {
	t.Helper()
	wait := strconv.Itoa(c.waiters) + " threads wait"
	status, diagnosis, _ := e2e.Output(t, "diagnose", target)
	sleeps := regexp.MustCompile(`thread \d+ \(LWP \d+\) sleeps \(` + regexp.QuoteMeta(c.calls) +
		`[^()]*\) in \S+ (near )?\S+:\d+, and ` + wait + ` for it in the end`)
	if status != want || !sleeps.MatchString(diagnosis) || strings.Contains(diagnosis, "no sign of a hang") {
		t.Errorf("status %d, no %v:\n%s", status, sleeps, diagnosis)
	}
	if c.held == "" {
		return
	}
	holder := regexp.MustCompile(regexp.QuoteMeta(c.held) + `: held by thread \d+ \(LWP \d+\) in ` + c.at +
		`, acquired at ` + regexp.QuoteMeta(c.program) + `\.\w+:\d+( \(likely\))?; ` + wait + "\n")
	for _, verb := range []string{"report", "diagnose", "threads"} {
		_, page, _ := e2e.Output(t, verb, target)
		lines := strings.SplitAfter(page, "\n")
		if !holder.MatchString(strings.Join(lines[:min(len(lines), 10)], "")) {
			t.Errorf("%s: no %v:\n%s", verb, holder, page)
		}
		row := regexp.MustCompile(`wait_sleep .*\d +` + regexp.QuoteMeta(c.cell) + "\n")
		if verb != "diagnose" && (!strings.Contains(page, "HOLDS") || !row.MatchString(page)) {
			t.Errorf("%s: no %v:\n%s", verb, row, page)
		}
	}
}

// checkPicture compares the sleeping thread of a picture with the case.
func (c asleepCase) checkPicture(t *testing.T, target string, left bool) {
	t.Helper()
	_, pic := e2e.Diagnose(t, target)
	i := slices.IndexFunc(pic.Threads, func(th picture.Thread) bool { return th.WaitKind == picture.WaitSleep })
	if i < 0 || pic.Threads[i].Sleep == nil || pic.Threads[i].WaitName != c.calls {
		t.Fatalf("no thread sleeps by %s: %+v", c.calls, pic.Facts.Waits)
	}
	th, s := &pic.Threads[i], pic.Threads[i].Sleep
	if th.State.Name != picture.StateSleep || th.State.Standard != picture.StateWorkParallel {
		t.Errorf("state %+v", th.State)
	}
	const least, most = 1000, 100000 // the programs sleep for this long
	if (s.Left != nil) != left || left && (*s.Left < least || *s.Left > most) || (s.Seconds != nil) != c.seconds ||
		c.seconds && (*s.Seconds < least || *s.Seconds > most) || s.Endless != c.endless {
		t.Errorf("left %v, of %v, endless %v; want %+v", s.Left, s.Seconds, s.Endless, c)
	}
	j := slices.IndexFunc(pic.Verdicts, func(v picture.Verdict) bool {
		return v.Kind == picture.VerdictBlockedOutside
	})
	if j < 0 || !slices.Equal(pic.Verdicts[j].Threads, []int{th.LWP}) || len(pic.Verdicts[j].Waiting) != c.waiters {
		t.Errorf("verdicts %+v", pic.Verdicts)
	}
}

// checkWatch requires that watch finds no progress, names the thread for which all wait in the end, and does not
// refer the user to the report.
func (c asleepCase) checkWatch(t *testing.T, pid string) {
	t.Helper()
	status, page, _ := e2e.Output(t, "watch", "--interval", "200ms", "--count", "2", pid)
	end := strconv.Itoa(c.waiters) + " threads wait for it in the end\n"
	holds := c.cell == "" || strings.Contains(page, ", holds "+c.cell+"; ")
	if status != cli.ExitStuck && status != cli.ExitSpinning && status != cli.ExitUnknown || !holds ||
		!strings.Contains(page, "sleeps ("+c.calls) || !strings.Contains(page, end) || strings.Contains(page, "next:") {
		t.Errorf("status %d, no %q:\n%s", status, end, page)
	}
}

// TestTimedWaitTwice looks at one process several times: the first look interrupts a wait with a time limit, and the
// kernel continues it in another way, which is the same wait.
func TestTimedWaitTwice(t *testing.T) {
	for _, compiler := range []omptest.Compiler{omptest.GCC, omptest.LLVM} {
		name, runtime := "libgomp", omptest.Libgomp
		if compiler == omptest.LLVM {
			name, runtime = "libomp", func(tb testing.TB) omptest.Runtime { return omptest.RuntimeOf(tb, 16) }
		}
		t.Run(name, func(t *testing.T) {
			p := omptest.Start(t, omptest.Run{Runtime: runtime(t), Args: []string{"2", "12"}, Mode: omptest.Live,
				Exe: omptest.Compile(t, omptest.Build{Program: "verdict_sleep", Compiler: compiler,
					Flags: []string{"-O2", "-g"}})})
			for range 3 {
				_, pic := e2e.Diagnose(t, strconv.Itoa(p.PID))
				if !slices.ContainsFunc(pic.Threads, func(th picture.Thread) bool {
					return th.State != nil && th.State.Name == picture.StateCondition
				}) {
					t.Errorf("no thread waits for the condition variable: %+v", pic.Facts.Waits)
				}
			}
		})
	}
}

// TestAsleepInCall looks at threads that sleep in rare system calls: they wait for another process.
func TestAsleepInCall(t *testing.T) {
	for way, call := range map[string]string{"10": "tee of descriptor ", "11": "splice of descriptor "} {
		p := omptest.Start(t, omptest.Run{Runtime: omptest.Libgomp(t), Args: []string{"2", way}, Mode: omptest.Live,
			Exe: omptest.Compile(t, omptest.Build{Program: "verdict_sleep", Compiler: omptest.GCC,
				Flags: []string{"-O2", "-g"}})})
		status, pic := e2e.Diagnose(t, strconv.Itoa(p.PID))
		if !slices.ContainsFunc(pic.Threads, func(th picture.Thread) bool {
			return th.State != nil && th.State.Name == picture.StateCall && strings.HasPrefix(th.WaitName, call)
		}) || status != cli.ExitOK {
			t.Errorf("status %d, no thread in %s: %+v", status, call, pic.Facts.Waits)
		}
	}
}

// TestSleepInRuntime looks at workers that sleep in the runtime until their team is complete, while their primary
// thread is in a function of the program: no such worker is at work.
func TestSleepInRuntime(t *testing.T) {
	for _, l := range e2e.Lanes() {
		if l.Family != "libgomp" || l.Mode != omptest.Live { // in LLVM's runtime, they are idle
			continue
		}
		t.Run(l.String(), func(t *testing.T) {
			target := l.Look(t, e2e.Program{Name: "crash_forming"})
			_, pic := e2e.Diagnose(t, target)
			workers := 0
			for _, th := range pic.Threads {
				if th.Role != picture.RoleWorker || th.LWP == 0 {
					continue
				}
				if workers++; th.State.Name != picture.StateFutex || th.State.Standard != picture.StateOverhead ||
					th.WaitID == nil {
					t.Errorf("state of LWP %d: %+v, want wait_futex in overhead", th.LWP, th.State)
				}
			}
			if workers != 2 {
				t.Errorf("%d workers, want 2", workers)
			}
			_, out, _ := e2e.Output(t, "diagnose", target)
			if !strings.Contains(out, "1 of 3 threads sleeps (pause, until a signal comes); "+
				"the others wait: for the word at 0x") {
				t.Errorf("threads that sleep in the runtime are at work:\n%s", out)
			}
		})
	}
}
