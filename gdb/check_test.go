package gdb_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// same compares a number that may be missing.
func same(t *testing.T, what string, got *int, want int) {
	t.Helper()
	switch {
	case got == nil:
		t.Errorf("%s is missing, want %d", what, want)
	case *got != want:
		t.Errorf("%s is %d, want %d", what, *got, want)
	}
}

// checkThreads compares `omp threads` with the results of omp_get_… in each thread.
func checkThreads(t *testing.T, f *facts, truth omptest.Truth) {
	t.Helper()
	if len(f.Threads) != len(truth.Program.LWPs) || !f.Kept {
		t.Errorf("%d threads, want %d; selection kept: %v", len(f.Threads), len(truth.Program.LWPs), f.Kept)
	}
	checked := 0
	for _, th := range f.Threads {
		want, ok := truth.Thread(th.LWP)
		if !ok || !want.OpenMP {
			continue
		}
		checked++
		who := fmt.Sprintf("LWP %d: ", th.LWP)
		same(t, who+"thread_num", th.ThreadNum, want.ThreadNum)
		same(t, who+"team_size", th.TeamSize, want.TeamSize)
		same(t, who+"level", th.Level, want.Level)
		same(t, who+"active_level", th.ActiveLevel, want.ActiveLevel)
		if th.State == nil || !isState(string(th.State.Name), want.State) {
			t.Errorf("%sstate %v, want %s", who, th.State, want.State)
		}
	}
	if checked != 6 {
		t.Errorf("%d threads were compared, want 6", checked)
	}
}

// isState reports whether a state is the wanted one, or that of a thread which the program holds in its own code,
// where it sleeps. Any state is, if want is "".
func isState(state, want string) bool {
	return want == "" || state == want ||
		state == string(picture.StateSleep) && want == string(picture.StateWorkParallel)
}

// checkNames compares the selection by `omp thread REGION.NUM`, and the variables there, with the thread's own
// answers for that level.
func checkNames(t *testing.T, f *facts, truth omptest.Truth) {
	t.Helper()
	seen := map[int]int{}
	for _, p := range f.Places {
		want, ok := truth.Thread(p.LWP)
		if !ok {
			t.Errorf("%s selects LWP %d, which the program does not know", p.Name, p.LWP)
			continue
		}
		seen[p.LWP]++
		region, num, _ := strings.Cut(p.Name, ".")
		r, _ := strconv.Atoi(region)
		if level := f.Regions[r].Level; num != fmt.Sprint(want.Ancestors[level]) {
			t.Errorf("%s is LWP %d, which is %d at level %d", p.Name, p.LWP, want.Ancestors[level], level)
		}
		same(t, p.Name+": $_omp_thread_num", p.ThreadNum, want.ThreadNum)
		same(t, p.Name+": $_omp_num_threads", p.NumThreads, want.TeamSize)
		same(t, p.Name+": $_omp_level", p.Level, want.Level)
		same(t, p.Name+": $_omp_active_level", p.ActiveLevel, want.ActiveLevel)
		same(t, p.Name+`: $_omp("thread_num")`, &p.Function, want.ThreadNum)
		if !isState(p.State, want.State) || p.Role != want.Role {
			t.Errorf("%s: $_omp_state is %s, $_omp_role %s; want %s, %s", p.Name, p.State, p.Role, want.State,
				want.Role)
		}
		if p.Region == nil || f.Names[p.LWP] != fmt.Sprintf("omp %d.%d %s", *p.Region, want.ThreadNum, p.State) {
			t.Errorf("`info threads` names LWP %d %q", p.LWP, f.Names[p.LWP])
		}
		if !strings.Contains(p.Tells, fmt.Sprintf("(LWP %d), %s]", p.LWP, f.Names[p.LWP])) {
			t.Errorf("`omp thread` tells %q", p.Tells)
		}
	}
	if len(seen) != 6 || len(f.Places) != 1+2+3+3 {
		t.Errorf("%d names select %d threads, want 9 and 6: %+v", len(f.Places), len(seen), f.Places)
	}
}

// pseudoFrames are the names that replace the runtime's frames.
var pseudoFrames = map[string]string{"wait_barrier_explicit": "<OMP-explicit_barrier>"}

// checkStacks requires the innermost function of the program in each stack, and the forking functions, and that
// there is no frame of the runtime.
func checkStacks(t *testing.T, f *facts, truth omptest.Truth, symbols bool) {
	t.Helper()
	for _, th := range truth.Threads {
		own, filtered := f.Stacks[th.LWP], f.Filtered[th.LWP]
		for which, text := range map[string]string{"omp bt": own, "bt": filtered} {
			if strings.Contains(text, "__kmp") || strings.Contains(text, "libomp.so") ||
				strings.Contains(text, "libgomp.so") || strings.Contains(text, "start_thread") {
				t.Errorf("%s of LWP %d has frames of the runtime:\n%s", which, th.LWP, text)
			}
			words := []string{}
			if pseudo := pseudoFrames[th.State]; pseudo != "" {
				words = append(words, "#0 ", pseudo)
			}
			if symbols {
				words = append(words, th.Function, " main ", fmt.Sprintf("%s:%d", th.File, th.Line), "inner [")
			}
			for _, w := range words {
				if !strings.Contains(strings.ReplaceAll(text, "\n", " "), w) {
					t.Errorf("%s of LWP %d has no %q:\n%s", which, th.LWP, w, text)
				}
			}
		}
		if n := strings.Count(own, "which forked the region"); th.ThreadNum != 0 && n == 0 {
			t.Errorf("the stack of LWP %d does not go on in the thread that forked its region:\n%s", th.LWP, own)
		}
	}
}

