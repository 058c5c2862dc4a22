package libgomp

import (
	"slices"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/accesspath"
	"github.com/ompd-inspect/ompd-inspect/internal/arch"
)

// The runtime does not keep the function of a region. What forks it, GOMP_parallel
// and its like, has it as its first argument, and executes it by an indirect call:
// the return address of that call is on the stack of the primary thread once for
// each region that it has forked, and is in. Above lies the return address of the
// call of user code, which shows the argument.

const (
	// maxStack bounds how much of a thread's stack is searched, in bytes.
	// Stacks have 8 MiB by default.
	maxStack = 16 << 20
	// stackBlock is how much of it is read at once.
	stackBlock = 64 << 10
	// maxArgument is how far before a call its first argument is looked for, in
	// bytes: a compiler loads the four of GOMP_parallel in about 20.
	maxArgument = 64
	// maxFrame is more than the frames of the functions that fork have, in
	// bytes.
	maxFrame = 256
	// maxForker is more than their code has, in bytes.
	maxForker = 512
	// pageSize is the smallest page size: what can be read changes only at its
	// multiples.
	pageSize = 4096
)

// forkBounds is what it takes to run the code of a function up to the jump by
// which it ends.
var forkBounds = accesspath.Bounds{Steps: 4000, Paths: 64, Visits: 1, Edges: 2, Cases: 64}

// fork is a call in user code that forked a region.
type fork struct {
	function uint64 // that the region executes; 0 if unknown
	ret      uint64 // address behind the call; 0 if the call was a jump
}

// forkFunctions are the entry points that fork a region and execute a function
// in it, their first argument. Loops, sections and reductions have one of their
// own each.
func forkFunctions() []string {
	names := []string{"GOMP_parallel", "GOMP_parallel_sections", "GOMP_parallel_reductions"}
	for _, s := range []string{
		"static", "dynamic", "guided", "runtime", "nonmonotonic_dynamic", "nonmonotonic_guided", "nonmonotonic_runtime", "maybe_nonmonotonic_runtime",
	} {
		names = append(names, "GOMP_parallel_loop_"+s)
	}
	return names
}

// forkEntries are the addresses of the functions that fork, ascending.
func (rt *runtime) forkEntries() []uint64 {
	var out []uint64
	for _, name := range forkFunctions() {
		if a, err := moduleSymbol(rt.target, rt.id.Module, name); err == nil {
			out = append(out, a.Offset)
		}
	}
	slices.Sort(out)
	return out
}

// isEntry tells whether a is the address of a function that forks.
func (rt *runtime) isEntry(a uint64) bool {
	_, ok := slices.BinarySearch(rt.entries(), a)
	return ok
}

// inForker tells whether a is in the code of a function that forks.
func (rt *runtime) inForker(a uint64) bool {
	i, ok := slices.BinarySearch(rt.entries(), a)
	return !ok && i > 0 && a-rt.entries()[i-1] < maxForker
}

// forkOf is the call that forked a region.
func (rt *runtime) forkOf(r *region) (fork, bool) {
	p := r.primary()
	if p == nil || r.team == nil || len(rt.entries()) == 0 {
		return fork{}, false
	}
	found, ok := rt.forks.get(p.addr.Offset)
	if !ok {
		found = rt.findForks(p)
		rt.forks.put(p.addr.Offset, found)
	}
	for i, f := range found {
		if p.frames[i].team == r.team {
			return f, f.function != 0
		}
	}
	return fork{}, false
}

// forked is the number of regions that a thread forked and has not left.
func (th *thread) forked() int {
	if i := th.worksIn(); i >= 0 {
		return i
	}
	return len(th.frames)
}

// findForks finds the calls of all regions that a thread forked, innermost first.
// It is empty if the stack shows more or fewer regions than the thread is in. The
// function of the innermost one may have returned: then the thread waits for the
// others at its end.
func (rt *runtime) findForks(th *thread) []fork {
	n := th.forked()
	sp, ok := rt.stackPointer(th)
	if !ok || n == 0 {
		return nil
	}
	calls := rt.forkCalls(sp)
	found := make([]fork, n)
	ended := n - len(calls)
	if ended < 0 || ended > 1 {
		return nil
	}
	outer := uint64(0)
	for i := n - 1; i >= 0; i-- {
		if from := i - ended; from >= 0 {
			found[i] = rt.forkAbove(calls[from]+8, maxFrame, outer)
		} else if rt.atRest(th) {
			limit := uint64(maxStack)
			if len(calls) > 0 {
				limit = calls[0] + 8 - sp
			}
			found[i] = rt.forkAbove(sp, min(limit, stackBlock), outer)
		}
		outer = found[i].function
	}
	return found
}

// atRest tells whether a thread executes no task but its own implicit one.
func (rt *runtime) atRest(th *thread) bool {
	own := rt.ownImplicit(th)
	return !own.IsNull() && own == th.task
}

func (rt *runtime) stackPointer(th *thread) (uint64, bool) {
	registers, ok := rt.target.(callbacks.RegisterReader)
	if !ok || th.lwp == 0 {
		return 0, false
	}
	regs, err := registers.Registers(callbacks.LWP(th.lwp))
	return regs.SP() &^ 7, err == nil && regs.SP() != 0
}

