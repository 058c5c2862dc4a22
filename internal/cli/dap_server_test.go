package cli

import (
	"bufio"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	godap "github.com/google/go-dap"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/daptest"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// TestDapServer inspects a core that a server opens. The adapter shows all that a picture contains, and refuses
// requests that need the target, with the reason.
func TestDapServer(t *testing.T) {
	g, err := omptest.UnpackGolden("../../testdata/golden", "llvm-deadlock", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	core, err := filepath.Abs(g.Core)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "dap") // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	socket := "unix://" + filepath.Join(dir, "s")
	printed, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer printed.Close()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan int, 1)
	go func() {
		server := Command{Version: "test", Stdin: os.Stdin, Stdout: out, Stderr: os.Stderr}
		ended <- server.Run(ctx, []string{"serve", "--listen", socket})
		out.Close()
	}()
	defer func() {
		cancel()
		<-ended
	}()
	if line, err := bufio.NewReader(printed).ReadString('\n'); err != nil {
		t.Fatalf("%q, %v", line, err)
	}
	c, _ := startAdapter(t, "--no-debuginfod")
	initialize(c)
	daptest.Ask[any](c, "attach", map[string]any{"target": core, "exe": g.Exe, "sysroot": g.Sysroot, "server": socket})
	stop := daptest.BodyOf[godap.StoppedEventBody](c, c.Event("stopped"))
	omptest.Equal(t, "the stop", stop.Text, "DEADLOCK: threads 0 and 1")
	page := daptest.Ask[godap.StackTraceResponseBody](c, "stackTrace", map[string]any{"threadId": stop.ThreadId})
	omptest.Equal(t, "function", page.StackFrames[1].Name, "deposit")
	regions := daptest.Ask[godap.EvaluateResponseBody](c, "evaluate", map[string]any{"expression": "omp regions"})
	if !strings.Contains(regions.Result, "level 1") {
		t.Errorf("omp regions shows\n%s", regions.Result)
	}
	at := map[string]any{"memoryReference": page.StackFrames[1].InstructionPointerReference, "count": 4}
	if text := c.Refused("readMemory", at); !strings.Contains(text, "not read here") {
		t.Errorf("readMemory: %q", text)
	}
	local := map[string]any{"expression": "argc", "frameId": page.StackFrames[1].Id}
	if text := c.Refused("evaluate", local); !strings.Contains(text, "not read here") {
		t.Errorf("a variable: %q", text)
	}
	mods := daptest.Ask[godap.ModulesResponseBody](c, "modules", nil).Modules
	omptest.Equal(t, "modules", len(mods), 1)
	daptest.Ask[any](c, "disconnect", nil)
}
