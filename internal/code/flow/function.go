package flow

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sort"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/code/arch"
	"github.com/ompd-inspect/ompd-inspect/internal/code/lift"
	"github.com/ompd-inspect/ompd-inspect/internal/code/symbolic"
)

const (
	// maxCode limits the code of a function, in bytes. Most functions have less than 100 KB; one of 6,000 branches
	// has 312 KB without optimization.
	maxCode = 1 << 20
	// maxRanges limits the ranges of a function. LLVM's BOLT can put each block of a function elsewhere.
	maxRanges = 1 << 12
)

// Range is code at [Low, High).
type Range struct{ Low, High uint64 }

// Config configures the analysis of a function.
type Config struct {
	// Arch is the instruction set.
	Arch callbacks.Arch
	// Mem is the target's memory.
	Mem callbacks.Memory
	// Resolve returns the function that starts at an address, or that the pointer at an address leads to. If it
	// is nil, calls have no names.
	Resolve func(addr uint64) (symbolic.Target, bool)
	// Returns returns the result of a call of a function. If it is nil, results are unknown.
	Returns func(callee symbolic.Target) Result
	// Extent returns the local variable around an address in a frame, as [low, high), from debug information. If
	// it is nil, variables are unknown.
	Extent func(fr Frame, addr uint64) (low, high uint64, ok bool)
	// Fixed reports whether the program cannot write the memory at an address, such as an entry of a table of
	// relocated addresses: a value that was read there is the current one. If it is nil, all memory may change.
	Fixed func(addr uint64) bool
	// Pad returns the code that an exception out of the call at pc enters, or 0. If it is nil, an exception may enter
	// any code of the function that no path from its entry reaches.
	Pad func(pc uint64) uint64
	// Solving is called before the values of the function at entry are followed; the function that it returns is
	// called afterwards. In between, Returns may be called for other functions, and these may need the result of
	// this one. It may be nil.
	Solving func(entry uint64) (solved func())
	// Meter counts the work. It may be nil.
	Meter Meter
	// Reader reads the code for all functions of a target. If it is nil, New makes one from Arch, Mem and Resolve.
	Reader *symbolic.Reader
}

// Function is the analysis of one function on all paths through it: its calls, their arguments, and the facts
// that hold at a point. It covers all code of a function of any shape.
//
// Values are expressions over the function's arguments, the stack pointer at entry, and opaque values. An opaque
// value is named by the instruction that produces it.
type Function struct {
	graph
	meter    Meter
	returns  func(callee symbolic.Target) Result // results of calls; may be nil
	extent   func(fr Frame, addr uint64) (low, high uint64, ok bool)
	fixed    func(addr uint64) bool
	pad      func(pc uint64) uint64
	solving  func(entry uint64) (solved func())
	objects  map[object]extent // variables by call and address
	leaves   map[valueName]*symbolic.Expr
	left     map[int][]symbolic.Expr // by instruction: the unknown values that it leaves in registers
	names    []valueName             // of the leaves, by number
	code     []piece                 // until it is decoded; nil afterwards
	outline  *Outline                // nil if it is not known without decoding
	sites    []CallSite
	siteOf   map[int]int   // instruction → index in sites
	never    map[edge]bool // edges that a branch never takes
	memo     memo
	asked    bool // loaded is set
	loaded   bool // the result of CallsLoaded
	followed bool // values were followed
	solved   bool // and sites are known
}

// graph is the control-flow graph of a function.
type graph struct {
	x            *symbolic.Reader
	insts        []inst
	ranges       []decoded // sorted by address
	blocks       []block
	owner        []int   // block of each instruction
	returnsTwice bool    // it calls a function of the setjmp family
	called       *called // nil before the first use
	pred         [][]int // predecessors of each block; nil before the first use
	visited      int     // number of blocks followed by reachedFrom
	// Indirect is set if the function has jumps with unknown targets, such as those through tables, or calls a
	// function that returns twice, such as setjmp. A fact found for a point then may not hold on every path to
	// it.
	Indirect bool
}

// Retarget makes f use the memory and the resolver of cfg, another snapshot of the same process. The code has
// not changed and is not read again.
func (f *Function) Retarget(cfg Config) {
	if cfg.Reader == nil {
		f.x.Retarget(cfg.Mem, cfg.Resolve)
	}
	f.meter, f.returns, f.extent, f.solving, f.pad = cfg.Meter, cfg.Returns, cfg.Extent, cfg.Solving, cfg.Pad
	f.fixed = cfg.Fixed
}

