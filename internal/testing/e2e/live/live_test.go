package live

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// liveRuntimes are the runtimes that the tests of processes run on.
var liveRuntimes = []int{14, 15, 16, 19}

// TestLiveMatrix compares the picture of a running process with the results of omp_get_* in its threads, and with
// the picture of a core of the same process.
func TestLiveMatrix(t *testing.T) {
	for _, major := range liveRuntimes {
		t.Run(fmt.Sprintf("libomp-%d", major), func(t *testing.T) {
			t.Parallel()
			count := omptest.RecordSupport(t, omptest.SupportPart{Runtime: "libomp", Release: major, Target: "process",
				Build: "O1"})
			for _, s := range e2e.Situations {
				if s.Segv || strings.HasPrefix(s.Program, "crash_") { // they kill themselves
					continue
				}
				if major != 16 && !omptest.Turn(e2e.RestDays, "live", fmt.Sprint(major), s.Program) {
					continue
				}
				t.Run(s.Program, func(t *testing.T) {
					defer count(t)
					checkLive(t, omptest.Run{
						Exe:     omptest.Compile(t, omptest.Build{Program: s.Program}),
						Runtime: omptest.RuntimeOf(t, major), Args: s.Args,
					}, func(*omptest.Truth) {}, true)
				})
			}
		})
	}
}

// TestLiveOldReleases is TestLiveMatrix for a few programs on older releases.
func TestLiveOldReleases(t *testing.T) {
	omptest.NeedsMore(t, "runtimes of other releases")
	for _, major := range []int{9, 11, 13} {
		t.Run(fmt.Sprintf("libomp-%d", major), func(t *testing.T) {
			count := omptest.RecordSupport(t, omptest.SupportPart{Runtime: "libomp", Release: major, Target: "process",
				Build: "few"})
			for _, program := range []string{"barrier", "critical", "lock_cycle", "nested", "taskwait"} {
				t.Run(program, func(t *testing.T) {
					defer count(t)
					checkLive(t, omptest.Run{Exe: omptest.Compile(t, omptest.Build{Program: program}),
						Runtime: omptest.RuntimeOf(t, major)}, func(*omptest.Truth) {}, true)
				})
			}
		})
	}
}

// checkLive starts a program and compares its picture with the truth of its threads, changed by adapt, and with
// the picture of a core of the same process.
func checkLive(t *testing.T, run omptest.Run, adapt func(*omptest.Truth), lines bool) {
	t.Helper()
	run.Mode = omptest.Live
	p := omptest.Start(t, run)
	defer p.Stop()
	adapt(&p.Truth)
	ran := spinning(p.Truth)
	live := e2e.ReportProcess(t, p.PID)
	e2e.CheckPicture(t, live, &omptest.Result{Truth: p.Truth, Exe: p.Exe}, lines)
	if k := live.Target.Pause; k == nil || k.Stops == 0 || k.Threads < len(p.Truth.Program.LWPs) ||
		k.Microseconds <= 0 {
		t.Errorf("pause %+v of %d threads", k, len(p.Truth.Program.LWPs))
	}
	const many = 100 // threads; gcore takes long to write a core of these
	if gcoreReads(run.Runtime) && (len(p.Truth.Program.LWPs) < many || run.Runtime.Major == 16 || omptest.Full()) {
		core := e2e.Report(t, gcore(t, p.PID))
		for lwp, now := range spinning(p.Truth) {
			ran[lwp] = ran[lwp] || now
		}
		compareLive(t, live, core, ran)
	}
}

// gcoreReads reports whether gdb's gcore can read the stacks of programs on a runtime:
// with glibc 2.42 and newer, which comes with GCC 16, it cannot.
func gcoreReads(rt omptest.Runtime) bool { return rt.Loader == "" || rt.Major < 16 }

