package report

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// TestNamesOfFortranRegions checks that a region has the name of the procedure around it, as that procedure's own frame
// has it: the symbols of gfortran's external procedures and main programs are no names of the source.
func TestNamesOfFortranRegions(t *testing.T) {
	for _, level := range []string{"-O0", "-O2"} {
		for _, run := range []omptest.Run{
			{Exe: omptest.Compile(t, omptest.Build{Program: "fortran_names", Compiler: omptest.GCC,
				Flags: []string{level, "-g"}}), Runtime: omptest.Libgomp(t)},
			{Exe: omptest.Compile(t, omptest.Build{Program: "fortran_names", Flags: []string{level, "-g"}}),
				Runtime: omptest.RuntimeOf(t, 19)},
		} {
			for way, name := range []string{"outer", "main program"} {
				t.Run(fmt.Sprint(run.Runtime.Name, level, way), func(t *testing.T) {
					run.Mode, run.Args = omptest.Live, []string{strconv.Itoa(way)}
					found := 0
					for _, th := range e2e.ReportProcess(t, omptest.Start(t, run).PID).Threads {
						for i, f := range th.UserStack {
							if f.Construct == "" || i+1 == len(th.UserStack) {
								continue
							}
							found++
							around := th.UserStack[i+1].Function
							// A main program that is inlined has no symbol, and its region may not show its name.
							if f.Construct != "parallel" || f.In != around && f.In != name || way == 0 && f.In != name {
								t.Errorf("%+v in %q, want the parallel region of %q", f, around, name)
							}
						}
					}
					if found < 2 {
						t.Errorf("%d frames of the region, want one of each thread", found)
					}
				})
			}
		}
	}
}
