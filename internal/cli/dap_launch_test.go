package cli

import (
	"errors"
	"os"
	"path/filepath"
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
	text = c.Refused("launch", map[string]any{"program": "/bin/true", "cwd": "/nowhere"})
	if !strings.Contains(text, "cwd: stat /nowhere: no such file") {
		t.Errorf("a directory that is not there: %q", text)
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

// TestDapListen serves two editors in parallel, and another after them: on a unix socket, and on a port with a
// secret of a file.
func TestDapListen(t *testing.T) {
	g, err := omptest.UnpackGolden("../../testdata/golden", "gnu-deadlock", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "secret")
	const secret = "a secret of some length"
	if err := os.WriteFile(file, []byte(secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, flags := range map[string][]string{
		"socket": {"--listen", "unix:" + filepath.Join(dir, "s")},
		"port":   {"--listen", "127.0.0.1:0", "--secret-file", file},
	} {
		t.Run(name, func(t *testing.T) {
			address, _, _ := startListening(t, 0, append([]string{"dap"}, flags...)...)
			var sessions []*daptest.Client
			attach := func() {
				conn := connect(t, address)
				c := daptest.New(t, conn, conn)
				initialize(c)
				daptest.Ask[any](c, "attach", map[string]any{
					"target": g.Core, "exe": g.Exe, "sysroot": g.Sysroot, "secret": secret,
				})
				sessions = append(sessions, c)
			}
			attach()
			attach()
			for _, c := range sessions {
				stop := daptest.BodyOf[godap.StoppedEventBody](c, c.Event("stopped"))
				omptest.Equal(t, "the stop", stop.Text, "DEADLOCK: threads 0 and 1")
				daptest.Ask[any](c, "disconnect", nil)
				c.Await()
			}
			attach() // is ended with the listener
		})
	}
}

// TestDapListenRefused checks that the adapter listens for other machines only on request, and takes no secret that
// others can read or guess.
func TestDapListenRefused(t *testing.T) {
	dir := t.TempDir()
	short, open := filepath.Join(dir, "short"), filepath.Join(dir, "open")
	err1 := os.WriteFile(short, []byte("guess"), 0o600)
	err2 := os.WriteFile(open, []byte("a secret of some length"), 0o600)
	err3 := os.Chmod(open, 0o644)
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		"--listen 0.0.0.0:0": "other machines can connect", "--listen :0": "other machines can connect",
		"--listen 192.0.2.1:4711": "other machines can connect", "--listen example:4711": "other machines can connect",
		"--listen 4711": "path of a unix socket, or HOST:PORT",
		"--listen 127.0.0.1:0 --secret-file " + short:     "less than 16 characters",
		"--listen 127.0.0.1:0 --secret-file " + open:      "others can read",
		"--listen 127.0.0.1:0 --secret-file " + dir + "/": "others can read",
	} {
		status, msg := runTool(t, append([]string{"dap"}, strings.Fields(args)...)...)
		if status == ExitOK || !strings.Contains(msg, want) {
			t.Errorf("%s: exit status %d, %s", args, status, msg)
		}
	}
}