// spinning returns the threads that may run during a look: those in waits that do not sleep.
func spinning(truth omptest.Truth) map[int]bool {
	run := map[int]bool{}
	for _, lwp := range truth.Program.LWPs {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/syscall", truth.Program.PID, lwp))
		run[lwp] = err != nil || !regexp.MustCompile(`^(202|34) `).Match(b) // futex, pause
	}
	return run
}

// gcore writes a core of a process and returns its name.
func gcore(t *testing.T, pid int) string {
	t.Helper()
	prefix := filepath.Join(t.TempDir(), "core")
	if out, err := exec.Command("gcore", "-o", prefix, strconv.Itoa(pid)).CombinedOutput(); err != nil {
		t.Fatalf("gcore: %v: apt-get install gdb\n%s", err, out)
	}
	return fmt.Sprintf("%s.%d", prefix, pid)
}

// compareLive compares the picture of a process with that of its core. They are equal except for the native
// frames of threads that ran in between.
func compareLive(t *testing.T, live, core *picture.Picture, run map[int]bool) {
	t.Helper()
	for _, p := range []*picture.Picture{live, core} {
		p.Target = picture.Target{PID: p.Target.PID, Threads: p.Target.Threads, Executable: p.Target.Executable,
			Arch: p.Target.Arch}
		p.Warnings = nil
		if ps := p.Facts.Processors; ps != nil && len(ps.Running) > 0 {
			// the rest comes from the kernel, not from a core
			p.Facts.Processors = &picture.Processors{Running: ps.Running}
		} else {
			p.Facts.Processors = nil
		}
		for i := range p.Threads {
			if th := &p.Threads[i]; run[th.LWP] {
				th.Stack = nil
				if th.State != nil {
					th.State.Evidence = "" // depends on whether the thread was just yielding
				}
				for k := range th.UserStack {
					if th.UserStack[k].Kind != picture.FrameUser || k == 0 {
						th.UserStack[k].PC, th.UserStack[k].Offset = nil, 0
					}
				}
			}
		}
		for i := range p.Runtimes {
			p.Runtimes[i].Layout = ""
		}
	}
	a, b := lines(t, live), lines(t, core)
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			t.Errorf("the picture of the process differs from that of its core:\n%s\n%s",
				strings.Join(a[max(0, i-12):min(len(a), i+4)], "\n"), b[i])
			return
		}
	}
	if len(a) != len(b) {
		t.Errorf("%d lines of the process, %d of its core", len(a), len(b))
	}
}