// piece is the undecoded code of one range.
type piece struct {
	low  uint64
	code []byte
}

// decoded is one range of decoded code.
type decoded struct {
	low    uint64
	starts []int32 // by byte of the code: 1 + the index of the instruction that starts there, or 0
	last   int     // index of the last instruction
}

// first returns the index of the first instruction.
func (d *decoded) first() int { return int(d.starts[0]) - 1 }

// memo caches intermediate results that depend only on places in the code.
type memo struct {
	states   map[int]*symbolic.State // before an instruction
	between  map[[2]int]*passage     // by the first and the last instruction
	ahead    map[[2]int]*passage     // the same, for passageAhead
	branches *branches
}

// inst is one instruction of the function. If opaque is set, it could not be decoded and has no
// micro-operations.
type inst struct {
	lift.Instruction
	pc     uint64
	opaque bool
}

func (i *inst) end() uint64 { return i.pc + uint64(i.Length) }

// block is a basic block.
type block struct {
	first, last int // instructions [first, last)
	succ        []int
	in          *symbolic.State // nil while the block is not known to be reachable
	table       bool            // ends with a jump to an unknown place
	unreached   bool            // has no known predecessor
}

// valueName names an opaque value: the value that instruction pc leaves in a register or a stack cell. If atJoin
// is set, it is the value where paths join at pc. If pc is 0, it is the value at entry.
type valueName struct {
	pc     uint64
	reg    lift.Register // inCell for a cell
	cell   uint64        // its offset from the stack pointer at entry
	atJoin bool
}

// inCell replaces the register in the name of a value in a stack cell.
const inCell = lift.Temp0

// CallSite is a call in a function, or a jump out of it.
type CallSite struct {
	symbolic.Target
	Index  int    // in Flow.Sites
	PC     uint64 // of the instruction
	Return uint64 // address after the call; 0 for a jump or branch
	// Args are the values of the argument registers and of the stack words that follow them, even if the callee
	// has fewer arguments.
	Args []*symbolic.Expr
	// To is the called address if it is not a known place in the code.
	To *symbolic.Expr
	// UnderWay is set for the unfinished call at a point: its values are the current ones.
	UnderWay bool
}

// New reads a function. The first range starts with its entry; the others are parts of it that the compiler, or a later
// tool, put elsewhere. Ranges must not overlap. New fails if the code cannot be read or decoded.
func New(cfg Config, first Range, others ...Range) (*Function, error) {
	f, err := newFunction(cfg, append([]Range{first}, others...))
	if err != nil {
		return nil, fmt.Errorf("flow of the function at %#x: %w", first.Low, err)
	}
	return f, nil
}

func newFunction(cfg Config, ranges []Range) (*Function, error) {
	x := cfg.Reader
	if x == nil {
		var err error
		if x, err = symbolic.NewReader(cfg.Arch, cfg.Mem, cfg.Resolve); err != nil {
			return nil, err
		}
	}
	f := &Function{
		graph: graph{x: x}, meter: cfg.Meter, returns: cfg.Returns,
		extent: cfg.Extent, fixed: cfg.Fixed, solving: cfg.Solving, pad: cfg.Pad,
		leaves: map[valueName]*symbolic.Expr{}, left: map[int][]symbolic.Expr{}, siteOf: map[int]int{},
	}
	if err := f.read(cfg.Mem, ranges); err != nil {
		return nil, err
	}
	var known bool
	if f.outline, f.Indirect, known = findOutline(x, f.code); known {
		return f, nil
	}
	return f, f.ensureDecoded()
}

// read reads the code.
func (f *Function) read(mem callbacks.Memory, ranges []Range) error {
	size := uint64(0)
	for _, r := range ranges {
		if r.High <= r.Low || r.High-r.Low > maxCode-size || len(ranges) > maxRanges {
			return fmt.Errorf("%d bytes at %#x, not 1 to %d bytes in 1 to %d ranges", r.High-r.Low, r.Low, maxCode,
				maxRanges)
		}
		size += r.High - r.Low
	}
	if err := f.spend(int(size)); err != nil {
		return err
	}
	for _, r := range ranges {
		code := make([]byte, r.High-r.Low)
		if err := mem.ReadMemory(callbacks.Addr(r.Low), code); err != nil {
			return fmt.Errorf("%w: %w", ErrUnread, err)
		}
		f.code = append(f.code, piece{r.Low, code})
	}
	return nil
}

