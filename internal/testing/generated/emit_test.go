package generated

import (
	"fmt"
	"strings"
)

// Sources returns the two files of some programs, in C or C++; the first argument of the executable selects one
// by number. The third file is in Fortran, if one of the programs has functions in Fortran and mixed is set.
func Sources(programs []*Program, cplus, mixed bool) (main, far, fortran string) {
	e := &emitter{cplus: cplus, other: &file{}, fortran: newFortran(), mixed: mixed}
	e.file = &file{}
	for _, f := range []*file{e.file, e.other} {
		f.put("#include \"gen.h\"")
		f.put("#include <stdlib.h>")
	}
	for i, p := range programs {
		e.program(i, p)
	}
	if cplus {
		e.put("std::vector<gen_account> gen_vector(gen_accounts, gen_accounts + 16);")
	}
	e.put("int main(int argc, char **argv) {")
	e.put("  gen_start();")
	e.put("  switch (argc > 1 ? atoi(argv[1]) : 0) {")
	for i := range programs {
		e.put("  case %d: program_%d(); break;", i, i)
	}
	e.put("  }")
	e.put("  return 0;")
	e.put("}")
	if e.fortran.functions > 0 {
		fortran = e.fortran.text.String()
	}
	return e.text.String(), e.other.text.String(), fortran
}

// file is a source file; each statement is on a line of its own.
type file struct {
	text   strings.Builder
	line   int // of the last line that was written
	indent int
}

// put writes one line.
func (f *file) put(format string, args ...any) {
	f.line++
	f.text.WriteString(strings.Repeat("  ", f.indent))
	fmt.Fprintf(&f.text, format, args...)
	f.text.WriteByte('\n')
}

// emitter writes programs.
type emitter struct {
	*file        // the current file
	other  *file // the other file
	cplus  bool
	number int
	names  int
	way    int // of a mistake's objects
	object int // kind of these objects
	hangs  bool
	leave  string // the statement that ends the loop's iteration or the helper; may be empty

	fortran *fortran
	mixed   bool // programs may have functions in Fortran
}

// function writes a function that is never inlined; if far is set, in the other file.
func (e *emitter) function(far bool, head string, body func()) {
	storage := "static "
	if far {
		e.put("%s;", head)
		e.file, e.other = e.other, e.file
		storage = ""
		e.put("%s;", head)
	}
	e.put("__attribute__((noinline)) %s%s {", storage, head)
	e.indent++
	body()
	e.indent--
	e.put("}")
	if far {
		e.file, e.other = e.other, e.file
	}
}

// next returns the number of the line after the next one.
func (e *emitter) next() int { return e.line + 2 }

// name returns a unique name.
func (e *emitter) name(what string) string {
	e.names++
	return fmt.Sprintf("%s_%d", what, e.names)
}

// emitBlock writes a block.
func (e *emitter) emitBlock(f func()) {
	e.put("{")
	e.indent++
	f()
	e.indent--
	e.put("}")
}

func (e *emitter) program(i int, p *Program) {
	e.number, e.way, e.object, e.hangs = i, p.Way, p.Object, p.Mistake != Healthy
	for h, body := range p.Helpers {
		if e.isFortran(p, p.far(h)) {
			e.inFortran(fmt.Sprintf("helper_%d_%d", i, h), body)
		} else {
			e.helper(p, h, body)
		}
		e.recursion(p, h)
		e.put("static void *thread_%d_%d(void *r) { return (void *)(long)helper_%d_%d(0, (int)(long)r); }", i, h, i, h)
	}
	e.put("static int (*const volatile helpers_%d[])(int, int) = {helper_%d_0, helper_%d_1, helper_%d_2};", i, i, i, i)
	e.team(p)
	e.put("static int met_%d, signal_%d;", i, i)
	w := wrongs[p.Mistake]
	if w.helper != nil {
		w.helper(e, p)
	}
	e.put("static pthread_barrier_t threads_%d, more_%d;", i, i)
	e.put("static void program_%d(void) {", i)
	e.indent++
	e.put("pthread_barrier_init(&threads_%d, NULL, %d);", i, p.Threads)
	e.put("pthread_barrier_init(&more_%d, NULL, %d);", i, p.Threads+1)
	if p.hasKind(Interrupt) {
		e.put("gen_handle();")
	}
	e.put("for (int r = 0; r == 0 || gen_go_on(%d); r++) {", p.Milliseconds)
	e.indent++
	e.put("int depth = gen_depth();")
	e.put("signal_%d = 0;", i)
	e.combined(p)
	e.region(p, p.Threads, func() {
		if p.Dynamic { // LLVM's runtime requires that thread 0 allows it, too
			e.put("omp_set_dynamic(1);")
			e.barrier()
		}
		e.steps(p, p.Body)
	})
	e.put("gen_joined(depth);")
	e.indent--
	e.put("}")
	e.indent--
	e.put("}")
}

