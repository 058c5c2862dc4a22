package libgomp

import (
	"slices"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/code/accesspath"
	"github.com/ompd-inspect/ompd-inspect/internal/code/arch"
	"github.com/ompd-inspect/ompd-inspect/internal/code/symbolic"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
)

// The runtime does not store the function of a region. GOMP_parallel and similar functions get it as the first
// argument and execute it by an indirect call. For each region that a thread has forked and not left, its stack
// has the return address of such a call. Above it is the return address of the call from user code; the code
// before that address shows the argument.

const (
	// maxStack bounds the searched part of a thread's stack, in bytes. Stacks have 8 MiB by default.
	maxStack = 16 << 20
	// stackBlock is the number of bytes read from the stack at once.
	stackBlock = 64 << 10
	// maxArgument is the number of bytes searched before a call for the load of its first argument. Between the
	// load and the call, GCC stores the variables that the region shares, with about 8 bytes of code each.
	maxArgument = 512
	// maxFrame is an upper bound for the frame size of the functions that fork, in bytes.
	maxFrame = 256
	// maxForker is an upper bound for the code size of these functions, in bytes.
	maxForker = 512
	// pageSize is the smallest page size, in bytes: readability changes only at its multiples.
	pageSize = 4096
)

// forkBounds bounds the emulation of a function up to the jump at its end.
var forkBounds = accesspath.Bounds{Steps: 4000, Paths: 64, Visits: 1, Edges: 2, Cases: 64}

// fork is a call in user code that forked a region.
type fork struct {
	function uint64 // the function that the region executes; 0 if unknown
	ret      uint64 // return address of the call; 0 if the call was a jump
}

// forkFunctions returns the entry points that fork a region and execute their first argument, a function, in it.
// Loops, sections and reductions have entry points of their own.
func forkFunctions() []string {
	names := []string{"GOMP_parallel", "GOMP_parallel_sections", "GOMP_parallel_reductions"}
	for _, s := range []string{
		"static", "dynamic", "guided", "runtime", "nonmonotonic_dynamic", "nonmonotonic_guided", "nonmonotonic_runtime",
		"maybe_nonmonotonic_runtime",
	} {
		names = append(names, "GOMP_parallel_loop_"+s)
	}
	return names
}

// forkEntries returns the addresses of the functions that fork, in ascending order.
func (fs *forks) forkEntries() []uint64 {
	var out []uint64
	for _, name := range forkFunctions() {
		if a, err := layout.SymbolIn(fs.target, fs.id.Module, name); err == nil {
			out = append(out, a.Offset)
		}
	}
	slices.Sort(out)
	return out
}

// isEntry reports whether a is the address of a function that forks.
func (fs *forks) isEntry(a uint64) bool {
	_, ok := slices.BinarySearch(fs.entries(), a)
	return ok
}

// inForker reports whether a is in the code of a function that forks.
func (fs *forks) inForker(a uint64) bool {
	i, ok := slices.BinarySearch(fs.entries(), a)
	return !ok && i > 0 && a-fs.entries()[i-1] < maxForker
}

// forkOf returns the call that forked a region.
func (fs *forks) forkOf(r *region) (fork, bool) {
	p := r.primaryThread()
	if p == nil || r.team == nil || len(fs.entries()) == 0 {
		return fork{}, false
	}
	found, ok := fs.known.Get(p.addr.Offset)
	if !ok {
		fs.known.Put(p.addr.Offset, nil) // ends circles of damaged regions
		found = fs.findForks(p, startRegion(p, r))
		fs.known.Put(p.addr.Offset, found)
	}
	for i, f := range found {
		if p.frames[i].team == r.team {
			return f, f.function != 0
		}
	}
	return fork{}, false
}

// startRegion returns the region in which the stack of the thread p starts: the innermost one that it did not fork. r
// is one that it forked. It returns nil for a root.
func startRegion(p *thread, r *region) *region {
	i := p.worksIn()
	if i < 0 {
		return nil
	}
	for r != nil && r.team != nil && r.team != p.frames[i].team {
		r = r.around
	}
	return r
}

