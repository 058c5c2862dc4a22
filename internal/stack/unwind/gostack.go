package unwind

import (
	"sync"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/code/arch"
	"github.com/ompd-inspect/ompd-inspect/internal/image/elfx"
	"github.com/ompd-inspect/ompd-inspect/internal/image/gocode"
)

// role is what a Go function does to the stack.
type role uint8

const (
	roleCall   role = iota // what calls do
	roleMove               // it goes to another stack: its code up to its end tells which
	roleBase               // nothing called it
	roleParked             // it called the scheduler, for a goroutine that does not run
)

// roles are the functions of Go's runtime that do more than calls do.
var roles = map[string]role{
	"runtime.asmcgocall": roleMove, "runtime.systemstack": roleMove, goCallback: roleMove, goFromC: roleMove,
	"runtime.goexit": roleBase, "runtime.rt0_go": roleBase, "runtime.clone": roleBase, "runtime.morestack": roleBase,
	"runtime.mcall": roleParked,
}

// goCallback goes from a thread's stack to that of the goroutine which the thread
// runs, for a call from C; goFromC is where such calls arrive.
const (
	goCallback = "runtime.cgocallback"
	goFromC    = "crosscall2"
)

// goFunc is what is known of a Go function.
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
		return // most have none; what remains of a damaged one is .debug_frame
	}
	m.goCode = t
	m.goInfo = sync.OnceValue(func() *gocode.Runtime {
		r, err := t.Runtime(callbacks.ArchX86_64, m.mem, m.Bias)
		if err != nil {
			return nil
		}
		return &r
	})
}

// goTable has the Go functions of the module; nil if it has none.
func (m *module) goTable() *gocode.Table {
	m.load.Do(m.open)
	return m.goCode
}

// goFunc is the Go function that has code address pc.
func (m *module) goFunc(pc uint64) (gocode.Func, bool) {
	t := m.goTable()
	if t == nil {
		return gocode.Func{}, false
	}
	return t.Func(pc - m.Bias)
}

// goRow returns the rules of a Go function; nil if pc is in none.
//
// On x86-64 the caller's frame pointer lies under the return address, in every
// function that has a frame. Other registers are never kept for a caller.
func (m *module) goRow(pc uint64, a callbacks.Arch) *row {
	f, ok := m.goFunc(pc)
	if !ok || a != callbacks.ArchX86_64 {
		return nil
	}
	depth, ok := f.Depth(pc - m.Bias)
	if !ok || depth%8 != 0 {
		return nil
	}
	r := &row{
		module: m.Module, how: HowGo, low: f.Low + m.Bias, high: f.High + m.Bias,
		cfa:  rule{kind: ruleRegister, reg: callbacks.X86RSP, offset: int64(depth) + 8},
		ra:   rule{kind: ruleOffset, offset: -8},
		gofn: &goFunc{roles[f.Name], f.Name, depth, m},
	}
	if depth > 0 {
		r.regs = []regRule{{callbacks.X86RBP, rule{kind: ruleOffset, offset: -16}}}
	}
	return r
}

// GoFunction names the Go function that has code address pc, and its source line;
// it is not ok for other code. Inlined functions are not told apart.
func (u *Unwinder) GoFunction(pc uint64) (name, file string, line int, ok bool) {
	m := u.module(pc)
	if m == nil {
		return "", "", 0, false
	}
	f, ok := m.goFunc(pc)
	if !ok {
		return "", "", 0, false
	}
	file, line, _ = f.Line(pc - m.Bias)
	return f.Name, file, line, true
}

// HasGo reports whether the module that has code address pc has Go code.
func (u *Unwinder) HasGo(pc uint64) bool {
	m := u.module(pc)
	return m != nil && m.goTable() != nil
}

// enterGo notes what is known of a frame of a Go function. A thread whose innermost
// frame is one may run a goroutine, on its stack.
func (w *walk) enterGo(f *Frame, r *row) {
	f.Go = true
	if info := r.gofn.m.goInfo(); info != nil && w.depth == 1 && f.Registers.ThreadPointer != 0 {
		if g, ok := w.word(f.Registers.ThreadPointer + info.TLS); ok {
			w.goroutine = w.number(g, info)
		}
	}
}

// word reads a word of the target.
func (w *walk) word(addr uint64) (uint64, bool) {
	var p [8]byte
	err := w.mem.ReadMemory(callbacks.At(addr), p[:])
	return callbacks.Word(p[:]), err == nil
}

// number is the number of goroutine g; 0 if it is a thread's own stack, or cannot be
// read.
func (w *walk) number(g uint64, info *gocode.Runtime) uint64 {
	if !info.HasID || g == 0 {
		return 0
	}
	id, _ := w.word(g + info.ID)
	return id
}

