package live

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// TestReleaseDisturbsNothing releases programs that check their own results and create threads and processes all the
// time. Looks of the former guard attach again. Nothing holds the programs between them, no signal is lost, and the
// end is reported.
func TestReleaseDisturbsNothing(t *testing.T) {
	for _, source := range []string{"busy.c", "blocked.c", "churn.c"} {
		t.Run(source, func(t *testing.T) {
			p := startGuarded(t, source)
			p.expect("LOOKED")
			pid := p.findChild()
			holder, err := Release(background, pid)
			if err != nil || !strings.HasSuffix(holder, fmt.Sprintf(", process %d", p.pid)) {
				t.Fatalf("%q, %v", holder, err)
			}
			p.expect("RELEASED")
			p.expect("LOOKED")
			if _, err := io.WriteString(p.in, "x\n"); err != nil {
				t.Fatal(err)
			}
			p.expect("OK")
			p.expect("ENDED 0 -1")
		})
	}
}

// TestReleaseStopped releases a program that job control has stopped: it stays stopped, and the next stop is
// reported.
func TestReleaseStopped(t *testing.T) {
	prog := startGuarded(t, "busy.c")
	prog.expect("LOOKED")
	pid := prog.findChild()
	p := openProcess(t, pid, Options{NoStop: true})
	if err := unix.Kill(pid, unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	prog.expect("STOPPED true 1")
	if _, err := Release(background, pid); err != nil {
		t.Fatal(err)
	}
	prog.expectPast("CONTINUED 1", "RELEASED")
	before := mustReadProgress(t, p)
	yieldProcessor()
	if now := mustReadProgress(t, p); now != before {
		t.Errorf("the counter went from %d to %d in a stop", before, now)
	}
	if err := unix.Kill(pid, unix.SIGCONT); err != nil {
		t.Fatal(err)
	}
	waitForProgress(t, p)
	if _, err := io.WriteString(prog.in, "x\n"); err != nil {
		t.Fatal(err)
	}
	prog.expectPast("CONTINUED 1", "OK")
	prog.expectPast("CONTINUED 1", "ENDED 0 -1")
}

// expectPast reads lines up to one that is want. Those before it may only be other: the guard sees a stop end while the
// kernel detaches from a stopped thread.
func (p *program) expectPast(other, want string) {
	p.t.Helper()
	for {
		switch s := nextReport(p.t.(*testing.T), p.out); s {
		case want:
			return
		case other:
		default:
			p.t.Fatalf("the program printed %q, want %q", s, want)
		}
	}
}

// TestReleaseForks releases a program while it starts processes: none of them is left stopped.
func TestReleaseForks(t *testing.T) {
	for range 10 {
		released := filepath.Join(t.TempDir(), "released")
		cmd := exec.Command("/proc/self/exe", "/bin/sh", "-c",
			`echo READY; until [ -e "$0" ]; do (exit 0) & (exit 0); done; wait; echo OK`, released)
		cmd.Env = append(os.Environ(), childMode+"=guard")
		p := launch(t, nil, cmd)
		if _, err := Release(background, p.findChild()); err != nil {
			t.Fatal(err)
		}
		p.expect("RELEASED")
		if err := os.WriteFile(released, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		p.expect("OK")
		p.expect("ENDED 0 -1")
	}
}

// TestReleaseRefused asks for processes that no debugger holds, that do not exist, and that this process holds for
// itself.
func TestReleaseRefused(t *testing.T) {
	holder, err := Release(background, os.Getpid())
	omptest.Equal(t, "a process without a debugger", fmt.Sprint(holder, err), "<nil>")
	_, err = Release(background, 1<<30)
	wantError(t, err, ErrNoProcess)
	prog, err := Launch{Argv: []string{"sleep", "1000"}}.Start()
	if err != nil {
		t.Fatal(err)
	}
	_, err = Release(background, prog.PID())
	wantError(t, err, ErrTraced, fmt.Sprint(os.Getpid()), "end the session")
	_ = unix.Kill(prog.PID(), unix.SIGKILL)
	for e := range prog.Events() {
		if e.Ended {
			break
		}
	}
}

// TestDescendants finds the children of a process and their children.
func TestDescendants(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pids")
	cmd := exec.Command("sh", "-c", `sh -c 'sleep 1000 & echo $$ $! >`+file+`; echo READY; wait' & wait`)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	omptest.Equal(t, "the program", nextLine(t, readLines(t, out)), "READY")
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var child, grandchild int
	if _, err := fmt.Sscan(string(b), &child, &grandchild); err != nil {
		t.Fatal(err)
	}
	list := descendants(cmd.Process.Pid)
	want := map[int]bool{cmd.Process.Pid: true, child: true, grandchild: true}
	for _, pid := range list {
		if !want[pid] {
			t.Errorf("%d is a descendant in %v, %v", pid, list, want)
		}
	}
	omptest.Equal(t, "descendants", len(list), len(want))
	_ = unix.Kill(grandchild, unix.SIGKILL)
	_ = cmd.Wait()
	omptest.Equal(t, "descendants of a process that has ended", len(descendants(cmd.Process.Pid)), 0)
}
