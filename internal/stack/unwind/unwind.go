// Package unwind finds the native stacks of threads from the unwind tables of their modules
// (.eh_frame, .debug_frame), without symbols or debug information.
//
// Tables come from the module's file, or without a file from the target's memory. Without a table,
// the stack is continued by signal frames that are recognised by their code, by frame pointers, and
// by return addresses that follow a call; Frame.How marks such frames.
package unwind

import (
	"cmp"
	"errors"
	"slices"
	"sync"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/guard/budget"
)

// MaxFrames bounds the depth of a stack, whatever the caller requests: an endless recursion that
// filled an 8 MB stack is cut.
const MaxFrames = 1 << 14

// maxSignals bounds the signal frames of one stack. They may lead to any address, so a damaged
// stack could loop through them.
const maxSignals = 64

// maxRows bounds the cache of rules, at about 200 bytes each. A process has fewer relevant program
// counters than this even over hours.
const maxRows = 1 << 16

// Reasons why a stack ends before its outermost frame. Test with errors.Is.
var (
	// ErrNoUnwindInfo means that no table covers the program counter and that no plausible caller was found.
	ErrNoUnwindInfo = errors.New("no unwind information, and no plausible return address")
	// ErrNotGrowing means that the next frame would be below the previous one: the stack is
	// damaged, or the table is wrong.
	ErrNotGrowing = errors.New("stack does not grow towards its base")
	// ErrTooDeep means that the stack has more frames than requested.
	ErrTooDeep = errors.New("the stack is deeper than it is followed: its outermost frames are missing")
	// ErrDamaged means that a table has impossible content.
	ErrDamaged = errors.New("damaged unwind information")
	// ErrUnsupported means that a table uses a feature that this package does not implement.
	ErrUnsupported = errors.New("unsupported unwind information")
)

// How is the way by which a frame was found.
type How uint8

// The ways of finding a frame.
const (
	HowRegisters    How = iota // the registers of the thread: the innermost frame
	HowEHFrame                 // .eh_frame of the frame before it
	HowDebugFrame              // .debug_frame of the frame before it
	HowSignal                  // the registers that the kernel saved for a signal
	HowFramePointer            // guessed: the frame pointer of the frame before it
	HowLeaf                    // guessed: a return address on top of the stack
	HowGo                      // the Go runtime's own table, or the code of its functions that move stacks
	HowCode                    // the code of a function without table: its start, or from the return address to its end
	HowScan                    // guessed: the nearest word of the stack that may be the caller of code without tables
)

var howNames = [...]string{"registers", "eh_frame", "debug_frame", "signal", "frame pointer", "leaf", "gopclntab",
	"code", "stack scan"}

// String returns the name of the way, as the tool prints it.
func (h How) String() string {
	if int(h) < len(howNames) {
		return howNames[h]
	}
	return "unknown"
}

// Guessed reports whether the frame is inferred, not read from a table.
func (h How) Guessed() bool { return h == HowFramePointer || h == HowLeaf || h == HowScan }

// Frame is one native stack frame.
type Frame struct {
	// PC is the current, interrupted or next instruction (Exact), or the return address into this
	// frame.
	PC uint64
	// CFA is the frame's canonical address: the value of the stack pointer before the call that
	// made the frame. It is 0 if unknown.
	CFA uint64
	// Registers are the registers of this frame: the thread's, then as restored from frame to
	// frame. Registers that a call may change are unknown in the caller.
	Registers callbacks.Registers
	// Exact means that PC does not follow a call: the frame is the innermost one, or was
	// interrupted by a signal, or is a signal trampoline or the entry of a coroutine.
	Exact bool
	// Signal means that this is the kernel's trampoline, to which a signal handler returns; the
	// next frame is the interrupted one.
	Signal bool
	// Outermost means that by the tables, this frame has no caller. A stack that ends with another
	// frame may lack its outer part.
	Outermost bool
	// Module is the module that contains PC, or nil.
	Module *callbacks.Module
	// How is the way by which the frame was found.
	How How
	// Go means that PC is in code of a Go function.
	Go bool
	// Goroutine is the number of the goroutine that owns the frame's stack; 0 on a thread's own stack, or if it
	// cannot be read.
	Goroutine uint64
}

// LookupPC returns the address to look up for function and line: PC, or for a return address the byte before it,
// which belongs to the call.
func (f Frame) LookupPC() uint64 { return lookupPC(f.PC, f.Exact) }

func lookupPC(pc uint64, exact bool) uint64 {
	if exact || pc == 0 {
		return pc
	}
	return pc - 1
}