// countForked returns the number of regions that a thread forked and has not left.
func (th *thread) countForked() int {
	if i := th.worksIn(); i >= 0 {
		return i
	}
	return len(th.frames)
}

// findForks returns the calls of all regions that a thread forked, innermost first. It returns nil if the stack
// shows a different number of regions than the thread is in. The function of the innermost region may have
// returned: then the thread waits for the others at the end of the region. start is the region in which the stack
// starts; nil for a root.
func (fs *forks) findForks(th *thread, start *region) []fork {
	n := th.countForked()
	sp, ok := fs.stackPointer(th)
	if !ok || n == 0 {
		return nil
	}
	end := sp + maxStack
	if th.tp > sp { // the C library places thread-local data above a thread's stack
		end = min(end, th.tp)
	}
	calls := fs.forkCalls(sp, end)
	found := make([]fork, n)
	ended := n - len(calls)
	if ended < 0 || ended > 1 {
		return nil
	}
	for i := n - 1; i >= 0; i-- {
		var c callAbove
		if from := i - ended; from >= 0 {
			c = fs.callerAbove(calls[from])
		} else if fs.atRest(th) {
			if len(calls) > 0 {
				end = calls[0] + 8
			}
			c = fs.firstAbove(sp, min(end, sp+stackBlock))
		}
		found[i] = c.fork
		if c.called && i+1 == n && start != nil && fs.inImplicitTask(th, n) {
			outer, _ := fs.forkOf(start)
			found[i].function = fs.jumpArgument(outer.function)
		}
		if !c.jumped || i+1 == n {
			continue
		}
		if outer := &found[i+1]; outer.function == 0 && i >= ended {
			outer.function = c.saved
		}
		found[i].function = fs.jumpArgument(found[i+1].function)
	}
	return found
}

// inImplicitTask reports whether the thread forked from its implicit task in the team at index i of its frames.
func (fs *forks) inImplicitTask(th *thread, i int) bool {
	return i < len(th.tasks) && th.tasks[i] == fs.records.implicitAddress(th.frames[i].team, th.frames[i].id)
}

// atRest reports whether the thread executes only its own implicit task.
func (fs *forks) atRest(th *thread) bool {
	own := fs.records.ownImplicit(th)
	return !own.IsNull() && own == th.task
}

func (rt *base) stackPointer(th *thread) (uint64, bool) {
	registers, ok := rt.target.(callbacks.RegisterReader)
	if !ok || th.lwp == 0 {
		return 0, false
	}
	regs, err := registers.Registers(callbacks.LWP(th.lwp))
	return regs.SP() &^ 7, err == nil && regs.SP() != 0
}

// forkCalls returns the stack slots in [sp, end) with return addresses of indirect calls in functions that fork.
func (fs *forks) forkCalls(sp, end uint64) []uint64 {
	var found []uint64
	block := make([]byte, stackBlock)
	for at := sp; at < end; {
		n := min(stackBlock-at%stackBlock, end-at)
		if fs.mem.ReadMemory(callbacks.Addr(at), block[:n]) != nil { // the stack ends in this block
			if n = min(pageSize-at%pageSize, end-at); fs.mem.ReadMemory(callbacks.Addr(at), block[:n]) != nil {
				break
			}
		}
		for i := uint64(0); i+8 <= n; i += 8 {
			if w := callbacks.Word(block[i : i+8]); fs.inForker(w) && fs.calls(w, arch.CallRegister) {
				found = append(found, at+i)
			}
		}
		at += n
	}
	return found
}

// calls reports whether the instruction before the address ret is a call of the given kind.
func (fs *forks) calls(ret uint64, kind arch.CallKind) bool {
	c, ok := arch.CallBefore(fs.target.Arch(), fs.mem, ret)
	return ok && c.Kind == kind
}

// callAbove is the caller of a function that forks, found on the stack above that function's frame.
type callAbove struct {
	fork
	// jumped means that there is no frame of user code between this frame and that of the enclosing region: the
	// function of that region ended in a tail call.
	jumped bool
	// called means that the runtime called the code before the fork, and not from a function that forks: in a worker,
	// the function of its region; or that of a task. That function ended in a tail call.
	called bool
	// saved is the function of the enclosing region if jumped; 0 if unknown. The function that forked that
	// region kept it in a register, which this one saved.
	saved uint64
}

