package generated

import "fmt"

// wrong writes a mistake: the functions that it needs, and the step itself.
type wrong struct {
	helper func(*emitter, *Program)
	step   func(*emitter, *Program, *Step)
}

var wrongs = map[Mistake]wrong{
	Healthy:        {},
	LockOrder:      {helper: crossHelper, step: cross},
	LeftOnPath:     {helper: leaveHelper, step: leave},
	TakenTwice:     {helper: twiceHelper, step: twice},
	BarrierSkipped: {step: skip},
	HeldAtTaskwait: {step: atTaskwait},
	HeldAtBarrier:  {step: atBarrier},
	NeverSignalled: {step: unsignalled},
	NestedOnce:     {step: nestedOnce},
	KeptByThread:   {step: kept},
	PostSkipped:    {step: postless},
	LeftByCallee:   {helper: calleeHelper, step: callee},
	LockByLevel:    {helper: levelHelper, step: level},
	Ring:           {step: ring},
	MixedOrder:     {step: mixed},
	CriticalTwice:  {helper: againHelper, step: again},
	FlagNeverSet:   {step: unset},
	HeldAtFlag:     {step: atFlag},
	PostsMissing:   {step: unposted},
	MoreThreads:    {step: moreThreads},
	ReadThenWrite:  {step: upgrade},
	HeldAtJoin:     {helper: joinHelper, step: join},
	EventMissing:   {step: unfulfilled},
	LeftByJump:     {helper: jumpHelper, step: jump},
	TakenInHandler: {helper: handlerHelper, step: inHandler},
	TeamTooSmall:   {step: small},
}

// lockOf returns a lock of a mistake, or the object used in its place.
func (e *emitter) lockOf(n int) thing {
	switch e.object {
	case 1:
		return element("gen_mutex", n-2, 0)
	case readWrite:
		return element("gen_rwlock", n-4, 0)
	}
	return element("gen_lock", n, 0)
}

// get writes the acquisition of a mistake's lock, and back its release.
func (e *emitter) get(n int)  { e.acquire(e.addressedBy(e.lockOf(n), e.way)) }
func (e *emitter) back(n int) { e.release(e.addressedBy(e.lockOf(n), e.way)) }

// crossHelper writes a function that takes the second lock while its caller holds the first.
func crossHelper(e *emitter, p *Program) {
	for _, n := range []int{mistakenA, mistakenB} {
		e.function(p.farMistake(), fmt.Sprintf("void second_%d_%d(void)", e.number, n), func() {
			e.get(n)
			e.put("gen_work(3);")
			e.back(n)
		})
	}
}

// cross makes two threads take two locks in opposite orders.
func cross(e *emitter, p *Program, s *Step) {
	second := func(n int) {
		if s.Style%2 == 0 {
			e.put("second_%d_%d();", e.number, n)
			return
		}
		e.get(n)
		e.put("gen_work(3);")
		e.back(n)
	}
	if s.Style%2 == 1 {
		e.put("(void)second_%d_%d; (void)second_%d_%d;", e.number, mistakenA, e.number, mistakenB)
	}
	for i, order := range [][2]int{{mistakenA, mistakenB}, {mistakenB, mistakenA}} {
		e.put("if (tid == %d)", i)
		e.emitBlock(func() {
			e.get(order[0])
			e.put("gen_meet(&met_%d, 2 * (r + 1));", e.number)
			second(order[1])
			e.back(order[0])
		})
	}
}

// leaveHelper writes a function with a path that does not release the lock, in one of several shapes.
func leaveHelper(e *emitter, p *Program) {
	style := 0
	for _, s := range p.Body {
		if s.Kind == Wrong {
			style = s.Style
		}
	}
	e.function(p.farMistake(), fmt.Sprintf("int leave_%d(int tid, int r, int last)", e.number), func() {
		e.put("int sum = 0;")
		e.leaveBody(style)
		e.put("return sum;")
	})
}

// throws reports whether a style of the mistake is an exception.
func (e *emitter) throws(style int) bool { return e.cplus && style%4 == 3 }

func (e *emitter) leaveBody(style int) {
	switch {
	case style%4 == 1: // a continue
		e.put("for (int k = 0; k < 4; k++)")
		e.emitBlock(func() {
			e.get(mistakenA)
			e.put("if (tid == last && k == 1) continue;")
			e.put("sum += k;")
			e.back(mistakenA)
		})
	case style%4 == 2: // a goto, with a healthy early return next to it
		e.get(mistakenA)
		e.put("if (r < 0)")
		e.emitBlock(func() {
			e.back(mistakenA)
			e.put("return -2;")
		})
		e.put("if (tid == last) goto out;")
		e.put("gen_work(2);")
		e.back(mistakenA)
		e.put("out: sum += r;")
	case e.throws(style):
		e.get(mistakenA)
		e.put("gen_throw(tid == last);")
		e.back(mistakenA)
	default: // an early return
		e.get(mistakenA)
		e.put("sum = tid;")
		e.put("if (tid == last) return -1;")
		e.put("gen_work(2);")
		e.back(mistakenA)
	}
}

