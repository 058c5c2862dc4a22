package verdicts

import (
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// TestConstructAtFixedAddress requires the construct that shifted the barriers of a program that is linked to a fixed
// address: a switch in its region jumps through a table of addresses there.
func TestConstructAtFixedAddress(t *testing.T) {
	const program = "verdict_shifted_crash"
	for _, level := range []string{"-O1", "-O2"} {
		flags := []string{level, "-g", "-fno-pie", "-no-pie"}
		exe := omptest.Compile(t, omptest.Build{Program: program, Flags: flags})
		run := omptest.Run{Exe: exe, Runtime: omptest.RuntimeOf(t, 16), Mode: omptest.Kernel}
		run.Args = []string{"0"}
		t.Run(level, func(t *testing.T) {
			_, text, _ := e2e.Output(t, "diagnose", omptest.Dump(t, run).Core)
			checkWords(t, text, []string{"out of the construct",
				"the barrier at " + program + ".c:10 is in the master construct at " + program + ".c:27"}, nil)
		})
		run.Args = []string{"2"}
		t.Run(level+"/no_shift", func(t *testing.T) {
			_, text, _ := e2e.Output(t, "diagnose", omptest.Dump(t, run).Core)
			checkWords(t, text, []string{"dereferenced a null pointer in use"},
				[]string{"construct at", "different barriers"})
		})
	}
}
