package diagnose_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/diagnose"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// want is the expected verdict of a case.
type want struct {
	kind      picture.VerdictKind
	severity  picture.Severity
	certainty picture.Certainty
	threads   []int
	fix       string // a word of the fix; "" without a fix
	says      string // a part of the summary, the explanation or the evidence, or "waiting behind: 1 2"
}

// scenario is a picture of some threads in one team, and the verdicts on it.
type scenario struct {
	name string
	size int
	make func(scene)
	want []want
}

// check compares the verdicts of each scenario with the expected ones.
func check(t *testing.T, scenarios []scenario) {
	t.Helper()
	for _, c := range scenarios {
		s := team(c.size)
		c.make(s)
		vs := diagnose.Run(s.Picture)
		if !alike(vs, c.want) {
			t.Errorf("%s:\n%s, want\n%s", c.name, shown(vs), wanted(c.want))
		}
		invariants(t, c.name, s, vs)
	}
}

// alike reports whether the verdicts are the wanted ones, in any order.
func alike(vs []picture.Verdict, ws []want) bool {
	left := slices.Clone(ws)
	for _, v := range vs {
		i := slices.IndexFunc(left, func(w want) bool { return w.met(v) })
		if i < 0 {
			return false
		}
		left = slices.Delete(left, i, i+1)
	}
	return len(left) == 0
}

func (w want) met(v picture.Verdict) bool {
	return v.Kind == w.kind && v.Severity == w.severity && v.Certainty == w.certainty &&
		slices.Equal(slices.Sorted(slices.Values(v.Threads)), slices.Sorted(slices.Values(w.threads))) &&
		(v.Fix == "") == (w.fix == "") && strings.Contains(v.Fix, w.fix) &&
		strings.Contains(strings.Join(append([]string{v.Summary, v.Explanation, fmt.Sprintf("waiting behind: %s",
			strings.Trim(fmt.Sprint(v.Waiting), "[]"))}, v.Evidence...), "\n"), w.says)
}

func shown(vs []picture.Verdict) string {
	var out []string
	for _, v := range vs {
		out = append(out, fmt.Sprintf("  %s, %s, %s of %v: %q %q; fix: %q",
			v.Kind, v.Severity, v.Certainty, v.Threads, v.Summary, v.Explanation, v.Fix))
	}
	return strings.Join(out, "\n")
}

func wanted(ws []want) string {
	var out []string
	for _, w := range ws {
		out = append(out, fmt.Sprintf("  %s, %s, %s of %v: …%q…; fix: …%q…",
			w.kind, w.severity, w.certainty, w.threads, w.says, w.fix))
	}
	return strings.Join(out, "\n")
}

// invariants checks the rules of all pictures. A second run, and one on the saved picture, give the same verdicts.
// A picture without facts has no verdict of a hang. Every verdict is complete.
func invariants(t *testing.T, name string, s scene, vs []picture.Verdict) {
	t.Helper()
	was, err := json.Marshal(vs)
	if err != nil {
		t.Fatal(err)
	}
	if is, _ := json.Marshal(diagnose.Run(s.Picture)); string(is) != string(was) {
		t.Errorf("%s: a second run says\n%s, the first\n%s", name, is, was)
	}
	b, err := json.Marshal(s.Picture)
	if err != nil {
		t.Fatal(err)
	}
	saved := new(picture.Picture)
	if err := json.Unmarshal(b, saved); err != nil {
		t.Fatal(err)
	}
	if is, _ := json.Marshal(diagnose.Run(saved)); string(is) != string(was) {
		t.Errorf("%s: of the saved picture\n%s, want\n%s", name, is, was)
	}
	saved.Facts = nil
	for _, v := range diagnose.Run(saved) {
		if v.Severity == picture.SeverityHang {
			t.Errorf("%s: a hang without facts: %s", name, v.Summary)
		}
	}
	for _, v := range vs {
		if v.Summary == "" || len(v.Evidence) == 0 || diagnose.Title(v.Kind) == "" ||
			strings.Contains(v.Summary, "%!") {
			t.Errorf("%s: incomplete: %+v", name, v)
		}
	}
}

func some(n int) *int { return &n }

func hex(n uint64) *picture.Hex { return (*picture.Hex)(&n) }

// hang returns a certain verdict of a hang.
func hang(kind picture.VerdictKind, fix, says string, threads ...int) want {
	return want{kind, picture.SeverityHang, picture.Certain, threads, fix, says}
}

