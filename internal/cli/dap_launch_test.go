package cli

import (
	"bufio"
	"context"
	"errors"
	"net"
	"os"
	"strings"
	"testing"

	godap "github.com/google/go-dap"
	"golang.org/x/sys/unix"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/daptest"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// initialize prepares a client for a stop.
func initialize(c *daptest.Client) {
	daptest.Ask[any](c, "initialize", map[string]any{"adapterID": "ompd"})
	daptest.Ask[any](c, "configurationDone", nil)
}

// launch makes the adapter start a program with a deadlock, and returns its process ID.
func launch(t *testing.T, c *daptest.Client, how map[string]any) int {
	t.Helper()
	rt := omptest.RuntimeOf(t, 16)
	how["program"] = omptest.Compile(t, omptest.Build{Program: "lock_cycle"})
	how["env"] = map[string]any{"LD_LIBRARY_PATH": rt.Dir, "OMPD_TRUTH": nil}
	initialize(c)
	daptest.Ask[any](c, "launch", how)
	return daptest.BodyOf[godap.ProcessEventBody](c, c.Event("process")).SystemProcessId
}

// awaitOutput waits until the program has written a text.
func awaitOutput(c *daptest.Client, text string) {
	all := ""
	for !strings.Contains(all, text) {
		if body := daptest.BodyOf[godap.OutputEventBody](c, c.Event("output")); body.Category == "stdout" {
			all += body.Output
		}
	}
}

// isGone reports whether a process no longer exists.
func isGone(pid int) bool { return errors.Is(unix.Kill(pid, 0), unix.ESRCH) }

// TestDapLaunchCrash stops a program that is about to die, and lets it die.
func TestDapLaunchCrash(t *testing.T) {
	omptest.Needs(t, "a compiler")
	c, _ := startAdapter(t)
	pid := launch(t, c, map[string]any{"args": []string{"abort"}})
	stop := daptest.BodyOf[godap.StoppedEventBody](c, c.Event("stopped"))
	omptest.Equal(t, "the stop", stop.Text, "DEADLOCK: threads 0 and 1")
	list := daptest.Ask[godap.ThreadsResponseBody](c, "threads", nil).Threads
	if !strings.Contains(list[0].Name+list[1].Name+list[2].Name, "SIGABRT") {
		t.Errorf("no thread got the signal: %+v", list)
	}
	omptest.Equal(t, "it died before it was continued", isGone(pid), false)
	daptest.Ask[any](c, "continue", map[string]any{"threadId": 0})
	omptest.Equal(t, "exit status", daptest.BodyOf[godap.ExitedEventBody](c, c.Event("exited")).ExitCode, 134)
	c.Event("terminated")
	daptest.Ask[any](c, "disconnect", nil)
}

// TestDapLaunchHang stops a program that makes no progress, and ends it with the session.
func TestDapLaunchHang(t *testing.T) {
	omptest.Needs(t, "a compiler")
	c, status := startAdapter(t)
	pid := launch(t, c, map[string]any{"args": []string{"wait"}, "hangAfter": minHang.String()})
	stop := daptest.BodyOf[godap.StoppedEventBody](c, c.Event("stopped"))
	omptest.Equal(t, "the stop", stop.Text, "DEADLOCK: threads 0 and 1")
	c.CloseWrite() // the editor disconnects
	omptest.Equal(t, "exit status", <-status, ExitOK)
	omptest.Equal(t, "the program is gone", isGone(pid), true)
}

// TestDapLaunchPause stops a running program, continues it, and ends it.
func TestDapLaunchPause(t *testing.T) {
	omptest.Needs(t, "a compiler")
	c, _ := startAdapter(t)
	launch(t, c, map[string]any{"args": []string{"wait"}})
	list := daptest.Ask[godap.ThreadsResponseBody](c, "threads", nil).Threads
	omptest.Equal(t, "threads of a running program", len(list), 1)
	awaitOutput(c, `"function"`) // its threads have reached their places
	for range 2 {
		daptest.Ask[any](c, "pause", map[string]any{"threadId": 0})
		stop := daptest.BodyOf[godap.StoppedEventBody](c, c.Event("stopped"))
		omptest.Equal(t, "the stop", stop.Text, "DEADLOCK: threads 0 and 1")
		daptest.Ask[any](c, "continue", map[string]any{"threadId": 0})
	}
	daptest.Ask[any](c, "terminate", nil)
	omptest.Equal(t, "exit status", daptest.BodyOf[godap.ExitedEventBody](c, c.Event("exited")).ExitCode, 143)
	c.Event("terminated")
}

// TestDapLaunchEnds runs a program that ends normally. The program has the requested environment and directory,
// and all of its output arrives before the event of its end.
func TestDapLaunchEnds(t *testing.T) {
	c, _ := startAdapter(t)
	initialize(c)
	dir := t.TempDir()
	text := c.Refused("launch", map[string]any{"program": "/nowhere/program"})
	if !strings.Contains(text, "no such file") {
		t.Errorf("a program that is not there: %q", text)
	}
	text = c.Refused("launch", map[string]any{"program": "/bin/true", "hangAfter": 0.001})
	if !strings.Contains(text, "at least") {
		t.Errorf("a short hangAfter: %q", text)
	}
	daptest.Ask[any](c, "launch", map[string]any{
		"program": "sh", "args": []string{"-c", "pwd; echo $GREETING >&2; exit 7"}, "cwd": dir,
		"env": map[string]any{"GREETING": "hello"},
	})
	omptest.Equal(t, "exit status", daptest.BodyOf[godap.ExitedEventBody](c, c.Event("exited")).ExitCode, 7)
	written := map[string]string{}
	for _, m := range c.All() {
		if m.Event == "output" {
			body := daptest.BodyOf[godap.OutputEventBody](c, m)
			written[body.Category] += body.Output
		}
	}
	omptest.Equal(t, "standard output", written["stdout"], dir+"\n")
	omptest.Equal(t, "standard error", written["stderr"], "hello\n")
}

// TestDapListen serves two editors in parallel on a port, and others after them.
func TestDapListen(t *testing.T) {
	g, err := omptest.UnpackGolden("../../testdata/golden", "gnu-deadlock", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	printed, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer printed.Close()
	ctx, cancel := context.WithCancel(t.Context())
	status := make(chan int, 1)
	go func() {
		c := Command{Version: "test", Stdin: os.Stdin, Stdout: out, Stderr: os.Stderr}
		status <- c.Run(ctx, []string{"dap", "--listen", "127.0.0.1:0"})
		out.Close()
	}()
	line, err := bufio.NewReader(printed).ReadString('\n')
	address, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	if err != nil || !ok {
		t.Fatalf("%q, %v", line, err)
	}
	connect := func() *daptest.Client {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		c := daptest.New(t, conn, conn)
		initialize(c)
		daptest.Ask[any](c, "attach", map[string]any{"target": g.Core, "exe": g.Exe, "sysroot": g.Sysroot})
		return c
	}
	first, second := connect(), connect()
	for _, c := range []*daptest.Client{first, second} {
		stop := daptest.BodyOf[godap.StoppedEventBody](c, c.Event("stopped"))
		omptest.Equal(t, "the stop", stop.Text, "DEADLOCK: threads 0 and 1")
		daptest.Ask[any](c, "disconnect", nil)
		c.Await()
	}
	third := connect()
	cancel()
	omptest.Equal(t, "exit status", <-status, ExitOK)
	third.Await()
}

// TestDapListenRefused checks that the adapter listens for other machines only on request.
func TestDapListenRefused(t *testing.T) {
	for _, address := range []string{"0.0.0.0:0", ":0", "192.0.2.1:4711", "example:4711", "4711"} {
		c := Command{Version: "test", Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}
		omptest.Equal(t, "exit status of "+address, c.Run(t.Context(), []string{"dap", "--listen", address}), ExitUsage)
	}
}

// TestSameUser checks that the user of a connection is found in the kernel's table, and that a connection that
// is not listed there is refused.
func TestSameUser(t *testing.T) {
	for _, address := range []string{"127.0.0.1:0", "[::1]:0"} {
		l, err := net.Listen("tcp", address)
		if err != nil && address != "127.0.0.1:0" {
			continue // a machine without IPv6
		}
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		far, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		near, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		omptest.Equal(t, "our own", sameUser(near), nil)
		omptest.Equal(t, "a connection that is none", errors.Is(sameUser(elsewhere{near}), errOtherUser), true)
		far.Close()
		near.Close()
	}
}

// elsewhere is a connection with a wrong remote port.
type elsewhere struct{ net.Conn }

// RemoteAddr returns an unused port.
func (elsewhere) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }
