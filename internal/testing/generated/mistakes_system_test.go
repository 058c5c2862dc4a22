package generated

import "fmt"

// joinHelper writes a function that another thread calls, which takes a lock.
func joinHelper(e *emitter, p *Program) {
	e.function(p.farMistake(), fmt.Sprintf("void *needs_%d(void *x)", e.number), func() {
		e.get(mistakenA)
		e.put("gen_work(1);")
		e.back(mistakenA)
		e.put("return x;")
	})
}

// join holds a lock while it joins the thread that needs it.
func join(e *emitter, p *Program, s *Step) {
	e.put("if (tid == %d)", s.N)
	e.emitBlock(func() {
		e.get(mistakenA)
		e.joined(fmt.Sprintf("needs_%d", e.number), "tid", s.Style)
		e.back(mistakenA)
	})
}

// unfulfilled waits for a detached task whose event nothing fulfils.
func unfulfilled(e *emitter, p *Program, s *Step) {
	event := e.name("event")
	e.construct("single", func() {
		e.put("omp_event_handle_t %s;", event)
		e.put("#pragma omp task detach(%s)", event)
		e.emitBlock(func() {
			e.put("gen_begin(GEN_TASK, %d); gen_work(3); gen_end();", e.line)
			e.put("if (r < 0) gen_fulfill(%s);", event)
		})
		e.taskwait()
	})
}

// jumpHelper writes a function that takes a lock, and that longjmp may leave.
func jumpHelper(e *emitter, p *Program) {
	e.function(p.farMistake(), fmt.Sprintf("int jump_%d(int tid, int last, jmp_buf *back)", e.number), func() {
		e.get(mistakenA)
		e.put("gen_work(1);")
		e.put("if (tid == last) longjmp(*back, 1);")
		e.back(mistakenA)
		e.put("return tid;")
	})
}

func jump(e *emitter, p *Program, s *Step) {
	e.emitBlock(func() {
		e.put("jmp_buf back;")
		e.put("if (!setjmp(back)) (void)jump_%d(tid, %d, &back);", e.number, s.N)
	})
}

// handlerHelper writes a signal's handler that takes a lock.
func handlerHelper(e *emitter, p *Program) {
	e.function(p.farMistake(), fmt.Sprintf("void handler_%d(int number)", e.number), func() {
		e.get(mistakenA)
		e.put("gen_work(number - number + 1);")
		e.back(mistakenA)
	})
}

func inHandler(e *emitter, p *Program, s *Step) {
	e.put("if (tid == %d)", s.N)
	e.emitBlock(func() {
		e.put("signal(SIGUSR2, handler_%d);", e.number)
		e.get(mistakenA)
		e.put("raise(SIGUSR2);")
		e.back(mistakenA)
	})
}
