package omptest

import (
	"debug/elf"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"
)

// situations are all programs, with the numbers that each must reach.
var situations = []struct {
	program string
	threads int // registered ones
	lwps    int // of the process
	regions int // active ones, including those of level 0
	tasks   int // explicit and target tasks
	args    []string
}{
	{program: "barrier", threads: 4, lwps: 4, regions: 2},
	{program: "barrier_for", threads: 4, lwps: 4, regions: 2},
	{program: "barrier_single", threads: 3, lwps: 3, regions: 2},
	{program: "crash_before", threads: 1, lwps: 1, regions: 0},
	{program: "crash_forming", threads: 1, lwps: 3, regions: 1},
	{program: "crash_task", threads: 2, lwps: 2, regions: 2, tasks: 1},
	{program: "critical", threads: 5, lwps: 5, regions: 2},
	{program: "cxx_lambda", threads: 2, lwps: 2, regions: 2, tasks: 1},
	{program: "cloned", threads: 4, lwps: 4, regions: 2},
	{program: "cxx_locks", threads: 4, lwps: 4, regions: 2},
	{program: "fortran_barrier", threads: 3, lwps: 3, regions: 2},
	{program: "fortran_nested", threads: 4, lwps: 4, regions: 3},
	{program: "hidden_helper", threads: 3, lwps: 10, regions: 2, tasks: 1},
	{program: "idle", threads: 4, lwps: 4, regions: 1},
	{program: "lock", threads: 3, lwps: 3, regions: 2},
	{program: "lock_cycle", threads: 3, lwps: 3, regions: 2},
	{program: "many", threads: 256, lwps: 256, regions: 2},
	{program: "million_tasks", threads: 2, lwps: 2, regions: 2, tasks: 3000, args: []string{"3000"}},
	{program: "nest_lock", threads: 3, lwps: 3, regions: 2},
	{program: "nested", threads: 6, lwps: 6, regions: 4},
	{program: "odd_names", threads: 2, lwps: 2, regions: 2},
	{program: "ordered", threads: 3, lwps: 3, regions: 2},
	{program: "pthreads", threads: 4, lwps: 4, regions: 2},
	{program: "reduction", threads: 3, lwps: 3, regions: 2},
	{program: "region_recursion", threads: 2, lwps: 2, regions: 8, args: []string{"20"}},
	{program: "roots", threads: 5, lwps: 5, regions: 5},
	{program: "serialized_nested", threads: 2, lwps: 2, regions: 5},
	{program: "spinning", threads: 3, lwps: 3, regions: 2},
	{program: "taskgroup", threads: 3, lwps: 3, regions: 2, tasks: 1},
	{program: "task_recursion", threads: 2, lwps: 2, regions: 2, tasks: 100, args: []string{"100"}},
	{program: "tasks_deps", threads: 2, lwps: 2, regions: 2, tasks: 4},
	{program: "tasks_deps_two", threads: 2, lwps: 2, regions: 2, tasks: 2},
	{program: "tasks_queued", threads: 2, lwps: 2, regions: 2, tasks: 20},
	{program: "taskwait", threads: 3, lwps: 3, regions: 2, tasks: 1},
	{program: "teams", threads: 4, lwps: 4, regions: 4},
}

// TestSituations proves that every program reaches its situation, and that the frames in its truth are those that
// gdb finds in the core.
func TestSituations(t *testing.T) {
	for _, s := range situations {
		t.Run(s.program, func(t *testing.T) {
			t.Parallel()
			exe := Compile(t, Build{Program: s.program})
			r := Dump(t, Run{Exe: exe, Runtime: RuntimeOf(t, 16), Args: s.args, Mode: Kernel})
			tasks := 0
			for _, task := range r.Truth.Tasks {
				tasks += task.Count
			}
			got := []int{len(r.Truth.Threads), len(r.Truth.Program.LWPs), len(r.Truth.Regions()), tasks}
			if want := []int{s.threads, s.lwps, s.regions, s.tasks}; !slices.Equal(got, want) {
				t.Errorf("threads, LWPs, regions, tasks = %v, want %v", got, want)
			}
			checkCore(t, r)
			checkFrames(t, r)
		})
	}
}

