package main

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

	"github.com/ompd-inspect/ompd-inspect/inspect"
	"github.com/ompd-inspect/ompd-inspect/internal/omptest"
)

// processors are those that this process may use.
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

// several are processors of a machine that has more than one.
func several(t *testing.T) []int {
	t.Helper()
	cpus := processors(t)
	if len(cpus) < 2 {
		t.Skip("this machine has one processor only: the runtimes know that threads share it")
	}
	return cpus
}

// spinForEver lets threads that wait spin for ever, on every runtime.
var spinForEver = []string{"OMP_WAIT_POLICY=active", "KMP_BLOCKTIME=infinite", "GOMP_SPINCOUNT=infinite"}

// eachLiveLane runs a test on the runtimes with processes that live.
func eachLiveLane(t *testing.T, test func(t *testing.T, l lane)) {
	for _, l := range lanes() {
		if l.mode == omptest.Live {
			t.Run(l.String(), func(t *testing.T) { test(t, l) })
		}
	}
}

// TestBound looks at teams that are bound to one processor, by places or from
// outside, and at some that have processors of their own.
func TestBound(t *testing.T) {
	cpus := several(t)
	one := []string{"OMP_PROC_BIND=true", fmt.Sprintf("OMP_PLACES={%d}", cpus[0])}
	mask := fmt.Sprintf("affinity mask allows processor %d", cpus[0])
	cases := []expectation{
		{args: []string{"0", "4"}, env: one, kind: "oversubscribed", threads: 4, says: []string{
			fmt.Sprintf("4 threads of parallel regions are busy on 1 processor, which their affinity masks allow: %d", cpus[0]), strings.Join(one, " ")}},
		{args: []string{"1", "4"}, env: slices.Concat(one, spinForEver), only: "libomp", kind: "shared_processor", threads: 4, says: []string{
			fmt.Sprintf("3 threads spin on processor %d, where thread 1", cpus[0]), "spins, waiting for the other threads at a barrier", mask, "OMP_WAIT_POLICY=passive"}},
		{args: []string{"2", "2"}, env: slices.Concat(one, spinForEver)},
	}
	own := slices.Concat(spinForEver, []string{"OMP_PROC_BIND=true", fmt.Sprintf("OMP_PLACES={%d},{%d}", cpus[0], cpus[1])})
	cases = append(cases, expectation{args: []string{"1", "2"}, env: own}, expectation{args: []string{"3", "2"}, env: own})
	eachLiveLane(t, func(t *testing.T, l lane) {
		for _, e := range cases {
			if !l.runs(e) {
				continue
			}
			t.Run(strings.Join(slices.Concat(e.args, e.env[:2]), "-"), func(t *testing.T) {
				e.program, e.certainty = "verdict_oversubscribed", "certain"
				e.check(t, l, l.look(t, e))
			})
		}
	})
}

