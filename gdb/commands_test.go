package gdb_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// nested returns the program nested on a runtime of LLVM or of GNU, built without optimization.
func nested(t *testing.T, compiler omptest.Compiler) omptest.Run {
	t.Helper()
	build := omptest.Build{Program: "nested", Compiler: compiler, Flags: []string{"-O0", "-g"}}
	r := omptest.Run{Exe: omptest.Compile(t, build), Runtime: omptest.RuntimeOf(t, 16)}
	if compiler == omptest.GCC {
		r.Runtime = omptest.Libgomp(t)
	}
	return r
}

// TestArguments requires the arguments of functions in `omp bt` as gdb's own bt has them, also in the frames of the
// thread that forked the region.
func TestArguments(t *testing.T) {
	for _, compiler := range []omptest.Compiler{omptest.LLVM, omptest.GCC} {
		r := omptest.Run{
			Exe: omptest.Compile(t, omptest.Build{
				Program: "arguments", Compiler: compiler, Flags: []string{"-O0", "-g"},
			}),
			Runtime: omptest.RuntimeOf(t, 16),
		}
		if compiler == omptest.GCC {
			r.Runtime = omptest.Libgomp(t)
		}
		for _, setting := range []string{"scalars", "all", "none", "presence"} {
			lines := append(environment(r, "/dev/null"), "set print frame-arguments "+setting, "run abort",
				"echo OWN\\n", "bt", "echo OMP\\n", "omp bt", "echo MAIN\\n", "thread 1", "bt", "kill")
			text := script(t, []string{r.Exe}, lines...)
			_, own, _ := strings.Cut(text, "OWN\n")
			own, omp, _ := strings.Cut(own, "OMP\n")
			omp, forker, _ := strings.Cut(omp, "MAIN\n")
			for function, from := range map[string]string{"descend": own, "spread": forker} {
				frame := regexp.MustCompile(`(?m)^#\d+ .*?\b` + function + ` (\(.*\)) at `)
				want := frame.FindAllStringSubmatch(from, -1)
				got := frame.FindAllStringSubmatch(omp, -1)
				if len(want) == 0 || len(got) != len(want) {
					t.Fatalf("%s, %s: %d frames of %s, want %d:\n%s", r.Runtime.Name, setting, len(got), function,
						len(want), text)
				}
				for i := range want {
					if got[i][1] != want[i][1] {
						t.Errorf("%s, %s: %s%s, want %s", r.Runtime.Name, setting, function, got[i][1], want[i][1])
					}
				}
			}
			if !strings.Contains(omp, "spread [parallel] () at ") {
				t.Errorf("%s: arguments of the compiler are shown:\n%s", r.Runtime.Name, omp)
			}
		}
	}
}

// TestICVsOfThread compares the control variables of single threads with what the program's threads got from the
// runtime.
func TestICVsOfThread(t *testing.T) {
	for _, compiler := range []omptest.Compiler{omptest.LLVM, omptest.GCC} {
		r := nested(t, compiler)
		text := script(t, []string{r.Exe}, append(environment(r, "/dev/null"), "run abort", "omp thread 2.1",
			"echo SELECTED\\n", "omp icvs --thread", "echo GIVEN\\n", "omp icvs --thread 1.0", "echo WRONG\\n",
			"omp icvs --thread 9.9", "kill")...)
		_, selected, _ := strings.Cut(text, "SELECTED\n")
		selected, given, _ := strings.Cut(selected, "GIVEN\n")
		given, wrong, _ := strings.Cut(given, "WRONG\n")
		for what, c := range map[string]struct{ text, name, num string }{
			"selected": {selected, "omp 2.1 ", "1"}, "given": {given, "omp ", "0"},
		} {
			words := map[string]string{"levels-var": "2", "team-size-var": "3", "max-active-levels-var": "2"}
			if compiler == omptest.LLVM {
				words["thread-num-var"] = c.num
			}
			if !strings.Contains(c.text, "CONTROL VARIABLES  of LWP ") || !strings.Contains(c.text, c.name) {
				t.Errorf("%s: the thread is not named:\n%s", what, c.text)
			}
			for name, value := range words {
				lines := regexp.MustCompile(`(?m)^  `+name+` +(\S+)`).FindAllStringSubmatch(c.text, -1)
				if len(lines) != 1 || lines[0][1] != value {
					t.Errorf("%s, %s: %s is %v, want %s once", r.Runtime.Name, what, name, lines, value)
				}
			}
		}
		if !strings.Contains(wrong, "there is no region 9") {
			t.Errorf("a wrong name: %s", wrong)
		}
	}
}