// helper writes a function that takes any objects in order.
func (e *emitter) helper(p *Program, h int, body []*Step) {
	e.function(p.far(h), fmt.Sprintf("int helper_%d_%d(int tid, int r)", e.number, h), func() {
		e.emitConstruct("return tid;", func() { e.steps(p, body) })
		e.put("return tid + r;")
	})
}

// isFortran reports whether a function of the program is in Fortran.
func (e *emitter) isFortran(p *Program, far bool) bool { return e.mixed && p.Fortran && far }

// inFortran writes a function in Fortran, and its declaration.
func (e *emitter) inFortran(name string, body []*Step) {
	e.fortran.function(name, body)
	for _, f := range []*file{e.file, e.other} {
		f.put("GEN_C int %s(int tid, int r);", name)
	}
}

// recursion writes a function that calls itself, each call with a nest lock, and finally a helper.
func (e *emitter) recursion(p *Program, helper int) {
	name := fmt.Sprintf("deep_%d_%d", e.number, helper)
	nest := element("gen_nest", 2, 1)
	e.function(p.far(helper), fmt.Sprintf("int %s(int tid, int r, int n)", name), func() {
		e.put("if (n == 0)")
		e.put("  return helper_%d_%d(tid, r);", e.number, helper)
		e.acquire(nest)
		e.put("int sum = %s(tid, r, n - 1);", name)
		e.release(nest)
		e.put("return sum + 1;")
	})
}

// emitConstruct calls f to write a construct with a statement that leaves it.
func (e *emitter) emitConstruct(leave string, f func()) {
	outer := e.leave
	e.leave = leave
	f()
	e.leave = outer
}

// region writes a parallel region.
func (e *emitter) region(p *Program, threads int, body func()) {
	line := e.line + 1
	e.put("#pragma omp parallel num_threads(%d)", threads)
	e.emitBlock(func() {
		e.put("gen_begin(GEN_REGION, %d);", line)
		e.put("int tid = omp_get_thread_num();")
		body()
		e.put("gen_last(%d);", line)
	})
}

func (e *emitter) steps(p *Program, steps []*Step) {
	leave := e.leave
	for _, s := range steps {
		e.leave = ""
		if s.Early {
			e.leave = leave
		}
		e.step(p, s)
	}
	e.leave = leave
}

// step writes one step.
func (e *emitter) step(p *Program, s *Step) {
	switch s.Kind {
	case Work:
		e.put("gen_work(%d);", s.N)
	case Take:
		leave := e.leave
		e.emitConstruct("", func() { e.take(s, leave, func() { e.steps(p, s.Body) }) })
	case Barrier:
		e.barrier()
	case For, ForNowait, ForOrdered, Reduction, CancelFor, Doacross:
		e.loop(p, s)
	case Sections:
		e.construct("sections", func() {
			e.put("#pragma omp section")
			e.emitBlock(func() { e.steps(p, s.Body) })
			e.put("#pragma omp section")
			e.emitBlock(func() { e.steps(p, s.Second) })
		})
	case Single:
		e.single(p, s)
	case Master:
		e.construct([]string{"master", "masked"}[s.Style%2], func() { e.steps(p, s.Body) })
	case Tasks, Taskgroup, Taskloop, Depend, TaskSum, CancelTask:
		e.tasks(p, s)
	case Call:
		e.call(s)
	case Recurse:
		e.put("(void)deep_%d_%d(tid, r, %d);", e.number, s.N, 1+s.Style%4)
	case Loop:
		v := e.name("k")
		e.put("for (int %s = 0; %s < %d; %s++)", v, v, 1+s.N%3, v)
		e.emitBlock(func() { e.emitConstruct("continue;", func() { e.steps(p, s.Body) }) })
	case Parallel:
		depth := e.name("depth")
		e.put("int %s = gen_depth();", depth)
		e.region(p, 1+(1+s.Style)%3, func() { e.steps(p, s.Body) })
		e.put("gen_joined(%s);", depth)
	case Signal:
		e.signal(p)
	case Yield, Sleep, Flag, Posts, Threads, TeamCall:
		e.meeting(p, s)
	case Through, Thread, Detach, Hand, Interrupt, Jump, Fork, Load:
		e.system(s)
	case Try:
		e.try(p, s)
	case Wrong:
		wrongs[p.Mistake].step(e, p, s)
	}
}

