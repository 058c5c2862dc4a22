package unwind

import (
	"sync"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/code/arch"
	"github.com/ompd-inspect/ompd-inspect/internal/code/emulate"
	"github.com/ompd-inspect/ompd-inspect/internal/image/elfx"
	"github.com/ompd-inspect/ompd-inspect/internal/image/gocode"
)

// role is the effect of a Go function on the stack.
type role uint8

const (
	roleCall   role = iota // an ordinary call
	roleMove               // it changes to another stack, which its code up to its end determines
	roleBase               // it has no caller
	roleParked             // it called the scheduler, for a goroutine that does not run
)

// roles holds the functions of Go's runtime that are not ordinary calls.
var roles = map[string]role{
	"runtime.asmcgocall": roleMove, "runtime.systemstack": roleMove, goCallback: roleMove, goFromC: roleMove,
	"runtime.goexit": roleBase, "runtime.rt0_go": roleBase, "runtime.clone": roleBase, "runtime.morestack": roleBase,
	"runtime.mcall": roleParked,
}

// goCallback changes from a thread's stack to that of the thread's goroutine, for a call from C; goFromC is the
// entry of such calls.
const (
	goCallback = "runtime.cgocallback"
	goFromC    = "crosscall2"
)

// goFunc describes a Go function.
type goFunc struct {
	role  role
	name  string
	depth uint64 // bytes from the stack pointer to the return address
	m     *module
}

// openGo finds the Go functions of a module.
func (m *module) openGo(f *elfx.File) {
	t, err := gocode.Open(f, m.Bias, memSource{m.mem, m.Bias}.bytes)
	if err != nil {
		return // most modules have no Go code; for a damaged one, .debug_frame remains
	}
	m.goCode = t
	m.goInfo = sync.OnceValue(func() *gocode.Runtime {
		r, err := t.Runtime(f.Arch(), m.mem, m.Bias)
		if err != nil {
			return nil
		}
		return &r
	})
}

// goTable returns the Go functions of the module; nil without any.
func (m *module) goTable() *gocode.Table {
	m.load.Do(m.open)
	return m.goCode
}

// goFuncAt returns the Go function that contains code address pc.
func (m *module) goFuncAt(pc uint64) (gocode.Func, bool) {
	t := m.goTable()
	if t == nil {
		return gocode.Func{}, false
	}
	return t.Func(pc - m.Bias)
}

// goRow returns the rules of a Go function; nil if pc is in no such function.
//
// The caller's frame pointer is just below the return address, in every function that has a frame. Other registers
// are never preserved for a caller.
func (m *module) goRow(pc uint64, a callbacks.Arch) *row {
	f, ok := m.goFuncAt(pc)
	if !ok {
		return nil
	}
	depth, ok := f.Depth(pc - m.Bias)
	if !ok || depth%8 != 0 {
		return nil
	}
	facts := arch.Of(a)
	ret, cfa := facts.GoFrame(depth)
	below := int64(ret) - int64(cfa)
	r := &row{
		module: m.Module, how: HowGo, low: f.Low + m.Bias, high: f.High + m.Bias,
		cfa:  rule{kind: ruleRegister, reg: uint8(facts.SP), offset: int64(cfa)},
		ra:   rule{kind: ruleOffset, offset: below},
		gofn: &goFunc{roles[f.Name], f.Name, depth, m},
	}
	switch {
	case depth > 0:
		r.regs = []regRule{{facts.FP, rule{kind: ruleOffset, offset: below - 8}}}
	case facts.HasLinkRegister():
		r.ra = rule{kind: ruleRegister, reg: uint8(facts.LR)}
	}
	return r
}

// GoFunction returns the name of the Go function that contains code address pc, and its source
// line; ok is false for other code. It does not resolve inlined functions.
func (u *Unwinder) GoFunction(pc uint64) (name, file string, line int, ok bool) {
	m := u.moduleAt(pc)
	if m == nil {
		return "", "", 0, false
	}
	f, ok := m.goFuncAt(pc)
	if !ok {
		return "", "", 0, false
	}
	file, line, _ = f.Line(pc - m.Bias)
	return f.Name, file, line, true
}

// HasGo reports whether the module that contains code address pc has Go code.
func (u *Unwinder) HasGo(pc uint64) bool {
	m := u.moduleAt(pc)
	return m != nil && m.goTable() != nil
}

// enterGo records the goroutine of a frame of a Go function. A thread with such an innermost frame may run a
// goroutine, on the goroutine's stack.
func (w *walk) enterGo(f *Frame, r *row) {
	f.Go = true
	if info := r.gofn.m.goInfo(); info != nil && w.depth == 1 && f.Registers.ThreadPointer != 0 {
		if g, ok := w.readWord(f.Registers.ThreadPointer + info.TLS); ok {
			w.goroutine = w.goroutineNumber(g, info)
		}
	}
}

// readWord reads a word of the target.
func (w *walk) readWord(addr uint64) (uint64, bool) {
	var p [8]byte
	err := w.mem.ReadMemory(callbacks.Addr(addr), p[:])
	return callbacks.Word(p[:]), err == nil
}

// goroutineNumber returns the number of goroutine g; 0 if g is a thread's own stack, or cannot be read.
func (w *walk) goroutineNumber(g uint64, info *gocode.Runtime) uint64 {
	if !info.HasID || g == 0 {
		return 0
	}
	id, _ := w.readWord(g + info.ID)
	return id
}