// checkVerbs requires the subject of each verb in its output.
func checkVerbs(t *testing.T, f *facts) {
	t.Helper()
	for verb, words := range map[string][]string{
		"report": {"THREADS  6", "REGIONS  3", "TASKS", "STACKS"}, "diagnose": {"arrived at a barrier"},
		"threads": {"THREADS  6", "NAME", "2.0", "3.2"},
		"regions": {"0: serial code", "1: parallel", "3: parallel"}, "tasks": {"TASKS"}, "icvs": {"nthreads-var"},
		"stacks": {"STACKS"}, "devices": {"0 devices"},
		"layout": {"OFFSET"}, "doctor": {"threads: 6 of 6 with registers"},
	} {
		for _, w := range words {
			if !strings.Contains(f.Verbs[verb], w) {
				t.Errorf("`omp %s` has no %q:\n%s", verb, w, f.Verbs[verb])
			}
		}
	}
	var levels []int
	for _, r := range f.Regions {
		levels = append(levels, r.Level)
	}
	if !slices.Equal(levels, []int{0, 1, 2, 2}) {
		t.Errorf("regions of levels %v", levels)
	}
}

// TestInferredFrames requires the mark of functions that have no frame, by `omp bt` and in gdb's own backtrace.
func TestInferredFrames(t *testing.T) {
	exe := omptest.Compile(t, omptest.Build{Program: "removed_frames", Compiler: omptest.GCC,
		Flags: []string{"-O2", "-g"}})
	r := omptest.Dump(t, omptest.Run{Exe: exe, Runtime: omptest.Libgomp(t), Mode: omptest.Kernel, Args: []string{"0"}})
	out := script(t, []string{exe, r.Core}, "omp bt", "echo FILTERED\\n", "omp bt on", "bt")
	own, filtered, _ := strings.Cut(out, "FILTERED")
	for which, text := range map[string]string{"omp bt": own, "bt": filtered} {
		for _, function := range []string{"leaf", "solve", "step", "hold", "main"} {
			want, seen := function != "hold" && function != "main", false
			for line := range strings.Lines(text) {
				if !strings.Contains(" "+line, " "+function+" ") {
					continue
				}
				seen = true
				if got := strings.Contains(line, "guessed: no frame: it ended in a tail call"); got != want {
					t.Errorf("%s: %s is marked: %t, want %t: %s", which, function, got, want, line)
				}
			}
			if !seen {
				t.Errorf("%s: no %s:\n%s", which, function, text)
			}
		}
	}
}

// TestCommandsOnCore tries on a core what depends on its threads: the name of a lock, a stack without the frames of the
// thread that forked, and breakpoints, which it cannot reach.
func TestCommandsOnCore(t *testing.T) {
	exe := omptest.Compile(t, omptest.Build{Program: "lock_cycle", Compiler: omptest.GCC, Flags: []string{"-O0", "-g"}})
	r := omptest.Dump(t, omptest.Run{Exe: exe, Runtime: omptest.Libgomp(t), Mode: omptest.Kernel})
	page := filepath.Join(t.TempDir(), "report.html")
	out := script(t, []string{exe, r.Core}, "omp report --html "+page, "omp thread 1.1", `printf "waits for %s\n", $_omp_wait_name`,
		`print $_omp("wait_name")`, "omp bt", "echo PLAIN\\n", "omp bt --plain", "echo BREAK\\n", "omp break task")
	stack, rest, _ := strings.Cut(out, "PLAIN")
	plain, refused, _ := strings.Cut(rest, "BREAK")
	if !strings.Contains(stack, "waits for first") || !strings.Contains(stack, `"first"`) ||
		!strings.Contains(stack, "which forked the region") || !strings.Contains(stack, " main (argc=2, argv=0x") {
		t.Errorf("the name of the lock, or the whole stack, is missing:\n%s", stack)
	}
	if html, err := os.ReadFile(page); err != nil || !strings.Contains(string(html), "DEADLOCK") {
		t.Errorf("the page: %v, %d bytes", err, len(html))
	}
	if !strings.Contains(plain, "withdraw () at ") || strings.Contains(plain, " main (argc") {
		t.Errorf("the plain stack has not only the thread's own frames:\n%s", plain)
	}
	if !strings.Contains(refused, "a core does not run") {
		t.Errorf("omp break on a core prints:\n%s", refused)
	}
}

// TestNonStop looks at a program of which only one thread is stopped: gdb knows no registers of the others, and they
// are those of the team.
func TestNonStop(t *testing.T) {
	const program = "verdict_critical_barrier"
	for _, r := range []omptest.Run{
		{Exe: omptest.Compile(t, omptest.Build{Program: program}), Runtime: omptest.RuntimeOf(t, 16)},
		{Exe: omptest.Compile(t, omptest.Build{Program: program, Compiler: omptest.GCC}), Runtime: omptest.Libgomp(t)},
	} {
		t.Run(r.Runtime.Name, func(t *testing.T) {
			commands := append(environment(r, filepath.Join(t.TempDir(), "truth")),
				"set non-stop on", "break enter if first == 1", "run abort 1",
				"python [t.switch() for t in gdb.selected_inferior().threads() if t.is_stopped()]",
				"omp threads", "kill")
			out := script(t, []string{r.Exe}, commands...)
			for _, name := range []string{"1.0   0 of 4", "1.1   1 of 4", "1.2   2 of 4", "1.3   3 of 4"} {
				if !strings.Contains(out, name) || strings.Contains(out, "gone") {
					t.Fatalf("gdb shows no thread %q:\n%s", name, out)
				}
			}
		})
	}
}
