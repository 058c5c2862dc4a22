package e2e

import (
	"bufio"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
)

// TestTailCalledWork looks at threads that are in a function of the C library by the last call of their region, so
// that nothing of the program is between it and the runtime on their stacks: they are at work, and at no barrier.
func TestTailCalledWork(t *testing.T) {
	for _, compiler := range []string{"gcc", "clang-16"} {
		for _, flags := range []string{"-O0", "-O2"} {
			t.Run(compiler+flags, func(t *testing.T) {
				exe := filepath.Join(t.TempDir(), "tailwork")
				source := filepath.Join("testdata", "tailwork.c")
				built(t, exec.Command(compiler, "-fopenmp", "-g", flags, "-o", exe, source))
				cmd := exec.Command(exe)
				out, err := cmd.StdoutPipe()
				if err == nil {
					err = cmd.Start()
				}
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
				if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
					t.Fatal(err)
				}
				const looks = 5
				for range looks {
					_, report, _ := output(t, "--json", strconv.Itoa(cmd.Process.Pid))
					pic := decode(t, report)
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