// guards are the classes of gen.h that hold an object to the end of a scope.
var guards = map[string]string{"GEN_LOCK": "gen_guard", "GEN_MUTEX": "gen_mutex_guard"}

// guarded writes the scope of an object of a class.
func (e *emitter) guarded(t thing, s *Step, body func()) {
	e.emitBlock(func() {
		if kinds := []string{"lock_guard", "unique_lock"}; t.kind == "GEN_MUTEX" && s.Way > 0 {
			note := e.name("note")
			class := "std::" + kinds[s.Way%len(kinds)] + "<std::mutex>"
			e.put("gen_noted %s(__LINE__, %s); %s %s(*(std::mutex *)%s); %s.held();",
				note, t.at, class, e.name("guard"), t.at, note)
		} else {
			e.put("%s %s(__LINE__, %s);", guards[t.kind], e.name("guard"), t.at)
		}
		body()
	})
}

// take writes the acquisition of an object, its use, and its release; leave is the statement that may leave
// early, if there is one.
func (e *emitter) take(s *Step, leave string, body func()) {
	t := thingOf(s.N)
	condition := fmt.Sprintf("if ((tid + r) %% %d == 0)", 2+s.Style%3)
	if e.cplus && guards[t.kind] != "" && s.Style%2 == 1 {
		e.guarded(t, s, func() {
			if leave != "" {
				e.put("%s %s", condition, leave)
			}
			body()
		})
		return
	}
	t = e.addressedBy(t, s.Way)
	if t.release != "" {
		e.acquire(t)
		if leave != "" {
			e.put("%s", condition)
			e.emitBlock(func() {
				e.release(t)
				e.put("%s", leave)
			})
		}
		body()
		e.release(t)
		return
	}
	e.critical(t, body)
}

// critical writes a critical section.
func (e *emitter) critical(t thing, body func()) {
	e.put("gen_wait(%s, %d, %s);", t.kind, e.next(), t.number)
	e.put("#pragma omp %s", t.take)
	line := e.line
	e.emitBlock(func() {
		e.put("gen_hold(%s, %d, %s);", t.kind, line, t.number)
		body()
	})
	e.put("gen_drop(%s);", t.number)
}

// sleep writes a wait on a condition variable of gen.h, with one of its mutexes, while a condition on words
// holds.
func (e *emitter) sleep(condition string, variable, mutex int) {
	e.put("while (%s) {", condition)
	e.put("  gen_wait(GEN_CONDITION, __LINE__, (unsigned long)&gen_cond[%d]); "+
		"pthread_cond_wait(&gen_cond[%d], &gen_mutex[%d]); gen_got();", variable, variable, mutex)
	e.put("}")
}

func (e *emitter) barrier() {
	e.put("gen_wait(GEN_BARRIER, %d, 0);", e.next())
	e.put("#pragma omp barrier")
	e.put("gen_got();")
}

// construct writes a construct without a loop.
func (e *emitter) construct(what string, body func()) {
	e.put("gen_begin(GEN_CONSTRUCT, %d);", e.next())
	e.put("#pragma omp %s", what)
	e.emitBlock(body)
	e.put("gen_end();")
}

// try writes steps that an exception may end, and the handler of the exception.
func (e *emitter) try(p *Program, s *Step) {
	if !e.cplus {
		e.emitBlock(func() { e.steps(p, s.Body) })
		return
	}
	e.put("try {")
	e.indent++
	e.steps(p, s.Body)
	if s.Style%2 == 0 {
		e.put("gen_guard %s(__LINE__, &gen_lock[%d]);", e.name("guard"), s.N%plainLocks)
	}
	e.put("gen_throw((tid + r) %% %d == 0);", 2+s.N%3)
	e.put("gen_work(2);")
	e.indent--
	e.put("} catch (int) { gen_work(1); }")
}
