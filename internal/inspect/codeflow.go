package inspect

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/code/flow"
	"github.com/ompd-inspect/ompd-inspect/internal/code/symbolic"
	"github.com/ompd-inspect/ompd-inspect/internal/image/libc"
	"github.com/ompd-inspect/ompd-inspect/internal/lockflow"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/symbolize"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/unwind"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// Functions keeps what the code of functions showed, from one Inspector of a process to the
// next, as long as its modules are the same. The zero value is empty. It is not for
// concurrent use.
type Functions struct {
	program *lockflow.Program
	basis   string // of program
}

// basis names what is known of the runtimes beside the modules: whose code an executable with a
// runtime inside has, and what its calls are called, is known once the runtime was found in it.
func basis(runtimes []*runtimeView) string {
	var out strings.Builder
	for _, rt := range runtimes {
		id := rt.Identity()
		fmt.Fprintf(&out, "%s %p\n", id.Family, id.Module)
		linked, ok := rt.Runtime.(rtl.LinkedReader)
		if !ok {
			continue
		}
		for _, f := range linked.LinkedFunctions() {
			fmt.Fprintf(&out, "%s %x\n", f.Name, f.Address.Offset)
		}
	}
	return out.String()
}

// flows is what the code of the program's functions shows of the threads.
type flows struct {
	roster  *roster
	stacks  *stacks
	program *lockflow.Program
	look    *lockflow.Look
	threads map[*stack]*lockflow.Thread
	holders map[lockflow.Lock][]picture.Holder
	loops   map[loopPlace]loopPoint
}

// newFlows goes on with what is kept in known, which may be nil.
func newFlows(t callbacks.Target, r *roster, code *codeNames, st *stacks, known *Functions, b Budget) *flows {
	if known == nil {
		known = &Functions{}
	}
	cfg := lockflow.Config{Arch: t.Arch(), Mem: t, Code: programCode{code}, Apart: newLinkage(code, r.runtimes).apart}
	if b != nil {
		cfg.Meter = meter{b}
	}
	if now := basis(r.runtimes); known.program == nil || known.basis != now {
		known.program, known.basis = lockflow.NewProgram(cfg), now
	} else {
		known.program.Retarget(cfg)
	}
	f := &flows{
		roster: r, stacks: st, program: known.program,
		threads: map[*stack]*lockflow.Thread{}, holders: map[lockflow.Lock][]picture.Holder{},
		loops: map[loopPlace]loopPoint{},
	}
	f.look = lockflow.NewLook(f.program, f.holding)
	return f
}

// codeUnit is how many bytes of code are as much work as a read of a structure.
const codeUnit = 64

// meter is a budget for work in bytes of code.
type meter struct{ budget Budget }

// Spend counts bytes of code.
func (m meter) Spend(work int) error { return m.budget.Spend((work + codeUnit - 1) / codeUnit) }

// holding lists the threads that may have locks, in the order of the picture.
func (f *flows) holding() []*lockflow.Thread {
	var out []*lockflow.Thread
	for _, n := range f.roster.sorted() {
		if n.lwp != 0 && n.info.Role != picture.RoleIdle {
			out = append(out, f.thread(n))
		}
	}
	return out
}

// thread is the stack of n.
func (f *flows) thread(n *native) *lockflow.Thread {
	t := f.threadOf(f.stacks.stackOf(n))
	t.ID = n.lwp
	return t
}

func (f *flows) threadOf(st *stack) *lockflow.Thread {
	if t := f.threads[st]; t != nil {
		return t
	}
	t := &lockflow.Thread{Whole: f.stacks.whole(st), Frames: make([]lockflow.Frame, len(st.frames))}
	for i := range st.frames {
		fr := &st.frames[i]
		t.Frames[i] = lockflow.Frame{
			PC: fr.PC, Exact: fr.Exact, CFA: fr.CFA, Registers: &fr.Registers, User: st.kinds[i] == kindUser,
		}
	}
	f.threads[st] = t
	return t
}

// flowAt is what is known of the function around pc; nil if its code cannot be read.
func (f *flows) flowAt(pc uint64) *flow.Function { return f.program.FlowAt(pc) }

// point is where frame i of a stack is in its function.
func (f *flows) point(st *stack, i int) flow.Point {
	return f.program.PointOf(f.threadOf(st), i)
}

// flowArgument is integer argument n of the call that frame i makes, found by
// following values through the whole function and its callers.
func (f *flows) flowArgument(st *stack, i, n int) (uint64, bool) {
	return f.program.Argument(f.threadOf(st), i, n)
}

// tailCall is the call by which a function ended that frame i called: its frame is gone.
func (f *flows) tailCall(st *stack, i int) (lockflow.TailCall, bool) {
	return f.program.TailCall(f.threadOf(st), i)
}

// programCode is the code of a target, as package lockflow asks for it.
type programCode struct{ code *codeNames }

// Bounds returns the function around pc.
func (c programCode) Bounds(pc uint64) (low, high uint64, ok bool) {
	if c.code.unw == nil {
		return 0, 0, false
	}
	return c.code.unw.FunctionBounds(pc)
}

// Resolve names the function that begins at addr, or that the pointer at addr leads to.
func (c programCode) Resolve(addr uint64) (symbolic.Target, bool) {
	sym := c.code.sym
	if sym == nil {
		return symbolic.Target{}, false
	}
	if name, ok := sym.SlotSymbol(addr); ok {
		return symbolic.Target{Name: name}, true
	}
	name := entryName(sym, addr)
	return symbolic.Target{Name: name}, name != ""
}

// Lookup finds a function by its name.
func (c programCode) Lookup(name string) (entry uint64, ok bool) {
	if c.code.sym == nil {
		return 0, false
	}
	return c.code.sym.Lookup(name, "")
}

// Class says whose the code at pc is.
func (c programCode) Class(pc uint64) lockflow.Class {
	mod := c.code.moduleOf(pc)
	switch {
	case c.code.owned(pc):
		return lockflow.System
	case mod == nil:
		return lockflow.Unmapped
	case libc.IsLanguage(mod.Path), c.code.kindOf(unwind.Frame{PC: pc, Exact: true, Module: mod}) != kindUser:
		return lockflow.System
	case rtl.OpaqueModule(filepath.Base(mod.Path)):
		return lockflow.Opaque
	}
	return lockflow.User
}

// Extent finds the local variable around an address in a frame.
func (c programCode) Extent(fr flow.Frame, addr uint64) (low, high uint64, ok bool) {
	if c.code.sym == nil {
		return 0, 0, false
	}
	return c.code.sym.Extent(symbolize.Activation{PC: fr.PC, CFA: fr.CFA, Register: fr.Register}, addr)
}

// enteredWith is integer argument n that the function of frame i of a stack was called with.
func (f *flows) enteredWith(st *stack, i, n int) (uint64, bool) {
	return f.program.EnteredWith(f.threadOf(st), i, n)
}
