package record

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

const exitsInWorker = `#include <omp.h>
#include <stdlib.h>
int main(void) {
#pragma omp parallel num_threads(4)
  {
#pragma omp barrier
    if (omp_get_thread_num() == 3) quick_exit(7);
  }
  return 0;
}
`

// TestRecordSaveExitInWorker runs programs that a worker of a team ends: the initial thread, which has the
// process's number, may have lost its memory before the record is read.
func TestRecordSaveExitInWorker(t *testing.T) {
	omptest.Needs(t, "compilers")
	dir := t.TempDir()
	source, exe := filepath.Join(dir, "exits.c"), filepath.Join(dir, "exits")
	if err := os.WriteFile(source, []byte(exitsInWorker), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("gcc", "-g", "-fopenmp", "-o", exe, source).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	file := filepath.Join(dir, "recording")
	for range 12 {
		status, _, errs := e2e.Output(t, "record", "--library", omptest.Recorder(t), "--force", "--save", file,
			"--", exe)
		if status != 7 || errs != "" {
			t.Errorf("exit status %d, printed %q", status, errs)
		}
		if err := os.Remove(file); err != nil {
			t.Error(err)
		}
	}
	e2e.Output(t, "record", "--library", omptest.Recorder(t), "--save", file, "--", exe)
	_, out, _ := e2e.Output(t, "trace", file)
	if !strings.Contains(out, "exits.c:6") || strings.Contains(out, "no functions") {
		t.Errorf("trace prints %s", out)
	}
	if err := os.Remove(exe); err != nil {
		t.Fatal(err)
	}
	status, out, errs := e2e.Output(t, "trace", file) // without the program, the output explains the missing names
	if status != 0 || !strings.Contains(out, exe+": no functions, lines and names of locks: ") ||
		!strings.Contains(out, "comes to a barrier") {
		t.Errorf("trace: exit status %d, printed %s%s", status, out, errs)
	}
}

const leavesChild = `#include <omp.h>
#include <unistd.h>
int main(void) {
  int ready[2];
  char c;
  if (pipe(ready)) return 1;
  if (fork()) return read(ready[0], &c, 1) != 1;
#pragma omp parallel num_threads(2)
  {
#pragma omp barrier
  }
  alarm(60);
  if (write(ready[1], "r", 1) == 1) pause();
  return 0;
}
`

// TestRecordSaveNothing runs programs for which record writes no file: it reports the reason and the process that
// continues.
func TestRecordSaveNothing(t *testing.T) {
	omptest.Needs(t, "compilers")
	dir := t.TempDir()
	source, exe := filepath.Join(dir, "leaves.c"), filepath.Join(dir, "leaves")
	if err := os.WriteFile(source, []byte(leavesChild), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("gcc", "-g", "-fopenmp", "-o", exe, source).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, program := range []string{"/bin/true", exe} {
		file := filepath.Join(dir, "recording")
		status, _, errs := e2e.Output(t, "record", "--library", omptest.Recorder(t), "--save", file, "--", program)
		const why = " was not written: no process recorded an event before it ended"
		if status != 0 || !strings.Contains(errs, file+why) {
			t.Errorf("%s: exit status %d, printed %q", program, status, errs)
		}
		if _, err := os.Stat(file); !os.IsNotExist(err) {
			t.Errorf("%s: there is a file: %v", program, err)
		}
		var pid int
		_, left, goes := strings.Cut(errs, "ompd-inspect: process ")
		if goes != (program == exe) {
			t.Errorf("%s: printed %q", program, errs)
		} else if goes {
			if _, err := fmt.Sscanf(left, "%d continues and is no longer watched: ", &pid); err != nil {
				t.Fatalf("%q: %v", left, err)
			}
			status, out, errs := e2e.Output(t, "trace", strconv.Itoa(pid))
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Error(err)
			}
			if status != 0 || !strings.Contains(out, "joins region ") {
				t.Errorf("trace: exit status %d, printed %q and %q", status, out, errs)
			}
		}
	}
}
