package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/cli"
	"github.com/ompd-inspect/ompd-inspect/internal/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// situations are the programs of testdata/programs that the matrix runs, and
// what each of them needs.
var situations = []struct {
	program string
	args    []string
	segv    bool // kills itself by SIGSEGV, not by abort
	debug   bool // is built with -g only: flang writes no unwind tables otherwise
}{
	{program: "barrier"}, {program: "barrier_for"}, {program: "barrier_single"}, {program: "spinning"},
	{program: "many"}, {program: "lock"}, {program: "nest_lock"}, {program: "lock_cycle"}, {program: "critical"},
	{program: "ordered"}, {program: "reduction"}, {program: "taskwait"}, {program: "taskgroup"},
	{program: "tasks_queued"}, {program: "tasks_deps"}, {program: "nested"}, {program: "serialized_nested"},
	{program: "roots"}, {program: "jumped"}, {program: "pthreads"}, {program: "teams"}, {program: "idle"},
	{program: "hidden_helper"},
	{program: "crash_task", segv: true}, {program: "crash_before"}, {program: "crash_forming"},
	{program: "cxx_lambda"}, {program: "fortran_barrier"}, {program: "cxx_locks"},
	{program: "fortran_nested", debug: true},
}

// variant is one way to build, run and dump a program.
type variant struct {
	name   string
	build  omptest.Build
	env    []string
	mode   omptest.Mode
	lines  bool // the executable has debug information
	majors []int
}

func variants(t *testing.T) []variant {
	all := []int{14, 15, 16, 19}
	others := omptest.Today(t, []int{13, 17, 18, 23})
	some := func(majors ...int) []int {
		if omptest.Full() {
			return all
		}
		return majors
	}
	return []variant{
		{name: "kernel", mode: omptest.Kernel, lines: true, majors: all},
		{name: "others", mode: omptest.Kernel, lines: true, majors: others},
		{name: "tracked", mode: omptest.Kernel, lines: true, env: []string{"OMP_DEBUG=enabled"},
			majors: some(14, 16, 19)},
		{name: "gcore", mode: omptest.Gcore, lines: true, majors: some(16)},
		{name: "stripped", mode: omptest.Kernel, build: omptest.Build{Flags: []string{"-O2"}, Strip: true},
			majors: some(16, 19)},
		{name: "O0", mode: omptest.Kernel, build: omptest.Build{Flags: []string{"-O0", "-g"}}, lines: true,
			majors: some(14)},
		{name: "O3", mode: omptest.Kernel, build: omptest.Build{Flags: []string{"-O3", "-g"}}, lines: true,
			majors: some(19)},
		{name: "no-pie", mode: omptest.Kernel, build: omptest.Build{Flags: []string{"-O2", "-g", "-no-pie"}},
			lines: true, majors: some(15)},
	}
}

// turn reports whether a case runs today: those of one variant, of the releases
// that the date has chosen if the run is not quick, and a part of the rest.
func (v variant) turn(major int, program string) bool {
	return v.name == "kernel" && major == 16 || v.name == "others" && !omptest.Quick() ||
		omptest.Turn(rest, v.name, fmt.Sprint(major), program)
}

// rest is in how many days each case of a matrix comes once that is not in its part of
// every day.
const rest = 3

// TestMatrix compares the picture of real cores with what the programs' own
// threads were told by omp_get_*.
func TestMatrix(t *testing.T) {
	for _, v := range variants(t) {
		for _, major := range v.majors {
			t.Run(fmt.Sprintf("%s/libomp-%d", v.name, major), func(t *testing.T) {
				t.Parallel()
				for _, s := range situations {
					if s.debug && !v.lines || !v.turn(major, s.program) {
						continue
					}
					t.Run(s.program, func(t *testing.T) {
						b := v.build
						b.Program = s.program
						run := omptest.Run{
							Exe: omptest.Compile(t, b), Runtime: omptest.RuntimeOf(t, major),
							Args: s.args, Env: v.env, Mode: v.mode,
						}
						if s.segv && run.Mode == omptest.Kernel {
							run.Mode = omptest.Segv
						}
						r := omptest.Dump(t, run)
						checkPicture(t, pictureOf(t, r.Core), r, v.lines)
					})
				}
			})
		}
	}
}