// ensureDecoded decodes the code and builds its graph on first use. It does not fail for a function with an outline:
// for many functions, this is all that is needed.
func (f *Function) ensureDecoded() error {
	if f.code == nil {
		return nil
	}
	code := f.code
	f.code = nil
	if err := f.decode(code); err != nil {
		return err
	}
	f.buildCFG()
	f.Indirect = f.Indirect || f.returnsTwice
	return nil
}

// Starts reports whether an instruction of the function starts at pc.
func (f *Function) Starts(pc uint64) bool {
	return f.ensureDecoded() == nil && f.isInside(pc)
}

// ensureFollowed follows the values on first use; that is most of the work.
func (f *Function) ensureFollowed() {
	if !f.followed {
		f.followed = true
		_ = f.ensureDecoded()
		if f.solving != nil {
			defer f.solving(f.insts[0].pc)()
		}
		f.solve()
	}
}

// ensureSolved follows the values and lists the calls on first use.
func (f *Function) ensureSolved() {
	if !f.solved {
		f.ensureFollowed()
		f.solved = true
		f.collectSites()
	}
}

// ErrUnread means that the memory of a function could not be read.
var ErrUnread = errors.New("unreadable code")

// errUndecodable means that bytes are not a known instruction.
var errUndecodable = errors.New("instruction not known")

const (
	// bytesPerInst and bytesPerUop are the bytes of code of an instruction and of a micro-operation on average. They
	// only decide how much memory is reserved.
	bytesPerInst = 4
	bytesPerUop  = 2
	// mostUops is the number of micro-operations of almost all instructions.
	mostUops = 16
)

// decode decodes the code, each piece from its first byte on.
func (g *graph) decode(code []piece) error {
	size := 0
	for _, p := range code {
		size += len(p.code)
	}
	g.insts = make([]inst, 0, size/bytesPerInst+1)
	uops := make([]lift.Uop, 0, size/bytesPerUop+1) // of all instructions
	for _, p := range code {
		var err error
		if uops, err = g.decodePiece(p, uops); err != nil {
			return err
		}
	}
	slices.SortFunc(g.ranges, func(a, b decoded) int { return cmp.Compare(a.low, b.low) })
	for i := range g.insts {
		n := len(g.insts[i].Uops)
		g.insts[i].Uops, uops = uops[:n:n], uops[n:]
	}
	return nil
}

// decodePiece adds the instructions of p, and their micro-operations to uops.
func (g *graph) decodePiece(p piece, uops []lift.Uop) ([]lift.Uop, error) {
	starts := make([]int32, len(p.code))
	var room [mostUops]lift.Uop
	for off := 0; off < len(p.code); {
		pc := p.low + uint64(off)
		in, ok := g.x.Lifter.Lift(p.code[off:], pc, room[:0])
		fi := inst{Instruction: in, pc: pc}
		switch n := arch.Length(g.x.Arch, p.code[off:]); {
		case ok && (n == in.Length || n == 0):
		case n == 0:
			return nil, fmt.Errorf("%w at %#x", errUndecodable, pc)
		default:
			fi = inst{lift.Instruction{Length: n}, pc, !arch.VectorOnly(g.x.Arch, p.code[off:])}
		}
		uops = append(uops, fi.Uops...)
		g.insts = append(g.insts, fi)
		starts[off] = int32(len(g.insts))
		off += fi.Length
	}
	g.ranges = append(g.ranges, decoded{p.low, starts, len(g.insts) - 1})
	return uops, nil
}

// instAt returns the index of the instruction that starts at pc.
func (g *graph) instAt(pc uint64) (i int, ok bool) {
	n := sort.Search(len(g.ranges), func(n int) bool { return g.ranges[n].low > pc })
	if n == 0 {
		return 0, false
	}
	r := &g.ranges[n-1]
	if off := pc - r.low; off < uint64(len(r.starts)) && r.starts[off] != 0 {
		return int(r.starts[off]) - 1, true
	}
	return 0, false
}

