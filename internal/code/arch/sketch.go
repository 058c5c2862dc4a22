package arch

import (
	"slices"

	"golang.org/x/arch/x86/x86asm"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// Sketch contains the facts about a function that single instructions show: enough to distinguish the small
// functions of a runtime by their effects.
type Sketch struct {
	Words    []WordUse
	Leaves   []uint64 // targets of its calls and of its jumps out, each once
	TLS      []uint64 // offsets from the thread pointer that it uses, in two's complement
	Stored   []int64  // offsets from the first argument at which it stores a number or a register
	Syscall  bool     // it makes a system call
	Indirect bool     // it calls a pointer, or jumps to one
	Halts    bool     // it contains a privileged instruction
	Insts    int
}

// WordUse is an atomic exchange of a 4-byte word.
type WordUse struct {
	Arg     bool   // the word is at Offset from the first argument; otherwise at Address
	Offset  int64  // from the first argument
	Address uint64 // in the target
	Compare bool   // the word changes only if it has the expected value
}

// maxSketched bounds the code of one function, in bytes.
const maxSketched = 1 << 15

// SketchOf returns a sketch of the function at [low, high). It is not ok if the code is unreadable, or of an
// unsupported instruction set.
func SketchOf(a callbacks.Arch, mem callbacks.Memory, low, high uint64) (Sketch, bool) {
	if a != callbacks.ArchX86_64 || high <= low || high-low > maxSketched {
		return Sketch{}, false
	}
	code := make([]byte, high-low)
	if mem.ReadMemory(callbacks.Addr(low), code) != nil {
		return Sketch{}, false
	}
	s := sketcher{low: low, high: high, values: map[x86asm.Reg]sketched{x86asm.RDI: {kind: sketchedArg}}}
	for off := 0; off < len(code); {
		in, err := decode(code[off:])
		if err != nil { // for example, a vector instruction
			n, _ := x86Length(code[off:])
			if n == 0 {
				return s.out, false
			}
			off += n
			continue
		}
		off += in.Len
		s.out.Insts++
		s.step(&in, low+uint64(off))
	}
	return s.out, true
}

// sketched is the known content of a register: a number, or an offset from the first argument or from the thread
// pointer.
type sketched struct {
	kind sketchedKind
	v    int64
}

type sketchedKind uint8

const (
	sketchedNumber sketchedKind = iota
	sketchedArg
	sketchedTP
)

// sketcher builds a Sketch, instruction by instruction in address order.
type sketcher struct {
	low, high uint64
	values    map[x86asm.Reg]sketched // by 8-byte register
	out       Sketch
}

// step processes one instruction; next is the address of the following one.
func (s *sketcher) step(in *x86asm.Inst, next uint64) {
	switch in.Op {
	case x86asm.SYSCALL:
		s.out.Syscall = true
	case x86asm.HLT:
		s.out.Halts = true
	case x86asm.CALL, x86asm.JMP:
		s.leave(in, next)
	}
	if target, ok := in.Args[0].(x86asm.Rel); ok && in.Op != x86asm.CALL && in.Op != x86asm.JMP {
		s.leadsTo(next + uint64(int64(target)))
	}
	s.threadLocal(in)
	if m, ok := in.Args[0].(x86asm.Mem); ok {
		s.store(in, m, next)
	}
	s.assign(in)
}

// leave records the target of a call or a jump.
func (s *sketcher) leave(in *x86asm.Inst, next uint64) {
	if target, ok := in.Args[0].(x86asm.Rel); ok {
		s.leadsTo(next + uint64(int64(target)))
	} else {
		s.out.Indirect = true
	}
	if in.Op == x86asm.CALL {
		for _, r := range []x86asm.Reg{x86asm.RAX, x86asm.RCX, x86asm.RDX, x86asm.RSI, x86asm.RDI, x86asm.R8,
			x86asm.R9, x86asm.R10, x86asm.R11} {
			delete(s.values, r)
		}
	}
}

func (s *sketcher) leadsTo(addr uint64) {
	if (addr < s.low || addr >= s.high) && !slices.Contains(s.out.Leaves, addr) {
		s.out.Leaves = append(s.out.Leaves, addr)
	}
}

// threadLocal records the thread-local variables that an instruction uses.
func (s *sketcher) threadLocal(in *x86asm.Inst) {
	for _, arg := range in.Args {
		m, ok := arg.(x86asm.Mem)
		if !ok || m.Segment != x86asm.FS {
			continue
		}
		if m.Base == 0 && m.Index == 0 {
			s.useTLS(m.Disp)
		} else if v, ok := s.values[m.Base]; ok && v.kind == sketchedNumber && m.Index == 0 {
			s.useTLS(v.v + m.Disp)
		}
	}
}

func (s *sketcher) useTLS(off int64) {
	if off := uint64(int64(int32(off))); off != 0 && !slices.Contains(s.out.TLS, off) {
		s.out.TLS = append(s.out.TLS, off)
	}
}

// store records the memory that an instruction with a memory operand changes.
func (s *sketcher) store(in *x86asm.Inst, m x86asm.Mem, next uint64) {
	v, known := s.values[m.Base]
	arg := known && v.kind == sketchedArg && m.Index == 0 && m.Segment == 0
	switch in.Op {
	case x86asm.CMPXCHG, x86asm.XCHG:
	case x86asm.MOV, x86asm.ADD, x86asm.SUB, x86asm.INC, x86asm.DEC, x86asm.MOVUPS, x86asm.MOVUPD, x86asm.MOVQ:
		if arg {
			s.out.Stored = append(s.out.Stored, v.v+m.Disp)
		}
		return
	default:
		return
	}
	u := WordUse{Arg: arg, Compare: in.Op == x86asm.CMPXCHG}
	switch {
	case in.MemBytes != 4 || m.Segment != 0 || m.Index != 0:
		return
	case arg:
		u.Offset = v.v + m.Disp
	case m.Base == x86asm.RIP:
		u.Address = next + uint64(m.Disp)
	case m.Base == 0:
		u.Address = uint64(m.Disp)
	default:
		return
	}
	if !slices.Contains(s.out.Words, u) {
		s.out.Words = append(s.out.Words, u)
	}
}

// assign tracks the contents of registers.
func (s *sketcher) assign(in *x86asm.Inst) {
	dst, ok := in.Args[0].(x86asm.Reg)
	if !ok || in.Op == x86asm.CMP || in.Op == x86asm.TEST || in.Op == x86asm.PUSH {
		return
	}
	if dst >= x86asm.EAX && dst <= x86asm.R15L {
		dst += x86asm.RAX - x86asm.EAX
	}
	was := s.values[dst]
	_, known := s.values[dst]
	delete(s.values, dst)
	switch src := in.Args[1].(type) {
	case x86asm.Imm:
		switch {
		case in.Op == x86asm.MOV:
			s.values[dst] = sketched{v: int64(src)}
		case known && in.Op == x86asm.ADD:
			s.offset(dst, was, int64(src))
		case known && in.Op == x86asm.SUB:
			s.offset(dst, was, -int64(src))
		}
	case x86asm.Reg:
		if v, ok := s.values[src]; ok && in.Op == x86asm.MOV {
			s.values[dst] = v
		}
	case x86asm.Mem:
		if in.Op == x86asm.MOV && src.Segment == x86asm.FS && src.Base == 0 && src.Index == 0 && src.Disp == 0 {
			s.values[dst] = sketched{kind: sketchedTP}
		}
		base := was
		if src.Base != dst {
			base, known = s.values[src.Base]
		}
		if known && in.Op == x86asm.LEA && src.Index == 0 {
			s.offset(dst, base, src.Disp)
		}
	}
}

// offset sets a register to a known value plus a distance.
func (s *sketcher) offset(dst x86asm.Reg, base sketched, by int64) {
	base.v += by
	if s.values[dst] = base; base.kind == sketchedTP {
		s.useTLS(base.v)
	}
}
