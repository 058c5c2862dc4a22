package libgomp_test

import (
	"fmt"
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

// sinceGCC is the release that has a variable where it can be found.
var sinceGCC = map[string]int{"team-num-var": 12}

// checkICVs holds variables against what omp_get_* told the thread.
func (s *subject) checkICVs(t *testing.T, h handles.Thread, want omptest.ThreadTruth, major int) {
	for name, value := range map[string]int{
		"nthreads-var": want.MaxThreads, "dyn-var": want.Dynamic, "max-active-levels-var": want.MaxActiveLevels,
		"bind-var": want.ProcBind, "thread-limit-var": want.ThreadLimit, "default-device-var": want.DefaultDevice,
		"cancel-var": want.Cancellation, "team-num-var": want.TeamNum, "league-size-var": want.NumTeams,
		"max-task-priority-var": want.MaxTaskPriority, "final-task-var": want.InFinal,
		"levels-var": want.Level, "active-levels-var": want.ActiveLevel, "team-size-var": want.TeamSize, "thread-num-var": want.ThreadNum,
		"place-assignment-var": want.PlaceNum,
	} {
		v, err := s.icv(t, name, h)
		if rc := rcOf(err); rc == callbacks.Unavailable && (major < sinceGCC[name] || name == "place-assignment-var" && value < 0) {
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
		"roots none": nil,
		"roots list": {"OMP_NUM_THREADS=4,3,2", "OMP_SCHEDULE=dynamic,7", "OMP_CANCELLATION=true", "OMP_MAX_TASK_PRIORITY=9",
			"OMP_DYNAMIC=false"},
		"barrier bind": {"OMP_PROC_BIND=spread,close", "OMP_PLACES=cores", "OMP_SCHEDULE=monotonic:guided,3", "OMP_THREAD_LIMIT=40"},
		"barrier auto": {"OMP_SCHEDULE=auto", "OMP_NUM_THREADS=3"},
	}
}

// TestICVs holds the variables of all threads against what the program's threads
// were told, with the environment's settings varied.
func TestICVs(t *testing.T) {
	for _, rt := range omptest.Libgomps(t) {
		for name, env := range settings() {
			t.Run(fmt.Sprint(rt.Major, "/", name), func(t *testing.T) {
				program, _, _ := strings.Cut(name, " ")
				exe := omptest.Compile(t, omptest.Build{Program: program, Compiler: omptest.GCC})
				s := openCore(t, omptest.Run{Exe: exe, Runtime: rt, Mode: omptest.Kernel, Env: env})
				for _, want := range s.truth.Threads {
					s.checkICVs(t, s.threads[want.LWP], want, rt.Major)
				}
				s.checkControls(t, env)
			})
		}
	}
}

// checkControls holds the control variables against the environment that the
// program was started with. Lists of levels are apart, and not found in a stripped
// runtime.
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
		case name == "OMP_PLACES", v == value, (name == "OMP_NUM_THREADS" || name == "OMP_PROC_BIND") && v == first:
		default:
			t.Errorf("%s is %q, started with %q", name, v, value)
		}
	}
}

// TestBadQuestions asks for variables that are not there, and in wrong scopes.
func TestBadQuestions(t *testing.T) {
	s := openProgram(t, "barrier")
	for _, id := range []int{-1, 0, len(s.ICVs()) + 1} {
		if _, err := s.ICV(id, rtl.Subject{Scope: rtl.ScopeAddressSpace}); rcOf(err) != callbacks.BadInput {
			t.Errorf("variable %d: %v", id, err)
		}
	}
	for i, v := range s.ICVs() {
		wrong := rtl.ScopeTask
		if v.Scope == rtl.ScopeTask {
			wrong = rtl.ScopeThread
		}
		if _, err := s.ICV(i+1, rtl.Subject{Scope: wrong}); rcOf(err) != callbacks.BadInput {
			t.Errorf("%s in scope %v: %v", v.Name, wrong, err)
		}
	}
}
