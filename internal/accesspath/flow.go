package accesspath

import (
	"errors"
	"fmt"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/arch"
)

const (
	// maxFlowCode bounds the function that a Flow is made of, in bytes.
	// Compilers write functions of some 100 KB at most.
	maxFlowCode = 256 << 10
	// maxFlowRounds bounds how often a block is looked at: each of its
	// registers and cells becomes unknown once at most.
	maxFlowRounds = 256
)

// Flow is what one function does on all ways through it: its calls, the values
// that they get, and what holds at a point of it. Where Run follows each path of
// a small function, Flow looks at all the code of a function of any shape, and
// knows less of each value.
//
// Values are expressions over the function's arguments, the stack pointer at its
// entry, and values that the code makes in a way that is not followed; those are
// named by the instruction that makes them.
type Flow struct {
	x      explorer
	insts  []flowInst
	index  map[uint64]int // of insts by address
	blocks []flowBlock
	owner  []int // block of each instruction
	leafs  map[flowLeaf]*Expr
	names  []flowLeaf // of the leaves by number
	sites  []Site
	siteOf map[int]int // instruction → index in sites
	solved bool        // the values were followed, and the sites are known
	// Indirect tells that the function has jumps to places that are not
	// known, as those through tables: what holds at a point then may not
	// hold on every way to it.
	Indirect bool
}

// Retarget makes f answer by mem, another moment of the same process: the code, which
// does not change, is not read again.
func (f *Flow) Retarget(mem callbacks.Memory) {
	f.x.cfg.Mem, f.x.code.mem = mem, mem
}

// flowInst is one instruction of the function; without micro-operations and with
// opaque set it is one that could not be decoded.
type flowInst struct {
	instruction
	pc     uint64
	opaque bool
}

func (i *flowInst) end() uint64 { return i.pc + uint64(i.length) }

// flowBlock is instructions that are executed one after the other.
type flowBlock struct {
	first, last int // instructions [first, last)
	succ        []int
	in          *state // nil while the block is not known to be reached
	rounds      int
	table       bool // ends with a jump to a place that is not known
	lost        bool // nothing that was seen leads here
}

// flowLeaf names a value that is not followed: what instruction pc leaves in a
// register or a cell of the stack, or what is in it where ways join at pc, or if
// pc is 0, at the entry.
type flowLeaf struct {
	pc    uint64
	reg   register // inCell for a cell
	cell  uint64   // its distance from the stack pointer at entry
	joins bool
}

// inCell stands for a register in the name of a value in a cell of the stack.
const inCell = temp0

// Site is a call in a function, or a jump out of it.
type Site struct {
	Target
	PC     uint64  // of the instruction
	Return uint64  // address behind the call; 0 for a jump
	Args   []*Expr // what the argument registers hold and the stack behind them, whether the callee has arguments or not
	// UnderWay tells that the call is the one that has not returned at the
	// point that is asked about: its values are those of now.
	UnderWay bool
}

// NewFlow reads the function that lies at [low, high). It fails if its code
// cannot be read or decoded.
func NewFlow(cfg Config, low, high uint64) (*Flow, error) {
	f := &Flow{
		x:     explorer{cfg: cfg, lifter: lifterFor(cfg.Arch), insts: map[uint64]instruction{}, stubs: map[uint64]string{}},
		index: map[uint64]int{}, leafs: map[flowLeaf]*Expr{}, siteOf: map[int]int{},
	}
	if f.x.lifter == nil {
		return nil, fmt.Errorf("flow of the function at %#x: %v: %w", low, cfg.Arch, ErrUnsupported)
	}
	if high <= low || high-low > maxFlowCode {
		return nil, fmt.Errorf("flow of the function at %#x: %d bytes, not 1 to %d", low, high-low, maxFlowCode)
	}
	f.x.code.mem, f.x.abi = cfg.Mem, f.x.lifter.convention()
	code := make([]byte, high-low)
	if err := cfg.Mem.ReadMemory(callbacks.At(low), code); err != nil {
		return nil, fmt.Errorf("flow of the function at %#x: %w", low, err)
	}
	if err := f.decode(code, low); err != nil {
		return nil, fmt.Errorf("flow of the function at %#x: %w", low, err)
	}
	f.cut()
	return f, nil
}

// follow follows the values, which is most of the work, when they are asked for.
func (f *Flow) follow() {
	if !f.solved {
		f.solved = true
		f.solve()
		f.collect()
	}
}

// errUndecodable says that code is no code, or of no known kind.
var errUndecodable = errors.New("instruction not known")

// decode takes the code apart from its first byte on.
func (f *Flow) decode(code []byte, low uint64) error {
	for off := 0; off < len(code); {
		pc := low + uint64(off)
		in, ok := f.x.lifter.lift(code[off:], pc)
		fi := flowInst{instruction: in, pc: pc}
		if !ok {
			n := arch.Length(f.x.cfg.Arch, code[off:])
			if n == 0 {
				return fmt.Errorf("%w at %#x", errUndecodable, pc)
			}
			fi = flowInst{instruction{length: n}, pc, !arch.VectorOnly(f.x.cfg.Arch, code[off:])}
		}
		f.index[pc] = len(f.insts)
		f.insts = append(f.insts, fi)
		off += fi.length
	}
	return nil
}

