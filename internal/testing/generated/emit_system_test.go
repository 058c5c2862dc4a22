package generated

import "fmt"

// system writes steps that use C++, the C library or the kernel, besides OpenMP.
func (e *emitter) system(s *Step) {
	switch s.Kind {
	case Through:
		e.through(fmt.Sprintf("helper_%d_%d", e.number, s.N), s.Style)
	case Thread:
		e.emitBlock(func() { e.joined(fmt.Sprintf("thread_%d_%d", e.number, s.N), "r", s.Style) })
	case Detach:
		e.detached(s.Style)
	case Hand:
		e.hand()
	case Interrupt:
		e.put("raise(SIGUSR1);")
	case Jump:
		jump := e.name("jump")
		e.emitBlock(func() {
			e.put("jmp_buf %s;", jump)
			e.put("if (!setjmp(%s)) { gen_work(%d); longjmp(%s, 1); }", jump, 1+s.N, jump)
		})
	case Fork:
		e.put("gen_begin(GEN_CONSTRUCT, __LINE__); gen_fork(); gen_end();")
	case Load:
		e.put("gen_load();")
	}
}

// through writes the call of a function with two numbers: in C++ by a virtual function, a template, std::function, or
// out of a function that lets no exception out.
func (e *emitter) through(f string, style int) {
	if !e.cplus {
		e.put("{ int (*volatile f)(int, int) = %s; (void)f(tid, r); }", f)
		return
	}
	switch style % 4 {
	case 0:
		e.put("{ gen_calls<%s> object; gen_caller *volatile caller = &object; (void)caller->call(tid, r); }", f)
	case 1:
		e.put("(void)gen_template<%s>(tid, r);", f)
	case 2:
		e.put("{ std::function<int(int, int)> f = %s; (void)f(tid, r); }", f)
	default:
		e.put("(void)gen_noexcept([=] { return %s(tid, r); });", f)
	}
}

// joined writes a thread that calls a function, and the wait for its end.
func (e *emitter) joined(f, argument string, style int) {
	switch {
	case e.cplus && style%3 == 1:
		e.put("std::thread other(%s, (void *)(long)%s);", f, argument)
		e.put("gen_begin(GEN_CONSTRUCT, __LINE__); other.join(); gen_end();")
	case e.cplus && style%3 == 2:
		e.put("gen_begin(GEN_CONSTRUCT, __LINE__); (void)gen_async(%s, (void *)(long)%s); gen_end();", f, argument)
	default:
		e.put("pthread_t other;")
		e.put("if (pthread_create(&other, NULL, %s, (void *)(long)%s) == 0) {", f, argument)
		e.put("  gen_begin(GEN_CONSTRUCT, __LINE__); pthread_join(other, NULL); gen_end();")
		e.put("}")
	}
}

// detached writes a task that is finished when its event is fulfilled: by itself, or by another task.
func (e *emitter) detached(style int) {
	event := e.name("event")
	e.emitBlock(func() {
		e.put("omp_event_handle_t %s;", event)
		e.put("#pragma omp task detach(%s)", event)
		e.emitBlock(func() {
			e.put("gen_begin(GEN_TASK, %d); gen_work(3);", e.line)
			if style%2 == 0 {
				e.put("gen_fulfill(%s);", event)
			}
			e.put("gen_end();")
		})
		if style%2 == 1 {
			e.put("#pragma omp task firstprivate(%s)", event)
			e.emitBlock(func() { e.put("gen_work(2); gen_fulfill(%s);", event) })
		}
		e.taskwait()
	})
}

// hand writes a lock that thread 0 takes and thread 1 releases, while others wait for it.
func (e *emitter) hand() {
	lock := element("gen_lock", handedOver, 0)
	e.put("if (tid == 0)")
	e.emitBlock(func() { e.acquire(lock) })
	e.barrier()
	e.put("if (tid == 1)")
	e.emitBlock(func() { e.put("gen_work(20); %s;", lock.released()) })
	e.put("if (tid > 1)")
	e.emitBlock(func() {
		e.acquire(lock)
		e.release(lock)
	})
	e.barrier()
	e.put("if (tid == 0) gen_drop(%s);", lock.number)
}
