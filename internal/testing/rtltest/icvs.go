package rtltest

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// icv reads a variable by its name for the thread h, its region or its task.
func (s *Subject) icv(name string, h handles.Thread) (handles.ICVValue, error) {
	for i, v := range s.ICVs() {
		if v.Name != name {
			continue
		}
		subject := handles.Subject{Scope: v.Scope, Thread: h}
		subject.Parallel, _ = s.CurrentParallel(h)
		subject.Task, _ = s.CurrentTask(h)
		return s.ICV(i+1, subject)
	}
	return handles.ICVValue{}, fmt.Errorf("no variable %s: %w", name, callbacks.Unsupported)
}

// scheduleText returns the text of an omp_sched_t.
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

// CheckICVs compares the variables of all threads with the results of omp_get_* in them.
func (s *Subject) CheckICVs(t *testing.T) {
	t.Helper()
	for _, want := range s.Truth.Threads {
		if h, ok := s.ByLWP[want.LWP]; ok {
			s.checkICVs(t, h, want)
		}
	}
}

func (s *Subject) checkICVs(t *testing.T, h handles.Thread, want omptest.ThreadTruth) {
	for name, value := range map[string]int{
		"nthreads-var": want.MaxThreads, "dyn-var": want.Dynamic, "max-active-levels-var": want.MaxActiveLevels,
		"bind-var": want.ProcBind, "thread-limit-var": want.ThreadLimit, "default-device-var": want.DefaultDevice,
		"cancel-var": want.Cancellation, "num-procs-var": want.NumProcs,
		"team-num-var": want.TeamNum, "league-size-var": want.NumTeams,
		"max-task-priority-var": want.MaxTaskPriority, "stacksize-var": int(want.StackSize),
		"final-task-var": want.InFinal,
		"levels-var":     want.Level, "active-levels-var": want.ActiveLevel,
		"team-size-var": want.TeamSize, "thread-num-var": want.ThreadNum,
		"place-assignment-var": want.PlaceNum,
	} {
		v, err := s.icv(name, h)
		unbound := name == "place-assignment-var" && value < 0
		if err != nil && (unbound || s.Expect.Unknown != nil && s.Expect.Unknown(name, RC(err))) {
			continue
		}
		if err != nil || v.Int != int64(value) || v.Text == "" || v.Source == "" {
			t.Errorf("LWP %d: %s is %+v (%v), the program says %d", want.LWP, name, v, err, value)
		}
	}
	v, err := s.icv("run-sched-var", h)
	if text := scheduleText(want.ScheduleKind, want.ScheduleChunk); err != nil || v.Text != text {
		t.Errorf("LWP %d: run-sched-var is %+v (%v), the program says %s", want.LWP, v, err, text)
	}
}

// CheckControls compares the control variables with the environment of the program. Runtimes store lists of
// levels separately, and may not make them accessible.
func (s *Subject) CheckControls(t *testing.T, env []string) {
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
		default:
			t.Errorf("%s is %q, started with %q", name, v, value)
		}
	}
}

// CheckBadQuestions asks for missing variables, and in wrong scopes.
func (s *Subject) CheckBadQuestions(t *testing.T) {
	t.Helper()
	for _, id := range []int{-1, 0, len(s.ICVs()) + 1} {
		if _, err := s.ICV(id, handles.Subject{Scope: handles.ScopeAddressSpace}); RC(err) != callbacks.BadInput {
			t.Errorf("variable %d: %v", id, err)
		}
	}
	for i, v := range s.ICVs() {
		wrong := handles.ScopeTask
		if v.Scope == handles.ScopeTask {
			wrong = handles.ScopeThread
		}
		if _, err := s.ICV(i+1, handles.Subject{Scope: wrong}); RC(err) != callbacks.BadInput {
			t.Errorf("%s in scope %v: %v", v.Name, wrong, err)
		}
	}
}
