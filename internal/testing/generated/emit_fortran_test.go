package generated

import "fmt"

// fortran writes the functions of programs in Fortran, in a file that gfortran compiles: helpers, which take locks and
// create tasks, and the functions with constructs that bind to the caller's region. A step that the language lacks here
// is left out, and its body written in its place.
type fortran struct {
	*file
	names     int // of variables in the function
	functions int
}

// fortranHead declares the objects and the functions of gen.h. The locks are taken by the runtime's functions for
// Fortran, which have no interface here. The nest locks are taken by the functions for C: GNU's runtime allocates those
// of Fortran, and expects a pointer in the variable.
var fortranHead = []string{
	"module gen",
	"  use iso_c_binding",
	"  integer(8), bind(C, name='gen_lock') :: gen_lock(2, 0:15)",
	"  integer(8), bind(C, name='gen_nest') :: gen_nest(4, 0:3)",
	"  interface",
	"    subroutine gen_begin(kind, line) bind(C)",
	"      import; integer(c_int), value :: kind, line",
	"    end subroutine",
	"    subroutine gen_end() bind(C)",
	"    end subroutine",
	"    subroutine gen_wait(kind, line, object) bind(C)",
	"      import; integer(c_int), value :: kind, line; integer(8), value :: object",
	"    end subroutine",
	"    subroutine gen_got() bind(C)",
	"    end subroutine",
	"    subroutine gen_hold(kind, line, object) bind(C)",
	"      import; integer(c_int), value :: kind, line; integer(8), value :: object",
	"    end subroutine",
	"    subroutine gen_drop(object) bind(C)",
	"      import; integer(8), value :: object",
	"    end subroutine",
	"    subroutine gen_work(microseconds) bind(C)",
	"      import; integer(c_int), value :: microseconds",
	"    end subroutine",
	"    subroutine omp_set_nest_lock(lock) bind(C, name='omp_set_nest_lock')",
	"      import; integer(8) :: lock",
	"    end subroutine",
	"    subroutine omp_unset_nest_lock(lock) bind(C, name='omp_unset_nest_lock')",
	"      import; integer(8) :: lock",
	"    end subroutine",
	"  end interface",
	"end module",
}

func newFortran() *fortran {
	e := &fortran{file: &file{}}
	for _, line := range fortranHead {
		e.put("%s", line)
	}
	return e
}

// function writes a function with two numbers, of which the first is its result.
func (e *fortran) function(name string, steps []*Step) {
	e.put("function %s(tid, r) bind(C) result(sum)", name)
	e.put("  use gen")
	e.put("  integer(c_int), value :: tid, r")
	e.put("  integer(c_int) :: sum")
	for v := range maxFortran {
		e.put("  integer :: v%d", v)
	}
	e.indent++
	e.names = 0
	e.functions++
	e.put("sum = tid + r")
	e.steps(steps)
	e.indent--
	e.put("end function")
}

// maxFortran is the number of variables of loops in a function. Further loops are left out.
const maxFortran = 16

// variable returns the variable of the next loop; ok is false if all are in use.
func (e *fortran) variable() (name string, ok bool) {
	e.names++
	return fmt.Sprintf("v%d", e.names-1), e.names <= maxFortran
}

func (e *fortran) steps(steps []*Step) {
	for _, s := range steps {
		e.step(s)
	}
}

// block writes the lines of f, further to the right.
func (e *fortran) block(f func()) {
	e.indent++
	f()
	e.indent--
}

// construct writes a construct without a loop, whose note has a kind.
func (e *fortran) construct(what, end string, body func()) {
	e.put("call gen_begin(%d, %d)", NoteConstruct, e.line+2)
	e.put("!$omp %s", what)
	e.block(body)
	e.put("!$omp end %s", end)
	e.put("call gen_end()")
}

