package verdicts

import (
	"fmt"
	"math/bits"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// processors returns the processors that this process may use.
func processors(t *testing.T) []int {
	t.Helper()
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		t.Fatal(err)
	}
	var list []int
	for i, w := range set {
		for b := uint64(w); b != 0; b &= b - 1 {
			list = append(list, 64*i+bits.TrailingZeros64(b))
		}
	}
	return list
}

// several returns the processors of a machine with more than one.
func several(t *testing.T) []int {
	t.Helper()
	cpus := processors(t)
	if len(cpus) < 2 {
		t.Skip("this machine has one processor only: the runtimes know that threads share it")
	}
	return cpus
}

// spinForEver makes waiting threads spin for ever, on every runtime.
var spinForEver = []string{"OMP_WAIT_POLICY=active", "KMP_BLOCKTIME=infinite", "GOMP_SPINCOUNT=infinite"}

// eachLiveLane runs a test on the runtimes with live processes.
func eachLiveLane(t *testing.T, test func(t *testing.T, l e2e.Lane)) {
	for _, l := range e2e.Lanes() {
		if l.Mode == omptest.Live {
			t.Run(l.String(), func(t *testing.T) { test(t, l) })
		}
	}
}

// TestVerdictOfBoundTeam looks at teams that are bound to one processor, by places or from outside, and at teams
// with enough processors.
func TestVerdictOfBoundTeam(t *testing.T) {
	cpus := several(t)
	one := []string{"OMP_PROC_BIND=true", fmt.Sprintf("OMP_PLACES={%d}", cpus[0])}
	mask := fmt.Sprintf("affinity mask allows processor %d", cpus[0])
	cases := []expectation{
		{args: []string{"0", "4"}, env: one, kind: "oversubscribed", threads: 4, says: []string{
			fmt.Sprintf("4 threads of parallel regions compete for 1 processor, all that their affinity masks allow: "+
				"%d", cpus[0]), strings.Join(one, " ")}},
		{args: []string{"1", "4"}, env: slices.Concat(one, spinForEver), only: "libomp", kind: "shared_processor",
			threads: 4, says: []string{
				fmt.Sprintf("3 threads spin on processor %d, where thread 1", cpus[0]),
				"spins, waiting for the other threads at a barrier", mask, "OMP_WAIT_POLICY=passive"}},
		{args: []string{"2", "2"}, env: slices.Concat(one, spinForEver)},
	}
	own := slices.Concat(spinForEver, []string{"OMP_PROC_BIND=true",
		fmt.Sprintf("OMP_PLACES={%d},{%d}", cpus[0], cpus[1])})
	cases = append(cases, expectation{args: []string{"1", "2"}, env: own},
		expectation{args: []string{"3", "2"}, env: own})
	eachLiveLane(t, func(t *testing.T, l e2e.Lane) {
		for _, e := range cases {
			if !e.holdsIn(l) {
				continue
			}
			t.Run(strings.Join(slices.Concat(e.args, e.env[:2]), "-"), func(t *testing.T) {
				e.program, e.certainty = "verdict_oversubscribed", "certain"
				e.check(t, l, l.Look(t, e.inLane()))
			})
		}
	})
}

// TestVerdictOfCountedProcessors looks at a region with as many threads as its thread has processors, where the runtime
// has bound that thread to one processor, and at one that requests one thread for another reason.
func TestVerdictOfCountedProcessors(t *testing.T) {
	cpus := several(t)
	const counted = ", and its thread may use one processor only: the program may have counted the processors of " +
		"that thread"
	env := []string{"OMP_PROC_BIND=true", fmt.Sprintf("OMP_PLACES={%d},{%d}", cpus[0], cpus[1])}
	eachLiveLane(t, func(t *testing.T, l e2e.Lane) {
		verdict := func(args []string, env []string) picture.Verdict {
			_, pic := e2e.Diagnose(t, l.Look(t, e2e.Program{Name: "verdict_one_thread", Args: args, Env: env}))
			if len(pic.Verdicts) != 1 || pic.Verdicts[0].Kind != picture.VerdictOneThread {
				t.Fatalf("%+v, want one_thread", pic.Verdicts)
			}
			return pic.Verdicts[0]
		}
		v := verdict([]string{"9", "1"}, env)
		if !strings.Contains(v.Summary, counted) || !strings.Contains(v.Fix, "(OMP_PROC_BIND, OMP_PLACES)") {
			t.Errorf("bound thread: %+v", v)
		}
		if v := verdict([]string{"2", "1"}, nil); strings.Contains(v.Summary, "processor") || v.Fix != "" {
			t.Errorf("no bound thread: %+v", v)
		}
	})
}

