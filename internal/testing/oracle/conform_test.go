package oracle

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/readers"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/live"
	"github.com/ompd-inspect/ompd-inspect/ompd"
)

// makeLibraries builds libompd.so, the program that it starts, and ompd-conform as the Makefile does, and returns
// their directory.
func makeLibraries(t testing.TB, cflags string) string {
	t.Helper()
	omptest.Needs(t, "a C compiler")
	dir := t.TempDir()
	for _, args := range [][]string{
		{"go", "build", "-trimpath", "-ldflags", "-s -w", "-o", filepath.Join(dir, "ompd-inspect"),
			"../../../cmd/ompd-inspect"},
		{"make", "-s", "-C", "../../..", "-o", "build", "libompd.so", "ompd-conform", "CFLAGS=" + cflags,
			"LIBOMPD=" + filepath.Join(dir, "libompd.so"), "CONFORM=" + filepath.Join(dir, "ompd-conform")},
	} {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%q: %v\n%s", args, err, out)
		}
	}
	return dir
}

// facts writes the facts about a process in the format of ompd-conform. The process supplies them itself, except
// those that only LLVM's library needs: the symbols that its stripped runtime has lost, and the runtime's numbers
// of the threads.
func facts(t testing.TB, p *omptest.Process, env []string) string {
	t.Helper()
	var b strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	say("pid %d", p.PID)
	if slices.Contains(env, debugOn) {
		say("tracking")
	}
	say("version %d", openmpVersion(p))
	low, high := textOf(t, p)
	say("text %#x %#x", low, high)
	say("control %s", env[0])
	lookAt(t, p, say)
	inTask := map[int]bool{}
	for _, task := range p.Truth.Tasks {
		inTask[task.LWP] = true
	}
	for _, th := range p.Truth.Threads {
		sayThread(say, p, th, inTask[th.LWP])
	}
	path := filepath.Join(t.TempDir(), "facts")
	if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// openmpVersion returns _OPENMP of the compiler's own runtime: that of clang and that of gcc 12.
func openmpVersion(p *omptest.Process) int {
	if p.Runtime.Major == 0 || strings.HasPrefix(p.Runtime.Name, "libgomp") {
		return 201511
	}
	return 201611
}

// textOf returns the address range of the executable's code in the process.
func textOf(t testing.TB, p *omptest.Process) (low, high uint64) {
	t.Helper()
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", p.PID))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(maps)) {
		if strings.Contains(line, " r-xp ") && strings.HasSuffix(strings.TrimSpace(line), p.Exe) {
			fmt.Sscanf(line, "%x-%x", &low, &high)
		}
	}
	if low == 0 {
		t.Fatalf("%s is not mapped:\n%s", p.Exe, maps)
	}
	return low, high
}

