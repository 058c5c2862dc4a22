package flow

import (
	"errors"
	"fmt"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/code/arch"
	"github.com/ompd-inspect/ompd-inspect/internal/code/lift"
	"github.com/ompd-inspect/ompd-inspect/internal/code/symbolic"
)

const (
	// maxCode bounds a function, in bytes.
	// Compilers write functions of some 100 KB at most.
	maxCode = 256 << 10
)

// Config says where the code of a function comes from.
type Config struct {
	// Arch is the instruction set.
	Arch callbacks.Arch
	// Mem is the target's memory.
	Mem callbacks.Memory
	// Resolve names the function that begins at an address, or that the pointer at an
	// address leads to. It may be nil: then calls have no names.
	Resolve func(addr uint64) (symbolic.Target, bool)
	// Returns tells what a call of a function leaves behind. It may be nil: then nothing is known.
	Returns func(callee symbolic.Target) Result
	// Extent finds the local variable around an address in a frame, as [low, high), by debug
	// information. It may be nil: then nothing is known of variables.
	Extent func(fr Frame, addr uint64) (low, high uint64, ok bool)
	// Solving is called when the values of the function at entry are about to be followed; what it
	// returns is called when they are. In between, other functions may be asked for what their calls
	// leave behind, and these for that of this one. It may be nil.
	Solving func(entry uint64) (solved func())
	// Meter counts the work. It may be nil.
	Meter Meter
}

// Function is what one function does on all paths through it: its calls, the values
// that they get, and what holds at a point of it. It looks at all the code of a
// function of any shape.
//
// Values are expressions over the function's arguments, the stack pointer at its
// entry, and values that are not followed; those are
// named by the instruction that makes them.
type Function struct {
	graph
	meter   Meter
	returns func(callee symbolic.Target) Result // what calls leave behind; may be nil
	extent  func(fr Frame, addr uint64) (low, high uint64, ok bool)
	solving func(entry uint64) (solved func())
	objects map[object]extent // variables by call and address
	leaves  map[valueName]*symbolic.Expr
	left    map[int][]symbolic.Expr // by instruction: what it leaves in registers that it makes unknown
	names   []valueName             // of the leaves by number
	sites   []CallSite
	siteOf  map[int]int   // instruction → index in sites
	never   map[edge]bool // ways that a branch never takes
	memo    memo
	solved  bool // the values were followed, and the sites are known
}

// graph is the control-flow graph of a function.
type graph struct {
	x            *symbolic.Reader
	insts        []inst
	index        map[uint64]int // of insts by address
	blocks       []block
	owner        []int    // block of each instruction
	returnsTwice bool     // it calls a function of the setjmp family
	called       *called  // nil before MayCall asks for them
	outline      *Outline // nil before it is asked for
	pred         [][]int  // the blocks that lead to each; nil before they are asked for
	visited      int      // blocks that were followed to find what is reached
	// Indirect is set if the function has jumps to places that are not known, as those
	// through tables, or calls a function that returns twice, as setjmp does: what holds at
	// a point then may not hold on every path to it.
	Indirect bool
}

// Retarget makes f answer by the memory and the resolver of cfg, another moment of the
// same process: the code, which does not change, is not read again.
func (f *Function) Retarget(cfg Config) {
	f.x.Retarget(cfg.Mem, cfg.Resolve)
	f.meter, f.returns, f.extent, f.solving = cfg.Meter, cfg.Returns, cfg.Extent, cfg.Solving
}

// memo keeps what answers are made of and depends on places in the code alone.
type memo struct {
	states  map[int]*symbolic.State // before an instruction
	between map[[2]int]*passage     // by the instructions from and to
	ahead   map[[2]int]*passage     // the same, of what comes
}

// inst is one instruction of the function; without micro-operations and with
// opaque set it is one that could not be decoded.
type inst struct {
	lift.Instruction
	pc     uint64
	opaque bool
}

func (i *inst) end() uint64 { return i.pc + uint64(i.Length) }

// block is instructions that are executed one after the other.
type block struct {
	first, last int // instructions [first, last)
	succ        []int
	in          *symbolic.State // nil while the block is not known to be reached
	table       bool            // ends with a jump to a place that is not known
	unreached   bool            // nothing that was seen leads here
}

// valueName names a value that is not followed: what instruction pc leaves in a
// register or a cell of the stack, or what is in it where paths join at pc, or if
// pc is 0, at the entry.
type valueName struct {
	pc     uint64
	reg    lift.Register // inCell for a cell
	cell   uint64        // its distance from the stack pointer at entry
	atJoin bool
}

// inCell stands for a register in the name of a value in a cell of the stack.
const inCell = lift.Temp0

// CallSite is a call in a function, or a jump out of it.
type CallSite struct {
	symbolic.Target
	Index  int    // in Flow.Sites
	PC     uint64 // of the instruction
	Return uint64 // address behind the call; 0 for a jump or branch
	// Args is what the argument registers hold and the stack behind them, whether the callee has
	// arguments or not.
	Args []*symbolic.Expr
	// To is the value that the call goes to, where that is no place in the code that is known.
	To *symbolic.Expr
	// UnderWay tells that the call is the one that has not returned at the
	// point that is asked about: its values are those of now.
	UnderWay bool
}

