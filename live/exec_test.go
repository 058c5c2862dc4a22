package live

import (
	"errors"
	"os/exec"
	"strconv"
	"testing"
)

// TestEndInTheMiddle makes a program end, or execute another one, during a look.
func TestEndInTheMiddle(t *testing.T) {
	exe := compile(t, "become.c")
	for what, want := range map[string]error{"exec": ErrExec, "exit": ErrExited} {
		for range 10 {
			prog := run(t, nil, exe, what)
			p := openProcess(t, prog.pid, Options{})
			waitForProgress(t, p)
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

// storms is the number of times that the program executes itself.
const storms = 60

// TestStorm looks at a program that executes another one while its new threads are seized.
func TestStorm(t *testing.T) {
	exe := compile(t, "storm.c")
	for n := storms; lookAtStorm(t, exe, n) < 2; n *= 2 { // a busy machine gives the looks no time
	}
}

// lookAtStorm looks at the program until it no longer executes itself, and returns the number of looks.
func lookAtStorm(t *testing.T, exe string, times int) int {
	t.Helper()
	cmd := exec.Command(exe, strconv.Itoa(times))
	out, err := cmd.StdoutPipe()
	if err := errors.Join(err, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	defer func() { cmd.Process.Kill(); cmd.Wait() }()
	said := make(chan string, 1)
	r := readLines(t, out)
	go func() {
		defer close(said) // without output in time, the failure has no other report
		said <- nextLine(t, r)
	}()
	for looks := 0; ; looks++ {
		select {
		case s := <-said:
			if s != "READY" {
				t.Fatalf("the program said %q after %d looks", s, looks)
			}
			return looks
		default:
		}
		p, err := Open(cmd.Process.Pid, Options{})
		if err == nil {
			_, err = p.Look(background, readSome)
			p.Close()
		}
		if err != nil && !isEndError(err) {
			t.Fatal(err)
		}
	}
}
