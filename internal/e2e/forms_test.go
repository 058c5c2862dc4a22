package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// TestForms looks at who forks a region that it has forked before, with workers that sleep: it is not told
// to wait at the region's end while it wakes them, and is when it sleeps there. What the runtime remembers of the
// call is the same.
func TestForms(t *testing.T) {
	const waits = "wait_barrier_implicit_parallel"
	heldByGDB(t, "forms", map[string]string{"wakes": "overhead", "sleeps": waits})
}

// TestYields looks at a thread in a taskyield on LLVM's runtime, which marks the task there as one that
// waits: it waits for nothing, though a task of its taskgroup is left.
func TestYields(t *testing.T) { heldByGDB(t, "yields", map[string]string{"yields": "overhead"}) }

// heldByGDB runs a program by a script of gdb that takes cores of it, and holds the state of the initial thread in each
// against what it must be.
func heldByGDB(t *testing.T, program string, states map[string]string) {
	t.Helper()
	omptest.Needs(t, "gdb")
	for _, flags := range []string{"-O0", "-O2"} {
		exe := filepath.Join(t.TempDir(), program+flags)
		compile := exec.Command("clang-16", "-fopenmp", "-g", flags, "-o", exe, filepath.Join("testdata", program+".c"))
		if text, err := compile.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		for _, runtime := range omptest.Runtimes(t) {
			t.Run(runtime.Name+flags, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				gdb := exec.Command("gdb", "-nx", "-batch", "-x", filepath.Join("testdata", program+".py"), exe)
				gdb.Env = append(os.Environ(), "LD_LIBRARY_PATH="+runtime.Dir, "OMPD_CORES="+dir, "KMP_BLOCKTIME=0")
				text, err := gdb.CombinedOutput()
				if err != nil {
					t.Fatalf("%v\n%s", err, text)
				}
				for core, want := range states {
					if _, err := os.Stat(filepath.Join(dir, core)); err != nil {
						t.Fatalf("%v\n%s", err, text)
					}
					if got := initialState(t, filepath.Join(dir, core)); got != want {
						t.Errorf("where it %s, its state is %s, want %s", core, got, want)
					}
				}
			})
		}
	}
}

// initialState is the state of the initial thread.
func initialState(t *testing.T, core string) string {
	t.Helper()
	pic := pictureOf(t, core)
	for _, th := range pic.Threads {
		if th.Role == picture.RoleInitial && th.State != nil {
			return string(th.State.Name)
		}
	}
	t.Fatalf("%s has no initial thread", core)
	return ""
}
