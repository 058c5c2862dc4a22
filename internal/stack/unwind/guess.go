package unwind

import (
	"errors"
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/code/arch"
	"github.com/ompd-inspect/ompd-inspect/internal/code/emulate"
)

const (
	// maxGuessedFrame bounds the distance from the stack pointer to an accepted frame pointer, in
	// bytes. Larger frames exist (big arrays), but a register that happens to point into the stack
	// is more likely.
	maxGuessedFrame = 1 << 20
	// maxLeaf bounds the distance from the start of a function that a call names to an instruction
	// that is assumed to belong to it, in bytes.
	maxLeaf = 1 << 16
)

// isTrampoline reports whether the code at pc is a signal trampoline.
func (w *walk) isTrampoline(pc uint64) bool {
	return pc != 0 && arch.IsSigreturn(w.arch, w.mem, pc)
}

// withoutTable moves to the caller of a frame that no table covers.
func (w *walk) withoutTable(f *Frame, r *row) (more bool, err error) {
	if w.isTrampoline(f.PC) {
		f.Signal, f.Exact = true, true
		return true, w.fromSignalFrame(f)
	}
	if w.depth == 1 && arch.IsNewThread(&f.Registers) { // it has no caller
		f.Outermost = true
		return false, nil
	}
	if w.followCode(f) {
		return true, w.recordStep(f.CFA, false, HowCode)
	}
	strayed := w.exact && !w.isExecutable(f.PC) // a call that changed only the PC
	if w.tryLeaf(f, !strayed) || w.tryEntry(f) || w.tryFramePointer(f) || w.tryLeaf(f, false) {
		return true, w.recordStep(f.CFA, false, w.how)
	}
	if errors.Is(r.err, ErrNoUnwindInfo) {
		return false, r.err
	}
	return false, fmt.Errorf("%w: %w", ErrNoUnwindInfo, r.err)
}

// isExecutable reports whether the target may execute the code at pc. If the target does not report
// permissions, modules count as code and everything else does not.
func (w *walk) isExecutable(pc uint64) bool {
	l, ok := w.mem.(callbacks.MappingLister)
	if !ok {
		return w.moduleAt(pc) != nil
	}
	for _, m := range l.Mappings() {
		if pc >= m.Low.Offset && pc < m.High.Offset {
			return m.Perm&callbacks.PermExec != 0
		}
	}
	return false
}

// fromSignalFrame restores the registers that the kernel saved. f.CFA is the interrupted stack
// pointer.
func (w *walk) fromSignalFrame(f *Frame) error {
	sp := f.Registers.SP()
	for _, s := range arch.SignalFrame(w.arch) {
		v, err := w.stack.read(sp+s.Offset, 8)
		if err != nil {
			return fmt.Errorf("signal frame: %w", err)
		}
		w.regs.Set(s.Register, v)
	}
	f.CFA = w.regs.SP()
	return w.recordStep(f.CFA, true, HowSignal)
}

// tryLeaf assumes that the function has not touched the stack, so that the return address is on top of
// it (or in the link register). If strict is set, the call must be one of that function.
func (w *walk) tryLeaf(f *Frame, strict bool) bool {
	if !f.Exact {
		return false
	}
	sp := f.Registers.SP()
	ret, cfa := uint64(0), sp
	if facts := arch.Of(w.arch); facts.HasLinkRegister() {
		ret, _ = f.Registers.Get(facts.LR)
		ret &^= f.Registers.PACMask
	} else {
		var err error
		if ret, err = w.stack.read(sp, 8); err != nil {
			return false
		}
		cfa += 8
	}
	call, ok := arch.CallBefore(w.arch, w.mem, ret)
	if (!ok || strict && !w.mayReach(call, f.PC)) && !w.linksOutside(f, ret) {
		return false
	}
	w.regs.Valid &^= arch.CallerSaved(w.arch)
	w.regs.SetSP(cfa)
	w.regs.SetPC(ret)
	f.CFA, w.how = cfa, HowLeaf
	return true
}

