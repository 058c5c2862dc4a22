package live

import (
	"errors"
	"os/exec"
	"testing"
)

// TestEndInTheMiddle lets a program end, or become another one, while it is
// looked at.
func TestEndInTheMiddle(t *testing.T) {
	exe := compile(t, "become.c")
	for what, want := range map[string]error{"exec": ErrExec, "exit": ErrExited} {
		for range rounds(10) {
			prog := run(t, nil, exe, what)
			p := openProcess(t, prog.pid, Options{})
			moves(t, p)
			go prog.in.Write([]byte("x"))
			var err error
			for err == nil {
				_, err = p.Look(background, readFrames)
			}
			if !errors.Is(err, want) {
				t.Fatalf("%s: %v, want %v", what, err, want)
			}
			if what == "exec" {
				prog.expect("READY") // the new program runs
			} else if err := prog.cmd.Wait(); err != nil {
				t.Errorf("exit: %v", err)
			}
			p.Close()
			prog.cmd.Process.Kill()
		}
	}
}

// storms is how often the program becomes itself again.
const storms = "60"

// TestStorm looks at a program that becomes another one while threads are seized that
// it has just made.
func TestStorm(t *testing.T) {
	cmd := exec.Command(compile(t, "storm.c"), storms)
	out, err := cmd.StdoutPipe()
	if err := errors.Join(err, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	said := make(chan string, 1)
	r := lines(t, out)
	go func() {
		defer close(said) // if it prints nothing in time, nobody else says so
		said <- line(t, r)
	}()
	for looks := 0; ; looks++ {
		select {
		case s := <-said:
			if s != "READY" || looks < 2 {
				t.Errorf("the program said %q after %d looks", s, looks)
			}
			return
		default:
		}
		p, err := Open(cmd.Process.Pid, Options{})
		if err == nil {
			_, err = p.Look(background, readSome)
			p.Close()
		}
		if err != nil && !isOver(err) {
			t.Fatal(err)
		}
	}
}