// checkCore proves that the file is a core of the process that wrote the truth.
func checkCore(t *testing.T, r *Result) {
	t.Helper()
	f, err := elf.Open(r.Core)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if f.Type != elf.ET_CORE {
		t.Errorf("%s is %v, want a core", r.Core, f.Type)
	}
	if r.PID == 0 || r.PID != r.Truth.Program.PID {
		t.Errorf("PID %d, truth says %d", r.PID, r.Truth.Program.PID)
	}
}

// checkFrames compares the innermost frame of user code that gdb finds in every thread with the truth.
func checkFrames(t *testing.T, r *Result) {
	t.Helper()
	seen := userFrames(Gdb(t, r.Exe, r.Core, "thread apply all bt"), r.Truth.Program.File, "truth.h")
	if got, want := len(seen), len(r.Truth.Program.LWPs); got != want {
		t.Fatalf("gdb sees %d threads, want %d", got, want)
	}
	for _, th := range r.Truth.Threads {
		want := ""
		if th.Function != "" {
			want = fmt.Sprintf("%s:%d", th.File, th.Line)
		}
		got := seen[th.LWP]
		if th.Line == 0 {
			got = regexp.MustCompile(`:\d+$`).ReplaceAllString(got, ":0")
		}
		if got != want {
			t.Errorf("thread %d of %d, %s: gdb's user frame at %q, want %q", th.ThreadNum, th.TeamSize, th.State, got,
				want)
		}
	}
}

// userFrames returns, from gdb's backtraces, file and line of the innermost frame in one of the sources, by LWP.
func userFrames(backtraces string, sources ...string) map[int]string {
	line := regexp.MustCompile(`(?m)^Thread \d+ \(.*LWP (\d+)\)|^#.* at (?:\S*/)?(\w+\.\w+):(\d+)$`)
	frames := map[int]string{}
	lwp := 0
	for _, m := range line.FindAllStringSubmatch(backtraces, -1) {
		if m[1] != "" {
			lwp, _ = strconv.Atoi(m[1])
			frames[lwp] = ""
		} else if lwp != 0 && frames[lwp] == "" && slices.Contains(sources, m[2]) {
			frames[lwp] = m[2] + ":" + m[3]
		}
	}
	return frames
}

// TestRuntimes proves that the same programs run on all runtimes, and that each core has its own.
func TestRuntimes(t *testing.T) {
	for _, program := range []string{"barrier", "taskwait", "hidden_helper", "teams"} {
		exe := Compile(t, Build{Program: program})
		for _, rt := range Runtimes(t) {
			t.Run(program+"/"+rt.Name, func(t *testing.T) {
				t.Parallel()
				r := Dump(t, Run{Exe: exe, Runtime: rt, Mode: Segv})
				checkCore(t, r)
				if r.Truth.Program.Signal != 11 || r.Truth.Program.FaultAddress != 0x10 {
					t.Errorf("signal %d at %#x, want 11 at 0x10", r.Truth.Program.Signal, r.Truth.Program.FaultAddress)
				}
				if maps := Gdb(t, exe, r.Core,
					"info sharedlibrary"); !regexp.MustCompile(regexp.QuoteMeta(rt.Lib)).MatchString(maps) {
					t.Errorf("the core does not have %s:\n%s", rt.Lib, maps)
				}
			})
		}
	}
}

// TestGcore takes a core of a live process, which continues.
func TestGcore(t *testing.T) {
	exe := Compile(t, Build{Program: "nested"})
	r := Dump(t, Run{Exe: exe, Runtime: RuntimeOf(t, 16), Mode: Gcore})
	checkCore(t, r)
	checkFrames(t, r)
}