// TestThreadOfOuterRegion requires that the name of a thread in an outer region selects the member of that region, not
// a thread of an inner region, for which omp_get_ancestor_thread_num returns the same.
func TestThreadOfOuterRegion(t *testing.T) {
	r := nested(t, omptest.LLVM)
	const show = `python print("NUM", int(gdb.parse_and_eval('$_omp("thread_num")')))`
	text := script(t, []string{r.Exe}, append(environment(r, "/dev/null"), "run abort", "omp thread 1.0", show,
		"omp thread 1.1", show, "kill")...)
	if strings.Count(text, "\nNUM 0\n") != 2 { // each is thread 0 of an inner region
		t.Errorf("threads of inner regions are selected:\n%s", text)
	}
}

// TestNamesAtTaskStops requires one name for the frames of a region at each stop at its tasks on GNU's runtime, whether
// other members have begun the region or not.
func TestNamesAtTaskStops(t *testing.T) {
	r := omptest.Run{
		Exe: omptest.Compile(t, omptest.Build{
			Program: "task_stops", Compiler: omptest.GCC, Flags: []string{"-O0", "-g"},
		}),
		Runtime: omptest.Libgomp(t),
	}
	const stops = 6
	lines := append(environment(r, "/dev/null"), "break *main", "run", "omp break task")
	for range stops {
		lines = append(lines, "continue", "omp bt --plain", "omp stacks")
	}
	text := script(t, []string{r.Exe}, append(lines, "kill")...)
	if strings.Contains(text, "[outlined]") {
		t.Errorf("a construct is unknown:\n%s", text)
	}
	if n := strings.Count(text, "main [parallel] () at "); n != stops {
		t.Errorf("%d of %d stacks have the region's body:\n%s", n, stops, text)
	}
}

// TestTrace shows the events of a recorded process, and the reason for a program that was not recorded.
func TestTrace(t *testing.T) {
	r := nested(t, omptest.LLVM)
	recorded := append(environment(r, "/dev/null"), "set environment OMP_TOOL_LIBRARIES "+omptest.Recorder(t))
	text := script(t, []string{r.Exe}, append(recorded, "run abort", "omp trace --events 3", "kill")...)
	for _, want := range []string{"parallel", "inner"} {
		if _, events, _ := strings.Cut(text, "SIGABRT"); !strings.Contains(events, want) {
			t.Errorf("no %q in the events:\n%s", want, text)
		}
	}
	text = script(t, []string{r.Exe}, append(environment(r, "/dev/null"), "run abort", "omp trace", "kill")...)
	if !strings.Contains(text, "ompd-inspect record") {
		t.Errorf("no advice for a program without a recorder:\n%s", text)
	}
}

// TestTraceOfCore shows the events in a core of a recorded program, and the reason for a core without a recording.
func TestTraceOfCore(t *testing.T) {
	for _, recorded := range []bool{true, false} {
		r := nested(t, omptest.LLVM)
		r.Mode = omptest.Gcore
		if recorded {
			r.Env = append(r.Env, "OMP_TOOL_LIBRARIES="+omptest.Recorder(t))
		}
		d := omptest.Dump(t, r)
		text := script(t, []string{d.Exe, d.Core}, "omp trace --events 3", "echo SUMMARY\\n", "omp trace --summary")
		events, summary, _ := strings.Cut(text, "SUMMARY\n")
		switch {
		case recorded && (!strings.Contains(events, "inner") || !strings.Contains(summary, "inner")):
			t.Errorf("the events are missing:\n%s", text)
		case !recorded && !strings.Contains(text, "ompd-inspect record"):
			t.Errorf("no advice for a core without a recording:\n%s", text)
		}
	}
}

// TestStepsAreFree requires that steps of a script ask nothing of the program and start no ompd-inspect, until a name
// is asked for.
func TestStepsAreFree(t *testing.T) {
	r := nested(t, omptest.LLVM)
	const count = `python import ompd_gdb.session as s; print("COST", s._child is not None, sum(s.Cost.counts()))`
	lines := append(environment(r, "/dev/null"), "break inner", "run",
		"python for _ in range(20): gdb.execute('stepi')", count, `python print("LEVEL", int(gdb.parse_and_eval('$_omp("level")')))`, count)
	text := script(t, []string{r.Exe}, append(lines, "kill")...)
	if !strings.Contains(text, "\nCOST False 0\n") {
		t.Errorf("steps have a cost:\n%s", text)
	}
	if !strings.Contains(text, "\nLEVEL 1\n") || !strings.Contains(text, "\nCOST True ") {
		t.Errorf("names are not there when they are asked for:\n%s", text)
	}
}
