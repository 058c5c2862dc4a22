package live

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/diagnose"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// TestStateWhileForkingAgain looks at a thread that forks a region that it has forked before, with sleeping
// workers. While it wakes them, it does not wait at the region's end; when it sleeps there, it does. The
// runtime's record of the call is the same in both states.
func TestStateWhileForkingAgain(t *testing.T) {
	const waits = "wait_barrier_implicit_parallel"
	heldByGDB(t, "forms", map[string]string{"wakes": "overhead", "sleeps": waits})
}

// TestStateInTaskyield looks at a thread in a taskyield on LLVM's runtime. The runtime marks its task as waiting,
// but the thread does not wait, though a task of its taskgroup is unfinished.
func TestStateInTaskyield(t *testing.T) {
	heldByGDB(t, "yields", map[string]string{"yields": "overhead"})
}

// TestStateWhileForkingNested looks at a thread that forks nested regions and acquires a lock of LLVM's runtime
// to form a team and to end one. It does not wait at the barriers that left flags on its stack.
func TestStateWhileForkingNested(t *testing.T) {
	heldByGDB(t, "forks", map[string]string{"forks": "overhead", "joins": "overhead"})
}

// TestStateOfLateWorker looks at a worker of GNU's runtime that was interrupted in its sleep at the end of a
// region and has not run since. The others have started a region of another size. The worker does not wait for a
// lock at the address of the former barrier.
func TestStateOfLateWorker(t *testing.T) {
	for _, flags := range []string{"-O0", "-O2"} {
		exe := filepath.Join(t.TempDir(), "behind"+flags)
		e2e.RunCompiler(t, exec.Command("gcc", "-fopenmp", "-g", flags, "-o", exe,
			filepath.Join("testdata", "behind.c")))
		dir := t.TempDir()
		text := underGDB(t, exe, "behind", "GOMP_SPINCOUNT=0", "OMPD_CORES="+dir)
		pic := e2e.Report(t, filepath.Join(dir, "behind"))
		if len(pic.Threads) != 3 {
			t.Fatalf("%d threads\n%s", len(pic.Threads), text)
		}
		workers := 0
		for _, th := range pic.Threads { // one has just started and may not be a thread of OpenMP yet
			if th.State != nil && th.State.Name != "overhead" && th.State.Standard != "overhead" {
				t.Errorf("%s: LWP %d is in state %+v", flags, th.LWP, th.State)
			}
			if th.State != nil && th.Role == picture.RoleWorker {
				workers++
			}
		}
		if workers == 0 {
			t.Errorf("%s: no worker has a state\n%s", flags, text)
		}
		for _, v := range pic.Verdicts {
			if diagnose.Hangs(v) {
				t.Errorf("%s: %s: %s", flags, v.Kind, v.Summary)
			}
		}
	}
}

// underGDB runs a program under the named gdb script and returns gdb's output.
func underGDB(t *testing.T, exe, script string, env ...string) string {
	t.Helper()
	omptest.Needs(t, "gdb")
	gdb := exec.Command("gdb", "-nx", "-batch", "-x", filepath.Join("testdata", script+".py"), exe)
	gdb.Env = append(os.Environ(), env...)
	text, err := gdb.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return string(text)
}

// heldByGDB runs a program under a gdb script that writes cores of it, and compares the state of the initial
// thread in each core with the expected one.
func heldByGDB(t *testing.T, program string, states map[string]string) {
	t.Helper()
	for _, flags := range []string{"-O0", "-O2"} {
		exe := filepath.Join(t.TempDir(), program+flags)
		e2e.RunCompiler(t, exec.Command("clang-16", "-fopenmp", "-g", flags, "-o", exe,
			filepath.Join("testdata", program+".c")))
		for _, runtime := range omptest.Runtimes(t) {
			t.Run(runtime.Name+flags, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				text := underGDB(t, exe, program, "LD_LIBRARY_PATH="+runtime.Dir, "OMPD_CORES="+dir, "KMP_BLOCKTIME=0")
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

// initialState returns the state of the initial thread.
func initialState(t *testing.T, core string) string {
	t.Helper()
	pic := e2e.Report(t, core)
	for _, th := range pic.Threads {
		if th.Role == picture.RoleInitial && th.State != nil {
			return string(th.State.Name)
		}
	}
	t.Fatalf("%s has no initial thread", core)
	return ""
}