// callerAbove finds the caller of a function that forks. The return address of that function's indirect call is
// at slot on the stack.
func (fs *forks) callerAbove(slot uint64) callAbove {
	ret, err := fs.word(slot)
	if err != nil {
		return callAbove{}
	}
	at, ok := fs.returnSlot(slot, ret)
	if !ok || at <= slot || at-slot > maxFrame {
		return callAbove{}
	}
	w, err := fs.word(at)
	if err != nil {
		return callAbove{}
	}
	c, _ := fs.callBefore(w)
	c.called = fs.calledByRuntime(w)
	if c.jumped {
		c.saved = fs.savedFunction(fs.savedRegisters(slot, at))
	}
	return c
}

// savedRegisters returns the stack range in which a function that forks saves registers of its caller. The return
// address of its indirect call is at slot, and its own at the address at.
func (fs *forks) savedRegisters(slot, at uint64) (low, high uint64) {
	if !arch.Of(fs.target.Arch()).HasLinkRegister() {
		return slot + 8, at
	}
	// Its frame starts with its frame record, and ends where that of its caller starts.
	outer, err := fs.word(at - 8)
	if err != nil || outer <= at || outer-at > maxFrame {
		return at, at
	}
	return at + 8, outer
}

// returnSlot returns the stack slot with the return address of a function that forks. The return address of its
// indirect call, ret, is at slot.
func (fs *forks) returnSlot(slot, ret uint64) (uint64, bool) {
	if arch.Of(fs.target.Arch()).HasLinkRegister() { // frame records are linked
		fp, err := fs.word(slot - 8)
		return fp + 8, err == nil
	}
	i, _ := slices.BinarySearch(fs.entries(), ret)
	depth, ok := arch.StackDepth(fs.target.Arch(), fs.mem, fs.entries()[i-1], ret)
	return slot + 8 + depth, ok
}

// savedFunction returns the only word in [low, high) on the stack that is an address of user code. It returns 0
// if there are several such words, or no such word.
func (fs *forks) savedFunction(low, high uint64) uint64 {
	var code []uint64
	for at := low; at < high; at += 8 {
		if w, err := fs.word(at); err == nil && w >= lowestAddress && fs.inCode(w) && fs.executable(w) {
			code = append(code, w)
		}
	}
	if code = slices.Compact(code); len(code) != 1 {
		return 0
	}
	return code[0]
}

// firstAbove returns the caller of a function that forks. The frame of that function, and those of the runtime's
// functions at the end of the region, start at low. The caller is at the first return address after a call that
// shows the region's function. Calls in the region have left return addresses in unused words of these frames,
// but these do not show a function. If no call shows it, because GCC keeps the function's address in a register
// throughout a loop around the region, firstAbove returns the first call of a function that forks.
func (fs *forks) firstAbove(low, high uint64) callAbove {
	var hidden callAbove
	for at := low; at+8 <= high; at += 8 {
		w, err := fs.word(at)
		if err != nil {
			break
		}
		c, ok := fs.callBefore(w)
		if ok && (c.jumped || c.function != 0) {
			return c
		}
		if ok && hidden.ret == 0 {
			hidden = c
		}
	}
	return hidden
}

// calledByRuntime reports whether ret is the return address of an indirect call of the runtime outside of the functions
// that fork: of a worker's start, or of a task's function.
func (fs *forks) calledByRuntime(ret uint64) bool {
	return fs.Owns(ret) && !fs.inForker(ret) && fs.calls(ret, arch.CallRegister)
}

// callBefore returns the fork shown by the call before the return address w. ok means only that there is a call.
func (fs *forks) callBefore(w uint64) (c callAbove, ok bool) {
	if fs.inForker(w) {
		jumped := fs.calls(w, arch.CallRegister)
		return callAbove{jumped: jumped}, jumped
	}
	if w < lowestAddress || !fs.inCode(w-1) { // a call may be a function's last instruction
		return callAbove{}, false
	}
	call, ok := arch.CallBefore(fs.target.Arch(), fs.mem, w)
	switch {
	case !ok || call.Kind == arch.CallRegister:
	case fs.isEntry(fs.calleeOf(call)):
		c.fork = fork{function: fs.argumentBefore(w), ret: w}
	case call.Kind == arch.CallDirect:
		c.fork = fork{function: fs.jumpArgument(call.Target)}
	}
	return c, ok
}

