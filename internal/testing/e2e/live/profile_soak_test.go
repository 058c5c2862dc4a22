package live

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ompd-inspect/ompd-inspect/internal/cli"
	"github.com/ompd-inspect/ompd-inspect/internal/profile"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// TestProfilePhases profiles a program whose threads wait a third of their time for a lock and a quarter at a barrier,
// and measure that themselves. The shares of the profile differ by no more than three standard errors.
func TestProfilePhases(t *testing.T) {
	seconds := strconv.Itoa(omptest.Number(t, "seconds", 60))
	for name, c := range map[string]struct {
		b  omptest.Build
		rt omptest.Runtime
	}{
		"libomp":  {omptest.Build{}, omptest.RuntimeOf(t, 16)},
		"libgomp": {omptest.Build{Compiler: omptest.GCC}, omptest.Libgomp(t)},
	} {
		t.Run(name, func(t *testing.T) {
			c.b.Program = "phases"
			cmd := omptest.Run{Exe: omptest.Compile(t, c.b), Runtime: c.rt}.Command(t.TempDir(), seconds)
			var out bytes.Buffer
			cmd.Stdout = &out
			ready, err := cmd.StderrPipe()
			if err != nil || cmd.Start() != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = cmd.Process.Kill() })
			if n, err := ready.Read(make([]byte, 1)); n != 1 {
				t.Fatal(err)
			}
			status, text, errs := e2e.Output(t, "profile", "--quiet", "--json", strconv.Itoa(cmd.Process.Pid))
			if err := cmd.Wait(); err != nil || status != cli.ExitOK {
				t.Fatalf("%v; exit status %d: %s", err, status, errs)
			}
			var all, lock, barrier float64
			if _, err := fmt.Sscan(out.String(), &all, &lock, &barrier); err != nil {
				t.Fatalf("%q: %v", out.String(), err)
			}
			p := readProfile(t, []byte(text))
			checkShare(t, p, "work", p.Work, (all-lock-barrier)/all)
			checkShare(t, p, "lock", waitOf(p, "lock"), lock/all)
			checkShare(t, p, "barrier", waitOf(p, "barrier"), barrier/all)
		})
	}
}

// waitOf returns the time of the waits of a kind.
func waitOf(p *picture.Profile, kind string) (seconds float64) {
	for _, w := range p.Waits {
		if w.Kind == kind {
			seconds += w.Seconds
		}
	}
	return seconds
}

// checkShare compares a share of the thread time with that which the program measured.
func checkShare(t *testing.T, p *picture.Profile, what string, seconds, want float64) {
	t.Helper()
	got, errors := seconds/p.ThreadSeconds, 3./2*profile.Doubt(want, p.Samples)
	t.Logf("%s: %.3f by %d samples, %.3f by the program", what, got, p.Samples, want)
	if math.Abs(got-want) > errors {
		t.Errorf("%s: %.3f, want %.3f ± %.3f", what, got, want, errors)
	}
}

// TestProgramsUnderEndedProfiles ends the profiles of programs at various moments, by SIGINT and by SIGKILL. The
// programs must continue, and their results be right. Most of them fork, execute themselves, queue signals and start
// storms of threads; one only computes and waits.
func TestProgramsUnderEndedProfiles(t *testing.T) {
	n := omptest.Number(t, "profiles", 30)
	for i, run := range restlessRuns(t) {
		t.Run(run.Runtime.Name, func(t *testing.T) {
			l := e2e.StartLoop(t, run)
			pid := l.Process.Pid
			share := (n + i) / 4
			killed := endProfiles(t, pid, share)
			t.Logf("%d of %d killed, %d iterations", killed, share, l.End(t))
		})
	}
	t.Run("phases", func(t *testing.T) {
		exe := omptest.Compile(t, omptest.Build{Program: "phases"})
		cmd := omptest.Run{Exe: exe, Runtime: omptest.RuntimeOf(t, 16)}.Command(t.TempDir(), "1000000")
		ready, err := cmd.StderrPipe()
		if err != nil || cmd.Start() != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		})
		if n, err := ready.Read(make([]byte, 1)); n != 1 {
			t.Fatal(err)
		}
		killed := endProfiles(t, cmd.Process.Pid, (n+3)/4)
		t.Logf("%d of %d killed", killed, (n+3)/4)
	})
}

// endProfiles profiles a process n times, and ends the tool at various moments. It returns the number of profiles that
// were killed.
func endProfiles(t *testing.T, pid, n int) (killed int) {
	t.Helper()
	rng := rand.New(rand.NewPCG(3, uint64(pid)))
	for i := range n {
		cmd := e2e.Process("profile", "--json", strconv.Itoa(pid))
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		sig := []os.Signal{unix.SIGINT, unix.SIGKILL}[i%2]
		moment := time.Duration(rng.Int64N(int64(400 * time.Millisecond)))
		timer := time.AfterFunc(moment, func() { _ = cmd.Process.Signal(sig) })
		err := cmd.Wait()
		timer.Stop()
		switch {
		case err == nil:
			readProfile(t, out.Bytes())
		case cmd.ProcessState.Sys().(syscall.WaitStatus).Signaled(): // SIGINT before it is caught, too
			killed++
		case !isMeanwhile(errs.String()) && cmd.ProcessState.ExitCode() != 128+int(unix.SIGINT):
			t.Fatalf("%v: %s", err, errs.String())
		}
		checkRuns(t, pid)
	}
	return killed
}