// likely returns a likely verdict of a hang.
func likely(kind picture.VerdictKind, fix, says string, threads ...int) want {
	return want{kind, picture.SeverityHang, picture.Likely, threads, fix, says}
}

func warning(kind picture.VerdictKind, fix, says string, threads ...int) want {
	return want{kind, picture.SeverityWarning, picture.Certain, threads, fix, says}
}

func info(kind picture.VerdictKind, fix, says string, threads ...int) want {
	return want{kind, picture.SeverityInfo, picture.Certain, threads, fix, says}
}

// incomplete returns the verdict on a barrier with missing threads that may still come.
func incomplete(threads ...int) want {
	return want{picture.VerdictBarrierMissing, picture.SeverityInfo, picture.Possible, threads, "", "is normal"}
}

// neverComplete returns the verdict on a barrier with missing threads that can never come.
func neverComplete(c picture.Certainty, threads ...int) want {
	return want{picture.VerdictBarrierMissing, picture.SeverityHang, c, threads, "", "another verdict"}
}

// holds makes one thread wait for a lock of some kind that another holds.
func (s scene) holds(owner, waiter int, kind picture.WaitKind, id string) {
	if !slices.ContainsFunc(s.Facts.Locks, func(l picture.Lock) bool { return l.ID == picture.ID(id) }) {
		l := s.lock(id)
		l.Owner, l.Nested = owner, kind == picture.WaitNestLock
	}
	s.waits(waiter, kind, id)
}

// joins makes one thread wait for the end of another.
func (s scene) joins(waiter, other int) {
	w := s.waits(waiter, picture.WaitJoin, "")
	w.Address, w.Lock, w.WaitOn, w.Evidence = hex(uint64(0x9000+other)), "", other, "pthread_join"
}

// arrived makes some members wait at a barrier that others have not reached.
func (s scene) arrived(id string, at uint64, lwps []int, missing ...int) *picture.Barrier {
	s.Facts.Barriers = append(s.Facts.Barriers, picture.Barrier{
		ID: picture.ID(id), TeamSize: len(s.Threads), Arrived: lwps, Missing: missing, Evidence: "counted",
	})
	for _, lwp := range lwps {
		w := s.waits(lwp, picture.WaitBarrier, "")
		w.Barrier, w.Lock, w.Address = picture.ID(id), "", hex(at)
		s.Threads[lwp-1].State.Name = picture.StateBarrierExplicit
	}
	return &s.Facts.Barriers[len(s.Facts.Barriers)-1]
}

// task adds an explicit task.
func (s scene) task(id, parent string, state picture.TaskState, thread int, preds ...picture.ID) *picture.Task {
	s.Tasks = append(s.Tasks, picture.Task{
		ID: picture.ID(id), Kind: picture.TaskExplicit, State: state, Parent: picture.ID(parent),
		Region: "r", Thread: thread, WaitsFor: preds, Predecessors: len(preds),
	})
	return &s.Tasks[len(s.Tasks)-1]
}

// implicit gives each thread its implicit task: i1, i2, ….
func (s scene) implicit() {
	for i := range s.Threads {
		id := picture.ID(fmt.Sprint("i", i+1))
		s.Tasks = append(s.Tasks, picture.Task{
			ID: id, Kind: picture.TaskImplicit, State: picture.TaskRunning, Region: "r", Thread: i + 1,
		})
		s.Threads[i].Task = id
	}
}

// taskwait makes a thread wait for the children of a task.
func (s scene) taskwait(lwp int, task string) *picture.Wait {
	w := s.waits(lwp, picture.WaitTaskwait, "")
	w.Address, w.Lock, w.Task = nil, "", picture.ID(task)
	return w
}

// taskgroup makes a thread that executes a task wait for others of its group.
func (s scene) taskgroup(lwp int, task string, others ...picture.ID) {
	w := s.taskwait(lwp, task)
	w.Kind, w.Awaited = picture.WaitTaskgroup, &picture.Awaited{Tasks: others}
}

// placeThread puts a thread at a line of the program.
func (s scene) placeThread(lwp, line int, state picture.StateName) {
	s.Threads[lwp-1].UserStack = []picture.Frame{{Kind: picture.FrameUser, Function: "work", File: "/src/a.c",
		Line: line}}
	s.Threads[lwp-1].State.Name = state
}
