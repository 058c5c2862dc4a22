package gdb_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// forks forks between two parallel regions; its child has a region, too.
const forks = `#include <omp.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static int stop_here(int n) { return n + 1; }
static int region(int threads) {
  int n = 0;
#pragma omp parallel num_threads(threads)
  {
#pragma omp barrier
    if (omp_get_thread_num() == 0) n = stop_here(threads);
#pragma omp barrier
  }
  return n;
}
int main(void) {
  region(3);
  if (fork() == 0) _exit(region(2) != 3);
  wait(NULL);
  return region(4) != 5;
}
`

// TestFork follows a fork in gdb, which then holds two processes: the commands show the threads of the selected one.
func TestFork(t *testing.T) {
	omptest.Needs(t, "clang, gdb")
	exe := filepath.Join(t.TempDir(), "forks")
	compile := exec.Command("clang-16", "-g", "-O0", "-fopenmp", "-x", "c", "-o", exe, "-")
	compile.Stdin = strings.NewReader(forks)
	if out, err := compile.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
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
