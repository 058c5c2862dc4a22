package spin

import (
	"golang.org/x/arch/x86/x86asm"

	"github.com/ompd-inspect/ompd-inspect/internal/code/lift"
)

// maxInst is how long an instruction can be, bytes.
const maxInst = 15

// decode is the instruction at pc.
func (e *explorer) decode(pc uint64) (x86asm.Inst, bool) {
	code, err := e.cfg.Reader.Code.At(pc, maxInst)
	if err != nil {
		return x86asm.Inst{}, false
	}
	in, err := x86asm.Decode(code, 64)
	return in, err == nil
}

// locked reports whether an instruction may be one that changes a word only if it has a
// certain value.
func (e *explorer) locked(pc uint64) bool {
	in, ok := e.decode(pc)
	return ok && (in.Op == x86asm.XCHG || in.Op == x86asm.CMPXCHG || in.Prefix[0]&0xff == x86asm.PrefixLOCK)
}

// exchange does CMPXCHG, whose result the lifter does not follow; done is false for all
// other instructions. A system call is where the thread leaves.
func (e *explorer) exchange(m *machine) (done bool, err error) {
	in, ok := e.decode(m.pc)
	switch {
	case !ok:
		return false, nil
	case in.Op == x86asm.SYSCALL:
		return true, errLeaves
	case in.Op != x86asm.CMPXCHG:
		return false, nil
	}
	mem, isMem := in.Args[0].(x86asm.Mem)
	src, isReg := in.Args[1].(x86asm.Reg)
	size := uint8(in.MemBytes)
	from, known := general(src)
	if !isMem || !isReg || !known || size < 4 {
		return true, errLeaves
	}
	pc := m.pc
	m.pc += uint64(in.Len)
	at, ok := m.place(mem, m.pc)
	if !ok {
		return true, errLeaves
	}
	old, err := e.load(m, at, size, pc)
	if err != nil {
		return true, err
	}
	m.flags = flags{lift.FlagsCompare, size, m.regs[regAX].extend(size, false), old}
	equal, known, words := m.flags.decided(lift.Condition{Op: lift.EQ})
	if !known {
		m.regs[regAX] = value{from: words}
		if e.dry || e.cfg.Own(at.v) {
			return true, e.store(m, at, value{}, size, pc)
		}
		return true, errLeaves
	}
	if equal {
		return true, e.store(m, at, m.regs[from].extend(size, false), size, pc)
	}
	m.regs[regAX] = old
	return true, nil
}

// place is where an operand in memory is.
func (m *machine) place(mem x86asm.Mem, next uint64) (value, bool) {
	out := value{v: lift.ExtendWord(uint64(mem.Disp), 4, true), known: true}
	switch mem.Segment {
	case 0, x86asm.DS, x86asm.SS, x86asm.CS, x86asm.ES:
	case x86asm.FS:
		out = out.plus(value{v: m.tp, known: m.tp != 0}, 1)
	default:
		return value{}, false
	}
	if mem.Base == x86asm.RIP {
		out.v += next
		return out, true
	}
	if r, ok := general(mem.Base); ok && mem.Base != 0 {
		out = out.plus(m.regs[r], 1)
	}
	if r, ok := general(mem.Index); ok && mem.Index != 0 {
		out = out.plus(m.regs[r], uint64(mem.Scale))
	}
	return out, true
}

// general is the number of a register of four or eight bytes.
func general(r x86asm.Reg) (lift.Register, bool) {
	switch {
	case r >= x86asm.EAX && r <= x86asm.R15L:
		return lift.Register(r - x86asm.EAX), true
	case r >= x86asm.RAX && r <= x86asm.R15:
		return lift.Register(r - x86asm.RAX), true
	}
	return 0, false
}