// output runs the tool in this process and returns what it printed.
func output(t testing.TB, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	dir := t.TempDir()
	var files []*os.File
	for _, name := range []string{"stdout", "stderr"} {
		f, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		files = append(files, f)
	}
	status = run(args, files[0], files[1])
	var text [2]string
	for i, f := range files {
		b, err := os.ReadFile(f.Name())
		if err != nil {
			t.Fatal(err)
		}
		text[i] = string(b)
	}
	return status, text[0], text[1]
}

// pictureOf is the report of a core as JSON has it.
func pictureOf(t testing.TB, core string, flags ...string) *picture.Picture {
	t.Helper()
	status, out, errs := output(t, append([]string{"report", "--json", core}, flags...)...)
	if status != cli.ExitOK {
		t.Fatalf("exit status %d: %s", status, errs)
	}
	var pic picture.Picture
	if err := json.Unmarshal([]byte(out), &pic); err != nil {
		t.Fatal(err)
	}
	return &pic
}

func checkPicture(t *testing.T, pic *picture.Picture, r *omptest.Result, lines bool) {
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
		checkThread(t, pic, th, lines)
	}
	checkRegions(t, pic, truth, lines)
	checkTasks(t, pic, truth, lines)
	if t.Failed() {
		t.Logf("core %s\nwarnings: %s", r.Core, strings.Join(pic.Warnings, "\n"))
	}
}

func threadOf(pic *picture.Picture, lwp int) *picture.Thread {
	i := slices.IndexFunc(pic.Threads, func(t picture.Thread) bool { return t.LWP == lwp })
	if i < 0 {
		return nil
	}
	return &pic.Threads[i]
}

func checkThread(t *testing.T, pic *picture.Picture, want omptest.ThreadTruth, lines bool) {
	t.Helper()
	got := threadOf(pic, want.LWP)
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
	diff("thread_num", opt(got.ThreadNum), want.ThreadNum)
	diff("team_size", opt(got.TeamSize), want.TeamSize)
	diff("level", opt(got.Level), want.Level)
	diff("active_level", opt(got.ActiveLevel), want.ActiveLevel)
	diff("levels", len(got.Levels), len(want.Sizes))
	for i := range min(len(got.Levels), len(want.Sizes)) {
		diff(fmt.Sprintf("thread_num at level %d", i), opt(got.Levels[i].ThreadNum), want.Ancestors[i])
		diff(fmt.Sprintf("team_size at level %d", i), opt(got.Levels[i].TeamSize), want.Sizes[i])
	}
	checkState(t, got, want)
	if lines {
		checkWhere(t, got, want)
	}
}

func opt(n *int) int {
	if n == nil {
		return -1
	}
	return *n
}

func checkState(t *testing.T, got *picture.Thread, want omptest.ThreadTruth) {
	t.Helper()
	switch {
	case got.State == nil:
		t.Errorf("LWP %d has no state", want.LWP)
	case want.State != "" && string(got.State.Name) != want.State:
		t.Errorf("LWP %d: state %s (%s), want %s", want.LWP, got.State.Name, got.State.Evidence, want.State)
	case got.State.Evidence == "":
		t.Errorf("LWP %d: state %s without evidence", want.LWP, got.State.Name)
	}
	if want.State == "" && !got.State.Name.Waits() {
		return // one of several that were about to wait is inside
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
			th := threadOf(pic, lwp)
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

func checkTasks(t *testing.T, pic *picture.Picture, truth omptest.Truth, lines bool) {
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
