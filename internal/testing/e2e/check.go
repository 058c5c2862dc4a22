package e2e

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// CheckPicture compares a picture with what the threads of the program wrote down. With lines, the
// executable has debug information.
func CheckPicture(t *testing.T, pic *picture.Picture, r *omptest.Result, lines bool) {
	t.Helper()
	truth := r.Truth
	if pic.Target.PID != truth.Program.PID || len(pic.Threads) < len(truth.Program.LWPs) {
		t.Errorf("pid %d with %d threads, want %d with %d", pic.Target.PID, len(pic.Threads), truth.Program.PID,
			len(truth.Program.LWPs))
	}
	if truth.Program.Signal != 0 && (pic.Target.Signal == "" || pic.Target.CrashedLWP != truth.Program.CrashedLWP) {
		t.Errorf("%s in LWP %d, want a signal in %d", pic.Target.Signal, pic.Target.CrashedLWP,
			truth.Program.CrashedLWP)
	}
	if len(pic.Runtimes) != 1 && len(truth.Threads) > 0 && truth.Threads[0].Role != "other" {
		t.Fatalf("%d runtimes: %v", len(pic.Runtimes), pic.Warnings)
	}
	for _, th := range truth.Threads {
		CheckThread(t, pic, th, lines)
	}
	checkRegions(t, pic, truth, lines)
	CheckTasks(t, pic, truth, lines)
	if t.Failed() {
		t.Logf("core %s\nwarnings: %s", r.Core, strings.Join(pic.Warnings, "\n"))
	}
}

// CheckThread compares a thread of a picture with what the thread itself wrote down.
func CheckThread(t *testing.T, pic *picture.Picture, want omptest.ThreadTruth, lines bool) {
	t.Helper()
	got := FindThread(pic, want.LWP)
	if got == nil {
		t.Errorf("LWP %d is missing", want.LWP)
		return
	}
	diff := func(what string, got, expected any) {
		if fmt.Sprint(got) != fmt.Sprint(expected) { // the truth has no typed words
			t.Errorf("LWP %d: %s %v, want %v", want.LWP, what, got, expected)
		}
	}
	if len(got.Errors) > 0 {
		t.Errorf("LWP %d: %v", want.LWP, got.Errors)
	}
	switch want.Role {
	case "helper":
		diff("hidden helper", got.Hidden, true)
		return
	case "other":
		diff("role", got.Role, "none")
		return
	case "idle":
		diff("role", got.Role, "idle")
		diff("has a thread number", got.ThreadNum != nil, false)
		diff("has a region", got.Region, picture.ID(""))
		diff("state", got.State.Name, "idle")
		return
	}
	diff("role", got.Role, want.Role)
	diff("thread_num", IntOf(got.ThreadNum), want.ThreadNum)
	diff("team_size", IntOf(got.TeamSize), want.TeamSize)
	diff("level", IntOf(got.Level), want.Level)
	diff("active_level", IntOf(got.ActiveLevel), want.ActiveLevel)
	diff("levels", len(got.Levels), len(want.Sizes))
	for i := range min(len(got.Levels), len(want.Sizes)) {
		diff(fmt.Sprintf("thread_num at level %d", i), IntOf(got.Levels[i].ThreadNum), want.Ancestors[i])
		diff(fmt.Sprintf("team_size at level %d", i), IntOf(got.Levels[i].TeamSize), want.Sizes[i])
	}
	checkState(t, got, want)
	if lines {
		checkWhere(t, got, want)
	}
}

// IsInOwnCode reports whether a thread of a region works, or sleeps in the program's code, which is work by the
// standard.
func IsInOwnCode(s *picture.State) bool {
	return s.Name == picture.StateWorkParallel ||
		s.Name == picture.StateSleep && s.Standard == picture.StateWorkParallel
}

// checkState compares the state of a thread. A program that holds a thread in its own code lets it sleep there, which
// is work by the standard.
func checkState(t *testing.T, got *picture.Thread, want omptest.ThreadTruth) {
	t.Helper()
	switch {
	case got.State == nil:
		t.Errorf("LWP %d has no state", want.LWP)
	case got.State.Name == picture.StateSleep && string(got.State.Standard) == want.State:
	case want.State != "" && string(got.State.Name) != want.State:
		t.Errorf("LWP %d: state %s (%s), want %s", want.LWP, got.State.Name, got.State.Evidence, want.State)
	case got.State.Evidence == "":
		t.Errorf("LWP %d: state %s without evidence", want.LWP, got.State.Name)
	}
	if want.State == "" && (!got.State.Name.Waits() || IsInOwnCode(got.State)) {
		return // one of several threads that were about to wait is inside
	}
	if want.WaitID != 0 && (got.WaitID == nil || uint64(*got.WaitID) != uint64(want.WaitID)) {
		t.Errorf("LWP %d: wait_id %v, want %#x (%v)", want.LWP, got.WaitID, uint64(want.WaitID), got.State)
	}
}

