package spin

import (
	"errors"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/code/lift"
)

// step does one instruction.
func (e *explorer) step(m *machine) error {
	in, ok := e.cfg.Reader.Fetch(m.pc)
	if !ok {
		return errLeaves
	}
	if in.Repeated {
		return errLeaves
	}
	at := m.pc
	m.pc += uint64(in.Length)
	for i := 0; i < len(in.Uops); i++ {
		u := &in.Uops[i]
		if u.Code == lift.UopSkip {
			holds, known, _ := m.flags.decided(u.CC)
			if !known {
				return errLeaves
			}
			if holds {
				i += int(u.Scale)
			}
			continue
		}
		if err := e.do(m, u, at); err != nil {
			return err
		}
	}
	return nil
}

// do does one micro-operation of the instruction at pc.
func (e *explorer) do(m *machine, u *lift.Uop, pc uint64) error {
	switch u.Code {
	case lift.UopSet:
		m.regs[u.Dst] = m.operand(u.A).extend(u.Size, u.Signed)
	case lift.UopInsert:
		old, v := m.regs[u.Dst], m.operand(u.A).extend(u.Size, false)
		m.regs[u.Dst] = value{old.v&^lift.Width(u.Size) | v.v, old.known && v.known, old.from | v.from}
	case lift.UopBinary:
		m.regs[u.Dst] = m.binary(u)
	case lift.UopAddress:
		m.regs[u.Dst] = m.address(u)
	case lift.UopLoad:
		v, err := e.load(m, m.operand(u.A), u.Size, pc)
		m.regs[u.Dst] = v
		return err
	case lift.UopStore, lift.UopPush:
		return e.store(m, m.operand(u.A), m.operand(u.B), u.Size, pc)
	case lift.UopExchange:
		return e.exchange(m, u, pc)
	case lift.UopFlags:
		m.flags = flags{u.Flags, u.Size, m.operand(u.A).extend(u.Size, false), m.operand(u.B).extend(u.Size, false)}
	case lift.UopSetIf, lift.UopSelect:
		m.regs[u.Dst] = m.choose(u)
	case lift.UopForget:
		m.regs[u.Dst] = value{}
	case lift.UopBranch:
		return e.branch(m, u)
	case lift.UopJump:
		m.jumped = !u.A.IsReg()
		return e.jump(m, m.operand(u.A))
	case lift.UopCall:
		return e.call(m, m.operand(u.A), pc)
	case lift.UopReturn:
		return e.leave(m, pc)
	default:
		return errLeaves
	}
	return nil
}

// exchange does an exchange that depends on a comparison.
func (e *explorer) exchange(m *machine, u *lift.Uop, pc uint64) error {
	at, expected := m.operand(u.A), m.regs[u.Dst].extend(u.Size, false)
	old, err := e.load(m, at, u.Size, pc)
	if err != nil {
		return err
	}
	f := flags{lift.FlagsCompare, u.Size, expected, old}
	m.regs[u.Dst] = old
	equal, known, words := f.decided(lift.Condition{Op: lift.EQ})
	switch {
	case !known && (e.dry || e.cfg.Own(at.v)):
		m.regs[u.Dst].from = words
		return e.store(m, at, value{}, u.Size, pc)
	case !known:
		return errLeaves
	case equal:
		return e.store(m, at, m.operand(u.B).extend(u.Size, false), u.Size, pc)
	}
	return nil
}

// locked reports whether the instruction at pc writes only what no other thread has written since it read it.
func (e *explorer) locked(pc uint64) bool {
	in, ok := e.cfg.Reader.Fetch(pc)
	return ok && in.Locked
}

// choose is a value that depends on a condition.
func (m *machine) choose(u *lift.Uop) value {
	yes, no := value{v: 1, known: true}, value{known: true}
	if u.Code == lift.UopSelect {
		yes, no = m.operand(u.A).extend(u.Size, false), m.operand(u.B).extend(u.Size, false)
	}
	holds, known, from := m.flags.decided(u.CC)
	out := no
	if holds {
		out = yes
	}
	out.from |= from
	if !known {
		out = value{from: from | yes.from | no.from}
	}
	return out
}

// branch goes where a condition leads, and both ways if it is not known.
func (e *explorer) branch(m *machine, u *lift.Uop) error {
	holds, known, from := m.flags.decided(u.CC)
	to := m.operand(u.A).v
	m.jumped = true
	switch {
	case known:
		e.deciding |= from
	default: // the way back first
		other := m.clone()
		if other.pc = to; to <= m.pc {
			other.pc, m.pc = m.pc, to
		}
		return e.fork(other)
	}
	if holds {
		m.pc = to
	}
	return nil
}

// jump goes on at an address, or passes over a function there that need not be followed.
func (e *explorer) jump(m *machine, to value) error {
	if !to.known && e.dry { // through the table of a library's functions
		m.returned(value{})
		return e.leave(m, m.pc)
	}
	if !to.known {
		return errLeaves
	}
	if result, ok, err := e.passedOver(m, to.v, m.pc); ok || err != nil {
		m.returned(result)
		return errors.Join(err, e.leave(m, m.pc))
	}
	m.pc = to.v
	return nil
}

// call follows a call, or passes over it.
func (e *explorer) call(m *machine, to value, pc uint64) error {
	e.calls = true
	if !to.known && e.dry {
		m.returned(value{})
		return nil
	}
	if !to.known {
		return errLeaves
	}
	if result, ok, err := e.passedOver(m, to.v, pc); ok || err != nil {
		m.returned(result)
		return err
	}
	m.regs[regSP].v -= 8
	m.calls[m.depth] = callAt{pc, m.regs[regDI]}
	m.depth++
	err := e.store(m, m.regs[regSP], value{v: m.pc, known: true}, 8, pc)
	m.pc = to.v
	return err
}

