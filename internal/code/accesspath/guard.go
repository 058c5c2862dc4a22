package accesspath

import (
	"errors"
	"fmt"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/code/lift"
	"github.com/ompd-inspect/ompd-inspect/internal/code/symbolic"
)

// errNoCode means that there is no valid instruction.
var errNoCode = errors.New("no code that can be decoded")

// maxGuard bounds the instructions between the use of a variable and the call that belongs to it. Compilers
// write a handful.
const maxGuard = 16

// maxHeld bounds the instructions that are followed while a register contains the address of a variable. A
// function may keep it from start to end.
const maxHeld = 4096

// Guard is a call that is made only if a bit of a variable is set. An example:
//
//	if (variable & 1) function();
//
// It is found by the code alone.
type Guard struct {
	At    uint64 // of the instruction that reads the variable
	PC    uint64 // of the call, or of the tail jump
	Entry uint64 // of the callee
	Jump  bool   // it is a jump, possibly one within the function
}

// Variable is a variable that Guards and CallsBehind search uses of.
type Variable struct {
	Address uint64
	// Slots are the addresses of pointers to it, such as those in a global offset table.
	Slots []uint64
}

// Guards lists the calls after tests of bit 0 of v in code, which starts at low.
func Guards(cfg Config, low uint64, code []byte, v Variable) ([]Guard, error) {
	x, err := newExplorer(cfg)
	if err != nil {
		return nil, fmt.Errorf("guards in the code at %#x: %w", low, err)
	}
	u := newUse(x, v)
	for _, pc := range references(cfg.Arch, low, code, v) {
		u.follow(pc)
	}
	return u.found, nil
}

// use follows the uses of a variable.
type use struct {
	*explorer
	Variable
	values [maxValues]uint64
	found  []Guard
}

// maxValues is the number of values that are followed in registers: the variable's address, and the addresses of
// the pages that contain the variable or a pointer to it. Code may add the offset in the page later.
const maxValues = 3

// codePage is the unit of the addresses that ADRP computes on aarch64.
const codePage = 4096

func newUse(x *explorer, v Variable) *use {
	u := &use{explorer: x, Variable: v, values: [maxValues]uint64{v.Address, v.Address &^ (codePage - 1)}}
	if len(v.Slots) > 0 {
		u.values[2] = v.Slots[0] &^ (codePage - 1)
	}
	return u
}

// holders contains, for each value, the set of registers that contain it (bit n: register n).
type holders [maxValues]uint64

// held is a place in the code with the register contents there.
type held struct {
	pc   uint64
	regs holders
}

// follow searches the code from pc for tests of the variable, as long as a register contains one of the values.
func (u *use) follow(pc uint64) {
	work := []held{{pc: pc}}
	seen := map[held]bool{}
	for budget := maxHeld; len(work) > 0 && budget > 0; {
		h := work[len(work)-1]
		work = work[:len(work)-1]
		if seen[h] {
			continue
		}
		seen[h] = true
		next, n := u.block(h)
		budget -= n
		for _, pc := range next.to {
			if next.regs != (holders{}) {
				work = append(work, held{pc, next.regs})
			}
		}
	}
}

// exit contains the possible successors of a block.
type exit struct {
	to   []uint64
	regs holders
}

// block executes the code from h to the next branch and records a test there. It returns the number of
// instructions.
func (u *use) block(h held) (e exit, n int) {
	s := symbolic.NewState(u.ABI, h.pc)
	for r := range lift.Temp0 {
		for i, v := range u.values {
			if h.regs[i]&(1<<r) != 0 {
				s.Regs[r] = symbolic.Global(v)
			}
		}
	}
	at := uint64(0)
	for n = range maxHeld {
		in, ok := u.Fetch(s.PC)
		if !ok {
			return exit{}, n
		}
		next := s.PC + uint64(in.Length)
		for i := range in.Uops {
			op := &in.Uops[i]
			switch op.Code {
			case lift.UopBranch:
				u.note(s.BranchCond(op), at, op.A.Val, next)
				return exit{[]uint64{op.A.Val, next}, u.holders(s)}, n
			case lift.UopJump:
				return exit{[]uint64{op.A.Val}, u.holders(s)}, n
			case lift.UopReturn, lift.UopStop:
				return exit{}, n
			case lift.UopCall:
				u.clobber(s, symbolic.Leaf(symbolic.KindUnknown, 0))
				if u.begins(next) {
					return exit{}, n
				}
			default:
				if u.apply(s, op) {
					at = s.PC
				}
			}
		}
		s.PC = next
	}
	return exit{}, n
}

