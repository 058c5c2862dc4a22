package spin

import (
	"errors"
	"maps"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/code/arch"
	"github.com/ompd-inspect/ompd-inspect/internal/code/emulate"
	"github.com/ompd-inspect/ompd-inspect/internal/code/lift"
)

// machine is the state of a thread at one point, and the policy by which an explorer follows it. The origins of
// its values are words of the explorer.
type machine struct {
	emulate.Machine
	e      *explorer
	jumped bool    // the last instruction jumped within its function
	depth  int     // calls minus returns since the start
	lowest int     // the least depth
	signed uint64  // the bits of return addresses that may have a pointer authentication code
	call   *callAt // of the present function; nil if it was called before the start
	reads  map[uint64]readAt
}

// callAt is the call of a function. Machines share it; it is not changed.
type callAt struct {
	pc     uint64
	arg    emulate.Value // the first argument
	depth  int           // of the calling function
	caller *callAt       // the call of that function
}

// readAt is the place of a read of a word.
type readAt struct {
	pc   uint64
	call *callAt // of the function that reads
}

func (e *explorer) newMachine(regs *callbacks.Registers) *machine {
	m := emulate.NewThread(e.cfg.Code.Lifter.Convention(), regs)
	if !e.dry && e.cfg.Vectors != nil {
		m.SetVectors(e.cfg.Vectors)
	}
	return &machine{Machine: m, e: e, signed: regs.PACMask, reads: map[uint64]readAt{}}
}

func (m *machine) clone() *machine {
	c := *m
	c.Machine, c.reads = m.Machine.Clone(), maps.Clone(m.reads)
	return &c
}

// moveTo assigns the machine to another explorer, which has other words.
func (m *machine) moveTo(e *explorer) {
	m.e = e
	m.ForgetOrigins()
	for at, b := range m.Written {
		b.From = beforeLoop
		m.Written[at] = b
	}
}

// tidy forgets state that no code uses again: the memory below the stack, and the flags.
func (m *machine) tidy() {
	m.Flags = emulate.Flags{}
	for r := lift.Temp0; r < lift.NumRegisters; r++ {
		m.Regs[r] = emulate.Value{}
	}
	if !m.SP().IsKnown() {
		return
	}
	low := m.SP().V - arch.Of(m.e.cfg.Code.Arch).RedZone
	for at := range m.Written {
		if at < low && m.e.cfg.Own(at) {
			delete(m.Written, at)
		}
	}
}

// callSite returns the instruction in the function of m's loop that read a word, or the call there that did.
// given reports whether that call has the word's address as its first argument.
func (m *machine) callSite(w Word) (pc uint64, given bool) {
	r, ok := m.reads[w.Address]
	if !ok {
		return w.Read, false
	}
	at := r.call
	for at != nil && at.depth > m.depth {
		at = at.caller
	}
	if at != nil && at.depth == m.depth {
		return at.pc, at.arg.IsKnown() && at.arg.V == w.Address
	}
	return r.pc, false
}

// passOver makes all state unknown that a called function may change, and sets its result.
func (m *machine) passOver(result emulate.Value) {
	m.PassCall()
	m.Regs[m.ABI.Result] = result
}

// Branch takes the side of a known condition, and follows both sides of an unknown one.
func (m *machine) Branch(c emulate.Truth, to uint64) error {
	m.jumped = true
	m.e.branches[m.At] = m.depth
	if c.Known {
		m.e.deciding |= c.From
		if c.Holds {
			m.PC = to
		}
		return nil
	}
	other := m.clone() // the backward side is followed first
	if other.PC = to; to <= m.PC {
		other.PC, m.PC = m.PC, to
	}
	return m.e.fork(other)
}

// Skip accepts every condition: it does not decide a branch.
func (m *machine) Skip(emulate.Truth) error { return nil }

// Jump continues at an address, or skips a function there that need not be followed.
func (m *machine) Jump(to emulate.Value, direct bool) error {
	m.jumped = direct
	switch {
	case !to.IsKnown() && m.e.dry: // through a library's procedure linkage table
		return m.returnWith(emulate.Value{})
	case !to.IsKnown():
		return errLeaves
	}
	if result, ok, err := m.result(to.V); ok || err != nil {
		return errors.Join(err, m.returnWith(result))
	}
	m.PC = to.V
	return nil
}

// returnWith passes over the function that the code has jumped to, and returns from it with a result.
func (m *machine) returnWith(result emulate.Value) error {
	link := m.Regs[m.ABI.Link]
	m.passOver(result)
	if m.ABI.LinkBytes == 0 {
		m.Regs[m.ABI.Link] = link
	}
	return m.Return()
}

