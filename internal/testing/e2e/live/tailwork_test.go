package live

import (
	"bufio"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// TestStateOfTailCalledWork looks at threads that are in a function of the C library by a tail call of their
// region, so that no frame of the program is between that function and the runtime. They are at work, not at a
// barrier.
func TestStateOfTailCalledWork(t *testing.T) {
	for _, compiler := range []string{"gcc", "clang-16"} {
		for _, flags := range []string{"-O0", "-O2"} {
			t.Run(compiler+flags, func(t *testing.T) {
				pid := ready(t, "tailwork", compiler, flags)
				const looks = 5
				for range looks {
					pic := lookAt(t, pid)
					if len(pic.Threads) != 3 || len(pic.Facts.Waits) > 0 {
						t.Fatalf("%d threads, and they wait: %+v", len(pic.Threads), pic.Facts.Waits)
					}
					for _, th := range pic.Threads {
						if th.State == nil || th.State.Name != "work_parallel" {
							t.Errorf("LWP %d: %+v", th.LWP, th.State)
						}
					}
				}
			})
		}
	}
}

// TestStateInRepeatedPoll looks at threads that call poll(2) repeatedly: after the first look, the kernel resumes
// the call by restart_syscall(2).
func TestStateInRepeatedPoll(t *testing.T) {
	pid := ready(t, "pollagain", "gcc", "-O2")
	slept := 0
	const looks, want = 1000, 5
	for n := 0; n < looks && slept < want; n++ {
		pic := lookAt(t, pid)
		in := 0
		for _, th := range pic.Threads {
			if th.State != nil && th.State.Name == "wait_call" && th.WaitName == "poll" {
				in++
			}
		}
		switch {
		case in == 2:
			slept++
		case slept > 0:
			t.Fatalf("after %d looks: %+v", n, pic.Facts.Waits)
		}
	}
	if slept < want {
		t.Errorf("they were both in poll in %d looks", slept)
	}
}

// ready starts a program of testdata, waits until it has printed a line, and returns its process.
func ready(t *testing.T, program, compiler, flags string) (pid int) {
	t.Helper()
	exe := filepath.Join(t.TempDir(), program)
	e2e.RunCompiler(t, exec.Command(compiler, "-fopenmp", "-g", flags, "-o", exe,
		filepath.Join("testdata", program+".c")))
	cmd := exec.Command(exe)
	out := start(t, cmd)
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	if _, err := out.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	return cmd.Process.Pid
}

// start starts a program, and returns its output.
func start(t *testing.T, cmd *exec.Cmd) *bufio.Reader {
	t.Helper()
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	return bufio.NewReader(out)
}

// lookAt returns the picture of a process.
func lookAt(t *testing.T, pid int) *picture.Picture {
	t.Helper()
	_, report, _ := e2e.Output(t, "--json", strconv.Itoa(pid))
	return e2e.Decode(t, report)
}
