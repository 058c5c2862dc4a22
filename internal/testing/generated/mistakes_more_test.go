package generated

import "fmt"

// calleeHelper writes a function that takes a lock and returns whether it has; once the result is wrong.
func calleeHelper(e *emitter, p *Program) {
	e.function(p.farMistake(), fmt.Sprintf("int begin_%d(int tid, int last)", e.number), func() {
		e.get(mistakenA)
		e.put("if (tid == last) return 0;")
		e.put("return 1;")
	})
}

func callee(e *emitter, p *Program, s *Step) {
	e.put("for (int again = 0; again < 2; again++)")
	e.put("if (begin_%d(tid, %d))", e.number, s.N)
	e.emitBlock(func() {
		e.put("gen_work(2);")
		e.back(mistakenA)
	})
}

// levelHelper writes a recursion that takes one of two locks at each level.
func levelHelper(e *emitter, p *Program) {
	at := fmt.Sprintf("&%s[%d + n %% 2]", e.lockOf(mistakenA).array, e.lockOf(mistakenA).index)
	t := e.lockOf(mistakenA).named(at)
	e.function(p.farMistake(), fmt.Sprintf("int level_%d(int n)", e.number), func() {
		e.acquire(t)
		e.put("int sum = n > 0 ? level_%d(n - 1) : 0;", e.number)
		e.release(t)
		e.put("return sum + 1;")
	})
}

func level(e *emitter, p *Program, s *Step) {
	if s.Style%2 == 0 {
		e.put("if (tid == %d)", s.N)
	}
	e.put("(void)level_%d(%d);", e.number, 2+s.Style%4)
}

// ring makes each thread take a lock, and then that of the next one.
func ring(e *emitter, p *Program, s *Step) {
	own := element("gen_lock", 0, 0).named("&gen_lock[8 + tid]")
	next := own.named(fmt.Sprintf("&gen_lock[8 + (tid + 1) %% %d]", p.Threads))
	if e.way == byThin || e.way == byFunction {
		own, next = e.addressedBy(own, e.way), e.addressedBy(next, e.way)
	}
	e.acquire(own)
	e.put("gen_meet(&met_%d, %d * (r + 1));", e.number, p.Threads)
	e.acquire(next)
	e.put("gen_work(2);")
	e.release(next)
	e.release(own)
}

// mixed makes two threads take a lock and another kind of object in opposite orders.
func mixed(e *emitter, p *Program, s *Step) {
	one := e.addressedBy(e.lockOf(mistakenA), e.way)
	other := e.addressedBy([]thing{
		critical(7), element("gen_nest", 3, 0), element("gen_mutex", 5, 0), element("gen_rwlock", 3, 0),
	}[s.Style%4], e.way)
	for i, order := range [][2]thing{{one, other}, {other, one}} {
		e.put("if (tid == %d)", i)
		e.emitBlock(func() {
			e.having(order[0], func() {
				e.put("gen_meet(&met_%d, 2 * (r + 1));", e.number)
				e.having(order[1], func() { e.put("gen_work(3);") })
			})
		})
	}
}

// having writes the use of an object, which may be a critical section.
func (e *emitter) having(t thing, body func()) {
	if t.array == "" {
		e.critical(t, body)
		return
	}
	e.acquire(t)
	body()
	e.release(t)
}

// againHelper writes a function with a critical section.
func againHelper(e *emitter, p *Program) {
	e.function(p.farMistake(), fmt.Sprintf("void again_%d(void)", e.number), func() {
		e.critical(critical(7), func() { e.put("gen_work(1);") })
	})
}

func again(e *emitter, p *Program, s *Step) {
	if s.Style%2 == 0 {
		e.put("if (tid == %d)", s.N)
	}
	e.emitBlock(func() {
		e.critical(critical(7), func() { e.put("again_%d();", e.number) })
	})
}

func unset(e *emitter, p *Program, s *Step) {
	word := e.name("never")
	e.put("static volatile int %s;", word)
	if s.Style >= 4 {
		e.put("if (tid == %d)", s.N)
	}
	e.emitBlock(func() { e.spin("!"+word, word, s.Style) })
}

// atFlag makes the thread that waits for a flag hold the lock that the other needs before it sets the flag.
func atFlag(e *emitter, p *Program, s *Step) {
	word := e.name("flag")
	e.put("static volatile int %s;", word)
	e.put("if (tid == 0)")
	e.emitBlock(func() {
		e.get(mistakenA)
		e.put("gen_meet(&met_%d, 2 * (r + 1));", e.number)
		e.spin(word+" != r + 1", word, s.Style)
		e.back(mistakenA)
	})
	e.put("if (tid == 1)")
	e.emitBlock(func() {
		e.put("gen_meet(&met_%d, 2 * (r + 1));", e.number)
		e.get(mistakenA)
		e.put("%s = r + 1;", word)
		e.back(mistakenA)
	})
}

// unposted makes one thread post a semaphore for all others but one.
func unposted(e *emitter, p *Program, s *Step) {
	at := element("gen_semaphore", 2, 0).at
	e.put("if (tid == %d)", s.N)
	e.put("  for (int k = 2; k < %d; k++) sem_post(%s);", p.Threads, at)
	e.put("if (tid != %d) {", s.N)
	e.put("  gen_wait(GEN_SEMAPHORE, __LINE__, (unsigned long)%s); sem_wait(%s); gen_got();", at, at)
	e.put("}")
}

func moreThreads(e *emitter, p *Program, s *Step) {
	e.put("gen_wait(GEN_THREADS, __LINE__, (unsigned long)&more_%d); pthread_barrier_wait(&more_%d); gen_got();",
		e.number, e.number)
}

func upgrade(e *emitter, p *Program, s *Step) {
	reading := e.addressedBy(element("gen_rwlock", 2, 0), max(0, min(e.way, byCall)))
	writing := reading
	reading.take = "pthread_rwlock_rdlock"
	if s.Style%2 == 0 {
		e.put("if (tid == %d)", s.N)
	}
	e.emitBlock(func() {
		e.acquire(reading)
		e.acquire(writing)
		e.release(writing)
		e.release(reading)
	})
}

// crowd is a number of threads that no dynamic team has on a machine with fewer processors.
const crowd = 32

// small makes the threads of a dynamic team await all that the region requests, at a barrier of the C library or in a
// loop: the team has fewer.
func small(e *emitter, p *Program, s *Step) {
	came := e.name("came")
	e.put("static volatile int %s;", came)
	e.put("static pthread_barrier_t all_%s;", came)
	e.put("if (tid == %d)", s.N)
	e.emitBlock(func() {
		e.put("pthread_barrier_init(&all_%s, NULL, %d);", came, crowd)
		e.put("int depth = gen_depth();")
		e.region(p, crowd, func() {
			e.put("(void)tid; __atomic_fetch_add(&%s, 1, __ATOMIC_SEQ_CST);", came)
			if s.Style%2 == 0 {
				e.spin(fmt.Sprintf("%s < %d * (r + 1)", came, crowd), came, s.Style)
				return
			}
			e.put("gen_wait(GEN_THREADS, __LINE__, (unsigned long)&all_%s); pthread_barrier_wait(&all_%s); gen_got();",
				came, came)
		})
		e.put("gen_joined(depth);")
	})
}