// endingAt returns the index of the instruction that ends at pc.
func (g *graph) endingAt(pc uint64) (i int, ok bool) {
	if i, ok := g.instAt(pc); ok && i > 0 && g.insts[i-1].end() == pc {
		return i - 1, true
	}
	for _, r := range g.ranges {
		if g.insts[r.last].end() == pc { // a call that does not return may end a range
			return r.last, true
		}
	}
	return 0, false
}

// next returns the index of the instruction after instruction i in memory.
func (g *graph) next(i int) (n int, ok bool) {
	if n = i + 1; n < len(g.insts) && g.insts[n].pc == g.insts[i].end() {
		return n, true
	}
	return g.instAt(g.insts[i].end())
}

// isInside reports whether an instruction starts at pc.
func (g *graph) isInside(pc uint64) bool {
	_, ok := g.instAt(pc)
	return ok
}

// successors describes how execution continues after an instruction.
type successors struct {
	target       uint64 // of a jump or branch; 0 if there is no known target
	fallsThrough bool   // the next instruction may follow
	jumps        bool
	indirect     bool
}

// successorsOf returns the successors of instruction i.
func (g *graph) successorsOf(i int) successors {
	in := &g.insts[i]
	w := successors{fallsThrough: true}
	for k := range in.Uops {
		u := &in.Uops[k]
		switch u.Code {
		case lift.UopBranch:
			w.jumps, w.target = true, u.A.Val
		case lift.UopJump:
			w.fallsThrough = false
			if u.A.IsReg() {
				w.indirect = true
			} else {
				w.jumps, w.target = true, u.A.Val
			}
		case lift.UopReturn, lift.UopStop:
			w.fallsThrough = false
		case lift.UopCall:
			if u.A.IsReg() {
				continue
			}
			name := g.nameOf(u.A.Val)
			w.fallsThrough = !symbolic.NoReturn(name)
			g.returnsTwice = g.returnsTwice || symbolic.ReturnsTwice(name)
		}
	}
	return w
}

// nameOf returns the name of the function that a direct call leads to, or "".
func (g *graph) nameOf(entry uint64) string { return g.x.Stub(g.x.Target(symbolic.Global(entry))) }

// buildCFG builds the blocks and links them.
func (g *graph) buildCFG() {
	leader := make([]bool, len(g.insts)+1)
	ways := make([]successors, len(g.insts))
	for _, r := range g.ranges {
		leader[r.first()] = true
	}
	for i := range g.insts {
		w := g.successorsOf(i)
		ways[i] = w
		if t, ok := g.instAt(w.target); ok && w.jumps {
			leader[t] = true
		}
		if w.jumps || !w.fallsThrough {
			leader[i+1] = true
		}
	}
	g.owner = make([]int, len(g.insts))
	for i := range g.insts {
		if leader[i] {
			g.blocks = append(g.blocks, block{first: i})
		}
		g.owner[i] = len(g.blocks) - 1
		g.blocks[len(g.blocks)-1].last = i + 1
	}
	entered := make([]bool, len(g.blocks))
	entered[0] = true
	for b := range g.blocks {
		blk := &g.blocks[b]
		w := ways[blk.last-1]
		if t, ok := g.instAt(w.target); ok && w.jumps {
			blk.succ = append(blk.succ, g.owner[t])
		}
		if n, ok := g.next(blk.last - 1); ok && w.fallsThrough {
			blk.succ = append(blk.succ, g.owner[n])
		}
		blk.table = w.indirect && !g.leavesThroughSlot(blk.last-1)
		for _, s := range blk.succ {
			entered[s] = entered[s] || b == 0 || !g.isPadding(b)
		}
	}
	for b, ok := range entered {
		if !ok && g.isPadding(b) { // it is between jumps, and is never executed
			g.blocks[b].succ = nil
		}
	}
	g.linkUnreached(entered)
}

// leavesThroughSlot reports whether the indirect jump of instruction i goes through a pointer at a fixed
// address, that is, leaves the function.
func (g *graph) leavesThroughSlot(i int) bool {
	t, leads := g.branchTarget(i)
	return leads && t.Slot != 0
}

// leads reports whether a micro-operation may transfer control: a call, a jump, or a branch.
func leads(u lift.Uop) bool {
	return u.Code == lift.UopJump || u.Code == lift.UopCall || u.Code == lift.UopBranch
}