// Call follows a call, or skips it.
func (m *machine) Call(to emulate.Value) error {
	m.e.calls = true
	m.e.branches[m.At] = m.depth
	switch {
	case !to.IsKnown() && m.e.dry:
		m.passOver(emulate.Value{})
		return nil
	case !to.IsKnown():
		return errLeaves
	}
	if result, ok, err := m.result(to.V); ok || err != nil {
		m.passOver(result)
		return err
	}
	m.call = &callAt{pc: m.At, arg: m.Regs[m.ABI.Args[0]], depth: m.depth, caller: m.call}
	m.depth++
	err := m.PushReturn(m.PC, m)
	m.PC = to.V
	return err
}

// result returns the result of the function at entry, if that function need not be followed.
func (m *machine) result(entry uint64) (emulate.Value, bool, error) {
	cfg := m.e.cfg
	name := cfg.Name(entry)
	switch {
	case name == "":
	case cfg.Passes(name):
		if !slices.Contains(m.e.passes, name) {
			m.e.passes = append(m.e.passes, name)
		}
		return emulate.Number(0), true, nil
	case cfg.Pure(name):
		return emulate.Value{}, true, nil
	case cfg.Reads != nil && cfg.Reads(name) != 0:
		v, err := m.Load(m.Regs[m.ABI.Args[0]], cfg.Reads(name))
		return v, true, err
	}
	return emulate.Value{}, false, nil
}

// Return leaves a function.
func (m *machine) Return() error {
	to := m.Regs[m.ABI.Link]
	if size := m.ABI.LinkBytes; size > 0 {
		var err error
		if to, err = m.Load(*m.SP(), uint8(size)); err != nil {
			return errLeaves
		}
		m.SP().V += size
	}
	if !to.IsKnown() {
		return errLeaves
	}
	m.depth--
	m.lowest = min(m.lowest, m.depth)
	if m.call != nil {
		m.call = m.call.caller
	}
	m.PC = to.V &^ m.signed
	return nil
}

// Load reads memory with the thread's own writes.
func (m *machine) Load(at emulate.Value, size uint8) (emulate.Value, error) {
	e := m.e
	if !at.IsKnown() {
		return emulate.Value{From: at.From}, nil
	}
	if arch.ReadsSettled(e.cfg.Code.Arch, e.cfg.Mem, m.At, size) {
		return e.constant(at.V, size)
	}
	own := e.cfg.Own(at.V)
	if e.dry && !own {
		if e.cfg.Constant != nil && e.cfg.Constant(at.V) {
			return e.constant(at.V, size)
		}
		return emulate.Value{}, e.sameAddress(at.V, m.At)
	}
	v, used, err := m.Read(e.cfg.Mem, at.V, size)
	if err != nil {
		return emulate.Value{}, errLeaves
	}
	if used {
		n, err := e.word(at.V, size, own)
		if err != nil {
			return emulate.Value{}, err
		}
		v.From |= 1 << n
		m.reads[at.V] = readAt{m.At, m.call}
		e.words[n].Read = m.At
	}
	return v, nil
}

// Store writes the thread's own memory. Writing the present value to shared memory has no effect.
func (m *machine) Store(at, v emulate.Value, size uint8, perhaps bool) error {
	e, locked := m.e, m.Instruction.Locked
	switch {
	case e.dry && !at.IsKnown() && locked:
		return nil
	case !at.IsKnown() || size > 64:
		return errLeaves
	case e.cfg.Own(at.V):
		if perhaps {
			v = emulate.Value{}
		}
		m.Write(at.V, v, size)
		for i := range uint64(size) {
			e.own[at.V+i] = true
		}
		return nil
	case e.dry && locked:
		return nil
	case e.dry:
		return e.sameAddress(at.V, m.At)
	case perhaps && !v.Extend(size, false).IsKnown():
		return errLeaves
	case size > 8 || !v.Extend(size, false).IsKnown():
		return m.overwrite(at.V, size)
	}
	old, err := m.Load(at, size)
	if err != nil {
		return err
	}
	if !old.Extend(size, false).IsKnown() || old.V != v.Extend(size, false).V {
		return m.overwrite(at.V, size)
	}
	return nil
}

// overwrite records a write of a word visible to other threads. They may write it too, so its content is unknown
// from then on.
func (m *machine) overwrite(at uint64, size uint8) error {
	e := m.e
	if !slices.ContainsFunc(e.written, func(w Word) bool { return w.Address == at && w.Size == size }) {
		if len(e.written) == maxWritten {
			return errLeaves
		}
		e.written = append(e.written, Word{Address: at, Size: size, Read: m.At})
	}
	m.Write(at, emulate.Value{}, size)
	return nil
}
