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

// stackLimit is the part of a thread's stack that is always copied, in bytes from the stack
// pointer: the frames of the runtime and some of the program's. Threads that wait in the runtime
// use less than a page.
const stackLimit = 24 << 10

// outerLimit is the size of the copy of the other end of the stack, in bytes: the outermost frames.
// LLVM's runtime leaves 64 bytes for each thread's number between them and the others, and the
// thread's control block and thread-local variables are below them.
const outerLimit = 8 << 10

// likelyStack is the usual depth of the stacks of workers, in bytes. Address space for more is
// reserved, and the kernel provides memory for it on demand.
const likelyStack = 8 << 10

// blindLimit is stackLimit for a stack that was not mapped yet when the mappings were read.
const blindLimit = 8 << 10

// redZone is the memory below the stack pointer that a function may use, in bytes (System V ABI,
// x86-64).
const redZone = 128

// moversRatio is the ratio of waiting threads to threads that are expected to have moved before all are
// stopped; stacks of the latter have reserved memory.
const moversRatio = 16

// spareThreads is the number of threads that may appear between counting and stopping and still
// have memory for their stacks.
const spareThreads = 16

// runStopped runs f while all threads are stopped, and adds the stop to pause.
func (p *Process) runStopped(ctx context.Context, pause *Pause, f func(*tracer) error) error {
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-ctx.Done():
		return fmt.Errorf("stop process %d: %w", p.pid, ctx.Err())
	}
	return p.trace(func(t *tracer) error {
		defer func() {
			threads := t.countStopped()
			t.resumeAll()
			if threads > 0 {
				pause.addStop(threads, time.Since(t.start))
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
		runContained(again)
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

// runContained runs f and recovers its panic. f is a sync.Once function, so the next call of f, on the
// goroutine that asked for it, panics again. A fault in a mapped file is a panic.
func runContained(f func()) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() { _ = recover() }()
	f()
}

// capture stops all threads and copies their registers, the ends of their stacks and the wanted
// memory. The copies replace those that were made in room before; for a nil room they stay valid.
func (p *Process) capture(ctx context.Context, w wanted, pause *Pause, room *[]byte) ([]copied, []thread, error) {
	c, err := p.newCopy(w, room)
	if err != nil {
		return nil, nil, err
	}
	mappings, _ := p.lastLayout()
	var threads []thread
	err = p.runStopped(ctx, pause, func(t *tracer) error {
		threads = t.stoppedThreads(p)
		c.copyPlanned(p.mem, mappings, threads)
		c.copyPointed(p.mem, mappings, threads)
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	return c.copies(), threads, nil
}

// wanted is the memory that an answer is known to read.
type wanted struct {
	blocks blockSet
	stacks map[uint64]uint64 // stack pointers of threads whose stacks the answer read
}

// addRehearsed adds the memory that r read of the running process, and the stacks of waiting threads: they
// probably still wait when the process is stopped.
func (w *wanted) addRehearsed(r *reader, threads []thread) {
	w.addBlocks(r.missed)
	for _, t := range threads {
		if t.err == nil {
			w.stacks[t.lwp] = t.regs.SP()
		}
	}
}

func (w *wanted) addBlocks(blocks blockSet) {
	for base, b := range blocks {
		w.blocks[base] |= b
	}
}

// addMissed adds the memory that r read and the copies did not have, and the rest of those pages: for
// running threads, the next answer reads nearby memory.
func (w *wanted) addMissed(r *reader) {
	for base := range r.missed {
		w.blocks[base] = 1<<blocksOfPage - 1
	}
}

// memoryCopy is a plan of the memory to copy, and the buffers for it.
type memoryCopy struct {
	stacks map[uint64]uint64 // expected stack pointers; known has these stacks
	known  copied            // the wanted memory
	moved  copied            // the stacks of other threads

	pointed  []byte   // buffer for memory that the other threads point to
	followed []copied // copies in pointed
}

// newCopy plans the copy of the wanted memory, and reserves memory for stacks.
func (p *Process) newCopy(w wanted, room *[]byte) (*memoryCopy, error) {
	st, err := readStatus(p.pid)
	if err != nil {
		return nil, p.explainRefusal(err)
	}
	c := &memoryCopy{stacks: w.stacks}
	c.known.spans = w.blocks.spans()
	n := totalSize(c.known.spans)
	stacks := max(0, st.threads-len(w.stacks)) + len(w.stacks)/moversRatio + spareThreads
	c.moved.spans = make([]span, 0, 2*(st.threads+spareThreads))
	unknown := max(0, st.threads-len(w.stacks))
	behind := uint64(min(unknown*pointedOfThread, maxPointed)) * blockSize
	moved := min(uint64(stacks)*(stackLimit+outerLimit+blockSize), maxSnapshot/4)
	all := n + behind + moved
	var buf []byte
	if room != nil && uint64(cap(*room)) >= all {
		buf = (*room)[:all]
	} else if buf, err = p.reserveRoom(all, n+behind+min(uint64(stacks)*likelyStack, moved)); err != nil {
		return nil, err
	}
	if room != nil {
		*room = buf
	}
	c.known.buf, c.pointed, c.moved.buf = buf[:n:n], buf[n:n+behind:n+behind], buf[n+behind:]
	return c, nil
}

// reserveRoom returns a buffer for a copy of n bytes; the first likely ones will be used. It replaces the
// previous buffer.
func (p *Process) reserveRoom(n, likely uint64) ([]byte, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.memory.Give(p.copied)
	p.copied = 0
	if err := p.memory.Take("the copy of the process's memory", n); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrTooBig, err)
	}
	p.copied = n
	return newBuffer(n, likely)
}

// copyPlanned copies the planned memory and, as far as there is room, the stacks of threads with a known and
// unexpected stack pointer.
func (c *memoryCopy) copyPlanned(mem *remote, list []mapping, threads []thread) {
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

// gather fills the copy. The program is stopped, so another processor is free to copy the second
// half of a large copy.
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

// worthSplitting is the number of bytes for which a copy takes longer than waking another thread of
// this process: about 50 microseconds.
const worthSplitting = 256 << 10

// merge sorts spans in place and joins adjacent ones.
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

// stackOf returns the inner part of the stack with stack pointer sp, which is copied.
func stackOf(list []mapping, sp uint64) span {
	end := sp + blindLimit
	if m := mappingAt(list, sp); m != nil {
		end = min(sp+stackLimit, m.High.Offset)
	}
	s := span{(sp - redZone) &^ (blockSize - 1), end &^ (blockSize - 1)}
	if s.low > s.high { // not an address
		return span{}
	}
	return s
}

// outerStack returns the part of the stack's other end that stackOf leaves out; empty if it is
// unknown.
func outerStack(list []mapping, sp uint64) span {
	m := mappingAt(list, sp)
	if m == nil {
		return span{}
	}
	inner := stackOf(list, sp)
	return span{max(inner.high, m.High.Offset-min(outerLimit, m.High.Sub(m.Low))), m.High.Offset}
}

// copies returns the copies; the wanted memory is first.
func (c *memoryCopy) copies() []copied {
	parts := append([]copied{c.known, c.moved}, c.followed...)
	for i := range parts {
		parts[i].setOffsets()
	}
	return parts
}

// captureTwice copies known registers, stacks and the wanted memory twice while the threads run. A
// thread that ran in between has an error instead of registers.
func (p *Process) captureTwice(w wanted) (a, b []copied, threads []thread, err error) {
	first, err := p.newCopy(w, nil)
	if err != nil {
		return nil, nil, nil, err
	}
	second, err := p.newCopy(w, nil)
	if err != nil {
		return nil, nil, nil, err
	}
	before, err := p.peekSettled(nil)
	if err != nil {
		return nil, nil, nil, err
	}
	mappings, _ := p.lastLayout()
	first.copyPlanned(p.mem, mappings, before)
	second.copyPlanned(p.mem, mappings, before)
	threads, err = p.peekSettled(before)
	return first.copies(), second.copies(), threads, err
}

// stoppedThreads returns the stopped threads in the order of creation.
func (t *tracer) stoppedThreads(p *Process) []thread {
	list := t.room
	t.room = nil
	pointers := sync.OnceValue(func() map[int]uint64 { return p.threadPointers(len(t.tasks)) })
	for _, k := range t.tasks {
		var asleepThread thread
		if k.state == asleep {
			asleepThread = t.peekRegisters(p, k)
		}
		switch k.state {
		case stopped:
			regs, err := k.decodeRegisters(t.arch)
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

// peekRegisters reads the registers of a thread in uninterruptible sleep, as far as /proc has them. A thread
// that has just woken up has none there: it stops as soon as it gets a processor, and wait waits
// for it as for any other thread.
func (t *tracer) peekRegisters(p *Process, k *task) thread {
	for begin := time.Now(); ; time.Sleep(firstNap) {
		th := p.peekThread(k.tid, 0)
		limit := deepSleep
		if errors.Is(th.err, ErrRunning) {
			limit = stopTime
		}
		if th.err == nil || t.poll(k) || time.Since(begin) > limit {
			return th
		}
	}
}
