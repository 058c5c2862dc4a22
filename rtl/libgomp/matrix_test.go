package libgomp_test

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/corefile"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/omptest"
	"github.com/ompd-inspect/ompd-inspect/rtl"
	"github.com/ompd-inspect/ompd-inspect/rtl/libgomp"
	"github.com/ompd-inspect/ompd-inspect/symbolize"
)

// subject is an open core of a program, with what the program said of itself.
type subject struct {
	rtl.Runtime
	core    *corefile.Core
	truth   omptest.Truth
	threads map[int]handles.Thread // by LWP
	sym     *symbolize.Symbolizer
	lines   bool // the program has debug information
	jumps   bool // main has no frame
}

// openCore dumps a program on a runtime and opens the core.
func openCore(t *testing.T, run omptest.Run) *subject {
	t.Helper()
	r := omptest.Dump(t, run)
	c, err := corefile.Open(r.Core, corefile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	rts, err := libgomp.Open(c, handles.Stamp{Space: 1, Epoch: 1}, libgomp.Options{})
	if err != nil || len(rts) != 1 {
		t.Fatalf("%d runtimes, %v", len(rts), err)
	}
	s := &subject{Runtime: rts[0], core: c, truth: r.Truth, threads: map[int]handles.Thread{}}
	s.matchThreads(t)
	mods, err := c.Modules()
	if err != nil {
		t.Fatal(err)
	}
	s.sym = symbolize.New(mods, symbolize.Options{})
	t.Cleanup(func() { s.sym.Close() })
	return s
}

// matchThreads finds the LWP of each thread by its thread pointer.
func (s *subject) matchThreads(t *testing.T) {
	t.Helper()
	ids, err := s.core.ThreadIDs(callbacks.ThreadIDLWP)
	if err != nil {
		t.Fatal(err)
	}
	lwps := map[uint64]int{}
	for _, id := range ids {
		regs, err := s.core.Registers(id)
		if err != nil {
			t.Fatal(err)
		}
		lwps[regs.ThreadPointer] = int(id.Value)
	}
	for h, err := range s.Threads() {
		if err != nil {
			t.Fatal(err)
		}
		info, err := s.Thread(h)
		if err != nil {
			t.Fatal(err)
		}
		if lwp := lwps[info.Pthread.Value]; lwp != 0 {
			s.threads[lwp] = h
		}
	}
}

// regions returns the region of the thread and those around it, by level.
func (s *subject) regions(t *testing.T, h handles.Thread) []handles.Parallel {
	t.Helper()
	p, err := s.CurrentParallel(h)
	var hs []handles.Parallel
	for ; err == nil; p, err = s.EnclosingParallel(p) {
		hs = append(hs, p)
	}
	if len(hs) == 0 || rcOf(err) != callbacks.Unavailable {
		t.Errorf("%v: %d regions, then %v", h, len(hs), err)
	}
	slices.Reverse(hs)
	return hs
}

func rcOf(err error) callbacks.RC {
	for _, rc := range []callbacks.RC{callbacks.Unavailable, callbacks.StaleHandle, callbacks.BadInput, callbacks.DeviceReadError,
		callbacks.NeedsStateTracking, callbacks.Incompatible, callbacks.Incomplete} {
		if errors.Is(err, rc) {
			return rc
		}
	}
	return callbacks.Error
}

// variant is one way to build and run a program.
type variant struct {
	name    string
	flags   []string
	strip   bool
	env     []string
	mode    omptest.Mode
	static  bool
	nolines bool // no debug information
	nocode  bool // nothing has the names of the runtime's functions
	only    []string
}

func variants() []variant {
	return []variant{
		{name: "O1", flags: []string{"-O1", "-g"}, mode: omptest.Kernel},
		{name: "O0", flags: []string{"-O0", "-g"}, mode: omptest.Gcore},
		{name: "O2-stripped", flags: []string{"-O2"}, strip: true, mode: omptest.Kernel, nolines: true},
		{name: "active", flags: []string{"-O3", "-g", "-no-pie"}, env: []string{"OMP_WAIT_POLICY=active", "GOMP_SPINCOUNT=infinite"}, mode: omptest.Kernel,
			only: []string{"spinning", "lock", "lock_cycle", "critical", "nest_lock", "ordered", "reduction", "taskwait", "taskgroup",
				"tasks_deps", "crash_task", "cxx_lambda"}},
		{name: "static", flags: []string{"-O1", "-g", "-static"}, static: true, mode: omptest.Kernel},
		{name: "static-stripped", flags: []string{"-O1", "-static"}, strip: true, static: true, mode: omptest.Kernel, nolines: true, nocode: true},
		{name: "static-pie", flags: []string{"-O2", "-g", "-static-pie"}, static: true, mode: omptest.Kernel},
	}
}

func programs() []string {
	return []string{
		"barrier", "barrier_for", "barrier_single", "crash_task", "critical", "idle", "lock", "lock_cycle", "many", "nest_lock",
		"nested", "ordered", "pthreads", "reduction", "roots", "serialized_nested", "spinning", "taskgroup", "tasks_deps",
		"tasks_queued", "taskwait", "cxx_lambda", "fortran_barrier", "cxx_locks", "fortran_nested",
	}
}

// TestWhatThreadsWereTold holds threads, regions, tasks and states against what
// omp_get_* told each thread of each program.
func TestWhatThreadsWereTold(t *testing.T) {
	for _, v := range variants() {
		t.Run(v.name, func(t *testing.T) {
			for _, program := range programs() {
				if v.only != nil && !slices.Contains(v.only, program) {
					continue // its threads are in place only when they sleep
				}
				t.Run(program, func(t *testing.T) {
					run := omptest.Run{Mode: v.mode, Env: v.env}
					if !v.static {
						run.Runtime = omptest.Libgomp(t)
					}
					v.check(t, program, run)
				})
			}
		})
	}
}

// check builds and runs a program and checks all that is known of it.
func (v variant) check(t *testing.T, program string, run omptest.Run) *subject {
	run.Exe = omptest.Compile(t, omptest.Build{Program: program, Compiler: omptest.GCC, Flags: v.flags, Strip: v.strip})
	s := openCore(t, run)
	s.lines = !v.nolines
	s.jumps = v.nocode
	s.checkThreads(t)
	s.checkTasks(t)
	if v.nocode {
		s.checkSleepers(t)
	} else {
		s.checkStates(t)
	}
	return s
}

// TestReleases does the same on the runtimes of other releases of GCC.
func TestReleases(t *testing.T) {
	for _, rt := range omptest.Libgomps(t) {
		t.Run(rt.Name, func(t *testing.T) {
			for _, program := range programs() {
				t.Run(program, func(t *testing.T) {
					v := variant{flags: []string{"-O1", "-g"}}
					run := omptest.Run{Mode: omptest.Kernel, Runtime: rt}
					if rt.Major < 11 { // omp_set_max_active_levels alone did not allow nesting
						run.Env = []string{"OMP_NESTED=true"}
					}
					s := v.check(t, program, run)
					s.checkRelease(t, rt.Major)
				})
			}
		})
	}
	t.Run("static-11", func(t *testing.T) {
		for _, program := range []string{"barrier", "nested", "tasks_deps", "lock", "taskgroup", "idle"} {
			t.Run(program, func(t *testing.T) {
				v := variant{flags: []string{"-O1", "-g", "-static", "-L" + omptest.StaticLibgomp(t)}}
				s := v.check(t, program, omptest.Run{Mode: omptest.Kernel})
				s.checkRelease(t, 11)
			})
		}
	})
}

// checkRelease tells whether the release of GCC was recognized, and the layout
// found by several sources that agree.
func (s *subject) checkRelease(t *testing.T, major int) {
	t.Helper()
	id := s.Identity()
	low, high, ranged := strings.Cut(strings.TrimSuffix(id.Version, " or newer"), "-")
	first, _ := strconv.Atoi(low)
	last, _ := strconv.Atoi(high)
	if open := strings.HasSuffix(id.Version, " or newer"); major < first || ranged && major > last || !open && !ranged && major != first {
		t.Errorf("version %q by %s, it is %d", id.Version, id.VersionBy, major)
	}
	agreed := 0
	for _, e := range s.Layout().Entries {
		if len(e.Agreed) > 0 {
			agreed++
		}
		if e.Err != nil && !e.Optional || len(e.Claims) > 0 {
			t.Errorf("%v: %v %v", e, e.Err, e.Claims)
		}
	}
	if agreed < 30 {
		t.Errorf("%d places have two sources, want 30 or more", agreed)
	}
}

func (s *subject) checkThreads(t *testing.T) {
	for _, want := range s.truth.Threads {
		h, ok := s.threads[want.LWP]
		if ok != want.OpenMP {
			t.Errorf("LWP %d is an OpenMP thread: %t, the program says %t", want.LWP, ok, want.OpenMP)
			continue
		}
		if !ok {
			continue
		}
		s.checkThread(t, h, want)
	}
}

func (s *subject) checkThread(t *testing.T, h handles.Thread, want omptest.ThreadTruth) {
	info, err := s.Thread(h)
	if err != nil {
		t.Errorf("LWP %d: %v", want.LWP, err)
	}
	if want.Role == "idle" {
		_, err := s.CurrentParallel(h)
		_, taskErr := s.CurrentTask(h)
		if info.Role != rtl.RoleIdle || rcOf(err) != callbacks.Unavailable || rcOf(taskErr) != callbacks.Unavailable || info.ThreadNum != -1 {
			t.Errorf("LWP %d is idle: role %s, number %d, region %v, task %v", want.LWP, info.Role, info.ThreadNum, err, taskErr)
		}
		return
	}
	if want.Role != "helper" && string(info.Role) != want.Role || info.ThreadNum != want.ThreadNum || info.HiddenHelper != (want.Role == "helper") {
		t.Errorf("LWP %d: role %s, number %d, helper %t; the program says %s, %d", want.LWP, info.Role, info.ThreadNum, info.HiddenHelper, want.Role, want.ThreadNum)
	}
	hs := s.regions(t, h)
	levels := map[int]rtl.ParallelInfo{}
	top := rtl.ParallelInfo{}
	for _, p := range hs {
		top, err = s.Parallel(p)
		if err != nil {
			t.Errorf("LWP %d: %v", want.LWP, err)
		}
		levels[top.Level] = top
	}
	if top.Level != want.Level || top.ActiveLevel != want.ActiveLevel || top.TeamSize != want.TeamSize {
		t.Errorf("LWP %d: level %d, active %d, size %d; the program says %d, %d, %d", want.LWP,
			top.Level, top.ActiveLevel, top.TeamSize, want.Level, want.ActiveLevel, want.TeamSize)
	}
	for level, size := range want.Sizes {
		num := info.ThreadNum
		if level < top.Level {
			num = levels[level+1].PrimaryNum
		}
		if levels[level].TeamSize != size || num != want.Ancestors[level] {
			t.Errorf("LWP %d: at level %d number %d of %d; the program says %d of %d", want.LWP, level, num, levels[level].TeamSize,
				want.Ancestors[level], size)
		}
	}
	for level, line := range want.RegionLines {
		s.checkFunction(t, want, levels[level], line)
	}
	s.checkMembership(t, h, hs[len(hs)-1], info)
}

// checkFunction tells whether a region's function is the one that the compiler
// made of the construct on a line of the source.
func (s *subject) checkFunction(t *testing.T, want omptest.ThreadTruth, p rtl.ParallelInfo, line int) {
	if p.Level == 0 || line == 0 {
		return
	}
	if p.Function.IsNull() {
		if s.jumps { // main ended with a jump to what forks, and nothing has its name
			return
		}
		t.Errorf("LWP %d: the region of level %d has no function", want.LWP, p.Level)
		return
	}
	if !s.lines {
		return
	}
	_, got, err := s.sym.DeclLine(p.Function.Offset)
	if err != nil || got != line {
		t.Errorf("LWP %d: the function of the region of level %d is of line %d (%v); the program says %d", want.LWP, p.Level, got, err, line)
	}
}

// checkMembership goes from the region back to the thread and its tasks.
func (s *subject) checkMembership(t *testing.T, h handles.Thread, p handles.Parallel, info rtl.ThreadInfo) {
	back, err := s.ThreadInParallel(p, info.ThreadNum)
	if err != nil || back != h {
		t.Errorf("thread %d of %v is %v (%v), want %v", info.ThreadNum, p, back, err, h)
	}
	implicit, err := s.TaskInParallel(p, info.ThreadNum)
	if err != nil {
		t.Error(err)
	}
	task, err := s.CurrentTask(h)
	for n := 0; err == nil && n < 10; n++ {
		of, e := s.TaskParallel(task)
		if kind, _ := s.Task(task); e == nil && of == p && kind.Kind == rtl.TaskImplicit || kind.Kind == rtl.TaskInitial {
			break
		}
		task, err = s.GeneratingTask(task)
	}
	if err != nil {
		t.Errorf("the tasks around the current one of %v do not lead to an implicit one: %v", h, err)
	}
	of, err := s.TaskParallel(implicit)
	if err != nil || of != p {
		t.Errorf("the region of %v is %v (%v), want %v", implicit, of, err, p)
	}
}

// checkTasks counts the explicit tasks of all regions by kind, state and line.
func (s *subject) checkTasks(t *testing.T) {
	type key struct {
		kind  rtl.TaskKind
		state rtl.TaskState
		lwp   int
	}
	lwps := map[handles.Thread]int{}
	regions := map[handles.Parallel]bool{}
	for lwp, h := range s.threads {
		lwps[h] = lwp
		if _, err := s.CurrentParallel(h); err == nil {
			for _, p := range s.regions(t, h) {
				regions[p] = true
			}
		}
	}
	got := map[key]int{}
	for p := range regions {
		for h, err := range s.ExplicitTasks(p) {
			if err != nil {
				t.Error(err)
				continue
			}
			info, err := s.Task(h)
			if err != nil {
				t.Error(err)
			}
			got[key{info.Kind, info.State, lwps[info.Thread]}]++
		}
	}
	want := map[key]int{}
	for _, w := range s.truth.Tasks {
		want[key{rtl.TaskKind(w.Kind), rtl.TaskState(w.State), w.LWP}] += w.Count
	}
	if !maps.Equal(got, want) {
		t.Errorf("tasks %v, want %v", got, want)
	}
}