// TestVerdictUnderTaskset binds the threads of processes to one processor while they run.
func TestVerdictUnderTaskset(t *testing.T) {
	cpus := several(t)
	mask := fmt.Sprintf("affinity mask allows processor %d", cpus[0])
	eachLiveLane(t, func(t *testing.T, l e2e.Lane) {
		for _, e := range []expectation{
			{args: []string{"0", "4"}, kind: "oversubscribed", threads: 4,
				says: []string{fmt.Sprintf("their affinity masks allow: %d", cpus[0]), "not bound by the cpuset"}},
			{args: []string{"1", "2"}, env: spinForEver, kind: "shared_processor", threads: 2, says: []string{
				fmt.Sprintf("spins on processor %d, where thread 1", cpus[0]),
				"spins, waiting for the other threads at a barrier", mask, "OMP_WAIT_POLICY=active"}},
			{args: []string{"3", "2"}, env: spinForEver, kind: "shared_processor", threads: 2, says: []string{
				fmt.Sprintf("spins on processor %d, where thread 0", cpus[0]), "spins, waiting for lock lock",
				"for which it waits", mask}},
		} {
			t.Run(strings.Join(e.args, "-"), func(t *testing.T) {
				e.program, e.certainty = "verdict_oversubscribed", "certain"
				target := l.Look(t, e.inLane())
				bind(t, target, cpus[0])
				e.check(t, l, target)
			})
		}
	})
}

// bind does what taskset -a does to a process.
func bind(t *testing.T, target string, processor int) {
	t.Helper()
	tasks, err := filepath.Glob("/proc/" + target + "/task/*")
	if err != nil || len(tasks) == 0 {
		t.Fatalf("threads of %s: %v", target, err)
	}
	var set unix.CPUSet
	set.Set(processor)
	for _, task := range tasks {
		tid, _ := strconv.Atoi(filepath.Base(task))
		if err := unix.SchedSetaffinity(tid, &set); err != nil {
			t.Fatal(err)
		}
	}
}

// TestVerdictOfBoundTeamInCore looks at a core of a team that is bound to one processor: the core lacks the
// masks, so there is no verdict on them.
func TestVerdictOfBoundTeamInCore(t *testing.T) {
	cpus := processors(t)
	for _, l := range e2e.Lanes() {
		if l.Mode != omptest.Gcore {
			continue
		}
		t.Run(l.String(), func(t *testing.T) {
			env := []string{"OMP_PROC_BIND=true", fmt.Sprintf("OMP_PLACES={%d}", cpus[0])}
			_, pic := e2e.Diagnose(t, l.Look(t, e2e.Program{Name: "verdict_oversubscribed", Env: env}))
			i := slices.IndexFunc(pic.Verdicts,
				func(v picture.Verdict) bool { return v.Kind == picture.VerdictOversubscribed })
			if i < 0 {
				t.Fatalf("%+v, want oversubscribed", pic.Verdicts)
			}
			if all := fmt.Sprint(pic.Verdicts[i]); strings.Contains(all, "mask") ||
				!strings.Contains(all, "num-procs-var") {
				t.Errorf("of a core: %s", all)
			}
		})
	}
}

// controlGroup is a control group for the duration of a test.
type controlGroup struct {
	dir     string
	unified bool // of version 2
}

// newGroup makes a control group with a controller, of the version (1 or 2) that has the controller here. It
// needs root.
func newGroup(t *testing.T, controller string) controlGroup {
	t.Helper()
	omptest.Needs(t, "the right to make control groups")
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(mounts)) {
		f := strings.Fields(line)
		if len(f) < 4 || !groupMount(f[2], f[1], f[3], controller) {
			continue
		}
		dir := filepath.Join(f[1], fmt.Sprintf("ompd-inspect-test-%d", os.Getpid()))
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Skipf("no control group can be made: %v", err)
		}
		t.Cleanup(func() {
			if err := os.Remove(dir); err != nil {
				t.Errorf("the control group stays: %v", err)
			}
		})
		return controlGroup{dir: dir, unified: f[2] == "cgroup2"}
	}
	t.Skipf("no %s controller is mounted where groups can be made", controller)
	return controlGroup{}
}