// branchTarget returns the target of the jump, branch or call of instruction i, as far as the instruction itself
// shows it; not ok for other instructions.
func (g *graph) branchTarget(i int) (t symbolic.Target, ok bool) {
	if !slices.ContainsFunc(g.insts[i].Uops, leads) {
		return symbolic.Target{}, false
	}
	s := symbolic.NewState(g.x.ABI, g.insts[i].pc)
	for k := range g.insts[i].Uops {
		u := &g.insts[i].Uops[k]
		if leads(*u) {
			return g.x.Target(s.Value(u.A)), true
		}
		if !u.Leaves() {
			s.Apply(u)
		}
	}
	return symbolic.Target{}, false
}

// MayCall reports whether the function may call, or jump to, a function with one of some names. It returns true
// if an instruction does not show its callee, since following values would take longer.
func (f *Function) MayCall(named func(name string) bool) bool {
	if f.called == nil {
		_ = f.ensureDecoded()
		f.called = f.findCalled()
	}
	return f.called.unknown || slices.ContainsFunc(f.called.names, named)
}

// called contains the functions that a function calls or jumps to, as far as each instruction shows its callee.
type called struct {
	names   []string
	unknown bool // an instruction does not show its callee
}

func (g *graph) findCalled() *called {
	c := &called{}
	for i := range g.insts {
		t, leads := g.branchTarget(i)
		if !leads || g.isInside(t.Entry) {
			continue
		}
		c.unknown = c.unknown || t.Entry == 0 && t.Slot == 0
		if name := g.x.Stub(t); !slices.Contains(c.names, name) {
			c.names = append(c.names, name)
		}
	}
	return c
}

// isPadding reports whether block b has no effect.
func (g *graph) isPadding(b int) bool {
	blk := &g.blocks[b]
	for i := blk.first; i < blk.last; i++ {
		if len(g.insts[i].Uops) > 0 || g.insts[i].opaque {
			return false
		}
	}
	return true
}

// linkUnreached handles the blocks that no path from the entry reaches. If the function has jumps through tables,
// these may lead to them. Otherwise they are exception handlers, and any fact may hold there.
func (g *graph) linkUnreached(entered []bool) {
	var lost []int
	for b, ok := range entered {
		if !ok && !g.isPadding(b) {
			lost = append(lost, b)
		}
	}
	lost = append(lost, g.lostLoops(lost)...)
	for b := range g.blocks {
		if g.blocks[b].table {
			g.Indirect = true
			g.blocks[b].succ = append(g.blocks[b].succ, lost...)
		}
	}
	for _, b := range lost {
		g.blocks[b].unreached = !g.Indirect
	}
}

// lostLoops returns the blocks of the loops that no path from the entry or from some other blocks reaches: each has
// a predecessor, but only in its own loop. A jump through a table may lead to any block of such a loop.
func (g *graph) lostLoops(roots []int) (lost []int) {
	seen := make([]bool, len(g.blocks))
	g.follow(seen, append([]int{0}, roots...))
	var unseen []int
	for b := range g.blocks {
		if !seen[b] && !g.isPadding(b) {
			unseen = append(unseen, b)
		}
	}
	if len(unseen) == 0 {
		return nil
	}
	pred := map[int][]int{}
	for _, b := range unseen {
		for _, s := range g.blocks[b].succ {
			pred[s] = append(pred[s], b)
		}
	}
	// In reverse postorder, the first block that is not seen yet is in a loop that no other unseen block leads to:
	// the loop is all blocks that lead to it.
	for _, b := range g.reversePostorderFrom(unseen) {
		if seen[b] {
			continue
		}
		loop := make(map[int]bool)
		for work := []int{b}; len(work) > 0; {
			n := work[len(work)-1]
			work = work[:len(work)-1]
			if !loop[n] && !seen[n] {
				loop[n] = true
				lost, work = append(lost, n), append(work, pred[n]...)
			}
		}
		g.follow(seen, []int{b})
	}
	slices.Sort(lost)
	return lost
}

// follow marks the blocks that are reached from some.
func (g *graph) follow(seen []bool, work []int) {
	for len(work) > 0 {
		b := work[len(work)-1]
		work = work[:len(work)-1]
		if !seen[b] {
			seen[b] = true
			work = append(work, g.blocks[b].succ...)
		}
	}
}
