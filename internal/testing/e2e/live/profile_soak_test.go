package live

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"testing"

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
