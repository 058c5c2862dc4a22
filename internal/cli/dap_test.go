package cli

import (
	"context"
	"os"
	"strings"
	"testing"

	godap "github.com/google/go-dap"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/daptest"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// startAdapter starts `ompd-inspect dap` and returns a client of it. status receives its exit status.
func startAdapter(t *testing.T, flags ...string) (*daptest.Client, <-chan int) {
	t.Helper()
	return startAdapterUntil(t.Context(), t, flags...)
}

// startAdapterUntil is startAdapter for an adapter that ctx interrupts, as a signal does.
func startAdapterUntil(ctx context.Context, t *testing.T, flags ...string) (*daptest.Client, <-chan int) {
	t.Helper()
	in, toAdapter, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	fromAdapter, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	status := make(chan int, 1)
	go func() {
		c := Command{Version: "test", Stdin: in, Stdout: out, Stderr: os.Stderr}
		s := c.Run(ctx, append([]string{"dap"}, flags...))
		in.Close()
		out.Close()
		status <- s
	}()
	c := daptest.New(t, fromAdapter, toAdapter)
	t.Cleanup(func() { toAdapter.Close() })
	return c, status
}

// TestDap inspects a core through the adapter, and runs each verb of the console.
func TestDap(t *testing.T) {
	g, err := omptest.UnpackGolden("../../testdata/golden", "llvm-deadlock", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	c, status := startAdapter(t, "--no-debuginfod")
	daptest.Ask[any](c, "initialize", map[string]any{"adapterID": "ompd"})
	daptest.Ask[any](c, "configurationDone", nil)
	daptest.Ask[any](c, "attach", map[string]any{
		"target": g.Core, "exe": g.Exe, "sysroot": g.Sysroot, "debugDirs": []string{},
	})
	stop := daptest.BodyOf[godap.StoppedEventBody](c, c.Event("stopped"))
	omptest.Equal(t, "the stop", stop.Text, "DEADLOCK: threads 0 and 1")
	shown := map[string]string{
		"report": "DEADLOCK", "diagnose": "DEADLOCK", "threads": "wait_lock", "regions": "level 1", "tasks": "implicit",
		"stacks": "withdraw", "icvs": "dyn-var", "breakpoints": "ompd_bp_parallel_begin", "layout": "FIELD",
		"doctor": "runtime", "devices": "0 devices",
	}
	for _, verb := range consoleVerbs {
		if verb == "profile" { // of processes only
			continue
		}
		r := daptest.Ask[godap.EvaluateResponseBody](c, "evaluate", map[string]any{"expression": "omp " + verb})
		if want := shown[verb]; want == "" || !strings.Contains(r.Result, want) {
			t.Errorf("omp %s shows no %q:\n%s", verb, want, r.Result)
		}
	}
	for expression, want := range map[string]string{
		"omp threads --json": `"schema"`, "omp threads --lwp 5608": "5608",
	} {
		r := daptest.Ask[godap.EvaluateResponseBody](c, "evaluate", map[string]any{"expression": expression})
		if !strings.Contains(r.Result, want) {
			t.Errorf("%s shows no %q:\n%s", expression, want, r.Result)
		}
	}
	for expression, want := range map[string]string{
		"omp report --fast": "unknown flag", "omp threads core": "one target at a time",
	} {
		if text := c.Refused("evaluate", map[string]any{"expression": expression}); !strings.Contains(text, want) {
			t.Errorf("%s: %q, want %q", expression, text, want)
		}
	}
	daptest.Ask[any](c, "disconnect", nil)
	omptest.Equal(t, "exit status", <-status, ExitOK)
}

// TestDapInterrupted interrupts the adapter, as nvim-dap does after each session. The exit status is 0 if the session
// is over by then.
func TestDapInterrupted(t *testing.T) {
	g, err := omptest.UnpackGolden("../../testdata/golden", "gnu-barrier", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, over := range []bool{true, false} {
		ctx, interrupt := context.WithCancel(t.Context())
		defer interrupt()
		c, status := startAdapterUntil(ctx, t, "--no-debuginfod")
		daptest.Ask[any](c, "initialize", map[string]any{"adapterID": "ompd"})
		daptest.Ask[any](c, "attach", map[string]any{"target": g.Core, "exe": g.Exe, "sysroot": g.Sysroot})
		daptest.Ask[any](c, "configurationDone", nil)
		c.Event("stopped")
		want := ExitInterrupted
		if over {
			daptest.Ask[any](c, "terminate", nil)
			c.Event("terminated")
			want = ExitOK
		}
		interrupt()
		if got := <-status; got != want {
			t.Errorf("session over: %v: exit status %d, want %d", over, got, want)
		}
	}
}

// TestDapProfile profiles a process in the console: the answer is the text of the command line.
func TestDapProfile(t *testing.T) {
	p := omptest.Start(t, omptest.Run{
		Exe: omptest.Compile(t, omptest.Build{Program: "lock"}), Runtime: omptest.RuntimeOf(t, 16), Mode: omptest.Live,
	})
	c, status := startAdapter(t, "--no-debuginfod")
	daptest.Ask[any](c, "initialize", map[string]any{"adapterID": "ompd"})
	daptest.Ask[any](c, "configurationDone", nil)
	daptest.Ask[any](c, "attach", map[string]any{"target": p.PID})
	c.Event("stopped")
	for line, want := range map[string]string{
		"omp profile --samples 2": "lock lock", "omp profile 1ms": "PLACES", "omp help": "omp profile 10s",
	} {
		r := daptest.Ask[godap.EvaluateResponseBody](c, "evaluate", map[string]any{"expression": line})
		if !strings.Contains(r.Result, want) {
			t.Errorf("%s shows no %q:\n%s", line, want, r.Result)
		}
	}
	wrong := map[string]any{"expression": "omp profile --fast"}
	if text := c.Refused("evaluate", wrong); !strings.Contains(text, "unknown flag") {
		t.Errorf("a wrong flag: %q", text)
	}
	daptest.Ask[any](c, "disconnect", nil)
	omptest.Equal(t, "exit status", <-status, ExitOK)
}

// TestDapGarbage checks that input of another protocol ends the adapter with an error.
func TestDapGarbage(t *testing.T) {
	c, status := startAdapter(t)
	c.Write("GET / HTTP/1.1\r\n\r\n")
	omptest.Equal(t, "exit status", <-status, ExitError)
	c.Event("terminated")
}
