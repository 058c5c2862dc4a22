package cli

import (
	"bufio"
	"errors"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	godap "github.com/google/go-dap"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/daptest"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// lane is a debug adapter, and the arguments with which it opens a program.
type lane struct {
	name    string
	line    func(t testing.TB) []string // starts the adapter for the proxy; nil for our own
	process func(p *omptest.Process) object
	core    func(core, exe string) object
	noCore  string // the message if it opens no core
}

// lanes returns the adapters for C: our own, and those that the proxy relays to.
func lanes() []lane {
	gdb := func(suite string) func(t testing.TB) []string {
		return func(t testing.TB) []string { return []string{omptest.GdbOf(t, suite), "-nx", "-q", "-i", "dap"} }
	}
	lldb := func(major int) func(t testing.TB) []string {
		return func(t testing.TB) []string { return []string{omptest.Lldb(t, major)} }
	}
	process := func(p *omptest.Process) object {
		return object{"pid": p.PID, "program": p.Exe, "stopOnEntry": true}
	}
	core := func(core, exe string) object { return object{"coreFile": core, "program": exe} }
	return []lane{
		{
			name: "own", process: func(p *omptest.Process) object { return object{"target": p.PID} },
			core: func(core, exe string) object { return object{"target": core, "exe": exe} },
		},
		{
			name: "gdb-16", line: gdb("trixie"), process: process, core: core,
			noCore: "requires either 'pid' or 'target'",
		},
		{name: "gdb-18", line: gdb("sid"), process: process, core: core},
		{name: "lldb-16", line: lldb(16), process: process, core: core},
		{name: "lldb-19", line: lldb(19), process: process, core: core},
	}
}

// TestAdapters shows a deadlock on both runtimes, as a core and as a process, through our own adapter and
// through each debugger's adapter with the proxy. It checks the threads' names, their stacks, the scopes of
// each frame, the verdict, and the verbs in the console. Without the additions of the proxy, the debugger's
// messages are unchanged.
func TestAdapters(t *testing.T) {
	tool := buildTool(t)
	for _, l := range lanes() {
		for _, mode := range []omptest.Mode{omptest.Live, omptest.Gcore} {
			what := map[omptest.Mode]string{omptest.Live: "process", omptest.Gcore: "core"}[mode]
			for name, run := range deadlocks(t, mode) {
				if l.line != nil && !omptest.Turn(3, l.name, what, name) {
					continue
				}
				t.Run(l.name+"/"+what+"/"+name, func(t *testing.T) { l.check(t, tool, run) })
			}
		}
	}
}

// check makes the adapter open a deadlock, and checks what it shows.
func (l lane) check(t *testing.T, tool string, run omptest.Run) {
	c, end, above := l.start(t, tool)
	arguments, refused := l.prepare(t, run)
	if refused != "" {
		daptest.Ask[any](c, "initialize", object{"adapterID": "x"})
		attach := c.Send("attach", arguments)
		c.Event("initialized")
		daptest.Ask[any](c, "configurationDone", nil)
		if m := c.Response(attach); m.Success || !strings.Contains(m.Text, refused) {
			t.Errorf("attach is answered by %+v", m)
		}
		end()
		return
	}
	openProgram(t, c, "attach", arguments)
	checkShown(t, c, above)
	end()
}

// prepare builds a program and returns the arguments with which the adapter opens it; refused is the expected
// error.
func (l lane) prepare(t testing.TB, run omptest.Run) (arguments object, refused string) {
	if run.Mode == omptest.Live {
		return l.process(omptest.Start(t, run)), ""
	}
	core := omptest.Dump(t, run)
	return l.core(core.Core, core.Exe), l.noCore
}

// start starts the adapter. Numbers above the returned one are ours. end ends the session and checks the
// recorded messages.
func (l lane) start(t *testing.T, tool string) (c *daptest.Client, end func(), above int) {
	if l.line == nil {
		c, status := startAdapter(t, "--no-debuginfod")
		return c, func() { disconnect(t, c, status) }, 0
	}
	r := record(t, l.line(t))
	c, status := startProxy(t, tool, append([]string{"--"}, r.line...)...)
	return c, func() {
		disconnect(t, c, status)
		r.check(t, c)
	}, ownIDs
}

// disconnect ends a session without an error.
func disconnect(t *testing.T, c *daptest.Client, status <-chan int) {
	t.Helper()
	daptest.Ask[any](c, "disconnect", object{"terminateDebuggee": false})
	c.CloseWrite()
	omptest.Equal(t, "exit status", <-status, ExitOK)
	c.Await()
}

// TestProxySame sends the same requests for the same program to each debugger's adapter, with and without the
// proxy. Without the additions of the proxy, the answers are equal byte for byte.
func TestProxySame(t *testing.T) {
	tool := buildTool(t)
	for _, l := range lanes()[1:] {
		if !omptest.Turn(2, l.name) {
			continue
		}
		t.Run(l.name, func(t *testing.T) {
			mode := omptest.Gcore
			if l.noCore != "" {
				mode = omptest.Live
			}
			arguments, _ := l.prepare(t, deadlocks(t, mode)["llvm"])
			c, status := startProxy(t, tool, append([]string{"--runtime-frames", "--"}, l.line(t)...)...)
			through := l.collect(t, c, arguments)
			disconnect(t, c, status)
			direct := l.collect(t, startAlone(t, l.line(t)), arguments)
			omptest.Equal(t, "answers", len(through), len(direct))
			for i, m := range through[:min(len(through), len(direct))] {
				got, want := withoutNumber(daptest.Undone(m.Raw, ownIDs)), withoutNumber(direct[i].Raw)
				if got != want {
					const what = "%s is answered by\n%s\nwithout additions\n%s\nwithout the proxy\n%s"
					t.Errorf(what, m.Command, m.Raw, got, want)
				}
			}
		})
	}
}

// collect requests the state of all threads and returns the answers. The debugger's numbers of threads, frames
// and variables are below ours.
func (l lane) collect(t *testing.T, c *daptest.Client, arguments object) (answers []daptest.Message) {
	t.Helper()
	openProgram(t, c, "attach", arguments)
	c.Event("stopped")
	ask := func(command string, arguments object) daptest.Message {
		m := c.Response(c.Send(command, arguments))
		answers = append(answers, m)
		return m
	}
	for _, th := range daptest.BodyOf[godap.ThreadsResponseBody](c, ask("threads", nil)).Threads {
		stack := daptest.BodyOf[godap.StackTraceResponseBody](c, ask("stackTrace", object{"threadId": th.Id}))
		for _, f := range stack.StackFrames {
			if f.Id > ownIDs {
				continue
			}
			scopes := daptest.BodyOf[godap.ScopesResponseBody](c, ask("scopes", object{"frameId": f.Id})).Scopes
			for _, s := range scopes {
				if s.VariablesReference < ownIDs && s.Name == "Locals" {
					ask("variables", object{"variablesReference": s.VariablesReference})
				}
			}
		}
	}
	return answers
}

// TestProxyRemote debugs a process of a gdbserver. gdb reports no process of this machine for it, so OpenMP's
// state is read by gdb's own script.
func TestProxyRemote(t *testing.T) {
	tool := buildTool(t)
	for name, run := range deadlocks(t, omptest.Live) {
		for _, suite := range omptest.GdbSuites {
			if !omptest.Turn(2, suite, name) {
				continue
			}
			t.Run(name+"/"+suite, func(t *testing.T) {
				p := omptest.Start(t, run)
				r := record(t, []string{omptest.GdbOf(t, suite), "-nx", "-q", "-i", "dap"})
				c, status := startProxy(t, tool, append([]string{"--"}, r.line...)...)
				openProgram(t, c, "attach", object{"program": p.Exe, "target": startGdbserver(t, p)})
				checkShown(t, c, ownIDs)
				disconnect(t, c, status)
				r.check(t, c)
			})
		}
	}
}

// startGdbserver attaches a gdbserver to a process, and returns its address for gdb.
func startGdbserver(t *testing.T, p *omptest.Process) (address string) {
	t.Helper()
	cmd := exec.Command(omptest.Program(t, "gdbserver"), "--once", "--attach", "127.0.0.1:0", strconv.Itoa(p.PID))
	told, err := cmd.StderrPipe()
	if err := errors.Join(err, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	for lines := bufio.NewScanner(told); lines.Scan(); {
		if port, ok := strings.CutPrefix(lines.Text(), "Listening on port "); ok {
			return "127.0.0.1:" + port
		}
	}
	t.Fatal("gdbserver does not say where it listens")
	return ""
}
