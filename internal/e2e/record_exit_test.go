package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/omptest"
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

// TestRecordSaveExitInWorker has programs that a thread of a team ends: the first thread, by whose number
// a process is known, may have no memory any more when what was recorded is read.
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
		status, _, errs := output(t, "record", "--library", omptest.Recorder(t), "--force", "--save", file, "--", exe)
		if status != 7 || errs != "" {
			t.Errorf("exit status %d, printed %q", status, errs)
		}
		if err := os.Remove(file); err != nil {
			t.Error(err)
		}
	}
}
