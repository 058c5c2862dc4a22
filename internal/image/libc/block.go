package libc

import (
	"fmt"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// ThreadAt returns the thread with addr in its control block.
func (l *Library) ThreadAt(addr uint64) (Thread, bool) {
	i, found := slices.BinarySearchFunc(l.threads, addr, func(t Thread, a uint64) int {
		switch {
		case t.Pthread < a:
			return -1
		case t.Pthread > a:
			return 1
		}
		return 0
	})
	if !found {
		i--
	}
	if i < 0 || l.threads[i].Pthread == 0 || addr-l.threads[i].Pthread >= blockSize {
		return Thread{}, false
	}
	return l.threads[i], true
}

// BlockEnd returns an address above the control block of a thread, for a search for the end of its
// stack.
func BlockEnd(pthread uint64) uint64 { return pthread + blockSize }

// Zeroed reports whether the memory of a thread's control block was lost: it reads as zeros instead of
// containing its own address, or links to a list.
func (l *Library) Zeroed(pthread uint64) bool {
	layout, err := l.blocks()
	if err != nil || pthread == 0 {
		return false
	}
	r, at := l.read(), pthread
	if layout.self == 0 {
		at += layout.list
	}
	return r.word(at) == 0 && r.err == nil
}

// ThreadID returns the C library's number of a thread: in a container, or where the target counts
// in another way, it differs from the target's.
func (l *Library) ThreadID(pthread uint64) (uint64, error) {
	r, layout, err := l.block(pthread)
	if err != nil {
		return 0, err
	}
	tid := r.number(pthread+layout.tid, 4)
	if r.err != nil {
		return 0, fmt.Errorf("tid of the thread control block at %#x: %w", pthread, r.err)
	}
	return tid, nil
}

// block checks that a thread control block is at addr, by its pointers to itself, or by those of its neighbours in a
// list if it has none.
func (l *Library) block(addr uint64) (*reader, blockLayout, error) {
	layout, err := l.blocks()
	if err != nil {
		return nil, layout, err
	}
	r := l.read()
	if layout.self == 0 {
		return r, layout, r.checkLinks(addr, layout)
	}
	first, self := r.word(addr), r.word(addr+layout.self)
	switch {
	case r.err != nil:
		return nil, layout, fmt.Errorf("thread control block at %#x: %w", addr, r.err)
	case first != addr || self != addr:
		return nil, layout, fmt.Errorf("no thread control block is at %#x: it would lie at %#x and %#x", addr, first,
			self)
	}
	return r, layout, nil
}

// listed checks that the thread control block at addr is in a list of the C library.
func (l *Library) listed(addr uint64) error {
	r, layout, err := l.block(addr)
	if err != nil || layout.self == 0 { // then block has checked the links
		return err
	}
	return r.checkLinks(addr, layout)
}

// checkLinks checks that the neighbours of the thread control block at addr in a list link back to it.
func (r *reader) checkLinks(addr uint64, layout blockLayout) error {
	node := addr + layout.list
	next, previous := r.word(node), r.word(node+8)
	back, forth := r.word(next+8), r.word(previous)
	switch {
	case r.err != nil:
		return fmt.Errorf("list of the thread control block at %#x: %w", addr, r.err)
	case back != node || forth != node:
		return fmt.Errorf("thread control block at %#x: its neighbours in the list lead to %#x and %#x", addr, back,
			forth)
	}
	return nil
}

// Stack is a stack that the C library made, or that of the process.
type Stack struct {
	Thread    Thread // zero if its thread has ended
	Block     uint64 // thread control block above its frames; 0 for the stack of the process
	base      uint64 // start of its guard
	Low, High uint64 // range for frames: [Low, High)
}

// Ended reports whether the thread of a stack has ended.
func (s Stack) Ended() bool { return s.Thread == Thread{} }

// Contains reports whether an address is in the memory of the stack.
func (s Stack) Contains(addr uint64) bool { return s.base <= addr && addr < s.High }

// OwnStack returns the stack of an existing thread, if it is known.
func (l *Library) OwnStack(lwp uint64) (Stack, bool) {
	for _, s := range l.liveStacks() {
		if s.Thread.LWP == lwp {
			return s, true
		}
	}
	return Stack{}, false
}

// StackAt finds the stack, in mapping m, that contains addr: of an existing thread, or of one that has ended.
// The error explains why the stack is unknown.
func (l *Library) StackAt(m *callbacks.Mapping, addr uint64) (Stack, error) {
	above := m.High.Offset // the start of the next stack above addr, or the end of the mapping
	for _, s := range l.liveStacks() {
		if s.Low <= addr && addr < s.High {
			return s, nil
		}
		if s.base > addr {
			above = min(above, s.base)
		}
	}
	layout, err := l.blocks()
	if err != nil {
		return Stack{}, err
	}
	for a := (above - 1) &^ (layout.align - 1); a > addr && a > above-min(blockRoom, above); a -= layout.align {
		if l.listed(a) != nil {
			continue
		}
		return l.endedStack(a, addr)
	}
	return Stack{}, fmt.Errorf("no thread control block is above %#x", addr)
}

// endedStack returns the stack of a thread that has ended, with its control block at block, if it contains
// addr.
func (l *Library) endedStack(block, addr uint64) (Stack, error) {
	s, err := l.stackOf(block)
	if err != nil {
		return Stack{}, err
	}
	i := slices.IndexFunc(l.threads, func(t Thread) bool { // no two blocks are close to each other
		return t.Pthread == 0 || t.Pthread-block+blockSize < 2*blockSize
	})
	tid, err := l.ThreadID(block)
	switch {
	case err != nil:
		return Stack{}, err
	case addr < s.Low:
		return Stack{}, fmt.Errorf("%#x is below the stack of the thread control block at %#x", addr, block)
	case i >= 0 && l.threads[i].Pthread == 0:
		return Stack{}, fmt.Errorf("the thread control block at %#x may be that of LWP %d", block, l.threads[i].LWP)
	case i >= 0:
		return Stack{}, fmt.Errorf("the thread control block at %#x is that of LWP %d", block, l.threads[i].LWP)
	case int32(tid) > 0: // 0: it has ended, -1: it was joined, too
		return Stack{}, fmt.Errorf("the thread control block at %#x is that of a thread with the number %d", block, tid)
	}
	return s, nil
}

// liveStacks returns the known stacks of existing threads.
func (l *Library) liveStacks() []Stack {
	if l.stacks != nil {
		return l.stacks
	}
	l.stacks = []Stack{}
	for _, t := range l.threads {
		if t.LWP == 0 || t.Pthread == 0 {
			continue
		}
		find := l.stackOf
		if t.LWP == l.pid {
			find = l.processStack
		}
		if s, err := find(t.Pthread); err == nil {
			s.Thread = t
			l.stacks = append(l.stacks, s)
		}
	}
	return l.stacks
}

// processStack returns the initial stack of the process: the mapping with the end that the loader recorded.
func (l *Library) processStack(uint64) (Stack, error) {
	at, err := l.target.Symbol("__libc_stack_end", "")
	if err != nil {
		return Stack{}, fmt.Errorf("stack of the process: %w", err)
	}
	r := l.read()
	end := r.word(at.Offset)
	if r.err != nil {
		return Stack{}, fmt.Errorf("__libc_stack_end: %w", r.err)
	}
	m := l.usable(end)
	if m == nil {
		return Stack{}, fmt.Errorf("__libc_stack_end is %#x, where nothing is mapped", end)
	}
	return Stack{base: m.Low.Offset, Low: m.Low.Offset, High: end}, nil
}

// stackOf returns the stack of the thread with its control block at block. The block contains the start of its
// stack, its size, and the size of its guard, in sequence, at an offset that differs between versions of glibc:
// the three matching words are searched.
func (l *Library) stackOf(block uint64) (Stack, error) {
	if _, err := l.blocks(); err != nil {
		return Stack{}, err
	}
	r := l.read()
	ws := r.words(block, block+8*blockWords)
	if r.err != nil {
		return Stack{}, fmt.Errorf("thread control block at %#x: %w", block, r.err)
	}
	for i := 0; i+2 < len(ws); i++ {
		if base, size, guard := ws[i], ws[i+1], ws[i+2]; holdsBlock(block, base, size, guard) {
			return Stack{Block: block, base: base, Low: base + guard, High: block}, nil
		}
	}
	return Stack{}, fmt.Errorf("thread control block at %#x: no words in it fit a stack that it is in", block)
}

// holdsBlock reports whether three words can be the start of a stack with a control block at its upper end, its size,
// and the size of its guard. The size may contain a part of a page: runtimes add one for each thread.
func holdsBlock(block, base, size, guard uint64) bool {
	end := base + size
	return base != 0 && base%stackPage == 0 && size%sizeAlign == 0 && guard%stackPage == 0 && guard < size &&
		base < block && block < end && end-block <= blockRoom
}
