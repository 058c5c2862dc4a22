package gdb_test

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	godap "github.com/google/go-dap"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/daptest"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// args are arguments of a request.
type args = map[string]any

// adapter starts a gdb as a debug adapter with the OpenMP commands loaded, and returns a client of it.
func adapter(t *testing.T, gdb string) *daptest.Client {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), gdb, "-nx", "-q", "-iex", "set debuginfod enabled off",
		"-i", "dap", "-x", "ompd_inspect.py")
	cmd.Env = append(os.Environ(), "OMPD_INSPECT="+tool)
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Wait() })
	c := daptest.New(t, out, in)
	daptest.Ask[any](c, "initialize", args{"adapterID": "gdb", "linesStartAt1": true})
	return c
}

// hold makes an adapter attach to a program.
func hold(t *testing.T, c *daptest.Client, what args) {
	t.Helper()
	attach := c.Send("attach", what)
	c.Event("initialized")
	daptest.Ask[any](c, "configurationDone", nil)
	if m := c.Response(attach); !m.Success {
		t.Fatalf("attach: %s", m.Text)
	}
}

// adapters returns the gdbs that are debug adapters: the system's, if it is new enough, and newer ones.
func adapters(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, suite := range omptest.GdbSuites {
		out[suite] = omptest.GdbOf(t, suite)
	}
	return out
}

// TestDapNames attaches debug adapters to deadlocks: threads have their names, stacks are those of the user's
// model, and the client can request the picture.
func TestDapNames(t *testing.T) {
	omptest.Needs(t, "newer gdbs")
	builds := map[string]omptest.Run{
		"llvm": {
			Exe:     omptest.Compile(t, omptest.Build{Program: "lock_cycle"}),
			Runtime: omptest.RuntimeOf(t, 16), Mode: omptest.Live,
		},
		"gnu": {
			Exe:     omptest.Compile(t, omptest.Build{Program: "lock_cycle", Compiler: omptest.GCC}),
			Runtime: omptest.Libgomp(t), Mode: omptest.Live,
		},
	}
	for suite, gdb := range adapters(t) {
		for name, run := range builds {
			t.Run(suite+"/"+name, func(t *testing.T) {
				t.Parallel()
				p := omptest.Start(t, run)
				c := adapter(t, gdb)
				hold(t, c, args{"pid": p.PID, "program": p.Exe})
				c.Event("stopped")
				checkNamed(t, c)
				checkModel(t, c)
				daptest.Ask[any](c, "disconnect", args{"terminateDebuggee": false})
			})
		}
	}
}

// TestDapCore opens a core in a debug adapter that supports cores.
func TestDapCore(t *testing.T) {
	omptest.Needs(t, "a newer gdb")
	exe := omptest.Compile(t, omptest.Build{Program: "lock_cycle"})
	core := omptest.Dump(t, omptest.Run{Exe: exe, Runtime: omptest.RuntimeOf(t, 16), Mode: omptest.Gcore})
	c := adapter(t, omptest.GdbOf(t, "sid"))
	hold(t, c, args{"coreFile": core.Core, "program": core.Exe})
	checkNamed(t, c)
	checkModel(t, c)
}

// TestDapOfSystem checks the model with the system's gdb, if that is a debug adapter.
func TestDapOfSystem(t *testing.T) {
	omptest.Needs(t, "gdb")
	out, err := exec.Command("gdb", "-nx", "-batch", "-i", "dap").CombinedOutput()
	if err != nil && strings.Contains(string(out), "unrecognized") {
		t.Skipf("the system's gdb is no debug adapter (gdb 14 is the first): %s", out)
	}
	adapter(t, "gdb")
}

var (
	teamName  = regexp.MustCompile(`^omp 1\.\d wait_lock$`)
	ofRuntime = regexp.MustCompile(`__kmp|GOMP_|gomp_|omp_set_lock|libgomp|clone|start_thread`)
)

// checkNamed compares the names of threads with the deadlock of two of three threads.
func checkNamed(t *testing.T, c *daptest.Client) {
	t.Helper()
	list := daptest.Ask[godap.ThreadsResponseBody](c, "threads", nil).Threads
	waiting := 0
	for _, th := range list {
		if teamName.MatchString(th.Name) {
			waiting++
		}
	}
	if waiting != 2 {
		t.Errorf("%d threads are named as waiting for a lock, want 2: %+v", waiting, list)
	}
}

// checkModel requires the user's model in the stacks, and in the answers to the client's requests.
func checkModel(t *testing.T, c *daptest.Client) {
	t.Helper()
	repl := daptest.Ask[godap.EvaluateResponseBody](c, "evaluate",
		args{"expression": "omp diagnose", "context": "repl"})
	if !strings.Contains(repl.Result, "DEADLOCK") {
		t.Errorf("omp diagnose shows %q", repl.Result)
	}
	daptest.Ask[any](c, "evaluate", args{"expression": "omp bt on", "context": "repl"})
	seen := map[string]bool{}
	for _, th := range daptest.Ask[godap.ThreadsResponseBody](c, "threads", nil).Threads {
		page := daptest.Ask[godap.StackTraceResponseBody](c, "stackTrace", args{"threadId": th.Id})
		for _, f := range page.StackFrames {
			if ofRuntime.MatchString(f.Name) {
				t.Errorf("%s: a frame of the runtime: %+v", th.Name, f)
			}
			seen[f.Name] = true
			if list := daptest.Ask[godap.ScopesResponseBody](c, "scopes",
				args{"frameId": f.Id}).Scopes; len(list) == 0 {
				t.Errorf("%s: frame %s has no scopes", th.Name, f.Name)
			}
		}
	}
	for _, want := range []string{"deposit", "withdraw", "main", "main [parallel]", "<OMP-lock_wait>"} {
		if !seen[want] {
			t.Errorf("no stack has %s: %v", want, seen)
		}
	}
	pic := daptest.Ask[picture.Picture](c, "ompd/picture", nil)
	if len(pic.Verdicts) == 0 || pic.Verdicts[0].Kind != "deadlock" {
		t.Errorf("verdicts %+v", pic.Verdicts)
	}
	type member struct {
		ThreadID  int
		ThreadNum int `json:"thread_num"`
	}
	tree := daptest.Ask[struct{ Regions []struct{ Members []member } }](c, "ompd/regions", nil)
	if n := len(tree.Regions); n != 2 || len(tree.Regions[1].Members) != 3 ||
		tree.Regions[1].Members[2].ThreadNum != 2 {
		t.Errorf("regions %+v", tree)
	}
}