func (e *fortran) step(s *Step) {
	body := func() { e.steps(s.Body) }
	switch s.Kind {
	case Work, Sleep:
		e.put("call gen_work(%d)", 1+s.N)
	case Take:
		e.take(thingOf(s.N), body)
	case Loop:
		e.loop("", fmt.Sprintf("1, %d", 1+s.N%3), body)
	case For, ForNowait, Reduction, CancelFor, Doacross:
		e.put("call gen_begin(%d, %d)", NoteConstruct, e.line+2)
		e.loop("do"+[]string{"", " schedule(dynamic)", " schedule(static, 1)"}[s.Style%3],
			fmt.Sprintf("1, %d", 2+s.N), body)
		e.put("call gen_end()")
	case ForOrdered:
		e.put("call gen_begin(%d, %d)", NoteConstruct, e.line+2)
		e.loop("do ordered schedule(dynamic)", fmt.Sprintf("1, %d", 2+s.N), func() {
			body()
			e.put("call gen_wait(%d, %d, 0_8)", NoteOrdered, e.line+2)
			e.put("!$omp ordered")
			e.put("call gen_got()")
			e.put("call gen_work(5)")
			e.put("!$omp end ordered")
		})
		e.put("call gen_end()")
	case Barrier, Signal, Flag, Posts:
		e.put("call gen_wait(%d, %d, 0_8)", NoteBarrier, e.line+2)
		e.put("!$omp barrier")
		e.put("call gen_got()")
	case Single:
		e.construct("single", "single", body)
	case Master:
		e.construct("master", "master", body)
	case Sections:
		e.construct("sections", "sections", func() {
			e.put("!$omp section")
			body()
			e.put("!$omp section")
			e.steps(s.Second)
		})
	case Tasks, Depend:
		e.tasks(s)
		e.put("call gen_wait(%d, %d, 0_8)", NoteTaskwait, e.line+2)
		e.put("!$omp taskwait")
		e.put("call gen_got()")
	case Taskgroup, Taskloop, TaskSum, CancelTask:
		e.construct("taskgroup", "taskgroup", func() { e.tasks(s) })
	case Yield:
		e.put("!$omp taskyield")
	default:
		e.steps(s.Body)
		e.steps(s.Second)
	}
}

// loop writes a loop, which is the loop of a construct if that is not empty.
func (e *fortran) loop(construct, bounds string, body func()) {
	v, ok := e.variable()
	if !ok {
		return
	}
	if construct != "" {
		e.put("!$omp %s", construct)
	}
	e.put("do %s = %s", v, bounds)
	e.block(body)
	e.put("end do")
}

// tasks writes a loop that creates tasks.
func (e *fortran) tasks(s *Step) {
	e.loop("", fmt.Sprintf("1, %d", s.N), func() {
		e.put("!$omp task")
		e.put("call gen_begin(%d, %d)", NoteTask, e.line)
		e.steps(s.Body)
		e.put("call gen_end()")
		e.put("!$omp end task")
	})
}

// take writes the use of a lock or a critical section. Other objects are left out.
func (e *fortran) take(t thing, body func()) {
	number, kind := t.number+"_8", NoteCritical
	if t.array != "" {
		number = fmt.Sprintf("loc(%s(1, %d))", t.array, t.index)
		if kind = NoteLock; t.kind == "GEN_NEST_LOCK" {
			kind = NoteNestLock
		}
	}
	switch t.kind {
	case "GEN_LOCK", "GEN_NEST_LOCK":
		e.put("call gen_wait(%d, %d, %s)", kind, e.line+2, number)
		e.put("call %s(%s(1, %d))", t.take, t.array, t.index)
		e.put("call gen_hold(%d, %d, %s)", kind, e.line, number)
		e.block(body)
		e.put("call %s(%s(1, %d))", t.release, t.array, t.index)
		e.put("call gen_drop(%s)", number)
	case "GEN_CRITICAL":
		e.put("call gen_wait(%d, %d, %s)", kind, e.line+2, number)
		e.put("!$omp %s", t.take)
		e.put("call gen_hold(%d, %d, %s)", kind, e.line, number)
		e.block(body)
		e.put("!$omp end %s", t.take)
		e.put("call gen_drop(%s)", number)
	default:
		body()
	}
}
