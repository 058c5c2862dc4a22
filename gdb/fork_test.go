package gdb_test

import (
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// TestFork follows a fork in gdb, which then holds two processes: the commands show the threads of the selected one.
func TestFork(t *testing.T) {
	exe := omptest.Compile(t, omptest.Build{Program: "forks", Flags: []string{"-O0", "-g"}})
	for _, mode := range []string{"parent", "child"} {
		out := script(t, nil, "set environment LD_LIBRARY_PATH "+omptest.RuntimeOf(t, 16).Dir, "file "+exe,
			"set follow-fork-mode "+mode, "set detach-on-fork off", "set schedule-multiple on", "break stop_here",
			"run", "omp threads", "continue", "echo IN CHILD\\n", "inferior 2", "omp threads", "echo IN PARENT\\n",
			"inferior 1", "omp threads", "kill inferiors 1 2")
		_, after, _ := strings.Cut(out, "IN CHILD")
		child, parent, _ := strings.Cut(after, "IN PARENT")
		for what, want := range map[string][2]string{
			"before": {out, "THREADS  3: 1 initial, 2 worker"}, "child": {child, "THREADS  2: 1 initial, 1 worker"},
			"parent": {parent, "THREADS  3: 1 initial, 2 idle"},
		} {
			if !strings.Contains(want[0], want[1]) {
				t.Errorf("following the %s, %s: no %q in\n%s", mode, what, want[1], out)
			}
		}
	}
}