// Unwinder finds stacks in one target. It is safe for concurrent use. It caches the tables of
// modules and the rules of program counters.
type Unwinder struct {
	mem  callbacks.Memory
	own  *sharedMemory // mem, for the modules
	arch callbacks.Arch
	mods []*module // ascending by address

	mu     sync.RWMutex
	rows   map[uint64]*row   // by lookup address
	bounds map[uint64]bounds // results of FunctionBounds
}

// bounds is the range of a function.
type bounds struct {
	low, high uint64
	ok        bool
}

// sharedMemory is the memory of the target, which Retarget replaces.
type sharedMemory struct{ callbacks.Memory }

// Retarget continues with another memory of the same process, whose modules are the same. Nothing else may use u
// meanwhile.
func (u *Unwinder) Retarget(mem callbacks.Memory) *Unwinder {
	u.mem, u.own.Memory = mem, mem
	return u
}

// WithMemory charges the memory made from the modules' files to l, and stops where l refuses it. Call
// it before the first stack.
func (u *Unwinder) WithMemory(l callbacks.Ledger) *Unwinder {
	for _, m := range u.mods {
		m.memory = budget.LedgerOf(l)
	}
	return u
}

// New returns an unwinder for a target with memory mem and modules mods. Modules are opened at
// their first use.
func New(mem callbacks.Memory, a callbacks.Arch, mods []*callbacks.Module) *Unwinder {
	u := &Unwinder{
		mem: mem, own: &sharedMemory{mem}, arch: a, rows: map[uint64]*row{}, bounds: map[uint64]bounds{},
	}
	for _, m := range mods {
		u.mods = append(u.mods, &module{Module: m, mem: u.own})
	}
	slices.SortStableFunc(u.mods, func(a, b *module) int { return cmp.Compare(a.Low.Offset, b.Low.Offset) })
	return u
}

// Stack returns the frames of a thread with registers regs, innermost first, at most max (MaxFrames
// if max is not positive). If the stack could not be followed to its outermost frame, Stack returns
// the frames found so far and an error with the reason.
func (u *Unwinder) Stack(regs callbacks.Registers, max int) ([]Frame, error) {
	if max <= 0 || max > MaxFrames {
		max = MaxFrames
	}
	w := newWalk(u, regs)
	defer w.release()
	for more := true; more; {
		if len(w.frames) == max {
			return slices.Clone(w.frames), ErrTooDeep
		}
		w.frames = append(w.frames, Frame{})
		var err error
		if more, err = w.step(&w.frames[len(w.frames)-1]); err != nil {
			return slices.Clone(w.frames), err
		}
	}
	return slices.Clone(w.frames), nil
}

// FunctionBounds returns the range [low, high) of the function, or the part of a function, that the unwind
// tables describe around pc.
func (u *Unwinder) FunctionBounds(pc uint64) (low, high uint64, ok bool) {
	u.mu.RLock()
	b, known := u.bounds[pc]
	u.mu.RUnlock()
	if known {
		return b.low, b.high, b.ok
	}
	if m := u.moduleAt(pc); m != nil {
		if f, _, err := m.findFDE(pc - m.Bias); err == nil {
			b = bounds{f.low + m.Bias, f.high + m.Bias, true}
		}
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.bounds) >= maxRows {
		clear(u.bounds)
	}
	u.bounds[pc] = b
	return b.low, b.high, b.ok
}

// moduleAt returns the module that contains pc, or nil.
func (u *Unwinder) moduleAt(pc uint64) *module {
	i, found := slices.BinarySearchFunc(u.mods, pc,
		func(m *module, pc uint64) int { return cmp.Compare(m.Low.Offset, pc) })
	if !found {
		i--
	}
	if i < 0 || !u.mods[i].Contains(callbacks.Addr(pc)) {
		return nil
	}
	return u.mods[i]
}

// rowAt returns the rules at lookup address pc, from the cache if possible. It never returns nil; the
// rules of an address without table have no kind.
func (u *Unwinder) rowAt(pc uint64) *row {
	u.mu.RLock()
	r := u.rows[pc]
	u.mu.RUnlock()
	if r != nil {
		return r
	}
	r = u.newRow(pc)
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.rows) >= maxRows {
		clear(u.rows)
	}
	u.rows[pc] = r
	return r
}

func (u *Unwinder) newRow(pc uint64) *row {
	m := u.moduleAt(pc)
	if m == nil {
		return &row{err: ErrNoUnwindInfo}
	}
	if r := m.goRow(pc, u.arch); r != nil {
		return r
	}
	f, how, err := m.findFDE(pc - m.Bias)
	if err != nil {
		return &row{module: m.Module, err: err}
	}
	r, err := f.makeRow(pc-m.Bias, u.arch)
	if err != nil {
		return &row{module: m.Module, err: err}
	}
	r.module, r.how, r.low, r.high = m.Module, how, f.low+m.Bias, f.high+m.Bias
	return r
}