// moveStack goes to the caller of a function that has moved to another stack.
func (w *walk) moveStack(f *Frame, r *row) (more bool, err error) {
	switch r.gofn.role {
	case roleParked:
		if w.parked(f, r.gofn) {
			f.CFA = f.Registers.SP()
			return true, w.elsewhere()
		}
		f.Outermost = true
		return false, nil
	case roleBase:
		f.Outermost = true
		return false, nil
	}
	m := arch.Machine{Regs: f.Registers, Mem: w.mem, Stores: w.stores}
	if f.Exact || !m.Return() {
		return w.follow(f, r)
	}
	w.stores, w.regs = m.Stores, m.Regs
	f.CFA = m.Regs.SP()
	if m.ThreadWord != 0 {
		w.goroutine = 0
		if info := r.gofn.m.goInfo(); info != nil {
			g, _ := m.Load(m.ThreadWord, 8)
			w.goroutine = w.number(g, info)
		}
	}
	return true, w.elsewhere()
}

// elsewhere notes that the next frame may lie on another stack.
func (w *walk) elsewhere() error {
	err := w.moved(0, true, HowGo) // as signals do
	w.exact = false
	return err
}

// codeReturns follows the code of a function without table from the return address
// to its end, where that only takes back what its beginning put on the stack.
func (w *walk) codeReturns(f *Frame) bool {
	if f.Exact {
		return false
	}
	m := arch.Machine{Regs: f.Registers, Mem: w.mem}
	if !m.Return() || len(m.Stores) > 0 || m.Calls > 0 {
		return false
	}
	if _, ok := arch.CallBefore(w.arch, w.mem, m.Regs.PC()); !ok {
		return false
	}
	w.regs, f.CFA = m.Regs, m.Regs.SP()
	return true
}

// parked goes on at the goroutine that called the scheduler on this thread, if it is
// still this thread's: it runs a call from C. Any other goroutine may go on
// elsewhere. A thread parks a goroutine on the stack of its own, whose g is not told
// by the frame, but the function was given the goroutine in the word that the stack
// pointer points to.
func (w *walk) parked(f *Frame, fn *goFunc) bool {
	info := fn.m.goInfo()
	tp, sp := f.Registers.ThreadPointer, f.Registers.SP()
	if info == nil || tp == 0 || f.Exact {
		return false
	}
	g, ok := w.word(sp)
	if !ok || !w.callsBack(g, sp+8, info) {
		return false
	}
	own, ok := w.word(tp + info.TLS)
	m, known := w.word(own + info.M)
	if !ok || !known {
		return false
	}
	w.stores = []arch.Store{
		{Address: tp + info.TLS, Size: 8, Value: g, Known: true},
		{Address: g + info.M, Size: 8, Value: m, Known: true},
	}
	w.resume(g, info)
	w.goroutine = w.number(g, info)
	return true
}

// resume sets the registers to where goroutine g goes on.
func (w *walk) resume(g uint64, info *gocode.Runtime) {
	regs := callbacks.Registers{Arch: w.arch, ThreadPointer: w.regs.ThreadPointer, Syscall: -1}
	for _, r := range []struct {
		n   int
		off uint64
	}{{callbacks.X86RIP, info.SchedPC}, {callbacks.X86RSP, info.SchedSP}, {callbacks.X86RBP, info.SchedBP}} {
		if v, ok := w.word(g + r.off); ok {
			regs.Set(r.n, v)
		}
	}
	w.regs = regs
}

// maxParked bounds the frames of a parked goroutine up to the call from C.
const maxParked = 512

// callsBack reports whether goroutine g runs a call from C that came in on the stack
// at sp: what the call was given is the same on both sides.
func (w *walk) callsBack(g, sp uint64, info *gocode.Runtime) bool {
	pc, ok := w.word(g + info.SchedPC)
	at, known := w.word(g + info.SchedSP)
	for range maxParked {
		r := w.row(lookupPC(pc, false))
		if !ok || !known || r.err != nil || r.gofn == nil {
			return false
		}
		if r.gofn.name == goCallback {
			return w.sameWords(at, sp+r.gofn.depth+8) && w.arrives(sp+r.gofn.depth)
		}
		if r.gofn.role != roleCall {
			return false
		}
		at += r.gofn.depth + 8
		pc, ok = w.word(at - 8)
	}
	return false
}

// arrives reports whether the return address at addr is where calls from C arrive.
func (w *walk) arrives(addr uint64) bool {
	pc, ok := w.word(addr)
	r := w.row(lookupPC(pc, false))
	return ok && r.gofn != nil && r.gofn.name == goFromC
}

// sameWords compares the arguments of a call from C: function, frame and context.
func (w *walk) sameWords(a, b uint64) bool {
	for i := range uint64(3) {
		x, ok := w.word(a + 8*i)
		y, known := w.word(b + 8*i)
		if !ok || !known || x != y {
			return false
		}
	}
	return true
}
