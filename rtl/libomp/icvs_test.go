package libomp_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/omptest"
	"github.com/ompd-inspect/ompd-inspect/rtl"
)

// icv reads a variable by its name for the thread h, its region or its task.
func (s *subject) icv(t *testing.T, name string, h handles.Thread) (rtl.ICVValue, error) {
	t.Helper()
	for i, v := range s.ICVs() {
		if v.Name != name {
			continue
		}
		subject := rtl.Subject{Scope: v.Scope, Thread: h}
		subject.Parallel, _ = s.CurrentParallel(h)
		subject.Task, _ = s.CurrentTask(h)
		return s.ICV(i+1, subject)
	}
	t.Fatalf("no variable %s", name)
	return rtl.ICVValue{}, nil
}

// scheduleText is the text of an omp_sched_t.
func scheduleText(kind uint32, chunk int) string {
	text := map[uint32]string{1: "static", 2: "dynamic", 3: "guided", 4: "auto"}[kind&0xff]
	if kind>>31 != 0 {
		text = "monotonic:" + text
	}
	if chunk > 0 && kind&0xff != 4 {
		text += "," + strconv.Itoa(chunk)
	}
	return text
}

// checkICVs holds variables against what omp_get_* told the thread. Globals that
// this layout cannot place are left out; they are named in open.
func (s *subject) checkICVs(t *testing.T, h handles.Thread, want omptest.ThreadTruth, open map[string]int) {
	for name, value := range map[string]int{
		"nthreads-var": want.MaxThreads, "dyn-var": want.Dynamic, "max-active-levels-var": want.MaxActiveLevels,
		"bind-var": want.ProcBind, "thread-limit-var": want.ThreadLimit, "default-device-var": want.DefaultDevice,
		"cancel-var": want.Cancellation, "num-procs-var": want.NumProcs, "team-num-var": want.TeamNum, "league-size-var": want.NumTeams,
		"max-task-priority-var": want.MaxTaskPriority, "stacksize-var": int(want.StackSize), "final-task-var": want.InFinal,
		"levels-var": want.Level, "active-levels-var": want.ActiveLevel, "team-size-var": want.TeamSize, "thread-num-var": want.ThreadNum,
		"place-assignment-var": want.PlaceNum,
	} {
		v, err := s.icv(t, name, h)
		if rc := rcOf(err); rc == callbacks.Incompatible || name == "place-assignment-var" && value < 0 && rc == callbacks.Unavailable {
			open[name]++
			continue
		}
		if err != nil || v.Int != int64(value) || v.Text == "" || v.Source == "" {
			t.Errorf("LWP %d: %s is %+v (%v), the program says %d", want.LWP, name, v, err, value)
		}
	}
	v, err := s.icv(t, "run-sched-var", h)
	if text := scheduleText(want.ScheduleKind, want.ScheduleChunk); err != nil || v.Text != text {
		t.Errorf("LWP %d: run-sched-var is %+v (%v), the program says %s", want.LWP, v, err, text)
	}
}

// settings are environments, and the program that runs with them.
func settings() map[string][]string {
	return map[string][]string{
		"nested none": nil,
		"nested list": {"OMP_NUM_THREADS=4,3,2", "OMP_SCHEDULE=dynamic,7", "OMP_STACKSIZE=16M", "OMP_CANCELLATION=true",
			"OMP_MAX_TASK_PRIORITY=9", "OMP_DEFAULT_DEVICE=2"},
		"nested bind":     {"OMP_PROC_BIND=spread,close", "OMP_PLACES=cores", "OMP_SCHEDULE=monotonic:guided,3", "OMP_THREAD_LIMIT=40"},
		"nested auto":     {"OMP_SCHEDULE=auto", "OMP_NUM_THREADS=3"},
		"spinning active": {"KMP_BLOCKTIME=infinite", "OMP_WAIT_POLICY=active"},
	}
}

// TestICVs holds the variables of all threads against what the program's threads
// were told, with the environment's settings varied.
func TestICVs(t *testing.T) {
	for _, rt := range omptest.Runtimes(t) {
		for name, env := range settings() {
			t.Run(fmt.Sprint(rt.Major, "/", name), func(t *testing.T) {
				program, _, _ := strings.Cut(name, " ")
				exe := omptest.Compile(t, omptest.Build{Program: program})
				s := openCore(t, omptest.Run{Exe: exe, Runtime: rt, Mode: omptest.Kernel, Env: env})
				open := map[string]int{}
				for _, want := range s.truth.Threads {
					s.checkICVs(t, s.threads[want.LWP], want, open)
				}
				t.Logf("not placed: %v", open)
				s.checkControls(t, env)
			})
		}
	}
}

// checkControls holds the control variables against the environment that the
// program was started with. The runtime keeps lists of levels apart, and may not
// let them be found.
func (s *subject) checkControls(t *testing.T, env []string) {
	vars, err := s.ControlVars()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, v := range vars {
		got[v.Name] = v.Value
	}
	for _, e := range env {
		name, value, _ := strings.Cut(e, "=")
		first, _, _ := strings.Cut(value, ",")
		switch v := got[name]; {
		case name == "OMP_STACKSIZE" && v == "16777216B", name == "OMP_PLACES", v == value:
		case (name == "OMP_NUM_THREADS" || name == "OMP_PROC_BIND") && v == first:
			t.Logf("%s is known for the first level only", name)
		default:
			t.Errorf("%s is %q, started with %q", name, v, value)
		}
	}
}

// TestEnvBlock reads the text that the runtime keeps for OMPD.
func TestEnvBlock(t *testing.T) {
	exe := omptest.Compile(t, omptest.Build{Program: "barrier"})
	for _, rt := range omptest.Runtimes(t) {
		s := openCore(t, omptest.Run{Exe: exe, Runtime: rt, Mode: omptest.Kernel})
		block, ok := s.Runtime.(interface{ EnvBlock() ([]string, error) })
		if !ok {
			t.Fatal("no EnvBlock")
		}
		lines, err := block.EnvBlock()
		if err != nil || !slices.ContainsFunc(lines, func(l string) bool { return strings.Contains(l, "OMP_NUM_THREADS") }) {
			t.Errorf("%s: %q, %v", rt.Name, lines, err)
		}
	}
}