// New reads the function that lies at [low, high). It fails if its code
// cannot be read or decoded.
func New(cfg Config, low, high uint64) (*Function, error) {
	x, err := symbolic.NewReader(cfg.Arch, cfg.Mem, cfg.Resolve)
	if err != nil {
		return nil, fmt.Errorf("flow of the function at %#x: %w", low, err)
	}
	f := &Function{
		graph: graph{x: x, index: map[uint64]int{}}, meter: cfg.Meter, returns: cfg.Returns,
		extent: cfg.Extent, solving: cfg.Solving, leaves: map[valueName]*symbolic.Expr{},
		left: map[int][]symbolic.Expr{}, siteOf: map[int]int{},
	}
	if high <= low || high-low > maxCode {
		return nil, fmt.Errorf("flow of the function at %#x: %d bytes, not 1 to %d", low, high-low, maxCode)
	}
	if err := f.spend(int(high - low)); err != nil {
		return nil, fmt.Errorf("flow of the function at %#x: %w", low, err)
	}
	code := make([]byte, high-low)
	if err := cfg.Mem.ReadMemory(callbacks.Addr(low), code); err != nil {
		return nil, fmt.Errorf("flow of the function at %#x: %w", low, err)
	}
	if err := f.decode(code, low); err != nil {
		return nil, fmt.Errorf("flow of the function at %#x: %w", low, err)
	}
	f.buildCFG()
	f.Indirect = f.Indirect || f.returnsTwice
	return f, nil
}

// ensureSolved follows the values, which is most of the work, when they are asked for.
func (f *Function) ensureSolved() {
	if !f.solved {
		f.solved = true
		if f.solving != nil {
			defer f.solving(f.insts[0].pc)()
		}
		f.solve()
		f.collectSites()
	}
}

// errUndecodable says that code is no code, or of no known kind.
var errUndecodable = errors.New("instruction not known")

// decode takes the code apart from its first byte on.
func (g *graph) decode(code []byte, low uint64) error {
	for off := 0; off < len(code); {
		pc := low + uint64(off)
		in, ok := g.x.Lifter.Lift(code[off:], pc)
		fi := inst{Instruction: in, pc: pc}
		if !ok {
			n := arch.Length(g.x.Arch, code[off:])
			if n == 0 {
				return fmt.Errorf("%w at %#x", errUndecodable, pc)
			}
			fi = inst{lift.Instruction{Length: n}, pc, !arch.VectorOnly(g.x.Arch, code[off:])}
		}
		g.index[pc] = len(g.insts)
		g.insts = append(g.insts, fi)
		off += fi.Length
	}
	return nil
}

// successors is how an instruction leaves its place.
type successors struct {
	target       uint64 // of a jump or branch, 0 if there is none or it is not known
	fallsThrough bool   // the next instruction may follow
	jumps        bool
	indirect     bool
}

// successorsOf tells how instruction i goes on.
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

// nameOf names the function that a direct call leads to, or "".
func (g *graph) nameOf(entry uint64) string { return g.x.Stub(g.x.Target(symbolic.Global(entry))) }

// buildCFG makes the blocks and joins them.
func (g *graph) buildCFG() {
	leader := make([]bool, len(g.insts)+1)
	ways := make([]successors, len(g.insts))
	leader[0] = true
	for i := range g.insts {
		w := g.successorsOf(i)
		ways[i] = w
		if t, ok := g.index[w.target]; ok && w.jumps {
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
		if t, ok := g.index[w.target]; ok && w.jumps {
			blk.succ = append(blk.succ, g.owner[t])
		}
		if w.fallsThrough && blk.last < len(g.insts) {
			blk.succ = append(blk.succ, g.owner[blk.last])
		}
		blk.table = w.indirect && !g.leavesThroughSlot(blk.last-1)
		for _, s := range blk.succ {
			entered[s] = entered[s] || !g.isPadding(b)
		}
	}
	g.linkUnreached(entered)
}

// leavesThroughSlot reports whether the indirect jump of instruction i goes through a pointer
// at a fixed address: it leaves the function.
func (g *graph) leavesThroughSlot(i int) bool {
	t, leads := g.branchTarget(i)
	return leads && t.Slot != 0
}

// leads reports whether a micro-operation may go on elsewhere: by a call, a jump, or a branch
// that is taken or not.
func leads(u lift.Uop) bool {
	return u.Code == lift.UopJump || u.Code == lift.UopCall || u.Code == lift.UopBranch
}

// branchTarget is where instruction i jumps, branches or calls to, as far as it tells that
// itself; not ok if it does none of these.
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

// MayCall reports whether the function has a call of a function with one of some names,
// or a jump there. It may if the code of a call does not tell what it leads to: to find
// that out takes longer.
func (g *graph) MayCall(named func(name string) bool) bool {
	if g.called == nil {
		g.called = g.findCalled()
	}
	return g.called.unknown || slices.ContainsFunc(g.called.names, named)
}

// called are the functions that a function calls or jumps to, as far as the code of each
// call tells by itself.
type called struct {
	names   []string
	unknown bool // a call does not tell what it leads to
}

func (g *graph) findCalled() *called {
	c := &called{}
	for i := range g.insts {
		t, leads := g.branchTarget(i)
		if _, inside := g.index[t.Entry]; inside || !leads {
			continue
		}
		c.unknown = c.unknown || t.Entry == 0 && t.Slot == 0
		if name := g.x.Stub(t); !slices.Contains(c.names, name) {
			c.names = append(c.names, name)
		}
	}
	return c
}

// isPadding reports whether block b does nothing.
func (g *graph) isPadding(b int) bool {
	blk := &g.blocks[b]
	for i := blk.first; i < blk.last; i++ {
		if len(g.insts[i].Uops) > 0 || g.insts[i].opaque {
			return false
		}
	}
	return true
}

// linkUnreached deals with the blocks that nothing seen leads to. If the function has
// jumps through tables, they are what those lead to. Otherwise they handle
// exceptions, and anything may hold there.
func (g *graph) linkUnreached(entered []bool) {
	var lost []int
	for b, ok := range entered {
		if !ok && !g.isPadding(b) {
			lost = append(lost, b)
		}
	}
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
