package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"
)

// stackLimit is how much of a thread's stack is copied unasked, from the stack
// pointer on: the frames of the runtime and some of the program's. Those that
// wait in the runtime have less than a page.
const stackLimit = 24 << 10

// outerLimit is how much is copied of the other end of the stack: the outermost frames.
// LLVM's runtime leaves 64 bytes for each thread's number between them and the others, and
// below them lie the thread's control block and its thread-local variables.
const outerLimit = 8 << 10

// likelyStack is how much of a stack is copied mostly: the stacks of workers are seldom
// deeper. Room for more is reserved, and the kernel gives memory for it when it is needed.
const likelyStack = 8 << 10

// blindLimit is the same as stackLimit for a stack that was not mapped yet when the mappings
// were read.
const blindLimit = 8 << 10

// redZone is what a function may use below the stack pointer (System V ABI,
// x86-64).
const redZone = 128

// movers tells of how many threads that wait one is expected to have moved before
// all are stopped: there is room for its stack.
const movers = 16

// spareThreads are the threads that may appear between counting and stopping
// and still have room for their stacks.
const spareThreads = 16

// stopped runs f while all threads are stopped, and counts the stop.
func (p *Process) stopped(ctx context.Context, pause *Pause, f func(*tracer) error) error {
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-ctx.Done():
		return fmt.Errorf("stop process %d: %w", p.pid, ctx.Err())
	}
	return p.trace(func(t *tracer) error {
		defer func() {
			threads := t.count()
			t.letGo()
			if threads > 0 {
				pause.add(threads, time.Since(t.start))
			}
		}()
		if err := t.stop(ctx); err != nil {
			return err
		}
		return f(t)
	})
}

// trace runs f in a tracer of the process: that of its guard if it has one.
func (p *Process) trace(f func(*tracer) error) error {
	var err error
	again := func() {}
	there := func(t *tracer) error {
		again = sync.OnceFunc(func() { err = f(t) })
		contained(again)
		return nil
	}
	run := func() error { return trace(p.pid, p.arch, there) }
	if p.guard != nil {
		run = func() error { return p.guard.trace(p.pid, there) }
	}
	if e := run(); e != nil {
		return e
	}
	again() // panics if f did
	return err
}

// contained runs f, whose panic is for the goroutine that asked for f, and may know what to
// do about it; it has it as f is of package sync's Once functions. A fault of a mapped file
// is a panic.
func contained(f func()) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() { _ = recover() }()
	f()
}

// capture stops all threads and copies their registers, the ends of their
// stacks and what is wanted.
func (p *Process) capture(ctx context.Context, w wanted, pause *Pause) ([]copied, []thread, error) {
	c, err := p.newCopy(w)
	if err != nil {
		return nil, nil, err
	}
	mappings, _ := p.layout()
	var threads []thread
	err = p.stopped(ctx, pause, func(t *tracer) error {
		threads = t.threads(p)
		c.read(p.mem, mappings, threads)
		c.follow(p.mem, mappings, threads)
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	return c.parts(), threads, nil
}

// wanted is what an answer is known to read.
type wanted struct {
	blocks blockSet
	stacks map[uint64]uint64 // stack pointers of the threads whose stacks it read
}

// rehearsed adds what r read of the running process, with the stacks of threads that
// wait: those are probably still there when it is stopped.
func (w *wanted) rehearsed(r *reader, threads []thread) {
	w.add(r.missed)
	for _, t := range threads {
		if t.err == nil {
			w.stacks[t.lwp] = t.regs.SP()
		}
	}
}

func (w *wanted) add(blocks blockSet) {
	for base, b := range blocks {
		w.blocks[base] |= b
	}
}

// missed adds what r read and the copies did not have, and the rest of those
// pages: of threads that run, the next answer will read something close by.
func (w *wanted) missed(r *reader) {
	for base := range r.missed {
		w.blocks[base] = 1<<blocksOfPage - 1
	}
}

// memoryCopy is a plan of what to copy, and the room for it.
type memoryCopy struct {
	stacks map[uint64]uint64 // those that are in known as long as the thread is there
	known  copied            // what is wanted
	moved  copied            // the stacks of other threads

	pointed  []byte   // room for what the other threads point to
	followed []copied // that
}

// newCopy plans to copy what is wanted, and makes room for stacks.
func (p *Process) newCopy(w wanted) (*memoryCopy, error) {
	st, err := readStatus(p.pid)
	if err != nil {
		return nil, p.refused(err)
	}
	c := &memoryCopy{stacks: w.stacks}
	c.known.spans = w.blocks.spans()
	n := size(c.known.spans)
	stacks := max(0, st.threads-len(w.stacks)) + len(w.stacks)/movers + spareThreads
	c.moved.spans = make([]span, 0, 2*(st.threads+spareThreads))
	unknown := max(0, st.threads-len(w.stacks))
	behind := uint64(min(unknown*pointedOfThread, maxPointed)) * blockSize
	moved := min(uint64(stacks)*(stackLimit+outerLimit+blockSize), maxSnapshot/4)
	buf, err := p.room(n+behind+moved, n+behind+min(uint64(stacks)*likelyStack, moved))
	if err != nil {
		return nil, err
	}
	c.known.buf, c.pointed, c.moved.buf = buf[:n:n], buf[n:n+behind:n+behind], buf[n+behind:]
	return c, nil
}

// room is memory for a copy of n bytes, of which the first likely ones will be needed, in
// place of that for the last one.
func (p *Process) room(n, likely uint64) ([]byte, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.memory.Give(p.copied)
	p.copied = 0
	if err := p.memory.Take("the copy of the process's memory", n); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrTooBig, err)
	}
	p.copied = n
	return buffer(n, likely)
}

