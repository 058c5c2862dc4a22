package report

import (
	"path/filepath"
	"strconv"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/cli"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// TestFlangPlaces looks at regions of a program in Fortran: their file is the program's, although flang passes a
// word of its own to the runtime, and the frames that forked them have the lines of their constructs, although
// flang's debug information has those of the functions.
func TestFlangPlaces(t *testing.T) {
	for _, level := range []string{"-O0", "-O2"} {
		t.Run(level, func(t *testing.T) {
			exe := omptest.Compile(t, omptest.Build{Program: "fortran_nested", Flags: []string{level, "-g"}})
			p := omptest.Start(t, omptest.Run{Exe: exe, Runtime: omptest.RuntimeOf(t, 19), Mode: omptest.Live})
			status, out, errs := e2e.Output(t, "--json", strconv.Itoa(p.PID))
			if status != cli.ExitOK {
				t.Fatalf("exit status %d: %s", status, errs)
			}
			pic, lines := e2e.Decode(t, out), map[int]bool{}
			for _, r := range pic.Regions {
				if r.Level == 0 {
					continue
				}
				if r.Function == nil || filepath.Base(r.Function.File) != "fortran_nested.f90" || r.Function.Line == 0 {
					t.Errorf("region at level %d is %+v", r.Level, r.Function)
					continue
				}
				lines[r.Function.Line] = true
			}
			if len(lines) != 2 {
				t.Fatalf("constructs at lines %v, want two", lines)
			}
			forked := 0
			for _, th := range pic.Threads {
				for i, f := range th.UserStack {
					if i == 0 || th.UserStack[i-1].Construct != "parallel" || f.Line == 0 {
						continue
					}
					if forked++; !lines[f.Line] {
						t.Errorf("%s forked a region at line %d, the constructs are at %v", f.Function, f.Line, lines)
					}
				}
			}
			if forked == 0 {
				t.Error("no frame forked a region")
			}
		})
	}
}
