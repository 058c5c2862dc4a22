package inspect

import (
	"fmt"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

const (
	// redZone is what code may use below its stack pointer (System V ABI).
	redZone = 128
	// blockRoom is more than glibc's struct pthread, and what it may be aligned
	// by, have bytes. It lies at the upper end of a stack.
	blockRoom = 8192
	// blockAlign is what struct pthread is aligned by at least.
	blockAlign = 64
	// blockWords is how many words of struct pthread are looked at for where its
	// stack lies: it has 2,304 bytes and more.
	blockWords = 280
	stackPage  = 4096
)

// Words of glibc's struct pthread on x86-64: its own address, twice, and its place
// in the list of the stacks that the C library knows, which lies before its tid.
const (
	blockSelf  = 16
	blockStack = x86ThreadID - 16
)

// nativeStack is a stack that the C library made, or that of the process.
type nativeStack struct {
	n    *native // nil if its thread has ended
	base uint64  // lowest address, of its guard
	low  uint64  // lowest address that may be used
	high uint64  // of the thread's block, which lies above all frames
}

// deadStack tells whether addr, in mapping m, lies in a part of a stack that no
// function uses any more: below the stack pointer of its thread, or in the stack of
// a thread that has ended.
func (in *Inspector) deadStack(m *callbacks.Mapping, addr uint64) string {
	above := m.High.Offset // the begin of the next stack above addr, or the end of the mapping
	for _, s := range in.nativeStacks() {
		if s.low <= addr && addr < s.high {
			return in.belowFrames(s, addr)
		}
		if s.base > addr {
			above = min(above, s.base)
		}
	}
	if in.cfg.Target.Arch() != callbacks.ArchX86_64 {
		return ""
	}
	for a := (above - 1) &^ (blockAlign - 1); a > addr && a > above-min(blockRoom, above); a -= blockAlign {
		if !in.isBlock(a) {
			continue
		}
		s, ok := in.stackAt(a)
		if !ok || addr < s.low || slices.ContainsFunc(in.natives, func(n *native) bool { return n.pthread == a || n.pthread == 0 }) {
			return ""
		}
		return fmt.Sprintf("it lies in the stack of a thread that has ended: the block at %v is of none that is there", Hex(a))
	}
	return ""
}

// belowFrames tells whether addr, in stack s, lies below the frames of its thread.
// One that runs elsewhere, as in a signal's handler, tells nothing.
func (in *Inspector) belowFrames(s nativeStack, addr uint64) string {
	regs := in.registers(s.n)
	if regs == nil || regs.SP() < s.low || regs.SP() >= s.high || addr >= regs.SP()-redZone {
		return ""
	}
	st := in.stackOf(s.n)
	for _, f := range st.frames {
		if f.CFA != 0 && f.CFA < regs.SP() {
			return ""
		}
	}
	return fmt.Sprintf("it lies in the stack of LWP %d, %d bytes below its stack pointer: the function that had it there has returned", s.n.lwp, regs.SP()-addr)
}

// nativeStacks lists the stacks of the threads that are known, once.
func (in *Inspector) nativeStacks() []nativeStack {
	if in.stacks != nil {
		return in.stacks
	}
	in.stacks = []nativeStack{}
	for _, n := range in.natives {
		s, ok := nativeStack{}, false
		switch {
		case n.lwp == 0 || n.pthread == 0:
		case n.lwp == in.cfg.About.PID:
			s, ok = in.processStack()
		default:
			s, ok = in.stackAt(n.pthread)
		}
		if s.n = n; ok {
			in.stacks = append(in.stacks, s)
		}
	}
	return in.stacks
}

// processStack is the stack that the process was started with: the mapping with the
// end that the loader noted.
func (in *Inspector) processStack() (nativeStack, bool) {
	at, err := in.cfg.Target.Symbol("__libc_stack_end", "")
	if err != nil {
		return nativeStack{}, false
	}
	end, _ := in.pointer(at.Offset)
	m := usable(in.mappings(), end)
	if m == nil {
		return nativeStack{}, false
	}
	return nativeStack{base: m.Low.Offset, low: m.Low.Offset, high: end}, true
}

// stackAt is the stack of the thread whose struct pthread is at a. That has where its
// stack begins, its size, and the size of its guard, one behind the other, in a place
// that differs between versions of glibc: the three words that fit are it.
func (in *Inspector) stackAt(a uint64) (nativeStack, bool) {
	if in.cfg.Target.Arch() != callbacks.ArchX86_64 {
		return nativeStack{}, false
	}
	ws := in.words(a, a+8*blockWords)
	for i := 0; i+2 < len(ws); i++ {
		base, size, guard := ws[i], ws[i+1], ws[i+2]
		end := base + size
		if base != 0 && base%stackPage == 0 && size%stackPage == 0 && base < a && a < end && end-a <= blockRoom && guard%stackPage == 0 && guard < size {
			return nativeStack{base: base, low: base + guard, high: a}, true
		}
	}
	return nativeStack{}, false
}

// isBlock tells whether a struct pthread is at a, of which the C library still
// knows the stack.
func (in *Inspector) isBlock(a uint64) bool {
	tcb, ok1 := in.pointer(a)
	self, ok2 := in.pointer(a + blockSelf)
	if !ok1 || !ok2 || tcb != a || self != a {
		return false
	}
	next, ok1 := in.pointer(a + blockStack)
	prev, ok2 := in.pointer(a + blockStack + 8)
	back, ok3 := in.pointer(next + 8)
	forth, ok4 := in.pointer(prev)
	return ok1 && ok2 && ok3 && ok4 && back == a+blockStack && forth == a+blockStack
}