// passedOver is what a function returns that need not be followed, and is called at pc.
func (e *explorer) passedOver(m *machine, entry, pc uint64) (value, bool, error) {
	name := e.cfg.Name(entry)
	switch {
	case name == "":
	case e.cfg.Passes(name):
		return value{known: true}, true, nil
	case e.cfg.Pure(name):
		return value{}, true, nil
	case e.cfg.Reads != nil && e.cfg.Reads(name) != 0:
		v, err := e.load(m, m.regs[regDI], e.cfg.Reads(name), pc)
		return v, true, err
	}
	return value{}, false, nil
}

// leave returns from a function.
func (e *explorer) leave(m *machine, pc uint64) error {
	to, err := e.load(m, m.regs[regSP], 8, pc)
	if err != nil || !to.known {
		return errLeaves
	}
	m.regs[regSP].v += 8
	m.depth--
	m.pc = to.v
	return nil
}

// load reads memory as the thread left it.
func (e *explorer) load(m *machine, at value, size uint8, pc uint64) (value, error) {
	if !at.known || size > 8 {
		return value{from: at.from}, nil
	}
	own := e.cfg.Own(at.v)
	if e.dry && !own {
		if e.cfg.Constant != nil && e.cfg.Constant(at.v) {
			return e.constant(at.v, size)
		}
		return value{}, e.sameAddress(at.v, pc)
	}
	out := value{known: true}
	written := uint8(0)
	var b [8]byte
	for i := range size {
		if c, ok := m.cells[at.v+uint64(i)]; ok {
			b[i], out.known, out.from = c.b, out.known && c.known, out.from|c.from
			written++
		}
	}
	if written < size {
		var mem [8]byte
		if e.cfg.Mem.ReadMemory(callbacks.At(at.v), mem[:size]) != nil {
			return value{}, errLeaves
		}
		for i := range size {
			if _, ok := m.cells[at.v+uint64(i)]; !ok {
				b[i] = mem[i]
			}
		}
		n, err := e.word(at.v, size, own)
		if err != nil {
			return value{}, err
		}
		out.from |= 1 << n
		m.reads[at.v] = readAt{pc, m.depth}
		e.words[n].Read = pc
	}
	out.v = callbacks.Word(b[:size])
	return out, nil
}

// constant is what memory has that nobody writes: the table of a switch.
func (e *explorer) constant(at uint64, size uint8) (value, error) {
	var b [8]byte
	if e.cfg.Mem.ReadMemory(callbacks.At(at), b[:size]) != nil {
		return value{}, errLeaves
	}
	return value{known: true, v: callbacks.Word(b[:size])}, nil
}

// word is the index of a word that is read.
func (e *explorer) word(at uint64, size uint8, own bool) (int, error) {
	n, ok := e.index[at]
	if ok {
		return n, nil
	}
	n = len(e.words)
	if n == maxWords {
		return 0, errLeaves
	}
	e.index[at] = n
	e.words = append(e.words, Word{Address: at, Size: size, Own: own})
	return n, nil
}

// byteOf is a byte of the thread's own memory as a machine left it.
func (e *explorer) byteOf(m *machine, at uint64) cell {
	if c, ok := m.cells[at]; ok {
		return c
	}
	var b [1]byte
	err := e.cfg.Mem.ReadMemory(callbacks.At(at), b[:])
	return cell{b: b[0], known: err == nil}
}

// store writes the thread's own memory. To write what is there already changes nothing that
// others see.
func (e *explorer) store(m *machine, at, v value, size uint8, pc uint64) error {
	switch {
	case e.dry && !at.known && e.locked(pc):
		return nil
	case !at.known || size > 64:
		return errLeaves
	case e.cfg.Own(at.v):
		for i := range uint64(size) {
			c := cell{known: v.known && size <= 8, from: v.from}
			if c.known {
				c.b = byte(v.v >> (8 * i))
			}
			m.cells[at.v+i], e.own[at.v+i] = c, true
		}
		return nil
	case e.dry && e.locked(pc):
		return nil
	case e.dry:
		return e.sameAddress(at.v, pc)
	case !v.known || size > 8:
		return e.overwrite(m, at.v, size, pc)
	}
	old, err := e.load(m, at, size, pc)
	if err != nil {
		return err
	}
	if !old.known || old.v != v.extend(size, false).v {
		return e.overwrite(m, at.v, size, pc)
	}
	return nil
}

// sameAddress reports, by an error, whether an instruction has another address than before.
func (e *explorer) sameAddress(at, pc uint64) error {
	if before, ok := e.reads[pc]; ok && before != at {
		return errLeaves
	}
	e.reads[pc] = at
	return nil
}

// overwrite notes that a word that others see is written. Others may write it too: what it has is
// not known from then on.
func (e *explorer) overwrite(m *machine, at uint64, size uint8, pc uint64) error {
	if !slices.ContainsFunc(e.written, func(w Word) bool { return w.Address == at && w.Size == size }) {
		if len(e.written) == maxWritten {
			return errLeaves
		}
		e.written = append(e.written, Word{Address: at, Size: size, Read: pc})
	}
	for i := range uint64(size) {
		m.cells[at+i] = cell{}
	}
	return nil
}