// moveStack moves to the caller of a function that has changed to another stack.
func (w *walk) moveStack(f *Frame, r *row) (more bool, err error) {
	switch r.gofn.role {
	case roleParked:
		if w.resumeParked(f, r.gofn) {
			f.CFA = f.Registers.SP()
			return true, w.changeStack()
		}
		f.Outermost = true
		return false, nil
	case roleBase:
		f.Outermost = true
		return false, nil
	}
	m := emulate.Ending{Regs: f.Registers, Mem: w.mem, Stores: w.stores}
	if f.Exact || !m.RunToReturn() {
		return w.followRow(f, r)
	}
	w.stores, w.regs = m.Stores, m.Regs
	f.CFA = m.Regs.SP()
	if m.ThreadWord != 0 {
		w.goroutine = 0
		if info := r.gofn.m.goInfo(); info != nil {
			if g, err := m.Load(emulate.Number(m.ThreadWord), 8); err == nil && g.IsKnown() {
				w.goroutine = w.goroutineNumber(g.V, info)
			}
		}
	}
	return true, w.changeStack()
}

// changeStack records that the next frame may be on another stack.
func (w *walk) changeStack() error {
	err := w.recordStep(0, true, HowGo) // like a signal
	w.exact = false
	return err
}

// followCode emulates the code of a function without table from the return address to its end, if
// it only undoes the stack changes of its start.
func (w *walk) followCode(f *Frame) bool {
	if f.Exact {
		return false
	}
	m := emulate.Ending{Regs: f.Registers, Mem: w.mem}
	if !m.RunToReturn() || len(m.Stores) > 0 || m.Calls > 0 {
		return false
	}
	if _, ok := arch.CallBefore(w.arch, w.mem, m.Regs.PC()); !ok {
		return false
	}
	w.regs, f.CFA = m.Regs, m.Regs.SP()
	return true
}

// resumeParked continues at the goroutine that called the scheduler on this thread, if it still belongs
// to this thread: it runs a call from C. Any other goroutine may continue on another thread. A
// thread parks a goroutine on its own stack. The frame does not name its g, but the argument of the function that it
// calls is the goroutine, for which it has a word on the stack.
func (w *walk) resumeParked(f *Frame, fn *goFunc) bool {
	info := fn.m.goInfo()
	tp, sp := f.Registers.ThreadPointer, f.Registers.SP()
	if info == nil || tp == 0 || f.Exact {
		return false
	}
	args := sp + arch.Of(w.arch).GoStackArgs
	g, ok := w.readWord(args)
	if !ok || !w.callsBack(g, args+8, info) {
		return false
	}
	own, ok := w.readWord(tp + info.TLS)
	m, known := w.readWord(own + info.M)
	if !ok || !known {
		return false
	}
	w.stores = []emulate.Store{
		{Address: tp + info.TLS, Size: 8, Value: g, Known: true},
		{Address: g + info.M, Size: 8, Value: m, Known: true},
	}
	w.loadGoroutine(g, info)
	w.goroutine = w.goroutineNumber(g, info)
	return true
}

// loadGoroutine sets the registers to the point where goroutine g will continue.
func (w *walk) loadGoroutine(g uint64, info *gocode.Runtime) {
	facts := arch.Of(w.arch)
	regs := callbacks.Registers{Arch: w.arch, ThreadPointer: w.regs.ThreadPointer, Syscall: -1}
	for _, r := range []struct {
		n   int
		off uint64
	}{{facts.SP, info.SchedSP}, {facts.FP, info.SchedBP}} {
		if v, ok := w.readWord(g + r.off); ok {
			regs.Set(r.n, v)
		}
	}
	if pc, ok := w.readWord(g + info.SchedPC); ok {
		regs.SetPC(pc)
	}
	regs.Set(facts.GoG, g)
	w.regs = regs
}

// maxParked bounds the frames of a parked goroutine up to the call from C.
const maxParked = 512

// callsBack reports whether goroutine g runs a call from C that arrived on the stack at sp: the
// arguments of the call are equal on both stacks.
func (w *walk) callsBack(g, sp uint64, info *gocode.Runtime) bool {
	facts := arch.Of(w.arch)
	pc, ok := w.readWord(g + info.SchedPC)
	at, known := w.readWord(g + info.SchedSP)
	for range maxParked {
		r := w.rowAt(lookupPC(pc, false))
		if !ok || !known || r.err != nil || r.gofn == nil {
			return false
		}
		ret, cfa := facts.GoFrame(r.gofn.depth)
		if r.gofn.name == goCallback {
			return w.sameWords(at+facts.GoStackArgs, sp+cfa+facts.GoStackArgs) && w.isArrival(sp+ret)
		}
		if r.gofn.role != roleCall {
			return false
		}
		pc, ok = w.readWord(at + ret)
		at += cfa
	}
	return false
}

// isArrival reports whether the return address at addr is the entry of calls from C.
func (w *walk) isArrival(addr uint64) bool {
	pc, ok := w.readWord(addr)
	r := w.rowAt(lookupPC(pc, false))
	return ok && r.gofn != nil && r.gofn.name == goFromC
}

// sameWords compares the arguments of a call from C: function, frame and context.
func (w *walk) sameWords(a, b uint64) bool {
	for i := range uint64(3) {
		x, ok := w.readWord(a + 8*i)
		y, known := w.readWord(b + 8*i)
		if !ok || !known || x != y {
			return false
		}
	}
	return true
}