// way is how an instruction leaves its place.
type way struct {
	target   uint64 // of a jump or branch, 0 if there is none or it is not known
	falls    bool   // the next instruction may follow
	jumps    bool
	indirect bool
}

// wayOf tells how instruction i goes on.
func (f *Flow) wayOf(i int) way {
	in := &f.insts[i]
	w := way{falls: true}
	for k := range in.uops {
		u := &in.uops[k]
		switch u.code {
		case uBranch:
			w.jumps, w.target = true, u.a.val
		case uJump:
			w.falls = false
			if u.a.isReg() {
				w.indirect = true
			} else {
				w.jumps, w.target = true, u.a.val
			}
		case uReturn, uStop:
			w.falls = false
		case uCall:
			if !u.a.isReg() && noReturn[f.nameOf(u.a.val)] {
				w.falls = false
			}
		}
	}
	return w
}

// nameOf names the function that a direct call leads to, or "".
func (f *Flow) nameOf(entry uint64) string { return f.x.stub(f.x.target(global(entry))) }

// cut makes the blocks and joins them.
func (f *Flow) cut() {
	leader := make([]bool, len(f.insts)+1)
	ways := make([]way, len(f.insts))
	leader[0] = true
	for i := range f.insts {
		w := f.wayOf(i)
		ways[i] = w
		if t, ok := f.index[w.target]; ok && w.jumps {
			leader[t] = true
		}
		if w.jumps || !w.falls {
			leader[i+1] = true
		}
	}
	f.owner = make([]int, len(f.insts))
	for i := range f.insts {
		if leader[i] {
			f.blocks = append(f.blocks, flowBlock{first: i})
		}
		f.owner[i] = len(f.blocks) - 1
		f.blocks[len(f.blocks)-1].last = i + 1
	}
	entered := make([]bool, len(f.blocks))
	entered[0] = true
	for b := range f.blocks {
		blk := &f.blocks[b]
		w := ways[blk.last-1]
		if t, ok := f.index[w.target]; ok && w.jumps {
			blk.succ = append(blk.succ, f.owner[t])
		}
		if w.falls && blk.last < len(f.insts) {
			blk.succ = append(blk.succ, f.owner[blk.last])
		}
		blk.table = w.indirect && !f.fixed(blk.last-1)
		for _, s := range blk.succ {
			entered[s] = entered[s] || !f.padding(b)
		}
	}
	f.adopt(entered)
}

// fixed tells whether the indirect jump of instruction i goes through a pointer
// at a fixed address: it leaves the function.
func (f *Flow) fixed(i int) bool {
	t, leads := f.leadsTo(i)
	return leads && t.Slot != 0
}

// leadsTo is where instruction i jumps or calls to, as far as it tells that itself;
// not ok if it does neither.
func (f *Flow) leadsTo(i int) (t Target, ok bool) {
	leads := func(u uop) bool { return u.code == uJump || u.code == uCall }
	if !slices.ContainsFunc(f.insts[i].uops, leads) {
		return Target{}, false
	}
	s := newState(f.x.abi, f.insts[i].pc)
	for k := range f.insts[i].uops {
		u := &f.insts[i].uops[k]
		if leads(*u) {
			return f.x.target(s.value(u.a)), true
		}
		if u.code < uSelect || u.code > uReturn {
			s.apply(u)
		}
	}
	return Target{}, false
}

// MayCall tells whether the function has a call of a function with one of some names,
// or a jump there. It may if the code of a call does not tell what it leads to: to find
// that out takes longer.
func (f *Flow) MayCall(named func(name string) bool) bool {
	for i := range f.insts {
		t, leads := f.leadsTo(i)
		if _, inside := f.index[t.Entry]; inside || !leads {
			continue
		}
		if t.Entry == 0 && t.Slot == 0 || named(f.x.stub(t)) {
			return true
		}
	}
	return false
}

// padding tells whether block b does nothing.
func (f *Flow) padding(b int) bool {
	blk := &f.blocks[b]
	for i := blk.first; i < blk.last; i++ {
		if len(f.insts[i].uops) > 0 || f.insts[i].opaque {
			return false
		}
	}
	return true
}

// adopt deals with the blocks that nothing seen leads to. If the function has
// jumps through tables, they are what those lead to. Otherwise they handle
// exceptions, and anything may hold there.
func (f *Flow) adopt(entered []bool) {
	var lost []int
	for b, ok := range entered {
		if !ok && !f.padding(b) {
			lost = append(lost, b)
		}
	}
	for b := range f.blocks {
		if f.blocks[b].table {
			f.Indirect = true
			f.blocks[b].succ = append(f.blocks[b].succ, lost...)
		}
	}
	for _, b := range lost {
		f.blocks[b].lost = !f.Indirect
	}
}
