package live

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// TestHeldByGuard looks at a program that the guard of another process holds. No thread is stopped, and the
// pause names the holder. Operations that need a stop are refused, without the advice to interrupt the program.
func TestHeldByGuard(t *testing.T) {
	guard := startGuarded(t, "busy.c")
	guard.expect("LOOKED")
	p := openProcess(t, guard.findChild(), Options{})
	omptest.Equal(t, "tracer", p.Info().TracerPID, guard.pid)
	pause, err := p.Look(background, readSome)
	if err != nil || pause.Threads != 0 || pause.Stops != 0 ||
		!strings.HasSuffix(pause.Holder, ", process "+strconv.Itoa(guard.pid)) {
		t.Errorf("%+v, %v", pause, err)
	}
	err = p.Stop(background)
	wantError(t, err, ErrTraced, pause.Holder, "ompd-inspect --no-stop "+strconv.Itoa(p.Info().PID))
	if strings.Contains(err.Error(), "interrupt") {
		t.Error(err)
	}
}

// TestHeldByThisProcess looks at a program that this process holds for another client.
func TestHeldByThisProcess(t *testing.T) {
	theirs, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, says, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	prog, err := Launch{Argv: []string{compile(t, "busy.c")}, Files: [3]*os.File{theirs, says, os.Stderr}}.Start()
	theirs.Close()
	says.Close()
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan Event, 1)
	go func() {
		for e := range prog.Events() {
			if e.Ended {
				ended <- e
				return
			}
			e.Proceed()
		}
	}()
	r := readLines(t, out)
	omptest.Equal(t, "the program", nextLine(t, r), "READY")
	p := openProcess(t, prog.PID(), Options{})
	pause, err := p.Look(background, readSome)
	if err != nil || pause.Threads != 0 || !strings.HasSuffix(pause.Holder, ", process "+strconv.Itoa(os.Getpid())) {
		t.Errorf("another client: %+v, %v", pause, err)
	}
	own, err := prog.Open(prog.PID(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	pause, err = own.Look(background, readSome)
	if err != nil || pause.Threads != 6 || pause.Holder != "" {
		t.Errorf("its own: %+v, %v", pause, err)
	}
	own.Close()
	if _, err := in.WriteString("x\n"); err != nil {
		t.Fatal(err)
	}
	omptest.Equal(t, "the program", nextLine(t, r), "OK")
	omptest.Equal(t, "exit status", (<-ended).Status.ExitStatus(), 0)
}

// TestSameProgram recognizes this program by its file, and another build of the tool by its name.
func TestSameProgram(t *testing.T) {
	omptest.Equal(t, "this process", sameProgram(os.Getpid(), "x"), true)
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(sleep)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"sleep": false, toolName: true, "gdb": false} {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, b, 0o755); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(path, "1000")
		cmd.Args[0] = "sleep" // a file of several programs asks which it is
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(path); err != nil { // as an upgrade does
			t.Error(err)
		}
		st, err := readStatus(cmd.Process.Pid)
		if err != nil {
			t.Fatal(err)
		}
		omptest.Equal(t, name, sameProgram(cmd.Process.Pid, st.name), want)
		h := holderOf(cmd.Process.Pid)
		text := tracedError(7, h).Error()
		omptest.Equal(t, name+": interrupt it", strings.Contains(text, "interrupt the program there"), name == "gdb")
		omptest.Equal(t, name+": no stop", strings.Contains(text, "ompd-inspect --no-stop 7"), true)
		omptest.Equal(t, name+": a debugger", h.kind == byDebugger, !want)
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	omptest.Equal(t, "nobody", errors.Is(tracedError(7, holderOf(0)), ErrTraced), true)
}

// TestStartingVerb reads the verbs of command lines.
func TestStartingVerb(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "ompd-inspect": "", "ompd-inspect run -- x": "run", "ompd-inspect --json record x": "record",
		"ompd-inspect dap --listen :1": "dap", "ompd-inspect 1234": "", "ompd-inspect report run": "", "run run": "run",
	} {
		omptest.Equal(t, text, startingVerb(strings.Fields(text)), want)
	}
}
