package inspect

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/arch"
	"github.com/ompd-inspect/ompd-inspect/internal/libc"
	"github.com/ompd-inspect/ompd-inspect/picture"
	"github.com/ompd-inspect/ompd-inspect/rtl"
	"github.com/ompd-inspect/ompd-inspect/unwind"
)

// Trace notes where the threads of picture p are, which this Inspector made.
func (in *Inspector) Trace(p *picture.Picture) *picture.Trace {
	t := &picture.Trace{
		Threads: map[int]picture.ThreadTrace{}, Regions: map[picture.ID]bool{}, Tasks: map[picture.TaskTrace]bool{},
	}
	for i := range p.Threads {
		if th := &p.Threads[i]; th.LWP != 0 && in.roster.byLWP[th.LWP] != nil {
			t.Threads[th.LWP] = in.tracer.thread(th, in.roster.byLWP[th.LWP])
		}
	}
	for _, r := range p.Regions {
		t.Regions[r.ID] = true
	}
	for _, k := range p.Tasks {
		task := picture.TaskTrace{ID: k.ID, Parent: k.Parent}
		if k.Function != nil && k.Function.Address != nil {
			task.Function = *k.Function.Address
		}
		t.Tasks[task] = true
	}
	return t
}

// tracer finds where threads are, to compare with another time.
type tracer struct {
	roster *roster
	code   *codeNames
	stacks *stacks
	waits  *nativeWaits
}

// thread is where n is, of which the picture says t.
func (tr *tracer) thread(t *picture.Thread, n *native) picture.ThreadTrace {
	p := picture.ThreadTrace{Role: t.Role, Hidden: t.Hidden, Region: t.Region, Task: t.Task, Stack: tr.ownStack(n)}
	if t.State != nil {
		p.State = cmp.Or(t.State.Standard, t.State.Name) // what it calls in turn is one state
	}
	st := tr.stacks.stackOf(n)
	p.Inside = t.Role == picture.RoleIdle || t.Hidden || slices.Contains(st.kinds[:st.topSegment()], kindRuntime)
	regs := tr.roster.registers(n)
	p.Known = regs != nil
	p.Outside = regs != nil && tr.outside(n, regs)
	if at := tr.mpiCaller(n); at >= 0 && regs != nil && !p.Inside {
		// MPI polls: what it calls meanwhile is no progress, until it returns.
		p.Stack, p.Timed = tr.ownStackFrom(st, at), true
		p.Registers = ownRegisters(st.registersOf(at)) + tr.frameMemory(st, at)
	} else if regs != nil && !p.Inside {
		p.Registers = ownRegisters(*regs)
		w, ok := tr.waits.nativeWait(n)
		switch {
		case ok && w.timed:
			p.Timed, p.Registers = true, ownRegisters(st.caller())
		case arch.Sleeps(regs), arch.Restarts(regs) && tr.sleeps(st):
			p.Timed, p.Registers = true, ownRegisters(st.caller())+tr.callerMemory(st)
		}
	}
	if n.rt != nil {
		if r, ok := n.rt.Runtime.(rtl.ProgressReader); ok {
			counters, _ := r.Progress(n.h) // a thread without counters has its stack
			for _, c := range counters {
				p.Counters = append(p.Counters, picture.Counter(c))
			}
		}
	}
	return p
}

// sleeps reports whether the program has called a function that lets time pass.
func (tr *tracer) sleeps(st *stack) bool {
	i := slices.Index(st.kinds, kindUser)
	if i < 1 {
		return false
	}
	name, _ := tr.stacks.calledFunction(st, i)
	return rtl.LetsTimePass(name)
}

// mpiCaller is the number of the frame of n that called the routine of MPI in which n waits,
// -1 if it waits in none.
func (tr *tracer) mpiCaller(n *native) int {
	w, known := tr.waits.nativeWait(n)
	if !known || w.Kind != picture.WaitMPI {
		return -1
	}
	return slices.IndexFunc(tr.stacks.stackOf(n).frames, func(f unwind.Frame) bool {
		return f.Module != nil && !libc.IsSystem(f.Module.Path) && !rtl.OpaqueModule(filepath.Base(f.Module.Path))
	})
}

