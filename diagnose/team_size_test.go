package diagnose_test

import (
	"testing"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// variable sets a variable of the environment.
func (s scene) variable(name, value string, state picture.VariableState) {
	s.Facts.Environment = append(s.Facts.Environment, picture.Variable{
		Name: name, Value: value, State: state, Purpose: picture.PurposeTeam,
	})
}

// forked sets the fork of the region: on a machine of 8 processors, with the defaults.
func forked(change func(scene, *picture.Fork)) func(scene) {
	return func(s scene) {
		f := picture.Fork{
			Region: "r", NThreads: some(8), MaxActiveLevels: some(1), ThreadLimit: some(1 << 30), NumProcs: some(8),
		}
		change(s, &f)
		s.Facts.Forks = []picture.Fork{f}
	}
}

// clause gives the construct a num_threads clause.
func clause(n int) func(scene, *picture.Fork) {
	return func(_ scene, f *picture.Fork) { f.Clause, f.ClauseValue = true, some(n) }
}

func all(n int) []int {
	var out []int
	for lwp := 1; lwp <= n; lwp++ {
		out = append(out, lwp)
	}
	return out
}

// asked returns the verdict if the program itself requests so few threads.
func asked(says string) []want { return []want{info(picture.VerdictOneThread, "", says, 1)} }

// TestAsked checks a program that requests one thread.
func TestAsked(t *testing.T) {
	check(t, []scenario{
		{"all that are there", 8, forked(func(scene, *picture.Fork) {}), nil},
		{"if clause", 1, forked(func(_ scene, f *picture.Fork) { f.IfFalse = true }), asked("its if clause was false")},
		{"num_threads(1)", 1, forked(clause(1)), asked("num_threads(1)")},
		{"num_threads(4), and has 4", 4, forked(clause(4)), nil},
		{"num_threads(1), of a thread that is bound to one processor", 1, forked(func(s scene, f *picture.Fork) {
			clause(1)(s, f)
			s.Facts.Processors = &picture.Processors{Masks: []picture.Mask{{Processors: []int{3}, Threads: []int{1}}}}
		}), []want{warning(picture.VerdictOneThread, "before the first parallel region", "may use one processor only",
			1)}},
		{"a clause of 1, or an if clause, of a thread that is bound to one processor", 1,
			forked(func(s scene, f *picture.Fork) {
				clause(1)(s, f)
				f.MaybeIf = true
				s.Facts.Processors = &picture.Processors{
					Masks: []picture.Mask{{Processors: []int{3}, Threads: []int{1}}},
				}
			}), []want{info(picture.VerdictOneThread, "before the first parallel region",
				"may have counted the processors of that thread; or its if clause was false", 1)}},
		{"a clause of 1, or an if clause", 1, forked(func(s scene, f *picture.Fork) {
			clause(1)(s, f)
			f.MaybeIf = true
		}), asked("or its if clause was false")},
		{"a clause of unknown value", 1, forked(func(_ scene, f *picture.Fork) {
			f.Clause = true
		}), asked("num_threads clause requests no more")},
		{"a clause of unknown value, and dyn-var", 1, forked(func(_ scene, f *picture.Fork) {
			f.Clause, f.Dynamic = true, true
		}), nil},
		{"a clause of unknown value, and a team", 4, forked(func(_ scene, f *picture.Fork) { f.Clause = true }), nil},
		{"nothing is known", 1, func(scene) {}, nil},
		{"no cause", 1, forked(func(scene, *picture.Fork) {}), nil},
		{"the outermost", 1, func(s scene) {
			forked(func(_ scene, f *picture.Fork) { f.IfFalse = true })(s)
			s.Regions[0].Level = 0
		}, nil},
	})
}

// TestOneByDefault checks a default of one thread, which the construct does not request.
func TestOneByDefault(t *testing.T) {
	one := func(change func(scene, *picture.Fork)) func(scene) {
		return forked(func(s scene, f *picture.Fork) {
			f.NThreads = some(1)
			change(s, f)
		})
	}
	w := func(fix, says string) []want { return []want{warning(picture.VerdictOneThread, fix, says, 1)} }
	check(t, []scenario{
		{"OMP_NUM_THREADS=1", 1, one(func(s scene, _ *picture.Fork) {
			s.variable("OMP_NUM_THREADS", "1", picture.VariableSet)
		}), w("set OMP_NUM_THREADS", "OMP_NUM_THREADS is 1")},
		{"OMP_NUM_THREADS=1,4", 1, one(func(s scene, _ *picture.Fork) {
			s.variable("OMP_NUM_THREADS", "1,4", picture.VariableSet)
		}), w("set OMP_NUM_THREADS", "OMP_NUM_THREADS is 1")},
		{"one processor", 1, one(func(s scene, f *picture.Fork) {
			f.NumProcs = some(1)
			s.variable("OMP_NUM_THREADS", "", picture.VariableUnset)
		}), w("more processors", "one processor only")},
		{"omp_set_num_threads, against the environment", 1, one(func(s scene, _ *picture.Fork) {
			s.variable("OMP_NUM_THREADS", "4", picture.VariableSet)
		}), w("omp_set_num_threads", "although OMP_NUM_THREADS is 4")},
		{"omp_set_num_threads", 1, one(func(s scene, _ *picture.Fork) {
			s.variable("OMP_NUM_THREADS", "", picture.VariableUnset)
		}), w("omp_set_num_threads", "is not set")},
		{"the environment is not known", 1, one(func(scene, *picture.Fork) {}),
			w("", "by OMP_NUM_THREADS or omp_set_num_threads")},
	})
}

// TestLimited checks a request for more threads than a limit allows.
func TestLimited(t *testing.T) {
	nested := func(change func(*picture.Fork)) func(scene) {
		return func(s scene) {
			forked(func(_ scene, f *picture.Fork) {
				f.ActiveLevels = 1
				change(f)
			})(s)
			s.Regions[0].Level = 2
		}
	}
	inner := func(fix, says string) []want { return []want{info(picture.VerdictOneThread, fix, says, 1)} }
	limited := func(limit int) func(scene, *picture.Fork) {
		return func(_ scene, f *picture.Fork) { f.ThreadLimit = some(limit) }
	}
	dynamic := func(_ scene, f *picture.Fork) { f.Dynamic = true }
	check(t, []scenario{
		{"nest-var", 1, nested(func(f *picture.Fork) { f.NestOff = true }),
			inner("OMP_NESTED=true", "nest-var is false")},
		{"nest-var, not nested", 8, forked(func(_ scene, f *picture.Fork) { f.NestOff = true }), nil},
		{"max-active-levels", 1, nested(func(*picture.Fork) {}),
			inner("OMP_MAX_ACTIVE_LEVELS=2", "allows 1 active level")},
		{"max-active-levels allows it", 8, nested(func(f *picture.Fork) { f.MaxActiveLevels = some(2) }), nil},
		{"no active level at all", 1, forked(func(_ scene, f *picture.Fork) {
			f.MaxActiveLevels = some(0)
		}), []want{warning(picture.VerdictOneThread, "OMP_MAX_ACTIVE_LEVELS=1", "0 active levels", 1)}},
		{"thread limit", 2, forked(limited(2)), []want{
			warning(picture.VerdictOneThread, "raise OMP_THREAD_LIMIT to 8", "thread-limit-var is 2", 1, 2)}},
		{"thread limit, and a clause", 2, forked(func(s scene, f *picture.Fork) {
			limited(2)(s, f)
			clause(4)(s, f)
		}), []want{warning(picture.VerdictOneThread, "OMP_THREAD_LIMIT to 4", "num_threads(4)", 1, 2)}},
		{"a limit that does not bind", 8, forked(limited(8)), nil},
		{"dyn-var", 3, forked(dynamic), []want{
			warning(picture.VerdictOneThread, "OMP_DYNAMIC=false", "lets the runtime use fewer", 1, 2, 3)}},
		{"dyn-var, by the environment", 3, forked(func(s scene, f *picture.Fork) {
			dynamic(s, f)
			s.variable("OMP_DYNAMIC", "true", picture.VariableSet)
		}), []want{warning(picture.VerdictOneThread, "OMP_DYNAMIC=false", "lets the runtime use fewer", 1, 2, 3)}},
		{"dyn-var, by the program", 3, forked(func(s scene, f *picture.Fork) {
			dynamic(s, f)
			s.variable("OMP_DYNAMIC", "", picture.VariableUnset)
		}), []want{warning(picture.VerdictOneThread, "omp_set_dynamic(0)", "lets the runtime use fewer", 1, 2, 3)}},
		{"dyn-var, and all are there", 8, forked(dynamic), nil},
		{"fewer without a cause", 3, forked(func(scene, *picture.Fork) {}), nil},
	})
}
