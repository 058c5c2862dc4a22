package libomp_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// environments maps test programs, with their arguments, to the environments in which they run.
func environments() map[string][]string {
	return map[string][]string{
		"nested none": nil,
		"nested list": {"OMP_NUM_THREADS=4,3,2", "OMP_SCHEDULE=dynamic,7", "OMP_STACKSIZE=16M", "OMP_CANCELLATION=true",
			"OMP_MAX_TASK_PRIORITY=9", "OMP_DEFAULT_DEVICE=2"},
		"nested bind": {"OMP_PROC_BIND=spread,close", "OMP_PLACES=cores", "OMP_SCHEDULE=monotonic:guided,3",
			"OMP_THREAD_LIMIT=40"},
		"nested auto":     {"OMP_SCHEDULE=auto", "OMP_NUM_THREADS=3"},
		"spinning active": {"KMP_BLOCKTIME=infinite", "OMP_WAIT_POLICY=active"},
	}
}

// TestICVs compares the variables of all threads with the program's own output, in several environments.
func TestICVs(t *testing.T) {
	for _, rt := range omptest.Runtimes(t) {
		for name, env := range environments() {
			t.Run(fmt.Sprint(rt.Major, "/", name), func(t *testing.T) {
				program, _, _ := strings.Cut(name, " ")
				exe := omptest.Compile(t, omptest.Build{Program: program})
				s := openCore(t, omptest.Run{Exe: exe, Runtime: rt, Mode: omptest.Kernel, Env: env})
				s.CheckICVs(t)
				s.CheckControls(t, env)
				s.CheckBadQuestions(t)
			})
		}
	}
}

// TestEnvBlock reads the text that the runtime keeps for OMPD.
func TestEnvBlock(t *testing.T) {
	exe := omptest.Compile(t, omptest.Build{Program: "barrier"})
	for _, rt := range omptest.Runtimes(t) {
		s := openCore(t, omptest.Run{Exe: exe, Runtime: rt, Mode: omptest.Kernel})
		block, ok := s.Runtime.(interface{ EnvBlock() ([]string, error) })
		if !ok {
			t.Fatal("no EnvBlock")
		}
		lines, err := block.EnvBlock()
		if err != nil || !slices.ContainsFunc(lines,
			func(l string) bool { return strings.Contains(l, "OMP_NUM_THREADS") }) {
			t.Errorf("%s: %q, %v", rt.Name, lines, err)
		}
	}
}
