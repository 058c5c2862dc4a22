package accessor_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/corefile"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/code/emulate"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/accessor"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/libgomp"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/libomp"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// subject is an open core of a program, and the runtime in it.
type subject struct {
	*corefile.Core
	rtl.Runtime
	truth   omptest.Truth
	call    *accessor.Caller
	threads map[uint64]handles.Thread // by pthread_t
}

func open(t testing.TB, run omptest.Run) *subject {
	t.Helper()
	run.Mode = omptest.Kernel
	r := omptest.Dump(t, run)
	c, err := corefile.Open(r.Core, corefile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	s := &subject{Core: c, truth: r.Truth, threads: map[uint64]handles.Thread{}}
	stamp := handles.Stamp{Space: 1, Epoch: 1}
	rts, err := libomp.Open(c, stamp, layout.Options{})
	if err == nil && len(rts) == 0 {
		rts, err = libgomp.Open(c, stamp, layout.Options{})
	}
	if err != nil || len(rts) != 1 {
		t.Fatalf("%d runtimes, %v", len(rts), err)
	}
	s.Runtime = rts[0]
	if s.call, err = accessor.New(c, s.Identity().Module); err != nil {
		t.Fatal(err)
	}
	for h, err := range s.Threads() {
		info, e := s.Thread(h)
		if err != nil || e != nil {
			t.Fatal(err, e)
		}
		s.threads[info.Pthread.Value] = h
	}
	return s
}

// each runs a test on every available runtime, with a program of its compiler: stock and stripped,
// static, of several releases.
func each(t *testing.T, program string, test func(*testing.T, *subject)) {
	exe := omptest.Compile(t, omptest.Build{Program: program})
	for _, rt := range omptest.Runtimes(t) {
		t.Run(program+"/"+rt.Name, func(t *testing.T) { test(t, open(t, omptest.Run{Exe: exe, Runtime: rt})) })
	}
	if program == "teams" { // GCC has no equal league of teams on the host
		return
	}
	exe = omptest.Compile(t, omptest.Build{Program: program, Compiler: omptest.GCC, Flags: []string{"-O1", "-g"}})
	for _, rt := range omptest.Libgomps(t) {
		run := omptest.Run{Exe: exe, Runtime: rt}
		if rt.Major < 11 { // omp_set_max_active_levels alone did not allow nesting
			run.Env = []string{"OMP_NESTED=true"}
		}
		t.Run(program+"/"+rt.Name, func(t *testing.T) { test(t, open(t, run)) })
	}
	for _, link := range []string{"-static", "-static-pie"} {
		exe := omptest.Compile(t, omptest.Build{Program: program, Compiler: omptest.GCC,
			Flags: []string{"-O1", "-g", link}})
		t.Run(program+"/libgomp"+link, func(t *testing.T) { test(t, open(t, omptest.Run{Exe: exe})) })
	}
}

// answersOf returns the program's record of the answers that one of its threads got.
func answersOf(w omptest.ThreadTruth) map[string]int {
	want := map[string]int{
		"omp_get_thread_num()": w.ThreadNum, "omp_get_num_threads()": w.TeamSize, "omp_get_level()": w.Level,
		"omp_get_active_level()": w.ActiveLevel, "omp_in_parallel()": w.InParallel,
		"omp_get_max_threads()": w.MaxThreads,
		"omp_get_dynamic()":     w.Dynamic, "omp_get_max_active_levels()": w.MaxActiveLevels,
		"omp_get_thread_limit()": w.ThreadLimit,
		"omp_get_cancellation()": w.Cancellation, "omp_get_proc_bind()": w.ProcBind, "omp_get_place_num()": w.PlaceNum,
		"omp_in_final()": w.InFinal, "omp_get_max_task_priority()": w.MaxTaskPriority,
		"omp_get_default_device()": w.DefaultDevice,
		"omp_get_team_num()":       w.TeamNum, "omp_get_num_teams()": w.NumTeams,
	}
	for l := range w.Sizes {
		want[fmt.Sprintf("omp_get_team_size(%d)", l)] = w.Sizes[l]
		want[fmt.Sprintf("omp_get_ancestor_thread_num(%d)", l)] = w.Ancestors[l]
	}
	return want
}

// TestAnswers compares the results of emulated functions with the results of the functions in the
// program, for every thread.
func TestAnswers(t *testing.T) {
	for _, program := range []string{"nested", "serialized_nested", "crash_task", "roots", "teams"} {
		each(t, program, func(t *testing.T, s *subject) {
			for _, w := range s.truth.Threads {
				if !w.OpenMP || w.Role == "idle" { // the answers to an idle thread do not matter
					continue
				}
				s.checkAnswers(t, w)
			}
		})
	}
}

func (s *subject) checkAnswers(t *testing.T, w omptest.ThreadTruth) {
	t.Helper()
	tp := accessor.ThreadPointer(s.Core, uint64(w.LWP), 0)
	want := answersOf(w)
	for _, a := range s.call.Answers(tp) {
		v, known := want[a.String()]
		if a.Err != nil || known && a.Value != v {
			t.Errorf("LWP %d: %v is %d, %v; the program was told %d", w.LWP, a, a.Value, a.Err, v)
		}
		delete(want, a.String())
	}
	if len(want) > 0 {
		t.Errorf("LWP %d: not asked: %v", w.LWP, want)
	}
	kind, err := s.call.Ints(tp, "omp_get_schedule", 2)
	if err != nil || !slices.Equal(kind, []int{int(int32(w.ScheduleKind)), w.ScheduleChunk}) {
		t.Errorf("LWP %d: schedule %v, %v; the program was told %#x, %d", w.LWP, kind, err, w.ScheduleKind,
			w.ScheduleChunk)
	}
}

// TestReadersAgree compares the numbers that readers take from fields with the emulated results.
func TestReadersAgree(t *testing.T) {
	for _, program := range []string{"nested", "serialized_nested", "crash_task", "roots", "idle", "tasks_queued",
		"teams"} {
		each(t, program, func(t *testing.T, s *subject) {
			inRegion := 0
			for tp, h := range s.threads {
				got, err := s.call.Check(s.Runtime, h, tp)
				if info, _ := s.Thread(h); info.Role == picture.RoleIdle {
					if !errors.Is(err, callbacks.Unavailable) {
						t.Errorf("idle thread: %+v, %v", got, err)
					}
					continue
				} else if info.HiddenHelper {
					continue
				}
				inRegion++
				if err != nil || got.Same < 17 || len(got.Differ)+len(got.Unasked) > 0 {
					t.Errorf("%v: %d the same, %v differ, %v not asked, %v", h, got.Same, got.Differ, got.Unasked, err)
				}
			}
			if inRegion == 0 {
				t.Error("no thread is in a region")
			}
		})
	}
}

// lying is a reader that reads a team's size from the wrong place.
type lying struct{ rtl.Runtime }

func (l lying) Parallel(p handles.Parallel) (handles.ParallelInfo, error) {
	info, err := l.Runtime.Parallel(p)
	info.TeamSize += 100
	return info, err
}

// TestDifferencesAreFound checks a reader with a wrong field.
func TestDifferencesAreFound(t *testing.T) {
	each(t, "barrier", func(t *testing.T, s *subject) {
		for tp, h := range s.threads {
			got, err := s.call.Check(lying{s.Runtime}, h, tp)
			if err != nil || len(got.Differ) < 2 ||
				!strings.HasPrefix(got.Differ[0].String(), "omp_get_num_threads() would return ") ||
				got.Differ[0].Read != got.Differ[0].Result+100 {
				t.Errorf("%v: %v, %v", h, got.Differ, err)
			}
		}
	})
}

// TestRefused checks functions that are not emulated: those that write, and missing ones.
func TestRefused(t *testing.T) {
	each(t, "barrier", func(t *testing.T, s *subject) {
		for tp := range s.threads {
			if _, err := s.call.Int(tp, "omp_set_num_threads", 3); !errors.Is(err, emulate.ErrWrites) &&
				!errors.Is(err, emulate.ErrOpaque) {
				t.Errorf("omp_set_num_threads: %v", err)
			}
			if _, err := s.call.Int(tp, "omp_get_nothing"); !errors.Is(err, callbacks.ErrNoSymbol) {
				t.Errorf("omp_get_nothing: %v", err)
			}
			var fault *callbacks.FaultError
			if _, err := s.call.Int(8, "omp_get_level"); !errors.As(err, &fault) &&
				!errors.Is(err, emulate.ErrWrites) && !errors.Is(err, emulate.ErrOpaque) {
				t.Errorf("a thread pointer of 8: %v", err)
			}
		}
	})
}

// BenchmarkCheck measures the comparison of one thread.
func BenchmarkCheck(b *testing.B) {
	exe := omptest.Compile(b, omptest.Build{Program: "nested", Compiler: omptest.GCC, Flags: []string{"-O1", "-g"}})
	s := open(b, omptest.Run{Exe: exe, Runtime: omptest.Libgomp(b)})
	for b.Loop() {
		for tp, h := range s.threads {
			if _, err := s.call.Check(s.Runtime, h, tp); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*len(s.threads)), "µs/thread")
}
