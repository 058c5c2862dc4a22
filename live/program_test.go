package live

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// guardedLooks is the number of looks at a guarded program before the test is notified.
const guardedLooks = 100

// runGuarded runs a tool that guards a program: it looks at it and its descendants until they end,
// prints LOOKED now and then, and exits with the program's status.
func runGuarded(argv []string) int {
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, ReleaseSignal)
	prog, err := Launch{Argv: argv, Releasable: true}.Start()
	if err != nil {
		fmt.Println("ERROR", err)
		return 2
	}
	prog.AwaitStop()
	stops, over := 0, 0 // reported stops, and reported ends of stops
	for n := 0; ; n++ {
		select {
		case <-asked:
			prog.Release()
		case e := <-prog.Events():
			if e.Released {
				fmt.Println("RELEASED")
				n = 0
				continue
			}
			if e.Ended {
				fmt.Println("ENDED", e.Status.ExitStatus(), int(e.Status.Signal()))
				return 0
			}
			if e.Stopped {
				var now bool
				now, stops = prog.JobStops(e.PID)
				fmt.Println("STOPPED", now, stops)
				continue
			}
			fmt.Println("DEATH", e.PID == prog.PID(), e.Death.Signal)
			e.Proceed()
		default:
			if err := lookAtAll(prog); err != nil {
				fmt.Println("ERROR", err)
			}
			if n%guardedLooks == guardedLooks-1 {
				fmt.Println("LOOKED")
			}
			now, times := prog.JobStops(prog.PID())
			if stops > 0 && times > stops { // an event reports the first
				stops = times
				fmt.Println("STOPPED again", stops)
			}
			if !now && over < stops {
				over = stops
				fmt.Println("CONTINUED", over)
			}
		}
	}
}

// lookAtAll looks at all processes of a program. They may end during that.
func lookAtAll(prog *Program) error {
	for _, pid := range prog.Processes() {
		p, err := prog.Open(pid, Options{})
		if err == nil {
			_, err = p.Look(background, readSome)
			p.Close()
		}
		if err != nil && !isEndError(err) {
			return err
		}
	}
	return nil
}

// isEndError reports whether err means that the process ended or executed another program.
func isEndError(err error) bool {
	return slices.ContainsFunc([]error{ErrExited, ErrExec, ErrNoProcess, ErrZombie}, func(end error) bool {
		return errors.Is(err, end)
	})
}

// readSome reads memory that exists even in a program that has just started.
func readSome(t callbacks.Target) error {
	ids, err := t.ThreadIDs(callbacks.ThreadIDLWP)
	for _, id := range ids {
		if regs, err := t.(callbacks.RegisterReader).Registers(id); err == nil {
			_ = t.ReadMemory(callbacks.Addr(regs.SP()), make([]byte, 512))
		}
	}
	return err
}

// startGuarded starts a program of testdata under a guard of its own process.
func startGuarded(t *testing.T, source string, args ...string) *program {
	t.Helper()
	cmd := exec.Command("/proc/self/exe", append([]string{compile(t, source)}, args...)...)
	cmd.Env = append(os.Environ(), childMode+"=guard")
	return launch(t, nil, cmd)
}

// nextReport returns the next line of a guard, except LOOKED.
func nextReport(t *testing.T, r *bufio.Reader) string {
	t.Helper()
	for {
		if s := nextLine(t, r); s != "LOOKED" {
			return s
		}
	}
}

// findChild returns the number of the only child of p.
func (p *program) findChild() int {
	p.t.Helper()
	list := omptest.Children(p.pid)
	if len(list) == 0 {
		p.t.Fatal("no child")
	}
	return list[0]
}

// TestGuardDisturbsNothing guards programs that check their own results, check that no signal or
// system call is lost, and create threads and processes all the time.
func TestGuardDisturbsNothing(t *testing.T) {
	for _, source := range []string{"busy.c", "blocked.c", "churn.c"} {
		t.Run(source, func(t *testing.T) {
			p := startGuarded(t, source)
			p.expect("LOOKED")
			if _, err := io.WriteString(p.in, "x\n"); err != nil {
				t.Fatal(err)
			}
			p.expect("OK")
			p.expect("ENDED 0 -1")
		})
	}
}