func leave(e *emitter, p *Program, s *Step) {
	call := fmt.Sprintf("(void)leave_%d(tid, r, %d);", e.number, s.N)
	if e.throws(s.Style) {
		call = "try { " + call + " } catch (int) { gen_work(1); }"
	}
	if s.Style < 4 {
		call = "for (int again = 0; again < 3; again++) " + call
	}
	e.put("%s", call)
}

func twiceHelper(e *emitter, p *Program) {
	e.function(p.farMistake(), fmt.Sprintf("int twice_%d(int x, int r)", e.number), func() {
		e.get(mistakenA)
		e.put("x++;")
		e.back(mistakenA)
		e.put("return x + r;")
	})
}

func twice(e *emitter, p *Program, s *Step) {
	body := func() {
		e.get(mistakenA)
		if s.Style < 4 {
			e.put("(void)twice_%d(tid, r);", e.number)
		} else {
			e.through(fmt.Sprintf("twice_%d", e.number), s.Style)
		}
		e.back(mistakenA)
	}
	if s.Style%2 == 0 {
		e.put("if (tid == %d)", s.N)
		e.emitBlock(body)
		return
	}
	e.construct("single", body)
}

func skip(e *emitter, p *Program, s *Step) {
	if s.Style%2 == 0 {
		e.put("if (tid != %d)", s.N)
		e.emitBlock(e.barrier)
		e.put("gen_work(5);")
		return
	}
	// The thread computes for ever while the others wait for it: that alone is no hang.
	e.put("for (int k = 0; k < (tid == %d ? 1 : 2); k++)", s.N)
	e.emitBlock(e.barrier)
}

// atTaskwait holds a lock during a wait for a task that needs it: in a taskwait, at the end of a taskgroup, or of
// a taskloop.
func atTaskwait(e *emitter, p *Program, s *Step) {
	body := func() {
		e.emitBlock(func() {
			e.put("gen_begin(GEN_TASK, %d);", e.line)
			e.get(mistakenA)
			e.back(mistakenA)
			e.put("gen_end();")
		})
	}
	e.construct("single", func() {
		e.get(mistakenA)
		switch s.Style {
		case 5:
			e.construct("taskgroup", func() {
				e.put("#pragma omp task")
				body()
			})
		case 6:
			e.put("gen_begin(GEN_CONSTRUCT, %d);", e.next())
			e.put("#pragma omp taskloop num_tasks(2)")
			e.put("for (int k = 0; k < 2; k++)")
			body()
			e.put("gen_end();")
		default:
			e.put("#pragma omp task")
			body()
			e.taskwait()
		}
		e.back(mistakenA)
	})
}

func atBarrier(e *emitter, p *Program, s *Step) {
	e.get(mistakenA)
	e.barrier()
	e.back(mistakenA)
}

func unsignalled(e *emitter, p *Program, s *Step) {
	word := e.name("never")
	e.put("static volatile int %s;", word)
	e.put("if (tid %s %d)", []string{"==", "!="}[s.Style%2], s.N)
	e.emitBlock(func() {
		e.put("pthread_mutex_lock(&gen_mutex[3]);")
		e.sleep("!"+word, 1, 3)
		e.put("pthread_mutex_unlock(&gen_mutex[3]);")
	})
}

func nestedOnce(e *emitter, p *Program, s *Step) {
	nest := e.addressedBy(element("gen_nest", 3, 0), e.way)
	e.acquire(nest)
	e.put("if (tid == %d)", s.N)
	e.emitBlock(func() {
		e.acquire(nest)
		e.put("gen_work(2);")
	})
	e.release(nest)
}

func kept(e *emitter, p *Program, s *Step) {
	e.put("if (tid == %d)", s.N)
	e.emitBlock(func() { e.get(mistakenA) })
	if s.Style%2 == 0 {
		e.barrier()
	}
	e.put("if (tid == %d)", (s.N+1)%p.Threads)
	e.emitBlock(func() {
		e.get(mistakenA)
		e.back(mistakenA)
	})
}

// postless omits the post of one iteration for later ones.
func postless(e *emitter, p *Program, s *Step) {
	v := e.name("i")
	e.put("gen_begin(GEN_CONSTRUCT, %d);", e.next())
	e.put("#pragma omp for ordered(1) schedule(static, 1)")
	e.put("for (int %s = 0; %s < %d; %s++)", v, v, 2*p.Threads, v)
	e.emitBlock(func() {
		e.turn(v, &Step{})
		e.put("gen_work(5);")
		e.put("if (%s != %d)", v, s.N)
		e.emitBlock(func() { e.put("#pragma omp ordered depend(source)") })
	})
	e.put("gen_end();")
}
