package inspect

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/code/arch"
	"github.com/ompd-inspect/ompd-inspect/internal/code/spin"
	"github.com/ompd-inspect/ompd-inspect/internal/image/libc"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/stacks"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/unwind"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// Trace notes where the threads of picture p are, which this Inspector made.
func (in *Inspector) Trace(p *picture.Picture) *picture.Trace {
	t := &picture.Trace{
		Threads: map[int]picture.ThreadTrace{}, Regions: map[picture.ID]bool{}, Tasks: map[picture.TaskTrace]bool{},
		Handled: in.tracer.reach.hasHandlers(), Posted: in.tracer.reach.handlerMayPost(),
	}
	var threads []traced
	for i := range p.Threads {
		if th := &p.Threads[i]; th.LWP != 0 && in.roster.byLWP[th.LWP] != nil {
			threads = append(threads, in.tracer.find(th, in.roster.byLWP[th.LWP]))
		}
	}
	words := wordsOf(threads)
	for i := range threads {
		t.Threads[threads[i].picture.LWP] = in.tracer.thread(&threads[i], words)
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
	code   *stacks.Code
	waits  *nativeWaits
	reach  *reach
	states *states

	followed int // waits that the runtime counts, and whose code was followed
}

// maxFollowed bounds the waits at barriers, and for tasks, whose code is followed: 3 ms of processor time each. That
// these are waits shows from what the runtime counts, too.
const maxFollowed = 64

// traced is a thread whose trace is made.
type traced struct {
	picture *picture.Thread
	n       *native
	inside  bool       // of a runtime
	spins   *spin.Loop // in which it only waits for memory to change
	writes  *spin.Loop // which changes the same words without end
}

// find finds the loop that a thread is in.
func (tr *tracer) find(t *picture.Thread, n *native) traced {
	st := n.Stack()
	idle := t.Role == picture.RoleIdle || t.Hidden
	out := traced{picture: t, n: n, inside: idle || slices.Contains(st.Kinds[:st.RuntimeFrames()], stacks.KindRuntime)}
	w, _ := tr.waits.nativeWait(n)
	switch loop := tr.waits.spins.loops[n]; {
	case idle:
	case out.inside:
		if t.State == nil || !t.State.Name.Waits() {
			break
		}
		if t.State.Name.Counted() && !tr.roster.asleep(n.LWP) {
			tr.followed++
		}
		if tr.followed <= maxFollowed || !t.State.Name.Counted() {
			out.spins = tr.waits.spins.inRuntime(n)
		}
	case w.Kind == picture.WaitFlag || w.Kind == picture.WaitNothing:
		out.spins = loop
	default:
		out.writes = loop
	}
	return out
}

// thread returns where a thread is.
func (tr *tracer) thread(x *traced, words loopWords) picture.ThreadTrace {
	t, n := x.picture, x.n
	p := picture.ThreadTrace{
		Role: t.Role, Hidden: t.Hidden, Region: t.Region, Task: t.Task, Stack: tr.ownStack(n), Inside: x.inside,
	}
	if t.State != nil {
		p.State = cmp.Or(t.State.Standard, t.State.Name) // what it calls in turn is one state
	}
	if regs := n.Registers(); regs != nil {
		p.Known = true
		p.Outside = tr.outside(n, regs)
		p.Sleeps, p.Woken = tr.asleep(n, regs)
		p.Blocked = arch.InCall(regs)
		p.Lock = tr.lockText(t, n)
		tr.place(&p, x, regs, words)
	} else if v, ok := tr.roster.target.(callbacks.VectorReader); ok {
		_, _ = v.VectorRegisters(callbacks.LWP(uint64(n.LWP))) // the stop that follows is to copy them
	}
	if n.rt != nil {
		if r, ok := n.rt.Runtime.(rtl.ProgressReader); ok {
			counters, _ := r.Progress(n.h) // a thread without counters has its stack
			for _, c := range counters {
				p.Counters = append(p.Counters, picture.Counter(c))
			}
		}
	}
	p.Counters = append(p.Counters, iterations(t.Loop)...)
	return p
}

// iterations counts what is left of a loop, and where the thread is in it.
func iterations(l *picture.Loop) (out []picture.Counter) {
	if l == nil {
		return nil
	}
	if l.Left != nil {
		out = append(out, picture.Counter{Name: "iterations left", Value: *l.Left})
	}
	if l.From != nil {
		out = append(out, picture.Counter{Name: "iterations", Value: uint64(*l.From)})
	}
	return out
}

// place fills in what shows whether the code of a thread has made progress.
//
// What a thread waits for with a time limit keeps the limit in memory, and MPI polls: neither is progress.
func (tr *tracer) place(p *picture.ThreadTrace, x *traced, regs *callbacks.Registers, words loopWords) {
	n, st := x.n, x.n.Stack()
	user := max(slices.Index(st.Kinds, stacks.KindUser), 0)
	mpi := tr.mpiCaller(n)
	w, waits := tr.waits.nativeWait(n)
	if x.spins != nil {
		in := user
		if !p.Inside {
			in = tr.frameOf(st, x.spins.PC, user)
		}
		if p.Spins = tr.spinTrace(st, in, x.spins, words); p.Spins != nil {
			user = in
			p.Outside = p.Outside || p.Spins.Shared
		}
	}
	switch {
	case p.Spins != nil:
		p.Stack = tr.ownStackFrom(st, user)
		if p.Timed = !p.Inside && tr.sleeps(st); p.Timed { // it may count its turns
			p.Registers = tr.callerText(st, user, words)
		}
	case p.Inside:
		if p.Role != picture.RoleIdle && !p.Hidden {
			p.Registers = tr.callerText(st, user, words)
		}
	case mpi >= 0:
		// MPI polls: what it calls meanwhile is no progress, until it returns.
		user = mpi
		p.Stack, p.Timed = tr.ownStackFrom(st, mpi), true
		p.Registers = tr.callerText(st, mpi, words)
	case arch.Sleeps(regs), arch.Restarts(regs) && tr.sleeps(st):
		p.Timed, p.Registers = true, tr.callerText(st, user, words)
	case waits && w.timed, arch.Restarts(regs), arch.HasLimit(regs): // the time limit is in memory, too
		p.Timed, p.Registers = true, tr.callerRegisters(st, user)
	case regs.Syscall >= 0 && len(st.Kinds) > 0 && st.Kinds[0] == stacks.KindSystem:
		// What the C library leaves on the stack says nothing.
		p.Registers = tr.callerText(st, user, words)
	default:
		p.Registers = ownRegisters(*regs) + tr.vectors(n) + tr.frameWords(st, user, regs.SP()-redZone, words.written)
		if x.writes != nil {
			p.Written = tr.values(x.writes.Written)
		}
	}
	p.Frames = tr.outerWords(st, user, words)
}

// sleeps reports whether the program has called a function that lets time pass.
func (tr *tracer) sleeps(st *stacks.Stack) bool {
	i := slices.Index(st.Kinds, stacks.KindUser)
	if i < 1 {
		return false
	}
	name, _ := st.CalledFunction(i)
	return rtl.LetsTimePass(name)
}

// mpiCaller is the number of the frame of n that called the routine of MPI in which n waits,
// -1 if it waits in none.
func (tr *tracer) mpiCaller(n *native) int {
	w, known := tr.waits.nativeWait(n)
	if !known || w.Kind != picture.WaitMPI {
		return -1
	}
	return slices.IndexFunc(n.Stack().Frames, func(f unwind.Frame) bool {
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

// ownStack names the program's frames on a thread's stack: each by its function,
// and but for the innermost also by its call, unless that is one into the C library.
func (tr *tracer) ownStack(n *native) string {
	return tr.ownStackFrom(n.Stack(), 0)
}

// ownStackFrom is ownStack from frame number from on.
func (tr *tracer) ownStackFrom(st *stacks.Stack, from int) string {
	var b strings.Builder
	for i, f := range st.Frames {
		if st.Kinds[i] != stacks.KindUser || i < from {
			continue
		}
		pc := f.PC
		if !slices.ContainsFunc(st.Kinds[:i], stacks.Kind.InProcess) {
			pc = tr.code.FunctionEntry(f)
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