// forkCalls are the places on a stack, from sp on, of return addresses of indirect
// calls in functions that fork.
func (rt *runtime) forkCalls(sp uint64) []uint64 {
	var found []uint64
	block := make([]byte, stackBlock)
	for at := sp; at-sp < maxStack; {
		n := stackBlock - at%stackBlock
		if rt.mem.ReadMemory(callbacks.At(at), block[:n]) != nil { // the stack ends in this block
			if n = pageSize - at%pageSize; rt.mem.ReadMemory(callbacks.At(at), block[:n]) != nil {
				break
			}
		}
		for i := uint64(0); i+8 <= n; i += 8 {
			if w := callbacks.Word(block[i : i+8]); rt.inForker(w) && rt.calls(w, arch.CallRegister) {
				found = append(found, at+i)
			}
		}
		at += n
	}
	return found
}

// calls tells whether there is a call of a kind before the address ret.
func (rt *runtime) calls(ret uint64, kind arch.CallKind) bool {
	c, ok := arch.CallBefore(rt.target.Arch(), rt.mem, ret)
	return ok && c.Kind == kind
}

// forkAbove finds, on the stack from slot on, the return address of the call that
// forked, and what it passed. outer is the function of the region around.
func (rt *runtime) forkAbove(slot, limit, outer uint64) fork {
	data := make([]byte, limit)
	if rt.mem.ReadMemory(callbacks.At(slot), data) != nil {
		data = data[:min(limit, pageSize-slot%pageSize)]
		if rt.mem.ReadMemory(callbacks.At(slot), data) != nil {
			return fork{}
		}
	}
	for ; len(data) >= 8; data = data[8:] {
		w := callbacks.Word(data[:8])
		if rt.inForker(w) && rt.calls(w, arch.CallRegister) { // the function around ended with a jump
			return fork{function: rt.jumpsTo(outer)}
		}
		if w < lowestAddress || !rt.inCode(w) {
			continue
		}
		call, ok := arch.CallBefore(rt.target.Arch(), rt.mem, w)
		switch {
		case !ok || call.Kind == arch.CallRegister:
		case rt.isEntry(rt.callee(call)):
			return fork{function: rt.argument(w), ret: w}
		case call.Kind == arch.CallDirect && rt.jumpsTo(call.Target) != 0:
			return fork{function: rt.jumpsTo(call.Target)}
		}
	}
	return fork{}
}

// argument is the function that the call before the address ret passes on: 0 if
// the code does not show it.
func (rt *runtime) argument(ret uint64) uint64 {
	a := rt.target.Arch()
	for low := ret - maxArgument; low < ret; low++ { // an instruction begins at some of these
		v, ok := arch.ArgBefore(a, rt.mem, low, ret, 0)
		if ok && (v.Kind == arch.ValueAddress || v.Kind == arch.ValueConst) && rt.inCode(v.N) {
			return v.N
		}
	}
	return 0
}

// jumpsTo is what the function at entry passes on if its last act is to jump to a
// function that forks; 0 if it is not, or if it is not always the same.
func (rt *runtime) jumpsTo(entry uint64) uint64 {
	if entry == 0 {
		return 0
	}
	cfg := accesspath.Config{Arch: rt.target.Arch(), Mem: rt.mem, Bounds: forkBounds}
	paths, err := accesspath.Run(cfg, entry)
	if err != nil {
		return 0
	}
	found := uint64(0)
	for _, p := range paths {
		for _, c := range p.Calls {
			callee := c.Entry
			if c.Slot != 0 {
				callee, _ = rt.word(c.Slot)
			}
			if !rt.isEntry(callee) && !rt.inStart(callee) || len(c.Args) == 0 {
				continue
			}
			v, err := accesspath.Eval(c.Args[0], accesspath.Env{Mem: rt.mem})
			if err != nil || !rt.inCode(v) || found != 0 && v != found {
				return 0
			}
			found = v
		}
	}
	return found
}

// inStart tells whether a is gomp_team_start, which the functions that fork pass
// theirs on to. Only the symbols of a static executable tell.
func (rt *runtime) inStart(a uint64) bool {
	s, err := moduleSymbol(rt.target, rt.id.Module, "gomp_team_start")
	return err == nil && a == s.Offset
}

// inCode tells whether an address is in a module of the program, and not in the
// runtime.
func (rt *runtime) inCode(a uint64) bool {
	if rt.Owns(a) {
		return false
	}
	mods := rt.modules()
	return mods == nil || slices.ContainsFunc(mods, func(e extent) bool { return a >= e.low && a < e.high })
}

// readModules lists where the target's modules lie; nil if it does not tell.
func (rt *runtime) readModules() []extent {
	lister, ok := rt.target.(callbacks.ModuleLister)
	if !ok {
		return nil
	}
	mods, _ := lister.Modules()
	list := []extent{}
	for _, m := range mods {
		list = append(list, extent{m.Low.Offset, m.High.Offset})
	}
	return list
}

// callee is the address of the function that a call leads to, 0 if unknown.
func (rt *runtime) callee(c arch.Call) uint64 {
	switch c.Kind {
	case arch.CallDirect:
		if rt.isEntry(c.Target) {
			return c.Target
		}
		if slot, ok := arch.PLTSlot(rt.target.Arch(), rt.mem, c.Target); ok {
			w, _ := rt.word(slot)
			return w
		}
	case arch.CallSlot:
		w, _ := rt.word(c.Target)
		return w
	}
	return 0
}

func (rt *runtime) word(a uint64) (uint64, error) {
	var p [8]byte
	err := rt.mem.ReadMemory(callbacks.At(a), p[:])
	return callbacks.Word(p[:]), err
}
