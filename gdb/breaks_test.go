package gdb_test

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// events is the output of testdata/events.py on the program events.
type events struct {
	All, At struct {
		Counts map[string]int    // by event and line
		Said   map[string]string // by the argument of `omp break`
	}
	Wrong map[string]string // errors of commands
	Steps map[string]arrival
}

// arrival is the position after `omp step`.
type arrival struct {
	Function, Task string
	First          bool // at its first instruction
	Line, Level    int
	ThreadNum      int `json:"thread_num"`
}

func eventsOf(t *testing.T, r omptest.Run, before ...string) *events {
	t.Helper()
	text := script(t, []string{r.Exe}, append(append(before, environment(r, "/dev/null")...),
		"source testdata/events.py")...)
	_, line, ok := strings.Cut(text, "\nEVENTS ")
	if !ok {
		t.Fatalf("gdb ended early:\n%s", text)
	}
	line, _, _ = strings.Cut(line, "\n")
	e := new(events)
	if err := json.Unmarshal([]byte(line), e); err != nil {
		t.Fatal(err)
	}
	return e
}

// TestBreakAndStep stops the program events at each of its events, and at those of one construct, and counts the
// stops. Then it steps into regions and tasks.
func TestBreakAndStep(t *testing.T) {
	for _, rt := range omptest.Runtimes(t) {
		t.Run(rt.Name, func(t *testing.T) {
			t.Parallel()
			checkLibomp(t, eventsOf(t, omptest.Run{Exe: omptest.Compile(t, omptest.Build{Program: "events"}),
				Runtime: rt}))
		})
	}
	t.Run("libgomp", func(t *testing.T) {
		t.Parallel()
		exe := omptest.Compile(t, omptest.Build{Program: "events", Compiler: omptest.GCC, Flags: []string{"-O0", "-g"}})
		checkLibgomp(t, eventsOf(t, omptest.Run{Exe: exe, Runtime: omptest.Libgomp(t)}))
	})
	t.Run("static libgomp", func(t *testing.T) {
		t.Parallel()
		exe := omptest.Compile(t, omptest.Build{Program: "events", Compiler: omptest.GCC,
			Flags: []string{"-O0", "-g", "-static"}})
		e := eventsOf(t, omptest.Run{Exe: exe})
		checkCounts(t, "at", e.At.Counts, map[string]int{"parallel begin:22": 1, "parallel end:22": 1,
			"task begin:26": 11})
		checkSteps(t, e, "main._omp_fn.")
	})
	t.Run("gdbserver", func(t *testing.T) {
		omptest.Program(t, "gdbserver")
		t.Parallel()
		r := omptest.Run{Exe: omptest.Compile(t, omptest.Build{Program: "events"}), Runtime: omptest.RuntimeOf(t, 16)}
		checkLibomp(t, eventsOf(t, r, "target extended-remote | exec gdbserver --multi -", "set remote exec-file "+
			r.Exe))
	})
}

// checkLibomp compares with the constructs in the program's source.
func checkLibomp(t *testing.T, e *events) {
	t.Helper()
	checkCounts(t, "all", e.All.Counts, map[string]int{
		"parallel begin:15": 7, "parallel end:15": 7, "parallel end:19": 5, "parallel begin:22": 1,
		"parallel end:22": 1,
		"task begin:26":   11, "task end:26": 11, "thread begin:None": 2, "thread end:None": 3,
	})
	checkCounts(t, "at", e.At.Counts, map[string]int{"parallel begin:22": 1, "parallel end:22": 1, "task begin:26": 11,
		"task end:26": 11})
	checkSteps(t, e, ".omp_", "main.omp_", "main..omp_")
	checkWrong(t, e)
}

func checkLibgomp(t *testing.T, e *events) {
	t.Helper()
	counts := map[string]int{"parallel begin:15": 7, "parallel begin:19": 5, "parallel begin:22": 1,
		"task begin:26": 11, "task begin:30": 1}
	checkCounts(t, "all", e.All.Counts, counts)
	checkCounts(t, "at", e.At.Counts, map[string]int{"parallel begin:22": 1, "task begin:26": 11})
	for _, missing := range []string{"parallel end", "task end", "thread begin", "thread end"} {
		if !strings.Contains(e.All.Said[missing], "this runtime has neither this location nor a function that is "+
			"known to stand for it") {
			t.Errorf("`omp break %s` says %q", missing, e.All.Said[missing])
		}
	}
	checkSteps(t, e, "main._omp_fn.")
	checkWrong(t, e)
}

func checkCounts(t *testing.T, what string, got, want map[string]int) {
	t.Helper()
	if !maps.Equal(got, want) {
		t.Errorf("%s: gdb stopped at %v, want %v", what, got, want)
	}
}

// checkSteps checks the positions after steps; the body of a serialized region may be a call that gdb's own step
// enters, after its prologue.
func checkSteps(t *testing.T, e *events, prefixes ...string) {
	t.Helper()
	for name, want := range map[string]arrival{
		"region": {Line: 15, First: true}, "begun region": {Line: 15, First: true}, "serialized": {Line: 19},
		"task": {Line: 26, First: true}, "begun task": {Line: 26, First: true},
	} {
		got := e.Steps[name]
		begins := false
		for _, p := range prefixes {
			begins = begins || strings.HasPrefix(got.Function, p)
		}
		task := strings.HasSuffix(name, "task")
		kind := map[bool]string{true: "explicit", false: "implicit"}[task]
		if !begins || got.Line != want.Line || want.First && !got.First || got.Level != 1 || got.Task != kind ||
			!task && got.ThreadNum != 0 {
			t.Errorf("%s: stepped to %+v", name, got)
		}
	}
}

func checkWrong(t *testing.T, e *events) {
	t.Helper()
	usage := "Usage: omp break parallel|task|thread [begin|end] [at FILE:LINE]"
	want := map[string]string{
		"omp break": usage, "omp break task begin end": usage, "omp step x": "Usage: omp step",
		"omp break parallel at nowhere.c:1": "omp break: No source file named nowhere.c.",
		"omp break parallel at 7":           "omp break: 7: expected FILE:LINE",
		"omp break thread at events.c:22":   "omp break: threads do not begin and end at lines of the program",
	}
	if !maps.Equal(e.Wrong, want) {
		t.Errorf("wrong commands: %q", e.Wrong)
	}
}