// checkWhere compares the innermost frame of the program's own code.
func checkWhere(t *testing.T, got *picture.Thread, want omptest.ThreadTruth) {
	t.Helper()
	if want.Function == "" {
		return
	}
	for _, f := range got.UserStack {
		base := filepath.Base(f.File)
		if f.Kind != picture.FrameUser || base != want.File && base != "truth.h" && base != "truth_fortran.c" {
			continue
		}
		if base != want.File || want.Line != 0 && f.Line != want.Line ||
			!strings.Contains(f.In+" "+f.Function, want.Function) {
			t.Errorf("LWP %d is in %s %s:%d, want %s %s:%d", want.LWP, f.Function, base, f.Line, want.Function,
				want.File, want.Line)
		}
		return
	}
	t.Errorf("LWP %d: no user frame, want %s %s:%d; %v", want.LWP, want.Function, want.File, want.Line, got.UserStack)
}

// checkRegions finds each region by its members and compares it.
func checkRegions(t *testing.T, pic *picture.Picture, truth omptest.Truth, lines bool) {
	t.Helper()
	taken := map[picture.ID]string{}
	for _, want := range truth.Regions() {
		name := fmt.Sprintf("region of root %d, team %d, path %v", want.Root, want.TeamNum, want.Path)
		var id picture.ID
		for _, lwp := range want.Members {
			th := FindThread(pic, lwp)
			if lwp == 0 || th == nil || len(th.Levels) <= want.Level {
				continue
			}
			if got := th.Levels[want.Level].Region; id == "" {
				id = got
			} else if got != id {
				t.Errorf("%s: members are in %s and %s", name, id, got)
			}
		}
		i := slices.IndexFunc(pic.Regions, func(r picture.Region) bool { return r.ID == id })
		if i < 0 {
			t.Errorf("%s: not found", name)
			continue
		}
		if other, dup := taken[id]; dup {
			t.Errorf("%s and %s are both %s", name, other, id)
		}
		taken[id] = name
		checkRegion(t, name, pic.Regions[i], want, lines)
	}
}

func checkRegion(t *testing.T, name string, got picture.Region, want omptest.RegionTruth, lines bool) {
	t.Helper()
	if got.Level != want.Level || got.TeamSize != want.TeamSize || got.ActiveLevel != want.ActiveLevel ||
		got.Serialized != want.Serialized {
		t.Errorf("%s: level %d active %d team %d serialized %v, want %d %d %d %v", name,
			got.Level, got.ActiveLevel, got.TeamSize, got.Serialized, want.Level, want.ActiveLevel, want.TeamSize,
			want.Serialized)
	}
	if lines && want.Line != 0 && !(want.Serialized && got.Function == nil) { // its function may have no frame
		if got.Function == nil || got.Function.Line != want.Line {
			t.Errorf("%s: function %+v, want line %d", name, got.Function, want.Line)
		}
	}
	for _, lwp := range want.Members {
		if lwp != 0 && !slices.Contains(got.Threads, lwp) {
			t.Errorf("%s: LWP %d is not among its threads %v", name, lwp, got.Threads)
		}
	}
}

// CheckTasks compares the number of tasks of each kind, state and line with those of the program.
func CheckTasks(t *testing.T, pic *picture.Picture, truth omptest.Truth, lines bool) {
	t.Helper()
	wants := map[omptest.TaskTruth]int{}
	for _, want := range truth.Tasks {
		n := want.Count
		want.Count = 0
		if !lines {
			want.Line = 0 // without debug information tasks of several constructs look alike
		}
		wants[want] += n
	}
	for want, count := range wants {
		n := 0
		for _, task := range pic.Tasks {
			if string(task.Kind) != want.Kind || string(task.State) != want.State || want.LWP != 0 &&
				task.Thread != want.LWP {
				continue
			}
			if want.Line != 0 && (task.Function == nil || task.Function.Line != want.Line) {
				continue
			}
			n++
		}
		if n != count {
			t.Errorf("%d %s tasks are %s at line %d in LWP %d, want %d", n, want.Kind, want.State, want.Line, want.LWP,
				count)
		}
	}
}

// FindThread returns the thread of a number, or nil.
func FindThread(pic *picture.Picture, lwp int) *picture.Thread {
	i := slices.IndexFunc(pic.Threads, func(t picture.Thread) bool { return t.LWP == lwp })
	if i < 0 {
		return nil
	}
	return &pic.Threads[i]
}

// IntOf returns *n, or -1 for nil.
func IntOf(n *int) int {
	if n == nil {
		return -1
	}
	return *n
}
