package unwind

import (
	"fmt"
	"sync"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/code/arch"
	"github.com/ompd-inspect/ompd-inspect/internal/code/emulate"
)

// walk is the state of following one stack. Before a step it holds the registers of the next frame.
type walk struct {
	*Unwinder
	stack   stackReader
	frames  []Frame // frames so far; reused by the next walk
	regs    callbacks.Registers
	exact   bool
	how     How
	depth   int
	lastCFA uint64 // of the previous frame; 0 if it sets no limit
	signals int

	stores    []emulate.Store // memory that emulated functions would write
	goroutine uint64          // see Frame
}

// keptFrames is the largest capacity of a list of frames that is reused for the next walk. Usual
// stacks have 5 to 50.
const keptFrames = 128

var walks = sync.Pool{New: func() any { return new(walk) }}

func newWalk(u *Unwinder, regs callbacks.Registers) *walk {
	w := walks.Get().(*walk)
	w.Unwinder, w.regs, w.exact, w.how = u, regs, true, HowRegisters
	w.depth, w.lastCFA, w.signals, w.stores, w.goroutine = 0, 0, 0, nil, 0
	w.stack.reset(u.mem)
	return w
}

func (w *walk) release() {
	w.Unwinder, w.stack.mem = nil, nil
	clear(w.frames) // they point to modules
	if w.frames = w.frames[:0]; cap(w.frames) > keptFrames {
		w.frames = nil
	}
	walks.Put(w)
}

// step completes f, the next frame, and moves to its caller. more reports whether there is one.
func (w *walk) step(f *Frame) (more bool, err error) {
	f.PC, f.Exact, f.How, f.Registers = w.regs.PC(), w.exact, w.how, w.regs
	r := w.nextRow(f.PC)
	f.Module = r.module
	w.depth++
	if r.gofn != nil {
		w.enterGo(f, r)
	}
	f.Goroutine = w.goroutine
	switch {
	case r.gofn != nil && r.gofn.role != roleCall:
		more, err = w.moveStack(f, r)
	case r.err != nil:
		more, err = w.withoutTable(f, r)
	case r.low == f.PC && !f.Exact && !r.signal:
		f.Exact = true // it has no caller: it is the base of a coroutine
	case r.isEmpty() && w.followPrologue(f, r):
		more, err = true, w.recordStep(f.CFA, false, HowCode)
	default:
		more, err = w.followRow(f, r)
	}
	if err != nil {
		return false, fmt.Errorf("frame %d at %#x%s: %w", w.depth-1, f.PC, inModule(f.Module), err)
	}
	return more && w.regs.PC() != 0, nil
}

// nextRow returns the rules for the next frame, which has program counter pc.
func (w *walk) nextRow(pc uint64) *row {
	r := w.rowAt(lookupPC(pc, w.exact))
	if w.exact || r.err == nil && r.high != pc {
		return r
	}
	// Before pc is no code, or another function. Either that function ends with a call that does not return, or
	// pc was constructed: the entry of a coroutine, or a signal trampoline.
	if _, call := arch.CallBefore(w.arch, w.mem, pc); call {
		return r
	}
	if entry := w.rowAt(pc); entry.err == nil && entry.low == pc || w.isTrampoline(pc) {
		return entry
	}
	return r
}

// isEmpty reports whether a table has no rule for a function of aarch64: the return address is in the link register
// and nothing is on the stack. LLVM's runtime has such a table for the function that calls the code of regions.
func (r *row) isEmpty() bool {
	return !r.signal && r.gofn == nil && len(r.regs) == 0 && r.ra.isRegister(callbacks.AArch64LR) &&
		r.cfa.isRegister(callbacks.AArch64SP)
}

// isRegister reports whether a value is that of a register.
func (r *rule) isRegister(n uint8) bool { return r.isBy(int(n)) && r.offset == 0 }

// isBy reports whether a value is at a fixed distance from that of a register.
func (r *rule) isBy(n int) bool {
	return r.kind == ruleRegister && int(r.reg) == n
}

// followPrologue moves to the caller of a function whose table has no rule, by the registers that its prologue saved.
func (w *walk) followPrologue(f *Frame, r *row) bool {
	p, ok := arch.FramePrologue(w.arch, w.mem, r.low, f.PC)
	fp, known := f.Registers.Get(callbacks.AArch64FP)
	if !ok || !known || fp < f.Registers.SP() {
		return false
	}
	saved := f.Registers
	saved.Valid &^= arch.CallerSaved(w.arch)
	for _, s := range p.Saved {
		v, err := w.stack.read(fp+s.Offset, 8)
		if err != nil {
			return false
		}
		saved.Set(s.Register, v)
	}
	ret, ok := saved.Get(callbacks.AArch64LR)
	if ret &^= f.Registers.PACMask; !ok || !w.isPlausible(ret) {
		return false
	}
	f.CFA = fp + p.Size
	w.regs = saved
	w.regs.SetSP(f.CFA)
	w.regs.SetPC(ret)
	return true
}

func inModule(m *callbacks.Module) string {
	if m == nil {
		return ""
	}
	return " in " + m.Path
}

