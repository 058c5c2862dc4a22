package cli

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"

	godap "github.com/google/go-dap"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/daptest"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// ownIDs is the first number that a proxy adds.
const ownIDs = 1 << 30

// object is a JSON object.
type object = map[string]any

// builtTool is the tool, built when the first test needs it as a process.
var builtTool struct {
	once sync.Once
	dir  string
	err  error
}

// buildTool builds the tool, which gdb's script starts.
func buildTool(t testing.TB) (path string) {
	t.Helper()
	omptest.Needs(t, "debuggers")
	b := &builtTool
	b.once.Do(func() {
		if b.dir, b.err = os.MkdirTemp("", "ompd-inspect"); b.err == nil {
			b.err = exec.Command("go", "build", "-o", b.dir, "../../cmd/ompd-inspect").Run()
		}
	})
	if b.err != nil {
		t.Fatal(b.err)
	}
	return filepath.Join(b.dir, "ompd-inspect")
}

// startProxy starts `ompd-inspect dap --proxy` and returns a client of it. status receives its exit status.
func startProxy(t testing.TB, tool string, words ...string) (*daptest.Client, <-chan int) {
	t.Helper()
	in, toProxy, err1 := os.Pipe()
	fromProxy, out, err2 := os.Pipe()
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	cmd := exec.Command(tool, append([]string{"dap", "--no-debuginfod", "--proxy"}, words...)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	in.Close()
	out.Close()
	status := make(chan int, 1)
	go func() {
		_ = cmd.Wait()
		status <- cmd.ProcessState.ExitCode()
		close(status)
	}()
	c := daptest.NewProxied(t, fromProxy, toProxy, ownIDs)
	t.Cleanup(func() {
		toProxy.Close()
		for range status {
		}
	})
	return c, status
}

// deadlocks returns runs of a deadlock on both runtimes.
func deadlocks(t testing.TB, mode omptest.Mode) map[string]omptest.Run {
	t.Helper()
	exe := omptest.Compile(t, omptest.Build{Program: "lock_cycle"})
	gnu := omptest.Compile(t, omptest.Build{Program: "lock_cycle", Compiler: omptest.GCC})
	return map[string]omptest.Run{
		"llvm": {Exe: exe, Runtime: omptest.RuntimeOf(t, 16), Mode: mode},
		"gnu":  {Exe: gnu, Runtime: omptest.Libgomp(t), Mode: mode},
	}
}

// openProgram makes an adapter open a program, in the adapter's own order of messages.
func openProgram(t testing.TB, c *daptest.Client, how string, what object) {
	t.Helper()
	daptest.Ask[any](c, "initialize", object{"adapterID": "x", "linesStartAt1": true, "supportsInvalidatedEvent": true})
	attach := c.Send(how, what)
	c.Event("initialized")
	daptest.Ask[any](c, "configurationDone", nil)
	if m := c.Response(attach); !m.Success {
		t.Fatalf("%s: %s", how, m.Text)
	}
}

// checkShown checks the display of a deadlock. Numbers above the given one are ours.
func checkShown(t *testing.T, c *daptest.Client, above int) {
	t.Helper()
	c.Event("ompd/changed")
	checkNames(t, c)
	checkStacks(t, c, above)
	checkVerdict(t, c)
}

// checkVerdict looks for the verdict in all places that show it.
func checkVerdict(t *testing.T, c *daptest.Client) {
	t.Helper()
	pic := daptest.Ask[picture.Picture](c, "ompd/picture", nil)
	if len(pic.Verdicts) == 0 || pic.Verdicts[0].Kind != "deadlock" {
		t.Errorf("verdicts %+v", pic.Verdicts)
	}
	for verb, want := range map[string]string{"diagnose": "DEADLOCK", "regions": "1 parallel region"} {
		which := object{"expression": "omp " + verb, "context": "repl"}
		if r := daptest.Ask[godap.EvaluateResponseBody](c, "evaluate", which); !strings.Contains(r.Result, want) {
			t.Errorf("omp %s shows %q", verb, r.Result)
		}
	}
	told := false
	for _, m := range c.All() {
		told = told || m.Event == "output" && strings.Contains(string(m.Body), "DEADLOCK")
	}
	if !told {
		t.Error("no event contains the verdict")
	}
}

// ompName matches the proxy's names of threads of a team of three.
var ompName = regexp.MustCompile(`^OMP ([012])/3 \S+ · (wait_lock|wait_sleep) `)

// checkNames looks for the names of the team's threads.
func checkNames(t *testing.T, c *daptest.Client) {
	t.Helper()
	found := map[string]bool{}
	list := daptest.Ask[godap.ThreadsResponseBody](c, "threads", nil).Threads
	for _, th := range list {
		if m := ompName.FindStringSubmatch(th.Name); m != nil {
			found[m[1]] = true
		}
	}
	if len(found) != 3 {
		t.Errorf("threads %+v", list)
	}
}

// runtimeFunction matches functions of runtimes.
var runtimeFunction = regexp.MustCompile(`__kmp|GOMP_|gomp_|omp_set_lock|start_thread`)

// checkStacks looks for the user's model in the stacks, page by page and at once.
func checkStacks(t *testing.T, c *daptest.Client, above int) {
	t.Helper()
	seen := map[string]bool{}
	for _, th := range daptest.Ask[godap.ThreadsResponseBody](c, "threads", nil).Threads {
		whole := daptest.Ask[godap.StackTraceResponseBody](c, "stackTrace", object{"threadId": th.Id}).StackFrames
		var pages []godap.StackFrame
		for i := range whole {
			which := object{"threadId": th.Id, "startFrame": i, "levels": 1}
			pages = append(pages, daptest.Ask[godap.StackTraceResponseBody](c, "stackTrace", which).StackFrames...)
		}
		for i, f := range whole {
			if i >= len(pages) || pages[i].Name != f.Name {
				t.Errorf("%s: frame %d is %+v, alone it is %+v", th.Name, i, f, pages)
			}
			if runtimeFunction.MatchString(f.Name) && f.InstructionPointerReference != "" {
				t.Errorf("%s: a frame of the runtime: %+v", th.Name, f)
			}
			seen[f.Name] = true
			if f.PresentationHint != "label" {
				checkScopes(t, c, f, above)
			}
		}
	}
	for _, want := range []string{"deposit", "withdraw", "main", "<OMP-lock_wait>"} {
		found := false
		for name := range seen {
			found = found || name == want || strings.HasPrefix(name, want+"(") // lldb adds arguments
		}
		if !found {
			t.Errorf("no stack has %s: %v", want, seen)
		}
	}
}

// checkScopes looks for the thread's OpenMP state in the scopes of a frame, in addition to the debugger's own
// scopes.
func checkScopes(t *testing.T, c *daptest.Client, f godap.StackFrame, above int) {
	t.Helper()
	theirs, ours := 0, map[string]int{}
	for _, s := range daptest.Ask[godap.ScopesResponseBody](c, "scopes", object{"frameId": f.Id}).Scopes {
		if s.VariablesReference > above {
			ours[s.Name] = s.VariablesReference
		} else {
			theirs++
		}
	}
	if ours["OpenMP thread"] == 0 || ours["Region"] == 0 || (theirs == 0) != (f.Id > above) {
		t.Errorf("frame %+v has %d scopes of the debugger and %v", f, theirs, ours)
		return
	}
	which := object{"variablesReference": ours["OpenMP thread"]}
	if list := daptest.Ask[godap.VariablesResponseBody](c, "variables", which).Variables; len(list) < 5 {
		t.Errorf("the thread has %+v", list)
	}
}

// TestProxyDelve connects the proxy to a Delve that listens, and to one that it starts, for a process and for a
// core. C threads that Delve does not list are added, and goroutines have their place in the team.
func TestProxyDelve(t *testing.T) {
	tool := buildTool(t)
	for name, run := range goPrograms(t) {
		for _, how := range []string{"connect", "start", "core"} {
			if how == "core" == (name == "gnu") && !omptest.Turn(3, name, how) {
				continue
			}
			t.Run(name+"/"+how, func(t *testing.T) {
				request, arguments := "attach", object{"mode": "remote", "stopOnEntry": true}
				line := []string{"--", omptest.Delve(t), "dap", "--check-go-version=false"}
				var r recorded
				switch how {
				case "connect":
					r = recordSocket(t, omptest.StartUnderDelve(t, run).Socket)
					line = r.line
				case "start":
					arguments = object{"mode": "local", "processId": omptest.Start(t, run).PID, "stopOnEntry": true}
				case "core":
					run.Mode = omptest.Gcore
					core := omptest.Dump(t, run)
					request = "launch"
					arguments = object{"mode": "core", "program": core.Exe, "coreFilePath": core.Core}
				}
				c, status := startProxy(t, tool, line...)
				daptest.Ask[any](c, "initialize", object{
					"adapterID": "go", "linesStartAt1": true, "pathFormat": "path",
				})
				begun := c.Send(request, arguments)
				c.Event("initialized")
				daptest.Ask[any](c, "configurationDone", nil)
				c.Response(begun)
				c.Event("stopped")
				checkGo(t, c, how != "start")
				disconnect(t, c, status)
				if how == "connect" {
					r.check(t, c)
				}
			})
		}
	}
}

// goPrograms returns runs of the Go program on both runtimes.
func goPrograms(t testing.TB) map[string]omptest.Run {
	t.Helper()
	return map[string]omptest.Run{
		"llvm": {Exe: omptest.CompileGo(t, omptest.LLVM), Runtime: omptest.RuntimeOf(t, 16), Mode: omptest.Live},
		"gnu":  {Exe: omptest.CompileGo(t, omptest.GCC), Runtime: omptest.Libgomp(t), Mode: omptest.Live},
	}
}

// checkGo looks for the team of a Go program's C code.
func checkGo(t *testing.T, c *daptest.Client, whole bool) {
	t.Helper()
	c.Event("ompd/changed")
	list := daptest.Ask[godap.ThreadsResponseBody](c, "threads", nil).Threads
	team, added, stacks := 0, 0, 0
	for _, th := range list {
		if !strings.HasPrefix(th.Name, "OMP ") {
			continue
		}
		team++
		if th.Id > ownIDs {
			added++
		}
		which := object{"threadId": th.Id}
		for _, f := range daptest.Ask[godap.StackTraceResponseBody](c, "stackTrace", which).StackFrames {
			if strings.Contains(f.Name, "[parallel]") {
				stacks++
			}
		}
	}
	if team < 2 || added == 0 || whole && stacks == 0 {
		t.Errorf("%d threads of OpenMP, %d of them added, %d stacks in a region: %+v", team, added, stacks, list)
	}
}

// TestProxyProcess runs adapters that exit and adapters that do not: no process is left.
func TestProxyProcess(t *testing.T) {
	tool := buildTool(t)
	t.Run("dies", func(t *testing.T) {
		c, status := startProxy(t, tool, "--", "/bin/sh", "-c", "read x; kill -9 $$")
		m := c.Response(c.Send("initialize", nil))
		if m.Success || !strings.Contains(m.Text, "has ended") {
			t.Errorf("initialize is answered by %+v", m)
		}
		if told := string(c.Event("output").Body); !strings.Contains(told, "signal: killed") {
			t.Errorf("the client gets %s", told)
		}
		c.Event("terminated")
		omptest.Equal(t, "exit status", <-status, ExitError)
	})
	t.Run("stays", func(t *testing.T) {
		pipe := filepath.Join(t.TempDir(), "alive")
		if err := syscall.Mkfifo(pipe, 0o600); err != nil {
			t.Fatal(err)
		}
		c, status := startProxy(t, tool, "--", "/bin/sh", "-c", "exec 3>"+pipe+"; sleep 1000")
		alive, err := os.Open(pipe) // open as long as the shell or a child of it exists
		if err != nil {
			t.Fatal(err)
		}
		defer alive.Close()
		c.CloseWrite()
		<-status
		if _, err := alive.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Errorf("the adapter still runs: %v", err)
		}
	})
	t.Run("missing", func(t *testing.T) {
		_, status := startProxy(t, tool, "--", "/no/such/adapter")
		omptest.Equal(t, "exit status", <-status, ExitError)
	})
}