// TestStart proves that a live process is in position and has ended after Stop.
func TestStart(t *testing.T) {
	exe := Compile(t, Build{Program: "lock_cycle"})
	p := Start(t, Run{Exe: exe, Runtime: RuntimeOf(t, 19), Mode: Live})
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", p.PID))
	if err != nil || len(tasks) != 3 || len(p.Truth.Threads) != 3 {
		t.Errorf("%d threads, %d registered, want 3", len(tasks), len(p.Truth.Threads))
	}
	p.Stop()
	if tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", p.PID)); len(tasks) != 0 {
		t.Errorf("%d threads after Stop", len(tasks))
	}
}

// TestBuilds proves that the truth does not depend on how the program is built.
func TestBuilds(t *testing.T) {
	for name, b := range map[string]Build{
		"O0":       {Flags: []string{"-O0", "-g"}},
		"O2":       {Flags: []string{"-O2", "-g"}},
		"no-pie":   {Flags: []string{"-O2", "-g", "-no-pie"}},
		"no debug": {Flags: []string{"-O2"}},
		"stripped": {Flags: []string{"-O2"}, Strip: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b.Program = "nested"
			r := Dump(t, Run{Exe: Compile(t, b), Runtime: RuntimeOf(t, 16), Mode: Kernel})
			if len(r.Truth.Threads) != 6 {
				t.Errorf("%d threads, want 6", len(r.Truth.Threads))
			}
			if slices.Contains(b.Flags, "-g") {
				checkFrames(t, r)
			}
			checkType(t, r.Exe, slices.Contains(b.Flags, "-no-pie"), b.Strip)
		})
	}
}

// checkType proves that the flags of a build had their effect.
func checkType(t *testing.T, exe string, fixed, stripped bool) {
	t.Helper()
	f, err := elf.Open(exe)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if got := f.Type == elf.ET_EXEC; got != fixed {
		t.Errorf("fixed address: %v, want %v", got, fixed)
	}
	if got := f.Section(".symtab") == nil; got != stripped {
		t.Errorf("stripped: %v, want %v", got, stripped)
	}
}

// TestNoStaticRuntime proves that the matrix needs no static and no static-pie program: Debian ships libomp only
// as a shared library.
func TestNoStaticRuntime(t *testing.T) {
	for _, major := range majors {
		for _, name := range []string{"libomp5-%d", "libomp-%d-dev"} {
			lib := filepath.Join(debianPackage(t, fmt.Sprintf(name, major)), llvmLib(major))
			shared, _ := filepath.Glob(filepath.Join(lib, "libomp*.so*"))
			static, _ := filepath.Glob(filepath.Join(lib, "lib*omp*.a"))
			static = slices.DeleteFunc(static,
				func(path string) bool { return filepath.Base(path) == "libomptarget.devicertl.a" })
			if len(shared) == 0 || len(static) > 0 {
				t.Errorf("LLVM %d: shared %q, static %q; a static one belongs into TestBuilds", major, shared, static)
			}
		}
	}
}

// TestRegions checks the regions derived from the threads' facts, in the program with the most regions.
func TestRegions(t *testing.T) {
	exe := Compile(t, Build{Program: "serialized_nested"})
	r := Dump(t, Run{Exe: exe, Runtime: RuntimeOf(t, 16), Mode: Kernel})
	var got []string
	for _, g := range r.Truth.Regions() {
		got = append(got, fmt.Sprint(g.Level, g.ActiveLevel, g.TeamSize, g.Serialized, len(g.Members)))
	}
	want := []string{"0 0 1 false 1", "1 1 2 false 2", "2 1 1 true 1", "3 1 1 true 1", "4 1 1 true 1"}
	if !slices.Equal(got, want) {
		t.Errorf("regions %q, want %q", got, want)
	}
}

// TestOMPD proves that LLVM's own library is available for every runtime.
func TestOMPD(t *testing.T) {
	for _, rt := range Runtimes(t) {
		f, err := elf.Open(UnstrippedOMPD(t, rt.Major))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		symbols, err := f.DynamicSymbols()
		if err != nil || !slices.ContainsFunc(symbols, func(s elf.Symbol) bool { return s.Name == "ompd_initialize" }) {
			t.Errorf("%s: no ompd_initialize: %v", rt.Name, err)
		}
	}
}