// TestTaskset binds the threads of processes to one processor while they run.
func TestTaskset(t *testing.T) {
	cpus := several(t)
	mask := fmt.Sprintf("affinity mask allows processor %d", cpus[0])
	eachLiveLane(t, func(t *testing.T, l lane) {
		for _, e := range []expectation{
			{args: []string{"0", "4"}, kind: "oversubscribed", threads: 4, says: []string{fmt.Sprintf("their affinity masks allow: %d", cpus[0]), "not the cpuset binds them"}},
			{args: []string{"1", "2"}, env: spinForEver, kind: "shared_processor", threads: 2, says: []string{
				fmt.Sprintf("spins on processor %d, where thread 1", cpus[0]), "spins, waiting for the other threads at a barrier", mask, "OMP_WAIT_POLICY=active"}},
			{args: []string{"3", "2"}, env: spinForEver, kind: "shared_processor", threads: 2, says: []string{
				fmt.Sprintf("spins on processor %d, where thread 0", cpus[0]), "spins, waiting for lock lock", "for which it waits", mask}},
		} {
			t.Run(strings.Join(e.args, "-"), func(t *testing.T) {
				e.program, e.certainty = "verdict_oversubscribed", "certain"
				target := l.look(t, e)
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

// TestBoundCore looks at a core of a team that is bound to one processor, whose masks
// it does not have: nothing is said of them.
func TestBoundCore(t *testing.T) {
	cpus := processors(t)
	for _, l := range lanes() {
		if l.mode != omptest.Gcore {
			continue
		}
		t.Run(l.String(), func(t *testing.T) {
			env := []string{"OMP_PROC_BIND=true", fmt.Sprintf("OMP_PLACES={%d}", cpus[0])}
			_, pic := verdictsOf(t, l.look(t, expectation{program: "verdict_oversubscribed", env: env}))
			i := slices.IndexFunc(pic.Verdicts, func(v inspect.Verdict) bool { return v.Kind == inspect.VerdictOversubscribed })
			if i < 0 {
				t.Fatalf("%+v, want oversubscribed", pic.Verdicts)
			}
			if all := fmt.Sprint(pic.Verdicts[i]); strings.Contains(all, "mask") || !strings.Contains(all, "num-procs-var") {
				t.Errorf("of a core: %s", all)
			}
		})
	}
}

// newGroup makes a control group with a controller of version 1 for the time of the
// test. Only root may, and only where the controller is there.
func newGroup(t *testing.T, controller string) string {
	t.Helper()
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(mounts)) {
		f := strings.Fields(line)
		if len(f) < 4 || f[2] != "cgroup" || !slices.Contains(strings.Split(f[3], ","), controller) {
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
		return dir
	}
	t.Skipf("no %s controller of version 1 is mounted", controller)
	return ""
}

// put writes a file of a control group.
func put(t *testing.T, dir, name, value string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(value), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestQuota looks at threads in a control group that has half a processor.
func TestQuota(t *testing.T) {
	eachLiveLane(t, func(t *testing.T, l lane) {
		dir := newGroup(t, "cpu")
		put(t, dir, "cpu.cfs_period_us", "100000")
		put(t, dir, "cpu.cfs_quota_us", "50000")
		quota := []string{
			"8 threads of parallel regions are busy on the time of 0.5 processors, by a quota",
			"cpu.cfs_quota_us of control group /" + filepath.Base(dir) + ": 50ms in each 100ms", "OMP_NUM_THREADS=1",
		}
		for _, e := range []expectation{
			{args: []string{"0", "8"}, says: quota},
			{args: []string{"1", "8"}, only: "libomp", env: spinForEver, says: append(quota, "7 of them only spin while they wait")},
		} {
			if !l.runs(e) {
				continue
			}
			t.Run(e.args[0], func(t *testing.T) {
				e.program, e.kind, e.certainty, e.threads = "verdict_oversubscribed", "oversubscribed", "certain", 8
				target := l.look(t, e)
				put(t, dir, "cgroup.procs", target)
				e.check(t, l, target)
			})
		}
	})
}

// TestCpuset looks at processes in a control group that has one processor: one that
// came into it when its team was there, and one that began in it.
func TestCpuset(t *testing.T) {
	cpu := strconv.Itoa(processors(t)[0])
	eachLiveLane(t, func(t *testing.T, l lane) {
		dir := newGroup(t, "cpuset")
		put(t, dir, "cpuset.cpus", cpu)
		put(t, dir, "cpuset.mems", "0")
		source := fmt.Sprintf("they are those of its cpuset: cpuset.effective_cpus of control group /%s: %s", filepath.Base(dir), cpu)
		e := expectation{program: "verdict_oversubscribed", args: []string{"0", "4"}, kind: "oversubscribed", certainty: "certain", threads: 4, says: []string{source}}
		e.info = len(processors(t)) == 1
		target := l.look(t, e)
		put(t, dir, "cgroup.procs", target)
		e.check(t, l, target)

		e = expectation{program: "verdict_one_thread", args: []string{"7", "1"}, kind: "one_thread", certainty: "certain", threads: 1, says: []string{"the program may use one processor only", "allows processor " + cpu, source}}
		run := l.run(t, e)
		command := run.Exe
		if r := &run.Runtime; r.Loader != "" {
			command = r.Loader + " --library-path " + r.Dir + " " + command
			r.Loader, r.Dir = "", ""
		}
		script := fmt.Sprintf("#!/bin/sh\necho $$ > %s/cgroup.procs && exec %s \"$@\"\n", dir, command)
		run.Exe = filepath.Join(t.TempDir(), "inside")
		if err := os.WriteFile(run.Exe, []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
		e.check(t, l, strconv.Itoa(omptest.Start(t, run).PID))
	})
}