// lookAt writes the answers of a debugger's symbol tables and thread-local lookup.
func lookAt(t testing.TB, p *omptest.Process, say func(string, ...any)) {
	t.Helper()
	proc, err := live.Open(p.PID, live.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer proc.Close()
	var lines []string
	_, err = proc.Look(context.Background(), func(target callbacks.Target) error {
		lines = nil
		add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
		end, err := target.Symbol("__libc_stack_end", "")
		if err != nil {
			return err
		}
		add("symbol __libc_stack_end %#x", end.Offset)
		if openmpVersion(p) != 201611 {
			return nil
		}
		return lookForLLVM(target, add)
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range lines {
		say("%s", l)
	}
}

// lookForLLVM adds the symbols that LLVM's library looks up.
func lookForLLVM(target callbacks.Target, add func(string, ...any)) error {
	all, err := readers.RecoverSymbols(target)
	if err != nil {
		return err
	}
	for _, s := range all[0].Symbols {
		if s.Err == nil && s.Kind != rtl.SymbolThread {
			add("symbol %s %#x", s.Name, s.Address.Offset)
		}
	}
	ps, err := ompd.Open(target, ompd.Options{})
	if err != nil {
		return err
	}
	for h := range ps[0].Threads() {
		info, err := ps[0].Thread(h)
		if err != nil {
			return err
		}
		id, err := ps[0].ThreadID(h, callbacks.ThreadIDLWP)
		if err != nil {
			return err
		}
		add("gtid %d %d", id.Value, info.Number)
	}
	return nil
}

// stateOf returns the value of a state's name, -1 if it is not determined.
func stateOf(name string) int {
	for _, s := range handles.States() {
		if s.String() == name && name != "" {
			return int(s)
		}
	}
	return -1
}

func flag(b bool) int {
	if b {
		return 1
	}
	return 0
}

// sayThread writes the facts about one thread.
func sayThread(say func(string, ...any), p *omptest.Process, th omptest.ThreadTruth, inTask bool) {
	idle := th.Role == "idle"
	say("thread %d %#x %d %d %d %d %d %d", th.LWP, uint64(th.Pthread), flag(th.OpenMP), flag(idle), flag(inTask),
		th.Level, th.ThreadNum, stateOf(th.State))
	if !th.OpenMP {
		say("sizes 1")
		say("ancestors 0")
		return
	}
	say("sizes %s", strings.Trim(fmt.Sprint(th.Sizes), "[]"))
	say("ancestors %s", strings.Trim(fmt.Sprint(th.Ancestors), "[]"))
	if idle {
		return
	}
	if p.Truth.Program.File == "tool.c" {
		region, task := 0, 0
		if th.Level > 0 {
			region, task = 0x50000000+th.TeamSize, 0x60000000+th.ThreadNum
		}
		say("data %#x %#x %#x", 0x70000000+th.LWP, region, task)
	}
	for _, v := range []struct {
		name  string
		value int
	}{
		{"dyn-var", th.Dynamic}, {"nthreads-var", th.MaxThreads}, {"default-device-var", th.DefaultDevice},
		{"max-active-levels-var", th.MaxActiveLevels}, {"thread-limit-var", th.ThreadLimit},
		{"final-task-var", th.InFinal},
		{"thread-num-var", th.ThreadNum}, {"active-levels-var", th.ActiveLevel}, {"levels-var", th.Level},
		{"team-size-var", th.TeamSize},
		{"implicit-task-var", flag(!inTask)}, {"num-procs-var", th.NumProcs}, {"cancel-var", th.Cancellation},
		{"max-task-priority-var", th.MaxTaskPriority}, {"bind-var", th.ProcBind},
	} {
		say("icv %s %d", v.name, v.value)
	}
}

// tally counts the results of ompd-conform for one routine.
type tally struct{ held, failed int }

// conform runs ompd-conform and adds its counts.
func conform(t testing.TB, dir, library, libs string, total map[string]tally, args ...string) (failures string) {
	t.Helper()
	cmd := exec.Command(filepath.Join(dir, "ompd-conform"), append([]string{library}, args...)...)
	cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+libs)
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%q: %v\n%s", cmd.Args, err, errs.String())
	}
	for line := range strings.Lines(string(out)) {
		w := strings.Fields(line)
		held, err1 := strconv.Atoi(w[1])
		failed, err2 := strconv.Atoi(w[2])
		if err1 != nil || err2 != nil {
			t.Fatalf("ompd-conform says %q", line)
		}
		was := total[w[0]]
		total[w[0]] = tally{was.held + held, was.failed + failed}
	}
	return errs.String()
}

// conformed are the programs for tests of OMPD libraries.
var conformed = []situation{
	{"nested", debugOn}, {"serialized_nested", debugOn}, {"barrier", debugOn}, {"lock", debugOn}, {"idle", debugOn},
	{"taskwait", debugOn},
	{"roots", debugOn}, {"tool", debugOn}, {"nested", ""}, {"serialized_nested", ""},
}

// enoughHeld is the least number of assertions that our library must meet in all, and enoughOfEach for each
// routine.
const enoughHeld, enoughOfEach = 25_000, 60

// enoughOnLibgomp is the least number of checked assertions on GNU libgomp, with one program and version.
const enoughOnLibgomp = 1000

// wrongInLLVM are the routines with failed assertions in LLVM's library: its row of the table has their numbers.
const wrongInLLVM = `ompd_initialize ompd_finalize ompd_get_omp_version ompd_process_initialize ompd_device_initialize ompd_get_device_thread_id_kinds
	ompd_get_thread_handle ompd_get_thread_id ompd_get_thread_in_parallel ompd_get_device_from_thread
	ompd_get_curr_parallel_handle ompd_get_enclosing_parallel_handle ompd_get_task_parallel_handle ompd_parallel_handle_compare
	ompd_get_curr_task_handle ompd_get_generating_task_handle ompd_get_scheduling_task_handle ompd_get_task_in_parallel
	ompd_task_handle_compare ompd_get_task_function ompd_get_task_frame ompd_enumerate_states ompd_get_state
	ompd_get_display_control_vars ompd_rel_display_control_vars ompd_get_icv_from_scope ompd_get_icv_string_from_scope ompd_get_tool_data`

// TestLibraryConforms runs ompd-conform on our library, which must meet every
// assertion, and on LLVM's, and shows both.
func TestLibraryConforms(t *testing.T) {
	dir := makeLibraries(t, "")
	ours, theirs := map[string]tally{}, map[string]tally{}
	for _, c := range conformed {
		exe := omptest.Compile(t, omptest.Build{Program: c.program})
		for _, major := range []int{16, 19} {
			rt := omptest.RuntimeOf(t, major)
			t.Run(fmt.Sprintf("%s/%s/%s", c.program, c.env, rt.Name), func(t *testing.T) {
				env := append([]string{"OMP_MAX_TASK_PRIORITY=3"}, c.environ()...)
				p := omptest.Start(t, omptest.Run{Exe: exe, Runtime: rt, Mode: omptest.Live, Env: env})
				path := facts(t, p, env)
				for _, version := range []string{"201811", "202011", "202111", "202411"} {
					if failures := conform(t, dir, filepath.Join(dir, "libompd.so"), "", ours, path,
						version); strings.Contains(failures, "FAIL") {
						t.Errorf("version %s:\n%s", version, failures)
					}
				}
				t.Logf("LLVM's library:\n%s", conform(t, dir, omptest.UnstrippedOMPD(t, major), rt.Dir, theirs, path))
			})
		}
	}
	showTallies(t, ours, theirs)
}

// keptNot matches the failures of routines for data that GNU libgomp does not keep.
var keptNot = regexp.MustCompile(`^FAIL ompd_get_(task_function|omp_version|omp_version_string): .* returns 1, want 0$`)

// TestConformanceOnLibgomp runs ompd-conform on our library for a program of GCC, which no other OMPD library can
// read.
func TestConformanceOnLibgomp(t *testing.T) {
	dir, total := makeLibraries(t, ""), map[string]tally{}
	exe := omptest.Compile(t, omptest.Build{Program: "nested", Compiler: omptest.GCC})
	env := []string{"OMP_MAX_TASK_PRIORITY=3"}
	p := omptest.Start(t, omptest.Run{Exe: exe, Runtime: omptest.Libgomp(t), Mode: omptest.Live, Env: env})
	failures := conform(t, dir, filepath.Join(dir, "libompd.so"), "", total, facts(t, p, env), "202111")
	for line := range strings.Lines(failures) {
		if strings.HasPrefix(line, "FAIL") && !keptNot.MatchString(strings.TrimSpace(line)) {
			t.Error(line)
		}
	}
	held := 0
	for _, r := range total {
		held += r.held
	}
	if held < enoughOnLibgomp {
		t.Errorf("%d assertions held, want at least %d", held, enoughOnLibgomp)
	}
}

// showTallies prints the table of both libraries and checks the sums.
func showTallies(t *testing.T, ours, theirs map[string]tally) {
	t.Helper()
	var all, llvm tally
	t.Logf("%-38s %8s %6s   %8s %6s", "assertions that held and failed", "ours", "", "LLVM's", "")
	for _, r := range slices.Sorted(maps.Keys(ours)) {
		t.Logf("%-38s %8d %6d   %8d %6d", r, ours[r].held, ours[r].failed, theirs[r].held, theirs[r].failed)
		all = tally{all.held + ours[r].held, all.failed + ours[r].failed}
		llvm = tally{llvm.held + theirs[r].held, llvm.failed + theirs[r].failed}
		if ours[r].held < enoughOfEach {
			t.Errorf("%s met %d assertions, want at least %d", r, ours[r].held, enoughOfEach)
		}
		if wrong := slices.Contains(strings.Fields(wrongInLLVM), r); wrong != (theirs[r].failed > 0) {
			t.Errorf("LLVM's %s failed %d assertions: change wrongInLLVM", r, theirs[r].failed)
		}
	}
	t.Logf("%-38s %8d %6d   %8d %6d", "all", all.held, all.failed, llvm.held, llvm.failed)
	if all.failed > 0 || all.held < enoughHeld || len(ours) != routines {
		t.Errorf("our library met %d assertions of %d routines and failed %d; want at least %d, %d and none", all.held,
			len(ours), all.failed, enoughHeld, routines)
	}
}

// routines is the number of routines in OpenMP 5.2 and 6.0.
const routines = 37