// outside reports whether n waits for what another process may do. The end of a thread is a
// matter of its own process, though the kernel tells it by a word that processes share.
func (tr *tracer) outside(n *native, regs *callbacks.Registers) bool {
	w, known := tr.waits.nativeWait(n)
	switch {
	case known && w.Kind == picture.WaitMPI:
		return true
	case known && w.Kind == picture.WaitJoin:
		return false
	}
	if futex, waits := arch.IsFutexWait(regs); waits && !tr.waits.spins.shared(futex.Offset) {
		return false
	}
	return arch.EndsOutside(regs)
}

// caller are the registers of the innermost frame of the program's code, as far as they are
// known: what a loop keeps from one turn to the next, though it calls the C library in each.
func (st *stack) caller() callbacks.Registers {
	i := slices.Index(st.kinds, kindUser)
	if i < 0 {
		return callbacks.Registers{}
	}
	return st.registersOf(i)
}

// registersOf are the registers of frame i, as far as they are known.
func (st *stack) registersOf(i int) callbacks.Registers {
	known := st.frames[i].Registers
	out := callbacks.Registers{Arch: known.Arch, Syscall: -1}
	for n, v := range known.Values {
		if known.Valid>>n&1 != 0 {
			out.Set(n, v)
		}
	}
	return out
}

// maxFrame bounds what is read of one frame, in bytes: a page has the variables of loops.
const maxFrame = 4 << 10

// callerMemory is what the innermost frame of the program's code has in memory. A loop that
// sleeps in each turn may do something in between, and count there how far it is; one that
// waits for something, with a time limit, is not told by that from one that gets on, as the
// limit is in memory, too.
func (tr *tracer) callerMemory(st *stack) string {
	return tr.frameMemory(st, slices.Index(st.kinds, kindUser))
}

// frameMemory is what frame i has in memory.
func (tr *tracer) frameMemory(st *stack, i int) string {
	if i < 1 || st.frames[i-1].CFA == 0 || st.frames[i].CFA < st.frames[i-1].CFA {
		return ""
	}
	low := st.frames[i-1].CFA
	b := make([]byte, min(st.frames[i].CFA-low, maxFrame))
	if err := tr.waits.target.ReadMemory(callbacks.At(low), b); err != nil {
		return ""
	}
	return fmt.Sprintf("%x", sha256.Sum256(b))
}

// ownStack names the program's frames on a thread's stack: each by its function,
// and but for the innermost also by its call, unless that is one into the C library.
func (tr *tracer) ownStack(n *native) string {
	return tr.ownStackFrom(tr.stacks.stackOf(n), 0)
}

// ownStackFrom is ownStack from frame number from on.
func (tr *tracer) ownStackFrom(st *stack, from int) string {
	var b strings.Builder
	for i, f := range st.frames {
		if st.kinds[i] != kindUser || i < from {
			continue
		}
		pc := f.PC
		if !slices.ContainsFunc(st.kinds[:i], frameKind.inside) {
			pc = tr.code.functionEntry(f)
		}
		fmt.Fprintf(&b, "%x ", pc)
	}
	return b.String()
}

// ownRegisters are the registers that differ when code that loops has got on: all
// but the program counter, and what a system call destroys.
func ownRegisters(r callbacks.Registers) string {
	pc := r
	pc.SetPC(0)
	if r.Syscall >= 0 {
		const rax, rcx, r11 = 0, 2, 11
		if r.Arch == callbacks.ArchX86_64 {
			for _, n := range []int{rax, rcx, r11} {
				pc.Set(n, 0)
			}
		} else {
			pc.Set(0, 0)
		}
	}
	return fmt.Sprint(pc.Values, pc.SyscallArgs)
}
