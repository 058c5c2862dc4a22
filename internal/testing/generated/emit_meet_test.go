package generated

import "fmt"

// team writes a function that all threads of a team call, with constructs that bind to their region.
func (e *emitter) team(p *Program) {
	if len(p.Team) == 0 {
		return
	}
	if e.isFortran(p, p.farTeam()) {
		e.inFortran(fmt.Sprintf("team_%d", e.number), p.Team)
		return
	}
	e.function(p.farTeam(), fmt.Sprintf("void team_%d(int tid, int r)", e.number), func() {
		e.put("(void)tid, (void)r;")
		e.steps(p, p.Team)
	})
}

// combined writes a region that is one construct with a loop, or sections, before the program's own region.
func (e *emitter) combined(p *Program) {
	if len(p.Combined) == 0 {
		return
	}
	body := func() {
		e.put("gen_begin(GEN_REGION, %d);", e.line)
		e.put("int tid = omp_get_thread_num();")
		e.put("(void)tid;")
		e.steps(p, p.Combined)
		e.put("gen_end();")
	}
	if p.Seed%2 == 0 {
		v := e.name("i")
		e.put("#pragma omp parallel for num_threads(%d) schedule(dynamic)", p.Threads)
		e.put("for (int %s = 0; %s < %d; %s++)", v, v, 2*p.Threads, v)
		e.emitBlock(body)
	} else {
		e.put("#pragma omp parallel sections num_threads(%d)", p.Threads)
		e.emitBlock(func() {
			for range 2 {
				e.put("#pragma omp section")
				e.emitBlock(body)
			}
		})
	}
	e.put("gen_joined(depth);")
}

// single writes a construct that one thread executes.
func (e *emitter) single(p *Program, s *Step) {
	if s.Style%4 == 2 {
		v := e.name("x")
		e.put("int %s = 0;", v)
		e.construct(fmt.Sprintf("single copyprivate(%s)", v), func() {
			e.steps(p, s.Body)
			e.put("%s = r;", v)
		})
		return
	}
	e.construct([]string{"single", "single nowait"}[s.Style%2], func() { e.steps(p, s.Body) })
}

// call writes the call of a helper: directly, by a pointer, by a switch, or in a lambda.
func (e *emitter) call(s *Step) {
	direct := fmt.Sprintf("(void)helper_%d_%d(tid, r);", e.number, s.N)
	switch {
	case s.Style%4 == 1:
		e.put("(void)helpers_%d[%d](tid, r);", e.number, s.N)
	case s.Style%4 == 2:
		e.put("switch ((tid + r) %% 4) {")
		e.put("case 0: %s break;", direct)
		e.put("case 1: gen_work(2); break;")
		e.put("case 2: (void)helper_%d_%d(tid, r + 1); break;", e.number, s.N)
		e.put("default: gen_work(1); break;")
		e.put("}")
	case s.Style%4 == 3 && e.cplus:
		e.put("[=] { %s }();", direct)
	default:
		e.put("%s", direct)
	}
}

// meeting writes steps in which threads wait for one another by their own means, or only seem to.
func (e *emitter) meeting(p *Program, s *Step) {
	switch s.Kind {
	case Yield:
		e.put("#pragma omp taskyield")
	case Sleep:
		e.put("usleep(%d);", 100*(1+s.N))
	case TeamCall:
		e.put("team_%d(tid, r);", e.number)
	case Threads:
		e.put("gen_wait(GEN_THREADS, __LINE__, (unsigned long)&threads_%d); "+
			"pthread_barrier_wait(&threads_%d); gen_got();", e.number, e.number)
	case Flag:
		word := e.name("flag")
		e.put("static volatile int %s;", word)
		e.put("if (tid == 0) { gen_work(%d); %s = r + 1; }", 1+s.N, word)
		e.spin(word+" != r + 1", word, s.Style)
	case Posts:
		e.put("if (tid == 0)")
		e.put("  for (int k = 1; k < omp_get_num_threads(); k++) sem_post(&gen_semaphore[3]);")
		e.put("if (tid != 0) {")
		e.put("  gen_wait(GEN_SEMAPHORE, __LINE__, (unsigned long)&gen_semaphore[3]); " +
			"sem_wait(&gen_semaphore[3]); gen_got();")
		e.put("}")
	}
}

// spin writes a loop that continues while a condition on a word holds.
func (e *emitter) spin(condition, word string, style int) {
	// The tool does not consider a loop that also works, and writes data that others read, as a wait: programs
	// that hang contain no such loop.
	loops := []string{";", "sched_yield();", "usleep(50);", "gen_work(1);"}
	if e.hangs {
		loops = loops[:3]
	}
	body := loops[style%len(loops)]
	e.put("gen_wait(GEN_POLL, __LINE__, (unsigned long)&%s); while (%s) { %s } gen_got();", word, condition, body)
}

// signal writes that thread 0 releases the others.
func (e *emitter) signal(*Program) {
	word := e.name("go")
	e.put("static int %s;", word)
	e.put("pthread_mutex_lock(&gen_mutex[2]);")
	e.put("if (tid == 0) { %s = r + 1; pthread_cond_broadcast(&gen_cond[0]); }", word)
	e.sleep(word+" != r + 1", 0, 2)
	e.put("pthread_mutex_unlock(&gen_mutex[2]);")
}
