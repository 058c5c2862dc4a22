package generated

import (
	"fmt"
	"strings"
)

// schedules are the ways to divide a loop.
var schedules = [...]string{
	"", " schedule(dynamic)", " schedule(static, 1)", " schedule(guided)", " schedule(dynamic, 2)",
	" schedule(runtime)", " schedule(auto)", " schedule(nonmonotonic: dynamic)",
}

// loop writes a worksharing loop.
func (e *emitter) loop(p *Program, s *Step) {
	clause := schedules[s.Style%len(schedules)]
	v := e.name("i")
	switch s.Kind {
	case ForNowait:
		clause += " nowait"
	case CancelFor:
		// LLVM's runtime miscounts a cancelled loop that it divides dynamically: it ends by an assertion
		// (kmp_dispatch.cpp, steal_flag), or a later loop hangs.
		clause = []string{"", " schedule(static, 1)"}[s.Style%2]
	case ForOrdered, Doacross:
		clause = strings.ReplaceAll(clause, "nonmonotonic: ", "")
		clause += map[Kind]string{ForOrdered: " ordered", Doacross: " ordered(1)"}[s.Kind]
	case Reduction:
		clause += " reduction(+: gen_sum)"
	}
	e.put("gen_begin(GEN_CONSTRUCT, %d);", e.next())
	e.put("#pragma omp for%s", clause)
	e.put("for (int %s = 0; %s < %d; %s++)", v, v, 2+s.N, v)
	e.emitBlock(func() {
		if s.Kind == Doacross {
			e.turn(v, s)
		}
		e.steps(p, s.Body)
		switch s.Kind {
		case ForOrdered:
			e.ordered()
		case Reduction:
			e.put("gen_sum += %s;", v)
		case CancelFor:
			e.put("if ((%s + r) %% 4 == 3)", v)
			e.emitBlock(func() { e.put("#pragma omp cancel for") })
		case Doacross:
			e.put("#pragma omp ordered depend(source)")
		}
	})
	e.put("gen_end();")
}

// ordered writes a body that is executed in the order of a loop's iterations.
func (e *emitter) ordered() {
	e.put("gen_wait(GEN_ORDERED, %d, 0);", e.next())
	e.put("#pragma omp ordered")
	e.emitBlock(func() {
		e.put("gen_got();")
		e.put("gen_work(5);")
	})
}

// turn writes the wait for an earlier iteration, which is noted as one for a turn.
func (e *emitter) turn(v string, s *Step) {
	e.put("gen_wait(GEN_ORDERED, %d, 0);", e.next())
	e.put("#pragma omp ordered depend(sink: %s - %d)", v, 1+s.Style%2)
	e.put("gen_got();")
}

// tasks writes constructs that create tasks, and the wait for them.
func (e *emitter) tasks(p *Program, s *Step) {
	body := func() {
		e.emitBlock(func() {
			e.put("gen_begin(GEN_TASK, %d);", e.line)
			e.steps(p, s.Body)
			e.put("gen_end();")
		})
	}
	v := e.name("t")
	switch s.Kind {
	case Tasks:
		e.put("for (int %s = 0; %s < %d; %s++)", v, v, s.N, v)
		e.emitBlock(func() {
			e.put("#pragma omp task")
			body()
		})
		e.taskwait()
	case Taskgroup:
		e.construct("taskgroup", func() {
			e.put("for (int %s = 0; %s < %d; %s++)", v, v, s.N, v)
			e.emitBlock(func() {
				e.put("#pragma omp task")
				body()
			})
		})
	case TaskSum:
		e.sum(p, s, v)
	case CancelTask:
		e.construct("taskgroup", func() {
			e.put("for (int %s = 0; %s < %d; %s++)", v, v, s.N, v)
			e.emitBlock(func() {
				e.put("#pragma omp task")
				e.emitBlock(func() {
					body()
					e.put("if ((%s + r) %% 3 == 0)", v)
					e.emitBlock(func() { e.put("#pragma omp cancel taskgroup") })
				})
			})
		})
	case Taskloop:
		e.put("gen_begin(GEN_CONSTRUCT, %d);", e.next())
		e.put("#pragma omp taskloop grainsize(1)")
		e.put("for (int %s = 0; %s < %d; %s++)", v, v, s.N, v)
		body()
		e.put("gen_end();")
	case Depend:
		d := e.name("d")
		e.put("int %s = 0; (void)%s;", d, d)
		e.put("#pragma omp task depend(out: %s) shared(%s)", d, d)
		body()
		e.put("#pragma omp task depend(inout: %s) shared(%s)", d, d)
		e.emitBlock(func() { e.put("gen_begin(GEN_TASK, %d); gen_work(3); gen_end();", e.line) })
		e.taskwait()
	}
}

// sum writes a taskgroup with tasks that add to one variable.
func (e *emitter) sum(p *Program, s *Step, v string) {
	sum := e.name("sum")
	e.put("int %s = 0;", sum)
	e.construct(fmt.Sprintf("taskgroup task_reduction(+: %s)", sum), func() {
		e.put("for (int %s = 0; %s < %d; %s++)", v, v, s.N, v)
		e.emitBlock(func() {
			e.put("#pragma omp task in_reduction(+: %s)", sum)
			e.emitBlock(func() {
				e.put("gen_begin(GEN_TASK, %d);", e.line)
				e.put("%s += %s;", sum, v)
				e.steps(p, s.Body)
				e.put("gen_end();")
			})
		})
	})
}

func (e *emitter) taskwait() {
	e.put("gen_wait(GEN_TASKWAIT, %d, 0);", e.next())
	e.put("#pragma omp taskwait")
	e.put("gen_got();")
}
