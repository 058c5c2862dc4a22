package live

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

// stackLimit is how much of a thread's stack is copied unasked, from the stack
// pointer on: the frames of the runtime and some of the program's. Those that
// wait in the runtime have less than a page.
const stackLimit = 32 << 10

// knownLimit is the same for a stack that was read before, with the stack
// pointer where it is now: what was read then is copied in any case.
const knownLimit = 4 << 10

// blindLimit is the same for a stack that was not mapped yet when the mappings
// were read.
const blindLimit = 8 << 10

// redZone is what a function may use below the stack pointer (System V ABI,
// x86-64).
const redZone = 128

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
	return trace(p.pid, p.arch, func(t *tracer) error {
		defer func() {
			threads := t.count()
			t.detach()
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

// capture stops all threads and copies their registers, the ends of their
// stacks and what is wanted.
func (p *Process) capture(ctx context.Context, w wanted, pause *Pause) (snapshot, []thread, error) {
	c, err := p.newCopy(w)
	if err != nil {
		return nil, nil, err
	}
	mappings, _ := p.layout()
	var threads []thread
	err = p.stopped(ctx, pause, func(t *tracer) error {
		threads = t.threads(p)
		c.addStacks(mappings, threads)
		c.read(p.mem)
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	return c.snapshot(), threads, nil
}

// wanted is what an answer is known to read.
type wanted struct {
	blocks blockSet
	stacks map[uint64]uint64 // stack pointers of the threads whose stacks it read
}

// missedSize is the size of the piece of memory that is copied from then on
// when one of its blocks was missed in a copy: of threads that run, the next
// answer will read something close by.
const missedSize = 4 * blockSize

// rehearsed adds what r read of the running process.
func (w *wanted) rehearsed(r *reader, threads []thread) {
	maps.Copy(w.blocks, r.missed)
	for _, t := range threads {
		if t.err == nil {
			w.stacks[t.lwp] = t.regs.SP()
		}
	}
}

// missed adds what r read and the copies did not have.
func (w *wanted) missed(r *reader) {
	for a := range r.missed {
		for n := uint64(0); n < missedSize; n += blockSize {
			w.blocks[a&^(missedSize-1)+n] = struct{}{}
		}
	}
}

// memoryCopy is a plan of what to copy, and the room for it.
type memoryCopy struct {
	wanted
	spans  []span // ascending, without overlap
	buf    []byte
	absent []uint64
}

// newCopy plans to copy what is wanted, and makes room for stacks.
func (p *Process) newCopy(w wanted) (*memoryCopy, error) {
	st, err := readStatus(p.pid)
	if err != nil {
		return nil, p.refused(err)
	}
	spans := w.blocks.spans()
	stacks := st.threads + spareThreads
	c := &memoryCopy{wanted: w, spans: slices.Grow(spans, stacks)}
	c.buf, err = buffer(size(spans) + min(uint64(stacks)*(stackLimit+blockSize), maxSnapshot/4))
	return c, err
}

// addStacks plans to copy the stacks of threads whose stack pointer is known,
// as far as there is room.
func (c *memoryCopy) addStacks(list []mapping, threads []thread) {
	room := uint64(len(c.buf)) - size(c.spans)
	for i := range threads {
		if threads[i].err != nil {
			continue
		}
		limit := uint64(stackLimit)
		if c.stacks[threads[i].lwp] == threads[i].regs.SP() {
			limit = knownLimit
		}
		s := stackOf(list, threads[i].regs.SP(), limit)
		if n := s.size(); n > 0 && n <= room {
			c.spans, room = append(c.spans, s), room-n
		}
	}
	c.spans = merge(c.spans)
}

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

// stackOf is the part of the stack with stack pointer sp that is copied.
func stackOf(list []mapping, sp, limit uint64) span {
	end := sp + min(limit, blindLimit)
	if m := mappingAt(list, sp); m != nil {
		end = min(sp+limit, m.High.Offset)
	}
	s := span{(sp - redZone) &^ (blockSize - 1), end &^ (blockSize - 1)}
	if s.low > s.high { // no address
		return span{}
	}
	return s
}

// read copies what is planned.
func (c *memoryCopy) read(mem *remote) { c.absent = mem.gather(c.spans, c.buf) }

// snapshot is what was copied.
func (c *memoryCopy) snapshot() snapshot {
	s := make(snapshot, size(c.spans)/blockSize)
	buf := c.buf
	for _, r := range c.spans {
		for a := r.low; a < r.high; a += blockSize {
			s[a], buf = buf[:blockSize:blockSize], buf[blockSize:]
		}
	}
	for _, a := range c.absent {
		s[a] = nil
	}
	return s
}

// captureTwice copies registers as far as they are known, stacks and what is
// wanted two times while the threads run. A thread that ran in between has an error in
// place of its registers.
func (p *Process) captureTwice(w wanted) (a, b snapshot, threads []thread, err error) {
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
	first.addStacks(mappings, before)
	second.addStacks(mappings, before)
	first.read(p.mem)
	second.read(p.mem)
	threads, err = p.peekSettled(before)
	return first.snapshot(), second.snapshot(), threads, err
}

// threads are the threads that are stopped, in the order of their birth.
func (t *tracer) threads(p *Process) []thread {
	list := make([]thread, 0, len(t.tasks))
	pointers := sync.OnceValue(p.threadPointers)
	for _, k := range t.tasks {
		var asleepThread thread
		if k.state == asleep {
			asleepThread = t.peek(p, k)
		}
		switch k.state {
		case stopped:
			regs, err := k.registers(t.arch)
			list = append(list, thread{lwp: uint64(k.tid), regs: regs, err: err})
		case asleep:
			asleepThread.regs.ThreadPointer = pointers()[p.insideID(k.tid)]
			list = append(list, asleepThread)
		}
	}
	return list
}

// peek reads what is known of a thread in uninterruptible sleep. If it has just
// woken up, it stops after all.
func (t *tracer) peek(p *Process, k *task) thread {
	for begin := time.Now(); ; time.Sleep(firstNap) {
		th := p.peekThread(k.tid, 0)
		if th.err == nil || t.look(k) || time.Since(begin) > deepSleep {
			return th
		}
	}
}