// argumentBefore returns the function that is the first argument of the call before the address ret; 0 if the
// code does not show it.
func (fs *forks) argumentBefore(ret uint64) uint64 {
	if v, ok := fs.passed.arguments.Get(ret); ok {
		return v
	}
	v := fs.findArgument(ret)
	var code [maxArgument]byte
	if v != 0 || fs.mem.ReadMemory(callbacks.Addr(ret-maxArgument), code[:]) == nil {
		fs.passed.arguments.Put(ret, v)
	}
	return v
}

func (fs *forks) findArgument(ret uint64) uint64 {
	// An instruction starts at one of the addresses before the call.
	for v := range arch.ArgsBefore(fs.target.Arch(), fs.mem, ret-maxArgument, ret, 0) {
		if (v.Kind == arch.ValueAddress || v.Kind == arch.ValueConst) && fs.inCode(v.N) {
			return v.N
		}
	}
	return 0
}

// jumpArgument returns the function that the code at entry passes in a final jump to a function that forks. It
// returns 0 if there is no such jump, or if the argument varies.
func (fs *forks) jumpArgument(entry uint64) uint64 {
	if entry == 0 {
		return 0
	}
	if v, ok := fs.passed.jumps.Get(entry); ok {
		return v
	}
	v := fs.findJumpArgument(entry)
	if v != 0 {
		fs.passed.jumps.Put(entry, v)
	}
	return v
}

func (fs *forks) findJumpArgument(entry uint64) uint64 {
	cfg := accesspath.Config{Arch: fs.target.Arch(), Mem: fs.mem, Bounds: forkBounds}
	paths, err := accesspath.Run(cfg, entry)
	if err != nil {
		return 0
	}
	found := uint64(0)
	for _, p := range paths {
		for _, c := range p.Calls {
			callee := c.Entry
			if c.Slot != 0 {
				callee, _ = fs.word(c.Slot)
			}
			if !fs.isEntry(callee) && !fs.isTeamStart(callee) || len(c.Args) == 0 {
				continue
			}
			v, err := symbolic.Eval(c.Args[0], symbolic.Env{Mem: fs.mem})
			if err != nil || !fs.inCode(v) || found != 0 && v != found {
				return 0
			}
			found = v
		}
	}
	return found
}

// isTeamStart reports whether a is gomp_team_start, which gets the region's function from the functions that
// fork. Only symbols of a static executable show it.
func (fs *forks) isTeamStart(a uint64) bool {
	s, err := layout.SymbolIn(fs.target, fs.id.Module, "gomp_team_start")
	return err == nil && a == s.Offset
}

// inCode reports whether an address is in a module of the program outside of the runtime.
func (fs *forks) inCode(a uint64) bool {
	if fs.Owns(a) {
		return false
	}
	mods := fs.modules()
	return mods == nil || slices.ContainsFunc(mods, func(e extent) bool { return a >= e.low && a < e.high })
}

// readModules returns the address ranges of the target's modules; nil if unknown.
func (fs *forks) readModules() []extent {
	lister, ok := fs.target.(callbacks.ModuleLister)
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

// calleeOf returns the address of the function that a call calls; 0 if unknown.
func (fs *forks) calleeOf(c arch.Call) uint64 {
	switch c.Kind {
	case arch.CallDirect:
		if fs.isEntry(c.Target) {
			return c.Target
		}
		if slot, ok := arch.PLTSlot(fs.target.Arch(), fs.mem, c.Target); ok {
			w, _ := fs.word(slot)
			return w
		}
	case arch.CallSlot:
		w, _ := fs.word(c.Target)
		return w
	}
	return 0
}

func (rt *base) word(a uint64) (uint64, error) {
	return layout.ReadUint(rt.mem, callbacks.Addr(a), 8)
}
