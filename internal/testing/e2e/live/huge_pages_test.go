package live

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/cli"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// noHugePages is the exit status of the program without huge pages.
const noHugePages = 77

// hugeLocks deadlocks by two locks in huge pages, which are private or shared.
const hugeLocks = `#define _GNU_SOURCE
#include <omp.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
int main(int argc, char **argv) {
  int kind = argc > 1 ? MAP_SHARED : MAP_PRIVATE;
  omp_lock_t *locks = mmap(NULL, 2 << 20, PROT_READ | PROT_WRITE, kind | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
  if (locks == MAP_FAILED) return 77;
  omp_init_lock(&locks[0]);
  omp_init_lock(&locks[1000]);
  alarm(3600);
#pragma omp parallel num_threads(2)
  {
    int me = omp_get_thread_num();
    omp_set_lock(&locks[me * 1000]);
#pragma omp barrier
    if (me == 0) {
      puts("READY");
      fflush(stdout);
    }
    omp_set_lock(&locks[(1 - me) * 1000]);
  }
  return 0;
}
`

// TestHugePages looks at a process, and at its core by gdb, whose locks are in huge pages (hugetlbfs).
func TestHugePages(t *testing.T) {
	omptest.Needs(t, "gcc, gdb")
	dir := t.TempDir()
	exe := filepath.Join(dir, "huge")
	compile := exec.Command("gcc", "-g", "-fopenmp", "-x", "c", "-o", exe, "-")
	compile.Stdin = strings.NewReader(hugeLocks)
	if out, err := compile.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, args := range [][]string{nil, {"shared"}} {
		cmd := exec.Command(exe, args...)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
		if line, err := bufio.NewReader(out).ReadString('\n'); line != "READY\n" {
			_ = cmd.Wait()
			if cmd.ProcessState.ExitCode() == noHugePages {
				t.Skip("no huge page is free: sysctl vm.nr_hugepages=8")
			}
			t.Fatalf("%q, %v", line, err)
		}
		pid := strconv.Itoa(cmd.Process.Pid)
		awaitDeadlock(t, pid)
		// By default, cores lack shared huge pages (core(5)).
		if err := os.WriteFile("/proc/"+pid+"/coredump_filter", []byte("0x7f"), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command("gcore", "-o", filepath.Join(dir, "core"), pid).CombinedOutput(); err != nil {
			t.Fatalf("gcore: %v: %s", err, out)
		}
		_, text, _ := e2e.Output(t, "diagnose", filepath.Join(dir, "core."+pid))
		if !strings.Contains(text, hugeVerdict) {
			t.Errorf("the core of %q: %s", args, text)
		}
	}
}

// hugeVerdict is a part of the verdict on the program.
const hugeVerdict = "DEADLOCK  2 threads wait for each other"

// awaitDeadlock looks at a process until its threads have come to wait for each other.
func awaitDeadlock(t *testing.T, target string) {
	t.Helper()
	for {
		status, out, errs := e2e.Output(t, "diagnose", target)
		if status == cli.ExitFound && strings.Contains(out, hugeVerdict) {
			return
		}
		if status != cli.ExitOK {
			t.Fatalf("exit status %d: %s%s", status, out, errs)
		}
	}
}
