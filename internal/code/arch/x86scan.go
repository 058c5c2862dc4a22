package arch

import (
	"iter"
	"slices"

	"golang.org/x/arch/x86/x86asm"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

const (
	// maxFunction bounds the code decoded to find the instructions before a call, in bytes. Compilers write
	// functions of some 100 KB at most.
	maxFunction = 1 << 20
	// scanAfter is the number of bytes after the call that are searched for jumps back to just before it (merged
	// tails of other paths).
	scanAfter = 1024
	// maxWindow is the number of instructions before the call that are kept: arguments are loaded in fewer.
	maxWindow = 32
	// maxInst is the length of the longest x86-64 instruction in bytes.
	maxInst = 15
)

// inst is a decoded instruction and its address.
type inst struct {
	x86asm.Inst
	pc uint64
}

func (i *inst) end() uint64 { return i.pc + uint64(i.Len) }

// scan is the straight-line code that ends with a call.
type scan struct {
	window []inst // the last instructions before the call, oldest first
	joins  map[uint64]bool
	call   uint64 // address of the call
}

// x86Scan walks from low to a little after the call that returns to ret, and decodes the instructions before the
// call.
func x86Scan(mem callbacks.Memory, low, ret uint64) (*scan, bool) {
	if ret <= low || ret-low > maxFunction {
		return nil, false
	}
	w := x86Walk{low: low, length: int(ret - low), code: readFrom(mem, low, int(ret-low)+scanAfter)}
	if !w.walk(0) {
		return nil, false
	}
	return w.decodeWindow()
}

// x86Walk finds the instructions before a call by their lengths.
type x86Walk struct {
	low    uint64
	code   []byte // from low on
	length int    // of the code before the call's return address
	// steps has the lengths and jumps of instructions by their offset, if several walks share them.
	steps []x86Step

	starts [maxWindow + 1]int // of the last instructions before the return address, as a ring
	count  int
	joins  []int // offsets of the last instructions, and between them, to which the walked code jumps
}

// x86Step is the length of an instruction and the distance of its jump. The length is 0 if it is not known yet,
// and badStep if the instruction is invalid.
type x86Step struct {
	length int8
	jump   int32
}

const badStep = -1

// stepAt returns the length of the instruction at an offset, and the distance of its jump, as x86Length does.
func (w *x86Walk) stepAt(off int) (n int, jump int64) {
	if off >= len(w.steps) {
		return x86Length(w.code[off:])
	}
	s := &w.steps[off]
	if s.length == 0 {
		n, jump := x86Length(w.code[off:])
		*s = x86Step{length: int8(n), jump: int32(jump)}
		if n == 0 {
			s.length = badStep
		}
	}
	return max(int(s.length), 0), int64(s.jump)
}

// walk walks from an offset to a little after the call. It returns false if an instruction before the return
// address is invalid, or if none ends there.
func (w *x86Walk) walk(off int) bool {
	w.count, w.joins = 0, w.joins[:0]
	if len(w.code) < w.length {
		return false
	}
	for off < len(w.code) {
		n, jump := w.stepAt(off)
		if n == 0 && off < w.length {
			return false
		}
		if off < w.length {
			w.starts[w.count%len(w.starts)] = off
			w.count++
		}
		off += max(n, 1)
		to := off + int(jump)
		if jump != 0 && to < w.length && to > w.length-maxWindow*maxInst && !slices.Contains(w.joins, to) {
			w.joins = append(w.joins, to)
		}
		if off-n < w.length && off > w.length {
			return false // the return address is not the end of an instruction
		}
	}
	return true
}

// decodeWindow decodes the last instructions of the walk.
func (w *x86Walk) decodeWindow() (*scan, bool) {
	first := max(0, w.count-len(w.starts))
	s := &scan{window: make([]inst, 0, w.count-first), joins: make(map[uint64]bool, len(w.joins))}
	for k := first; k < w.count; k++ {
		off := w.starts[k%len(w.starts)]
		d, err := decode(w.code[off:w.length])
		if err != nil {
			return nil, false
		}
		s.window = append(s.window, inst{d, w.low + uint64(off)})
	}
	for _, to := range w.joins {
		s.joins[w.low+uint64(to)] = true
	}
	return s, s.splitCall()
}

// x86Window identifies the instructions before a call, and the jumps to them.
type x86Window struct {
	first int // the offset of the first instruction
	joins [(maxWindow*maxInst + 63) / 64]uint64
}

// window returns the window of the last walk.
func (w *x86Walk) window() x86Window {
	v := x86Window{first: w.starts[max(0, w.count-len(w.starts))%len(w.starts)]}
	for _, to := range w.joins {
		back := w.length - 1 - to
		v.joins[back/64] |= 1 << (back % 64)
	}
	return v
}

// x86Scans yields the different scans of walks that start at the addresses from first on, in their order. Walks of
// neighbouring addresses soon meet at the same instructions, so most of them have a scan that was yielded before.
func x86Scans(mem callbacks.Memory, first, ret uint64) iter.Seq[*scan] {
	return func(yield func(*scan) bool) {
		if ret <= first || ret-first > maxFunction {
			return
		}
		w := x86Walk{low: first}
		for {
			w.length = int(ret - w.low)
			w.code = readFrom(mem, w.low, w.length+scanAfter)
			if len(w.code) >= w.length {
				break
			}
			unread := w.low + uint64(len(w.code))
			w.low = unread&^(pageSize-1) + pageSize
			if w.low >= ret {
				return
			}
		}
		w.steps = make([]x86Step, len(w.code))
		seen := map[x86Window]bool{}
		for off := range w.length {
			if !w.walk(off) || seen[w.window()] {
				continue
			}
			seen[w.window()] = true
			if s, ok := w.decodeWindow(); ok && !yield(s) {
				return
			}
		}
	}
}

// splitCall removes the call from the end of the window.
func (s *scan) splitCall() bool {
	n := len(s.window) - 1
	if n < 0 || s.window[n].Op != x86asm.CALL {
		return false
	}
	s.call, s.window = s.window[n].pc, s.window[:n]
	return true
}

// decode decodes one instruction. x86asm does not know endbr64, and decodes vzeroupper as an instruction with
// operands. Either would misalign the following instructions.
func decode(code []byte) (x86asm.Inst, error) {
	if n := skipEndbr(code); n > 0 {
		return x86asm.Inst{Op: x86asm.NOP, Len: n}, nil
	}
	if len(code) >= 3 && code[0] == 0xc5 && code[1]&0xfb == 0xf8 && code[2] == 0x77 {
		return x86asm.Inst{Op: x86asm.VZEROUPPER, Len: 3}, nil
	}
	return x86asm.Decode(code, 64)
}

// valueOf returns the value of register reg at the call.
func (s *scan) valueOf(reg x86asm.Reg) (Value, bool) {
	v, copied, ok := s.trace(reg)
	if ok {
		return v, true
	}
	// The code does not show the value, but it may have been copied from a register that still contains it.
	for _, c := range copied {
		if calleeSaved(c.from) && !s.changes(c.from, c.at) {
			return Value{Kind: ValueRegister, Register: dwarfOf(c.from)}, true
		}
	}
	return Value{}, false
}

// moved records that an instruction of the window copied from a register.
type moved struct {
	from x86asm.Reg
	at   int
}

// trace walks back from the call to the instruction that produces the value of want. It follows copies between
// registers and returns them too.
func (s *scan) trace(want x86asm.Reg) (v Value, copied []moved, ok bool) {
	shift, shiftKnown := int64(0), true // the change of rsp by later instructions
	size := 8                           // the number of bytes that the copies kept
	after := s.call                     // address of the following instruction
	for k := len(s.window) - 1; k >= 0; k-- {
		i := &s.window[k]
		if s.joins[after] || endsBlock(i) {
			break
		}
		after = i.pc
		if !effectOn(i, want) {
			d, known := stackMove(i)
			shift, shiftKnown = shift+d, shiftKnown && known
			continue
		}
		if next, n := copyOf(i, want); next != 0 {
			size = min(size, n)
			if size == 8 {
				copied = append(copied, moved{next, k})
			}
			want = next
			continue
		}
		v, ok := source(i, want)
		ok = ok && s.holds(v, k, shiftKnown) && v.narrow(size)
		return anchored(v, shift), copied, ok
	}
	return v, copied, false
}

// changes reports whether an instruction of the window from index at on may change reg.
func (s *scan) changes(reg x86asm.Reg, at int) bool {
	for n := at; n < len(s.window); n++ {
		if effectOn(&s.window[n], reg) {
			return true
		}
	}
	return false
}

// holds reports whether the base register of v, computed by instruction k, is still known at the call.
func (s *scan) holds(v Value, k int, shiftKnown bool) bool {
	if v.Kind != ValueFrameAddress && v.Kind != ValueFrameSlot {
		return true
	}
	if v.Register == callbacks.X86RSP {
		return shiftKnown
	}
	base := regOf(v.Register)
	return calleeSaved(base) && !s.changes(base, k)
}

// anchored returns v with its offset relative to rsp at the call. Later instructions moved rsp by shift.
func anchored(v Value, shift int64) Value {
	based := v.Kind == ValueFrameAddress || v.Kind == ValueFrameSlot
	if based && v.Register == callbacks.X86RSP {
		v.N -= uint64(shift)
	}
	return v
}

// endsBlock reports whether control may not simply pass i, so that the code before it is irrelevant, or whether
// registers are lost in it.
func endsBlock(i *inst) bool {
	switch i.Op {
	case x86asm.CALL, x86asm.LCALL, x86asm.JMP, x86asm.LJMP, x86asm.RET, x86asm.LRET, x86asm.IRETQ,
		x86asm.UD2, x86asm.HLT, x86asm.SYSCALL, x86asm.SYSENTER, x86asm.INT:
		return true
	}
	return false
}

// stackMove returns the number of bytes by which i moves rsp; not ok if it is unknown.
func stackMove(i *inst) (int64, bool) {
	switch i.Op {
	case x86asm.PUSH:
		return -8, i.DataSize == 64
	case x86asm.POP:
		return 8, i.DataSize == 64
	}
	if !effectOn(i, x86asm.RSP) {
		return 0, true
	}
	n, ok := i.Args[1].(x86asm.Imm)
	if d, lea := i.Args[1].(x86asm.Mem); i.Op == x86asm.LEA && lea && d.Base == x86asm.RSP && d.Index == 0 {
		return d.Disp, true
	}
	switch {
	case ok && i.Op == x86asm.ADD:
		return int64(n), true
	case ok && i.Op == x86asm.SUB:
		return -int64(n), true
	}
	return 0, false
}

// destination returns the size in bytes of the part of reg that i writes as its first operand. It returns 0 if
// the write leaves parts of reg.
func destination(i *inst, reg x86asm.Reg) int {
	dst, ok := i.Args[0].(x86asm.Reg)
	if !ok || fullRegister(dst) != reg || widthOf(dst) < 4 { // a 4-byte write clears the rest
		return 0
	}
	return widthOf(dst)
}

// copyOf returns the register that i copies to reg, and the number of copied low bytes, or 0. A copy of rsp is
// an address and handled by source.
func copyOf(i *inst, reg x86asm.Reg) (from x86asm.Reg, size int) {
	src, ok := i.Args[1].(x86asm.Reg)
	size = destination(i, reg)
	if !ok || i.Op != x86asm.MOV || widthOf(src) != size || src == x86asm.RSP {
		return 0, 0
	}
	return fullRegister(src), size
}

// source returns the value that i, which changes reg, puts there.
func source(i *inst, reg x86asm.Reg) (v Value, ok bool) {
	size := destination(i, reg)
	if size == 0 {
		return v, false
	}
	switch a := i.Args[1].(type) {
	case x86asm.Imm:
		v = Value{Kind: ValueConst, N: uint64(a)}
		return v, (i.Op == x86asm.MOV || i.Op == x86asm.OR && a == -1) && v.narrow(size)
	case x86asm.Reg:
		if i.Op == x86asm.MOV && a == x86asm.RSP {
			return Value{Kind: ValueFrameAddress, Register: callbacks.X86RSP}, true
		}
		return Value{Kind: ValueConst}, i.Op == x86asm.XOR && i.Args[0] == a
	case x86asm.Mem:
		if i.Op == x86asm.MOV || i.Op == x86asm.LEA {
			return memSource(i, a, size)
		}
	}
	return v, false
}

// narrow reduces v to its low size bytes; not ok if v cannot represent them.
func (v *Value) narrow(size int) bool {
	switch v.Kind {
	case ValueConst:
		if size == 4 {
			v.N &= 0xffffffff
		}
	case ValueMemory, ValueFrameSlot:
		v.Size = min(v.Size, size)
	default:
		return size == 8
	}
	return true
}

// memSource returns the value of a mov (a load) or of a lea (the address) with operand m.
func memSource(i *inst, m x86asm.Mem, size int) (Value, bool) {
	// The decoder does not extend the sign of a displacement without a base register.
	v := Value{N: uint64(int64(int32(m.Disp))), Size: size, Kind: ValueFrameSlot}
	if m.Segment != 0 || m.Index != 0 {
		return v, false
	}
	lea := i.Op == x86asm.LEA
	if lea {
		v.Kind, v.Size = ValueFrameAddress, 0
		if size != 8 {
			return v, false
		}
	}
	switch {
	case m.Base == x86asm.RIP || m.Base == 0:
		if m.Base != 0 {
			v.N += i.end()
		}
		v.Kind = ValueMemory
		if lea {
			v.Kind = ValueAddress
		}
		return v, true
	case widthOf(m.Base) == 8:
		v.Register = dwarfOf(m.Base)
		return v, v.Register >= 0
	}
	return v, false
}