// apply executes a micro-operation that does not leave the block, and reports whether it reads the variable.
func (u *use) apply(s *symbolic.State, op *lift.Uop) (reads bool) {
	switch op.Code {
	case lift.UopSelect:
		s.Regs[op.Dst] = nil
		return false
	case lift.UopSkip:
		s.Flags = symbolic.FlagState{}
		return false
	case lift.UopLoad:
		a := s.Value(op.A)
		if a.Kind == symbolic.KindGlobal && op.Size == 8 && slices.Contains(u.Slots, a.Val) {
			s.Regs[op.Dst] = symbolic.Global(u.Address)
			return false
		}
		reads = a.IsGlobal(u.Address)
	case lift.UopExchange:
		reads = s.Value(op.A).IsGlobal(u.Address)
	}
	s.Apply(op)
	return reads
}

// holders returns the registers that contain the values.
func (u *use) holders(s *symbolic.State) (h holders) {
	for r := range lift.Temp0 {
		for i, v := range u.values {
			if s.Regs[r] != nil && s.Regs[r].IsGlobal(v) {
				h[i] |= 1 << r
			}
		}
	}
	return h
}

// note records a guard if c tests the variable, which was read at address at, and a call follows if the bit is
// set.
func (u *use) note(c symbolic.Cond, at, taken, next uint64) {
	if c.Op != lift.EQ && c.Op != lift.NE || !c.B.IsConst(0) {
		return
	}
	ch, ok := c.A.Chain()
	if !ok || ch.Mask != 1 || ch.Root.Kind != symbolic.RootGlobal || len(ch.Steps) != 1 || ch.Steps[0].Index != nil ||
		ch.Root.Address+ch.Steps[0].Offset != u.Address {
		return
	}
	set := next
	if c.Op == lift.NE {
		set = taken
	}
	g, ok := u.firstCall(set)
	if g.At = at; ok && !slices.ContainsFunc(u.found, func(f Guard) bool { return f.PC == g.PC }) {
		u.found = append(u.found, g)
	}
}

// firstCall returns the first call or jump that the code from pc reaches.
func (x *explorer) firstCall(pc uint64) (Guard, bool) {
	for range maxGuard {
		in, ok := x.Fetch(pc)
		if !ok {
			return Guard{}, false
		}
		for _, u := range in.Uops {
			switch {
			case u.Code == lift.UopCall || u.Code == lift.UopJump:
				return Guard{PC: pc, Entry: u.A.Val, Jump: u.Code == lift.UopJump}, !u.A.IsReg()
			case u.Leaves() || u.Code == lift.UopStop:
				return Guard{}, false
			}
		}
		pc += uint64(in.Length)
	}
	return Guard{}, false
}

// Empty reports whether the function at entry has no effect.
func Empty(cfg Config, entry uint64) bool {
	cfg.Bounds = Bounds{Steps: maxEmpty, Paths: 2, Visits: 1}
	paths, err := Run(cfg, entry)
	if err != nil || len(paths) != 1 {
		return false
	}
	p := paths[0]
	return p.End == symbolic.EndReturn && len(p.Loads)+len(p.Stores)+len(p.Calls)+len(p.Conds) == 0
}

// maxEmpty bounds the instructions of a function without effect: a branch-target marker, a frame set up and
// removed, the return.
const maxEmpty = 8

// references lists the places in code, which starts at low, that may compute the address of v or of a pointer to
// it. The list may contain invalid instructions and other addresses.
func references(a callbacks.Arch, low uint64, code []byte, v Variable) []uint64 {
	find := referencesOf[a]
	if find == nil {
		return nil
	}
	return find(low, code, append([]uint64{v.Address}, v.Slots...))
}

var referencesOf = map[callbacks.Arch]func(low uint64, code []byte, addrs []uint64) []uint64{
	callbacks.ArchX86_64:  x86References,
	callbacks.ArchAArch64: a64References,
}

