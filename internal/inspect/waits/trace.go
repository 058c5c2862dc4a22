package waits

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/code/arch"
	"github.com/ompd-inspect/ompd-inspect/internal/code/spin"
	"github.com/ompd-inspect/ompd-inspect/internal/image/libc"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/stacks"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/teams"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/unwind"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// Trace returns the places of the threads, regions and tasks of picture p, which is of the same snapshot.
func (wf *Finder) Trace(p *picture.Picture) *picture.Trace {
	t := &picture.Trace{
		Threads: map[int]picture.ThreadTrace{}, Regions: map[picture.ID]bool{}, Tasks: map[picture.TaskTrace]bool{},
		Handled: wf.tracer.reach.hasHandlers(), Posted: wf.tracer.reach.handlerMayPost(),
	}
	var threads []traced
	for i := range p.Threads {
		if th := &p.Threads[i]; th.LWP != 0 && wf.Threads.ByLWP[th.LWP] != nil {
			threads = append(threads, wf.tracer.findLoops(th, wf.Threads.ByLWP[th.LWP]))
		}
	}
	words := wordsOf(threads)
	for i := range threads {
		t.Threads[threads[i].picture.LWP] = wf.tracer.traceThread(&threads[i], words)
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

// tracer finds the places of threads, to compare them with those of another snapshot.
type tracer struct {
	roster *teams.ThreadTable
	code   *stacks.Code
	waits  *nativeWaits
	reach  *reach
	states *teams.States

	followed int // followed waits that the runtime also counts
}

// maxFollowed bounds the waits at barriers, and for tasks, for which code is followed: 3 ms of CPU time each. The
// runtime's counters also show that these are waits.
const maxFollowed = 64

// traced is a thread with its loop.
type traced struct {
	picture *picture.Thread
	n       *teams.Thread
	inside  bool       // the thread is inside a runtime
	spins   *spin.Loop // the loop in which it only waits for memory to change
	writes  *spin.Loop // the loop in which it changes the same words without end
}

// findLoops finds the loop that a thread is in.
func (tr *tracer) findLoops(t *picture.Thread, n *teams.Thread) traced {
	st := n.Stack()
	idle := t.Role == picture.RoleIdle || t.Hidden
	out := traced{picture: t, n: n, inside: idle || slices.Contains(st.Kinds[:st.RuntimeFrames()], stacks.KindRuntime)}
	w, _ := tr.waits.nativeWait(n)
	switch loop := tr.waits.spins.loops[n]; {
	case idle:
	case w.Kind == picture.WaitFlag || w.Kind == picture.WaitNothing:
		// The program's loop may call functions of the runtime that try a lock, or let other tasks run.
		out.spins, out.inside = loop, false
	case out.inside:
		if t.State == nil || !t.State.Name.Waits() {
			break
		}
		if t.State.Name.Counted() && !tr.roster.Asleep(n.LWP) {
			tr.followed++
		}
		if tr.followed <= maxFollowed || !t.State.Name.Counted() {
			out.spins = tr.waits.spins.runtimeLoop(n)
		}
	default:
		out.writes = loop
	}
	return out
}

// traceThread returns the place of a thread.
func (tr *tracer) traceThread(x *traced, words loopWords) picture.ThreadTrace {
	t, n := x.picture, x.n
	p := picture.ThreadTrace{
		Role: t.Role, Hidden: t.Hidden, Region: t.Region, Task: t.Task, Stack: tr.ownStack(n), Inside: x.inside,
	}
	if t.State != nil {
		p.State = cmp.Or(t.State.Standard, t.State.Name) // the states of its calls in turn count as one
		if x.spins != nil && !x.inside {
			p.State = t.State.Name // the runtime may be called in the loop, or not
		}
	}
	if regs := n.Registers(); regs != nil {
		p.Known = true
		p.Outside = tr.waitsForOutside(n, regs)
		p.Sleeps, p.Woken = tr.sleepState(n, regs)
		p.Blocked = arch.InCall(regs)
		p.Lock = tr.lockText(t, n)
		tr.addProgress(&p, x, regs, words)
	} else if v, ok := tr.roster.Target.(callbacks.VectorReader); ok {
		_, _ = v.VectorRegisters(callbacks.LWP(uint64(n.LWP))) // the following stop must copy them
	}
	if n.Runtime != nil {
		if r, ok := n.Runtime.Runtime.(rtl.ProgressReader); ok {
			counters, _ := r.Progress(n.Handle) // a thread without counters is compared by its stack
			for _, c := range counters {
				// LLVM's taskyield counts as a taskwait.
				if p.Spins != nil && !c.Word.IsNull() && x.spins.Writes(c.Word.Offset) {
					continue
				}
				p.Counters = append(p.Counters, picture.Counter{Name: c.Name, Value: c.Value})
			}
		}
	}
	p.Counters = append(p.Counters, iterations(t.Loop)...)
	return p
}

// iterations returns the counters of a loop: the remaining iterations, and the thread's current one.
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

// addProgress sets the values that show whether the code of a thread has made progress.
//
// A wait with a time limit keeps the limit in memory, and MPI polls: neither is progress.
func (tr *tracer) addProgress(p *picture.ThreadTrace, x *traced, regs *callbacks.Registers, words loopWords) {
	n, st := x.n, x.n.Stack()
	own := slices.Index(st.Kinds, stacks.KindUser)
	user := max(own, 0)
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
		if !p.Inside { // it is somewhere in the loop
			p.Stack = fmt.Sprintf("%x ", tr.code.FunctionEntry(st.Frames[user])) + tr.ownStackFrom(st, user+1)
		}
		if p.Timed = !p.Inside && tr.callsSleep(st); p.Timed { // the loop may count its turns
			p.Registers = tr.callerText(st, user, words)
		}
	case p.Inside:
		// Without a frame of the program, the registers are the runtime's: a thread that looks for tasks changes them.
		if p.Role != picture.RoleIdle && !p.Hidden && own >= 0 {
			p.Registers = tr.callerText(st, user, words)
		}
	case mpi >= 0:
		// MPI polls: its calls are no progress until the routine returns.
		user = mpi
		p.Stack, p.Timed = tr.ownStackFrom(st, mpi), true
		p.Polls, p.Copies = true, tr.copies(st, regs, mpi)
		p.Registers = tr.callerText(st, mpi, words)
	case arch.Sleeps(regs), arch.Restarts(regs) && tr.callsSleep(st):
		p.Timed, p.Registers = true, tr.callerText(st, user, words)
	case waits && w.timed, arch.Restarts(regs), arch.HasLimit(regs): // the time limit is in memory, too
		p.Timed, p.Registers = true, tr.callerRegisters(st, user)
	case regs.Syscall >= 0 && len(st.Kinds) > 0 && st.Kinds[0] == stacks.KindSystem:
		// The C library's leftovers on the stack are meaningless.
		p.Registers = tr.callerText(st, user, words)
	default:
		p.Registers = ownRegisters(*regs) + tr.vectorDigest(n) +
			tr.frameWords(st, user, regs.SP()-arch.Of(regs.Arch).RedZone, words.written)
		if x.writes != nil {
			p.Written = tr.wordValues(x.writes.Written)
		}
	}
	p.Frames = tr.outerWords(st, user, words)
}

// callsSleep reports whether the program has called a function that lets time pass.
func (tr *tracer) callsSleep(st *stacks.Stack) bool {
	i := slices.Index(st.Kinds, stacks.KindUser)
	if i < 1 {
		return false
	}
	name, _ := st.CalledFunction(i)
	return rtl.LetsTimePass(name)
}

// copies reports whether a thread copies memory, of its own process or of another one. user is the number of the
// program's frame.
func (tr *tracer) copies(st *stacks.Stack, regs *callbacks.Registers, user int) bool {
	if arch.CopiesMemory(regs) {
		return true
	}
	if len(st.Kinds) == 0 || st.Kinds[0] != stacks.KindSystem {
		return false
	}
	i := slices.IndexFunc(st.Frames[:user], func(f unwind.Frame) bool {
		return f.Module != nil && !libc.IsSystem(f.Module.Path)
	})
	if i < 1 {
		return false
	}
	name, _ := st.CalledFunction(i)
	return rtl.CopiesMemory(name)
}

// mpiCaller returns the number of the frame of n that called the routine of MPI in which n waits, -1 if it waits
// in no such routine.
func (tr *tracer) mpiCaller(n *teams.Thread) int {
	w, known := tr.waits.nativeWait(n)
	if !known || w.Kind != picture.WaitMPI {
		return -1
	}
	return slices.IndexFunc(n.Stack().Frames, func(f unwind.Frame) bool {
		return f.Module != nil && !libc.IsSystem(f.Module.Path) && !rtl.OpaqueModule(filepath.Base(f.Module.Path))
	})
}

// waitsForOutside reports whether n waits for an action of another process. The end of a thread is an event of its
// own process, though the kernel announces it by a word that processes share.
func (tr *tracer) waitsForOutside(n *teams.Thread, regs *callbacks.Registers) bool {
	w, known := tr.waits.nativeWait(n)
	switch {
	case known && w.Kind == picture.WaitMPI:
		return true
	case known && w.Kind == picture.WaitJoin:
		return false
	}
	if futex, waits := arch.IsFutexWait(regs); waits && !tr.waits.spins.isShared(futex.Offset) {
		return false
	}
	return arch.EndsOutside(regs)
}

// ownStack names the program's frames on a thread's stack: each by its function and its call. The innermost frame
// has no call, unless it called into the C library only.
func (tr *tracer) ownStack(n *teams.Thread) string {
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

// ownRegisters returns the registers that differ when code in a loop has made progress: all except the program
// counter, and those that a system call destroys.
func ownRegisters(r callbacks.Registers) string {
	pc := r
	pc.SetPC(0)
	if r.Syscall >= 0 {
		for _, n := range arch.Of(r.Arch).CallChanges {
			pc.Set(n, 0)
		}
	}
	return fmt.Sprint(pc.Values, pc.SyscallArgs)
}

const (
	// maxFrame bounds the bytes that are read of one frame: a page contains the variables of loops.
	maxFrame = 4 << 10
	// maxOuter bounds the compared outer frames of the program: most loops that run for long are in these.
	maxOuter = 4
)

// loopWords are words that the loops of several threads write, or wait for.
type loopWords struct {
	written []spin.Word // by loops that only wait: their changes are no progress
	awaited []spin.Word
}

// wordsOf returns the words of the loops of some threads, each once.
func wordsOf(threads []traced) (out loopWords) {
	type place struct {
		address uint64
		size    uint8
	}
	written, awaited := map[place]bool{}, map[place]bool{}
	add := func(list *[]spin.Word, seen map[place]bool, words []spin.Word) {
		for _, w := range words {
			if at := (place{w.Address, w.Size}); !seen[at] {
				seen[at] = true
				*list = append(*list, w)
			}
		}
	}
	for i := range threads {
		if loop := threads[i].spins; loop != nil {
			add(&out.written, written, loop.Written)
			add(&out.awaited, awaited, loop.Words)
		}
	}
	return out
}

// digestOf returns a short text that differs if the bytes do.
func digestOf(b []byte) string {
	sum := sha256.Sum256(b)
	return fmt.Sprintf(" %x", sum[:16])
}

// frameOf returns the number of the frame of the function around pc, from frame i on; i if it is not found.
func (tr *tracer) frameOf(st *stacks.Stack, pc uint64, i int) int {
	entry := tr.code.FunctionEntry(unwind.Frame{PC: pc, Exact: true})
	for k := i; k < len(st.Frames) && k <= i+maxOuter; k++ {
		if tr.code.FunctionEntry(st.Frames[k]) == entry {
			return k
		}
	}
	return i
}

// spinTrace returns the words that a loop waits for, and the values that the function of frame i, which contains
// it, keeps meanwhile. It is nil if the loop writes a word that another loop waits for.
func (tr *tracer) spinTrace(st *stacks.Stack, i int, loop *spin.Loop, words loopWords) *picture.SpinTrace {
	for _, w := range loop.Written {
		if slices.ContainsFunc(words.awaited, func(o spin.Word) bool { return o.Overlaps(w) }) {
			return nil
		}
	}
	out := &picture.SpinTrace{Awaited: map[uint64]uint64{}, Shared: slices.ContainsFunc(loop.Words,
		func(w spin.Word) bool { return tr.waits.spins.isShared(w.Address) })}
	for _, w := range loop.Words {
		if v, err := layout.ReadUint(tr.waits.target, callbacks.Addr(w.Address), uint64(w.Size)); err == nil {
			out.Awaited[w.Address] = v
		}
	}
	low := uint64(0)
	if i == 0 && !loop.Calls {
		low = st.Frames[0].Registers.SP() - arch.Of(tr.waits.target.Arch()).RedZone
	}
	out.Kept = tr.wordsDigest(st, i, low, words.written, loop.Writes)
	return out
}

// wordValues returns the values of some words.
func (tr *tracer) wordValues(words []spin.Word) (text string) {
	for _, w := range words {
		v, err := layout.ReadUint(tr.waits.target, callbacks.Addr(w.Address), uint64(w.Size))
		if err != nil {
			return text
		}
		text += fmt.Sprintf(" %x", v)
	}
	return text
}

// callerText returns the registers and the words of the program's frame i, which called the code that the thread
// is in.
func (tr *tracer) callerText(st *stacks.Stack, i int, words loopWords) string {
	return tr.callerRegisters(st, i) + tr.frameWords(st, i, 0, words.written)
}

// callerRegisters returns the registers of frame i.
func (tr *tracer) callerRegisters(st *stacks.Stack, i int) string {
	if i >= len(st.Frames) {
		return ""
	}
	return ownRegisters(st.RegistersOf(i))
}

// frameWords returns the words of the frames up to frame i from address low on, or those of frame i if low is 0,
// without some that loops write.
func (tr *tracer) frameWords(st *stacks.Stack, i int, low uint64, written []spin.Word) string {
	return tr.wordsDigest(st, i, low, written, func(uint64) bool { return false })
}

// outerWords returns the words of the program's frames outside of frame i.
func (tr *tracer) outerWords(st *stacks.Stack, i int, words loopWords) (text string) {
	for k, left := i+1, maxOuter; k < len(st.Frames) && left > 0; k++ {
		if st.Kinds[k] == stacks.KindUser {
			text += tr.frameWords(st, k, 0, words.written)
			left--
		}
	}
	return text
}

// wordsDigest is frameWords with a function that reports whether a byte is ignored.
func (tr *tracer) wordsDigest(
	st *stacks.Stack, i int, low uint64, written []spin.Word, skip func(addr uint64) bool,
) string {
	if i >= len(st.Frames) || st.Frames[i].CFA == 0 {
		return ""
	}
	if low == 0 {
		low = st.Frames[i].Registers.SP()
	}
	high := min(st.Frames[i].CFA, low+maxFrame)
	if low == 0 || high <= low {
		return ""
	}
	b := make([]byte, high-low)
	if tr.waits.target.ReadMemory(callbacks.Addr(low), b) != nil {
		return ""
	}
	for k := range b {
		if b[k] != 0 && skip(low+uint64(k)) {
			b[k] = 0
		}
	}
	for _, w := range written {
		for at := max(low, w.Address); at < min(high, w.Address+uint64(w.Size)); at++ {
			b[at-low] = 0
		}
	}
	return digestOf(b)
}

// vectorDigest returns the floating-point and vector registers of a thread, if they are known.
func (tr *tracer) vectorDigest(n *teams.Thread) string {
	b := vectorRegisters(tr.roster.Target, n)
	if b == nil {
		return ""
	}
	return digestOf(b)
}

// vectorRegisters returns the floating-point and vector registers of a thread, nil if they are unknown.
func vectorRegisters(t callbacks.Target, n *teams.Thread) []byte {
	v, ok := t.(callbacks.VectorReader)
	if !ok {
		return nil
	}
	b, err := v.VectorRegisters(callbacks.LWP(uint64(n.LWP)))
	if err != nil {
		return nil
	}
	return b
}

// lockText returns the data of the lock that a thread waits for which changes when another thread acquires it: its
// owner, and the queue of waiting threads.
func (tr *tracer) lockText(t *picture.Thread, n *teams.Thread) string {
	if !t.WaitKind.OfLock() {
		return ""
	}
	if w, ok := tr.waits.nativeWait(n); ok && w.Kind.OfLock() {
		return fmt.Sprintf("%x %d", w.address, w.WaitOn)
	}
	r, ok := waitReader(n)
	if !ok {
		return ""
	}
	info, err := r.WaitedLock(n.Handle, tr.states.Evidence(n))
	if err != nil {
		return ""
	}
	return fmt.Sprint(info.Lock, info.Held, info.OwnerNumber, info.Waiters, info.Waiting)
}

// sleepState reports whether n sleeps in a futex without a time limit, so that only a thread of its own process
// can wake it. It also reports whether n is about to be woken, because the word that it sleeps on has changed.
func (tr *tracer) sleepState(n *teams.Thread, regs *callbacks.Registers) (sleeps, woken bool) {
	futex, waits := arch.IsFutexWait(regs)
	if !waits {
		return false, false
	}
	w, known := tr.waits.nativeWait(n)
	if known && !w.timed && (w.Kind == picture.WaitJoin || w.Kind == picture.WaitFutex) {
		return true, false // the kernel wakes it when the thread ends; a latch wakes at zero
	}
	word, err := layout.ReadUint(tr.waits.target, futex, 4)
	if err != nil {
		return false, false
	}
	sleeps = !tr.waits.isTimed(n, uint32(word))
	return sleeps, !sleeps && arch.EndlessWait(regs, !tr.waits.spins.isShared(futex.Offset))
}