// tryEntry moves to the caller by the frame that the first instructions of the function make, as hand-written kernels
// have no tables. The return address must follow a call that may be one of the function.
func (w *walk) tryEntry(f *Frame) bool {
	m, pc := w.moduleAt(f.PC), f.PC
	if m == nil {
		return false
	}
	if !f.Exact {
		pc-- // the call may be the last instruction
	}
	entry, ok := m.entryOf(pc - m.Bias)
	if !ok {
		return false
	}
	frame, ok := emulate.ReadEntry(w.arch, w.mem, entry+m.Bias, f.PC)
	if !ok {
		return false
	}
	sp := f.Registers.SP()
	for _, b := range frame.Bases {
		base, known := f.Registers.Get(b.Register)
		cfa := base + b.Offset
		if !known || cfa <= sp || cfa-sp > maxGuessedFrame {
			continue
		}
		ret, err := w.stack.read(cfa-8, 8)
		if err != nil {
			continue
		}
		call, called := arch.CallBefore(w.arch, w.mem, ret)
		if called && (call.Kind == arch.CallRegister || w.mayReach(call, f.PC)) {
			w.leave(f, frame.Saved, cfa, ret)
			return true
		}
	}
	return false
}

// leave sets the registers to those of the caller of a function that saved some of them, given the function's canonical
// frame address and its return address.
func (w *walk) leave(f *Frame, saved []arch.Saved, cfa, ret uint64) {
	w.regs.Valid &^= arch.CallerSaved(w.arch)
	for _, s := range saved {
		if v, err := w.stack.read(cfa-s.Offset, 8); err == nil {
			w.regs.Set(s.Register, v)
		} else {
			w.regs.Unset(s.Register)
		}
	}
	w.regs.SetSP(cfa)
	w.regs.SetPC(ret)
	f.CFA, w.how = cfa, HowCode
}

// linksOutside reports whether the link register leads to another module: a function that has called another
// one has an address of its own there, so this one has called none, and ret is the return address to its caller.
func (w *walk) linksOutside(f *Frame, ret uint64) bool {
	m := w.moduleAt(ret)
	return arch.Of(w.arch).HasLinkRegister() && m != nil && m.Module != f.Module && f.Module != nil &&
		w.isExecutable(ret)
}

// mayReach reports whether call may have reached the function that contains pc.
func (w *walk) mayReach(call arch.Call, pc uint64) bool {
	target := call.Target
	if call.Kind == arch.CallRegister {
		return false
	}
	slot, indirect := target, call.Kind == arch.CallSlot
	if !indirect {
		slot, indirect = arch.PLTSlot(w.arch, w.mem, target)
	}
	if indirect {
		var p [8]byte
		if w.mem.ReadMemory(callbacks.Addr(slot), p[:]) != nil {
			return false
		}
		target = callbacks.Word(p[:])
	}
	return pc >= target && pc-target <= maxLeaf
}

// tryFramePointer moves to the caller by the frame pointer.
func (w *walk) tryFramePointer(f *Frame) bool {
	fp, ok := f.Registers.Get(arch.FramePointer(w.arch))
	low := max(f.Registers.SP(), w.lastCFA)
	if !ok || fp%8 != 0 || fp < low || fp-low > maxGuessedFrame {
		return false
	}
	older, err := w.stack.read(fp, 8)
	if err != nil {
		return false
	}
	ret, err := w.stack.read(fp+8, 8)
	if err != nil || !w.isPlausible(ret&^f.Registers.PACMask) {
		return false
	}
	// Other registers may have been saved anywhere.
	w.regs.Valid = 0
	w.regs.Set(arch.FramePointer(w.arch), older)
	w.regs.SetPC(ret)
	f.CFA = fp + 16
	if !arch.Of(w.arch).HasLinkRegister() { // else locals may be above
		w.regs.SetSP(f.CFA)
	}
	w.how = HowFramePointer
	return true
}

// isPlausible reports whether ret looks like a return address: it follows a call, is the entry of a coroutine or
// a signal trampoline, or is in a module with unreadable code.
func (w *walk) isPlausible(ret uint64) bool {
	if _, ok := arch.CallBefore(w.arch, w.mem, ret); ok || w.isTrampoline(ret) {
		return true
	}
	if r := w.rowAt(ret); r.err == nil && r.low == ret {
		return true
	}
	var p [1]byte
	m := w.moduleAt(ret)
	return m != nil && m.Image == nil && w.mem.ReadMemory(callbacks.Addr(ret), p[:]) != nil
}