// x86References searches for offsets relative to the next instruction, which starts after the offset or after an
// immediate of 1 or 4 bytes. An instruction has two to four bytes before the offset.
func x86References(low uint64, code []byte, addrs []uint64) []uint64 {
	var out []uint64
	for i := 4; i+4 <= len(code); i++ {
		to := low + uint64(i) + lift.ExtendWord(callbacks.Word(code[i:i+4]), 4, true)
		for _, a := range addrs {
			if d := a - to; d != 4 && d != 5 && d != 8 {
				continue
			}
			if modrm := code[i-1]; modrm&0xc7 != 5 { // not relative to the next instruction
				continue
			}
			for start := i - 4; start <= i-2; start++ {
				out = append(out, low+uint64(start))
			}
		}
	}
	return out
}

// a64Reach bounds the instructions between the one that computes the address of a page and the one that adds the
// offset in it.
const a64Reach = 32

// a64References searches for instructions that compute an address, or that of its page if a later instruction
// adds the offset in the page.
func a64References(low uint64, code []byte, addrs []uint64) []uint64 {
	var out []uint64
	for i := 0; i+4 <= len(code); i += 4 {
		w := callbacks.Word(code[i : i+4])
		if w&0x1f000000 != 0x10000000 { // neither ADR nor ADRP
			continue
		}
		pc := low + uint64(i)
		n := uint64(int64((w>>5&0x7ffff<<2|w>>29&3)<<43) >> 43) // 21 bits, signed
		base, size := pc+n, uint64(1)
		if w>>31 == 1 { // ADRP
			base, size = pc&^(codePage-1)+n*codePage, codePage
		}
		for _, a := range addrs {
			if a-base < size && (size == 1 || a64Adds(code[i+4:min(len(code), i+4+4*a64Reach)], w&31, a-base)) {
				out = append(out, pc)
			}
		}
	}
	return out
}

// a64Adds reports whether an instruction in code adds n to a register: ADD, or a load or store of 1 or 8 bytes.
func a64Adds(code []byte, register, n uint64) bool {
	for ; len(code) >= 4; code = code[4:] {
		w := callbacks.Word(code[:4])
		if w>>5&31 != register {
			continue
		}
		imm := w >> 10 & 0xfff
		switch {
		case w&0xffc00000 == 0x91000000, w&0xff800000 == 0x39000000:
		case w&0xff800000 == 0xf9000000:
			imm *= 8
		default:
			continue
		}
		if imm == n {
			return true
		}
	}
	return false
}

// CallsBehind lists the calls that directly follow a use of v in code, which starts at low, without a branch in
// between.
func CallsBehind(cfg Config, low uint64, code []byte, v Variable) ([]BodyCall, error) {
	x, err := newExplorer(cfg)
	if err != nil {
		return nil, fmt.Errorf("calls in the code at %#x: %w", low, err)
	}
	u := newUse(x, v)
	var out []BodyCall
	for _, pc := range references(cfg.Arch, low, code, v) {
		if c, ok := u.nextCall(pc); ok && !slices.Contains(out, c) {
			out = append(out, c)
		}
	}
	return out, nil
}

// nextCall returns the first call after pc, if the code there computes the variable's address and reaches the
// call without a branch.
func (u *use) nextCall(pc uint64) (BodyCall, bool) {
	s := symbolic.NewState(u.ABI, pc)
	made := false
	for range maxGuard {
		in, ok := u.Fetch(s.PC)
		if !ok {
			return BodyCall{}, false
		}
		for i := range in.Uops {
			op := &in.Uops[i]
			switch {
			case op.Code == lift.UopCall:
				return BodyCall{s.PC, op.A.Val}, made && !op.A.IsReg()
			case op.Leaves() || op.Code == lift.UopStop:
				return BodyCall{}, false
			}
			stores := op.Stores() && op.Code != lift.UopPush && s.Value(op.A).IsGlobal(u.Address)
			u.apply(s, op)
			made = made || stores || u.holders(s)[0] != 0
		}
		s.PC += uint64(in.Length)
	}
	return BodyCall{}, false
}