// followRow moves to the caller by the rules of r.
func (w *walk) followRow(f *Frame, r *row) (more bool, err error) {
	cfa, err := w.computeCFA(&r.cfa, &f.Registers)
	if err != nil {
		var ok bool
		if cfa, ok = w.cfaByRecord(f, r); !ok {
			return false, err
		}
	}
	f.CFA, f.Signal, f.Exact = cfa, r.signal, f.Exact || r.signal
	if r.ra.kind == ruleUndefined {
		f.Outermost = true
		return false, nil
	}
	pc, err := w.computeRegister(&r.ra, &f.Registers, cfa)
	if err != nil {
		return false, fmt.Errorf("return address: %w", err)
	}
	if !r.signal {
		w.regs.Valid &^= arch.CallerSaved(w.arch)
	}
	w.regs.SetSP(cfa)
	for i := range r.regs {
		u := &r.regs[i]
		if u.kind == ruleSame {
			w.regs.Values[u.reg], w.regs.Valid = f.Registers.Values[u.reg], w.regs.Valid|f.Registers.Valid&(1<<u.reg)
			continue
		}
		// Unreadable registers are unknown; only the return address is required.
		v, err := w.computeRegister(&u.rule, &f.Registers, cfa)
		if err != nil {
			w.regs.Unset(u.reg)
			continue
		}
		w.regs.Set(u.reg, v)
	}
	if r.signed && w.regs.PACMask == 0 {
		pc &= plainAddress
	}
	w.regs.SetPC(pc)
	how := r.how
	if r.signal {
		how = HowSignal
	}
	return true, w.recordStep(cfa, r.signal, how)
}

// cfaByRecord computes the CFA of a frame whose stack pointer is unknown, because a frame pointer led to it, on an
// architecture with a link register. The function's frame pointer points to its frame record, the saved frame pointer
// and return address, and the table has the distance of these from the CFA.
func (w *walk) cfaByRecord(f *Frame, r *row) (cfa uint64, ok bool) {
	facts := arch.Of(w.arch)
	fp, known := f.Registers.Get(facts.FP)
	if !facts.HasLinkRegister() || f.Exact || !known || fp < w.lastCFA || !r.cfa.isBy(facts.SP) {
		return 0, false
	}
	for i := range r.regs {
		u := &r.regs[i]
		if int(u.reg) != facts.FP || u.kind != ruleOffset || r.ra.kind != ruleOffset ||
			r.ra.offset != u.offset+8 {
			continue
		}
		ret, err := w.stack.read(fp+8, 8)
		return fp - uint64(u.offset), err == nil && w.isPlausible(ret&^f.Registers.PACMask)
	}
	return 0, false
}

// plainAddress is the mask of a 48-bit aarch64 user address, for a signed one when the target does
// not report the mask.
const plainAddress = 1<<48 - 1

// recordStep records how the next frame was found, and checks that the stack grows.
func (w *walk) recordStep(cfa uint64, signal bool, how How) error {
	w.exact, w.how = signal, how
	if signal {
		w.signals++
		if w.signals > maxSignals {
			return fmt.Errorf("%w: more than %d signal frames", ErrNotGrowing, maxSignals)
		}
		w.lastCFA = 0 // the interrupted code may have another stack
		return nil
	}
	if cfa <= w.lastCFA {
		return fmt.Errorf("%w: from %#x to %#x", ErrNotGrowing, w.lastCFA, cfa)
	}
	w.lastCFA = cfa
	return nil
}

// computeCFA computes the CFA of a frame with registers regs.
func (w *walk) computeCFA(r *rule, regs *callbacks.Registers) (uint64, error) {
	switch r.kind {
	case ruleRegister:
		v, ok := regs.Get(int(r.reg))
		if !ok {
			return 0, fmt.Errorf("frame address: register %d is not known", r.reg)
		}
		return v + uint64(r.offset), nil
	case ruleValExpr:
		v, err := evaluate(r.expr, regs, &w.stack, 0, false)
		if err != nil {
			return 0, fmt.Errorf("frame address: %w", err)
		}
		return v, nil
	}
	return 0, fmt.Errorf("%w: no rule for the frame address", ErrDamaged)
}

// computeRegister computes a register of the caller. regs are the registers of the frame.
func (w *walk) computeRegister(r *rule, regs *callbacks.Registers, cfa uint64) (uint64, error) {
	switch r.kind {
	case ruleOffset:
		return w.stack.read(cfa+uint64(r.offset), 8)
	case ruleValOffset:
		return cfa + uint64(r.offset), nil
	case ruleRegister:
		v, ok := regs.Get(int(r.reg))
		if !ok {
			return 0, fmt.Errorf("register %d is not known", r.reg)
		}
		return v, nil
	case ruleExpr:
		addr, err := evaluate(r.expr, regs, &w.stack, cfa, true)
		if err != nil {
			return 0, err
		}
		return w.stack.read(addr, 8)
	case ruleValExpr:
		return evaluate(r.expr, regs, &w.stack, cfa, true)
	}
	return 0, fmt.Errorf("%w: no value", ErrDamaged)
}