// read copies what is planned, and the stacks of threads whose stack pointer is
// known and is not where it was expected, as far as there is room.
func (c *memoryCopy) read(mem *remote, list []mapping, threads []thread) {
	c.known.gather(mem)
	room := uint64(len(c.moved.buf))
	for i := range threads {
		sp := threads[i].regs.SP()
		if threads[i].err != nil || c.stacks[threads[i].lwp] == sp {
			continue
		}
		for _, s := range [...]span{stackOf(list, sp), outerStack(list, sp)} {
			if n := s.size(); n > 0 && n <= room {
				c.moved.spans, room = append(c.moved.spans, s), room-n
			}
		}
	}
	c.moved.spans = merge(c.moved.spans)
	c.moved.absent = mem.gather(c.moved.spans, c.moved.buf)
}

// gather fills the copy. The program stands still, so that another processor is free to
// copy the second half of much.
func (c *copied) gather(mem *remote) {
	var i int
	half := uint64(0)
	for half < uint64(len(c.buf))/2 {
		half += c.spans[i].size()
		i++
	}
	if len(c.buf) < worthSplitting || i == len(c.spans) {
		c.absent = mem.gather(c.spans, c.buf)
		return
	}
	var second []uint64
	var wg sync.WaitGroup
	wg.Go(func() { second = mem.gather(c.spans[i:], c.buf[half:]) })
	c.absent = mem.gather(c.spans[:i], c.buf[:half])
	wg.Wait()
	c.absent = append(c.absent, second...)
}

// worthSplitting is how many bytes take longer to copy than it takes to wake another
// thread of this process: some 50 microseconds.
const worthSplitting = 256 << 10

// merge sorts spans and joins those that touch. It does that in place.
func merge(spans []span) []span {
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.low, b.low) })
	out := spans[:0]
	for _, s := range spans {
		if n := len(out); n > 0 && out[n-1].high >= s.low {
			out[n-1].high = max(out[n-1].high, s.high)
		} else {
			out = append(out, s)
		}
	}
	return out
}

// stackOf is the inner part of the stack with stack pointer sp, which is copied.
func stackOf(list []mapping, sp uint64) span {
	end := sp + blindLimit
	if m := mappingAt(list, sp); m != nil {
		end = min(sp+stackLimit, m.High.Offset)
	}
	s := span{(sp - redZone) &^ (blockSize - 1), end &^ (blockSize - 1)}
	if s.low > s.high { // no address
		return span{}
	}
	return s
}

// outerStack is the part of that stack's other end that stackOf leaves out; it is empty if
// that is not known.
func outerStack(list []mapping, sp uint64) span {
	m := mappingAt(list, sp)
	if m == nil {
		return span{}
	}
	inner := stackOf(list, sp)
	return span{max(inner.high, m.High.Offset-min(outerLimit, m.High.Sub(m.Low))), m.High.Offset}
}

// parts are what was copied; what is wanted comes first.
func (c *memoryCopy) parts() []copied {
	parts := append([]copied{c.known, c.moved}, c.followed...)
	for i := range parts {
		parts[i].place()
	}
	return parts
}

// captureTwice copies registers as far as they are known, stacks and what is
// wanted two times while the threads run. A thread that ran in between has an error in
// place of its registers.
func (p *Process) captureTwice(w wanted) (a, b []copied, threads []thread, err error) {
	first, err := p.newCopy(w)
	if err != nil {
		return nil, nil, nil, err
	}
	second, err := p.newCopy(w)
	if err != nil {
		return nil, nil, nil, err
	}
	before, err := p.peekSettled(nil)
	if err != nil {
		return nil, nil, nil, err
	}
	mappings, _ := p.layout()
	first.read(p.mem, mappings, before)
	second.read(p.mem, mappings, before)
	threads, err = p.peekSettled(before)
	return first.parts(), second.parts(), threads, err
}

// threads are the threads that are stopped, in the order of their birth.
func (t *tracer) threads(p *Process) []thread {
	list := t.room
	t.room = nil
	pointers := sync.OnceValue(func() map[int]uint64 { return p.threadPointers(len(t.tasks)) })
	for _, k := range t.tasks {
		var asleepThread thread
		if k.state == asleep {
			asleepThread = t.peek(p, k)
		}
		switch k.state {
		case stopped:
			regs, err := k.registers(t.arch)
			one := thread{lwp: uint64(k.tid), regs: regs, err: err}
			if p.vectors.Load() && err == nil && regs.Syscall < 0 {
				one.vectors = t.vectorRegisters(k)
			}
			list = append(list, one)
		case asleep:
			asleepThread.regs.ThreadPointer = pointers()[p.insideID(k.tid)]
			list = append(list, asleepThread)
		}
	}
	return list
}

// peek reads the registers of a thread in uninterruptible sleep, as far as /proc has them. A
// thread that woke up meanwhile has none there: it stops as soon as it gets a processor, which
// is waited for as for any other thread.
func (t *tracer) peek(p *Process, k *task) thread {
	for begin := time.Now(); ; time.Sleep(firstNap) {
		th := p.peekThread(k.tid, 0)
		limit := deepSleep
		if errors.Is(th.err, ErrRunning) {
			limit = stopTime
		}
		if th.err == nil || t.look(k) || time.Since(begin) > limit {
			return th
		}
	}
}