// groupMount reports whether groups with a controller can be made below a mount.
func groupMount(kind, dir, options, controller string) bool {
	switch kind {
	case "cgroup":
		return slices.Contains(strings.Split(options, ","), controller)
	case "cgroup2":
		have, err := os.ReadFile(filepath.Join(dir, "cgroup.subtree_control"))
		return err == nil && slices.Contains(strings.Fields(string(have)), controller)
	}
	return false
}

// name returns the group's name as the tool prints it.
func (g controlGroup) name() string { return "control group /" + filepath.Base(g.dir) }

// limit gives the group half a processor, and returns the source that the tool must name.
func (g controlGroup) limit(t *testing.T) (source string) {
	t.Helper()
	if g.unified {
		put(t, g.dir, "cpu.max", "50000 100000")
		return "cpu.max of " + g.name() + ": 50ms in each 100ms"
	}
	put(t, g.dir, "cpu.cfs_period_us", "100000")
	put(t, g.dir, "cpu.cfs_quota_us", "50000")
	return "cpu.cfs_quota_us of " + g.name() + ": 50ms in each 100ms"
}

// bind gives the group one processor, and returns the source that the tool must name.
func (g controlGroup) bind(t *testing.T, cpu string) (source string) {
	t.Helper()
	put(t, g.dir, "cpuset.cpus", cpu)
	if g.unified {
		return "cpuset.cpus.effective of " + g.name() + ": " + cpu
	}
	put(t, g.dir, "cpuset.mems", "0")
	return "cpuset.effective_cpus of " + g.name() + ": " + cpu
}

// put writes a file of a control group.
func put(t *testing.T, dir, name, value string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(value), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestVerdictUnderQuota looks at threads in a control group with half a processor.
func TestVerdictUnderQuota(t *testing.T) {
	several(t) // threads that share one processor have another verdict
	eachLiveLane(t, func(t *testing.T, l e2e.Lane) {
		group := newGroup(t, "cpu")
		quota := []string{
			"8 threads of parallel regions compete for 0.5 processors' worth of time, a quota",
			group.limit(t), "num_threads(8) at verdict_oversubscribed.c:45 requests more",
		}
		for _, e := range []expectation{
			{args: []string{"0", "8"}, says: quota},
			{args: []string{"1", "8"}, only: "libomp", env: spinForEver,
				says: append(quota, "7 of them spin while they wait")},
		} {
			if !e.holdsIn(l) {
				continue
			}
			t.Run(e.args[0], func(t *testing.T) {
				e.program, e.kind, e.certainty, e.threads = "verdict_oversubscribed", "oversubscribed", "certain", 8
				target := l.Look(t, e.inLane())
				put(t, group.dir, "cgroup.procs", target)
				e.check(t, l, target)
			})
		}
	})
}

// TestVerdictInCpuset looks at processes in a control group with one processor: one that was moved into it after
// it had formed its team, and one that started in it.
func TestVerdictInCpuset(t *testing.T) {
	cpu := strconv.Itoa(several(t)[0])
	eachLiveLane(t, func(t *testing.T, l e2e.Lane) {
		group := newGroup(t, "cpuset")
		source := "they are those of its cpuset: " + group.bind(t, cpu)
		e := expectation{program: "verdict_oversubscribed", args: []string{"0", "4"}, kind: "oversubscribed",
			certainty: "certain", threads: 4, says: []string{source}}
		target := l.Look(t, e.inLane())
		put(t, group.dir, "cgroup.procs", target)
		e.check(t, l, target)

		e = expectation{program: "verdict_one_thread", args: []string{"7", "1"}, kind: "one_thread",
			certainty: "certain", threads: 1, says: []string{"the program may use one processor only",
				"allows processor " + cpu, source}}
		run := l.Run(t, e.inLane())
		command := run.Exe
		if r := &run.Runtime; r.Loader != "" {
			command = r.Loader + " --library-path " + r.Dir + " " + command
			r.Loader, r.Dir = "", ""
		}
		script := fmt.Sprintf("#!/bin/sh\necho $$ > %s/cgroup.procs && exec %s \"$@\"\n", group.dir, command)
		run.Exe = filepath.Join(t.TempDir(), "inside")
		if err := os.WriteFile(run.Exe, []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
		e.check(t, l, strconv.Itoa(omptest.Start(t, run).PID))
	})
}