// TestGuardedStop stops and continues a guarded program as a shell does.
func TestGuardedStop(t *testing.T) {
	prog := startGuarded(t, "busy.c")
	pid := prog.findChild()
	p := openProcess(t, pid, Options{NoStop: true})
	prog.expect("LOOKED")
	for n := range 5 {
		if err := unix.Kill(pid, unix.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			prog.expect("STOPPED true 1")
		} else {
			prog.expect(fmt.Sprint("STOPPED again ", n+1))
		}
		before := mustReadProgress(t, p)
		yieldProcessor()
		if now := mustReadProgress(t, p); now != before {
			t.Errorf("the counter went from %d to %d in a stop", before, now)
		}
		if err := unix.Kill(pid, unix.SIGCONT); err != nil {
			t.Fatal(err)
		}
		prog.expect(fmt.Sprint("CONTINUED ", n+1)) // all threads: otherwise the next stop would be the same
		waitForProgress(t, p)
	}
	io.WriteString(prog.in, "x\n")
	prog.expect("OK")
}

// yieldProcessor yields to other threads.
func yieldProcessor() {
	for range 100 {
		unix.Nanosleep(&unix.Timespec{Nsec: 1e6}, nil)
	}
}

// TestGuardKilled kills the guard, and checks that the program continues.
func TestGuardKilled(t *testing.T) {
	prog := startGuarded(t, "busy.c")
	prog.expect("LOOKED")
	pid := prog.findChild()
	p := openProcess(t, pid, Options{NoStop: true})
	if err := prog.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	waitForProgress(t, p)
	io.WriteString(prog.in, "x\n")
	prog.expect("OK")
}

// TestGuardedEnds compares the guard's report with the end of the program.
func TestGuardedEnds(t *testing.T) {
	for _, c := range []struct {
		script string
		want   []string
	}{
		{"exit 7", []string{"ENDED 7 -1"}},
		{"kill -TERM $$", []string{"ENDED -1 15"}},
		{"kill -KILL $$", []string{"ENDED -1 9"}},
		{"kill -ABRT $$", []string{"DEATH true 6", "ENDED -1 6"}},
		{"trap 'exit 5' QUIT; kill -QUIT $$; sleep 60", []string{"ENDED 5 -1"}},
		{"exec sh -c 'exec sh -c \"exit 3\"'", []string{"ENDED 3 -1"}},
		{"sh -c 'kill -SEGV $$'; exit 4", []string{"DEATH false 11", "ENDED 4 -1"}},
		{"(kill -FPE $(sh -c 'echo $PPID')) 2>/dev/null; exit 6", []string{"DEATH false 8", "ENDED 6 -1"}},
		{"sleep 0.01 & sleep 0.02 & wait; sleep 60 & exit 1", []string{"ENDED 1 -1"}},
	} {
		cmd := exec.Command("/proc/self/exe", "/bin/sh", "-c", c.script)
		cmd.Env = append(os.Environ(), childMode+"=guard")
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		var got []string
		for r := readLines(t, out); ; {
			s := nextReport(t, r)
			if got = append(got, s); s == "" || strings.HasPrefix(s, "ENDED") {
				break
			}
		}
		if err := cmd.Wait(); err != nil || strings.Join(got, "\n") != strings.Join(c.want, "\n") {
			t.Errorf("%s: %v, %q, want %q", c.script, err, got, c.want)
		}
	}
}

// TestGuardedStorm guards a program that executes another one while the guard does not yet know its
// new threads.
func TestGuardedStorm(t *testing.T) {
	cmd := exec.Command("/proc/self/exe", compile(t, "storm.c"), strconv.Itoa(storms))
	cmd.Env = append(os.Environ(), childMode+"=guard")
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	r := readLines(t, out)
	for _, want := range []string{"READY", "ENDED 0 -1"} {
		if s := nextReport(t, r); s != want {
			t.Fatalf("%s, want %s", s, want)
		}
		io.WriteString(in, "x")
	}
}

// TestGuardedBecomes makes a second thread of a guarded program execute another one, and the first
// thread end before the others.
func TestGuardedBecomes(t *testing.T) {
	for _, how := range []string{"exec", "exit", "main"} {
		p := startGuarded(t, "become.c", how)
		if how == "main" {
			p.expect("LOOKED")
		}
		io.WriteString(p.in, "x")
		if how == "exec" {
			if s := nextReport(t, p.out); s != "READY" {
				t.Fatalf("%s: %s, want READY", how, s)
			}
			io.WriteString(p.in, "x")
		}
		if s := nextReport(t, p.out); s != "ENDED 0 -1" {
			t.Errorf("%s: %s", how, s)
		}
	}
}