func lines(t *testing.T, p *picture.Picture) []string {
	t.Helper()
	b, err := json.MarshalIndent(p, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(string(b), "\n")
}

// loopOn starts fork_loop on libomp of a major version of LLVM.
func loopOn(t testing.TB, major int) omptest.Run {
	t.Helper()
	return omptest.Run{Exe: omptest.Compile(t, omptest.Build{Program: "fork_loop"}),
		Runtime: omptest.RuntimeOf(t, major)}
}

// TestReportOfForkLoop looks at a program that forks teams all the time. Every picture must be of one moment: the
// regions, their members and the members' numbers fit together, and there are only constructs that the program
// executes.
func TestReportOfForkLoop(t *testing.T) {
	for _, major := range liveRuntimes {
		t.Run(fmt.Sprintf("libomp-%d", major), func(t *testing.T) { checkLoop(t, loopOn(t, major)) })
	}
}

// checkLoop looks at one fork_loop many times.
func checkLoop(t *testing.T, run omptest.Run) {
	t.Helper()
	l := e2e.StartLoop(t, run)
	seen := map[string]int{}
	inBarrier := func() bool { return seen["wait_barrier_implicit_parallel"]+seen["wait_barrier_implicit"] > 0 }
	for n := 0; n < 40 || seen["team of 4"] == 0 || !inBarrier(); n++ {
		checkMoment(t, e2e.ReportProcess(t, l.Process.Pid), seen, true)
	}
	for range 10 {
		checkMoment(t, e2e.ReportProcess(t, l.Process.Pid, "--no-stop"), seen, false)
	}
	t.Logf("%d iterations, %v", l.End(t), seen)
}

// checkMoment compares one picture of fork_loop with the possible states of the program.
func checkMoment(t *testing.T, pic *picture.Picture, seen map[string]int, stopped bool) {
	t.Helper()
	unsettled := pic.Target.Pause.Unsettled > 0 || pic.Target.Pause.Running > 0
	if !stopped && unsettled {
		if len(pic.Warnings) == 0 {
			t.Error("unsettled, and no warning says so")
		}
		seen["unsettled"]++
		return
	}
	bad := func(format string, args ...any) {
		t.Helper()
		t.Errorf(format+"\n%s", append(args, describe(pic))...)
	}
	for _, r := range pic.Regions {
		if r.Level > 0 && (r.TeamSize != 4 && r.TeamSize != 2 || r.Level > 2 || r.Serialized || r.Level == 2 &&
			r.TeamSize != 2) {
			bad("region %+v", r)
		}
		for _, e := range r.Errors {
			if !strings.Contains(e, "the team is being formed") {
				bad("region %s: %s", r.ID, e)
			}
		}
		seen[fmt.Sprintf("team of %d", r.TeamSize)]++
	}
	taken := map[string]int{}
	for _, th := range pic.Threads {
		if len(th.Errors) > 0 {
			bad("LWP %d: %v", th.LWP, th.Errors)
		}
		if th.State != nil {
			seen[string(th.State.Name)]++
		}
		if th.Region == "" {
			continue
		}
		if stopped && insideOwnRegion(&th) {
			bad("LWP %d waits at the end of its region, and is in its function: %+v", th.LWP, th.UserStack)
		}
		i := slices.IndexFunc(pic.Regions, func(r picture.Region) bool { return r.ID == th.Region })
		if i < 0 || th.ThreadNum == nil || th.TeamSize == nil || *th.TeamSize != pic.Regions[i].TeamSize ||
			*th.ThreadNum >= *th.TeamSize || !slices.Contains(pic.Regions[i].Threads, th.LWP) {
			bad("LWP %d in region %s, number %s", th.LWP, th.Region, fmt.Sprint(e2e.IntOf(th.ThreadNum)))
			continue
		}
		place := fmt.Sprint(th.Region, " ", *th.ThreadNum)
		if other := taken[place]; other != 0 {
			bad("LWP %d and %d are both %s", th.LWP, other, place)
		}
		taken[place] = th.LWP
	}
	for _, task := range pic.Tasks {
		if task.Kind == "" || len(task.Errors) > 0 {
			bad("task %+v", task)
		}
	}
}

// insideOwnRegion reports whether the picture shows a thread waiting at the end of a region that it forked from
// serial code, although its stack has a frame of a region.
func insideOwnRegion(th *picture.Thread) bool {
	if th.State == nil || th.State.Name != "wait_barrier_implicit_parallel" || e2e.IntOf(th.ThreadNum) != 0 ||
		e2e.IntOf(th.Level) != 1 {
		return false
	}
	return slices.ContainsFunc(th.UserStack, func(f picture.Frame) bool { return f.Construct != "" })
}

// describe summarizes a picture in a few lines.
func describe(pic *picture.Picture) string {
	var b strings.Builder
	for _, th := range pic.Threads {
		fmt.Fprintf(&b, "  LWP %d %s region %s %d/%d state %+v %v\n", th.LWP, th.Role, th.Region,
			e2e.IntOf(th.ThreadNum), e2e.IntOf(th.TeamSize), th.State, th.Errors)
	}
	for _, r := range pic.Regions {
		fmt.Fprintf(&b, "  region %s parent %s level %d team %d %v %v\n", r.ID, r.Parent, r.Level, r.TeamSize,
			r.Threads, r.Errors)
	}
	return fmt.Sprintf("%s  pause %+v\n  %s", b.String(), *pic.Target.Pause, strings.Join(pic.Warnings, "\n  "))
}
