package emulate

import (
	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/code/lift"
)

// vectors are the followed parts of the vector registers: the low 8 bytes of each.
type vectors struct {
	now     *[lift.NumVectors]Value // nil before the first change
	shared  bool                    // another machine uses now, too: it must not be changed
	set     uint32                  // bit n: register n has the value in now, otherwise its initial one
	initial func() []byte           // see SetVectors; nil if they are unknown
}

// vectorSize is the size of a vector register in NT_PRFPREG, in bytes.
const vectorSize = 16

// SetVectors sets the function that reads the vector registers of the thread, in the layout of NT_PRFPREG. It is called
// when the first instruction reads one that no instruction has written; its result may be nil.
func (m *Machine) SetVectors(read func() []byte) { m.vectors.initial = read }

// Vector returns the low 8 bytes of a vector register.
func (m *Machine) Vector(r lift.Register) Value {
	switch {
	case r < lift.NumVectors && m.vectors.set>>r&1 != 0:
		return m.vectors.now[r]
	case r >= m.ABI.VectorCount || m.vectors.initial == nil:
		return Value{}
	}
	m.setVector(r, m.initialVector(r))
	return m.vectors.now[r]
}

// initialVector returns the low 8 bytes of a vector register before the first instruction.
func (m *Machine) initialVector(r lift.Register) Value {
	at := m.ABI.VectorsAt + int(r)*vectorSize
	b := m.vectors.initial()
	if len(b) < at+vectorSize {
		return Value{}
	}
	return Number(callbacks.Word(b[at : at+8]))
}

func (m *Machine) setVector(r lift.Register, v Value) {
	if r >= lift.NumVectors {
		return
	}
	m.ownVectors()
	m.vectors.now[r] = v
	m.vectors.set |= 1 << r
}

// ownVectors prepares a change of the vector registers. Few machines change them, and many are copied.
func (m *Machine) ownVectors() {
	switch {
	case m.vectors.now == nil:
		m.vectors.now = new([lift.NumVectors]Value)
	case m.vectors.shared:
		now := *m.vectors.now
		m.vectors.now = &now
	}
	m.vectors.shared = false
}

// forgetVectors makes all vector registers unknown, except those in a set.
func (m *Machine) forgetVectors(keep uint64) {
	if m.vectors.now == nil && m.vectors.initial == nil {
		return // they are unknown
	}
	for r := range lift.Register(lift.NumVectors) {
		if keep>>r&1 == 0 {
			m.setVector(r, Value{})
		}
	}
}

// executeVector executes a micro-operation on vector registers.
func (m *Machine) executeVector(u *lift.Uop) {
	switch {
	case u.Code == lift.UopGetVector:
		m.Regs[u.Dst] = m.Vector(u.Vector).Extend(u.Size, false)
	case u.Code == lift.UopSetVector:
		m.setVector(u.Vector, m.operand(u.A))
	case u.Vector == lift.AllVectors:
		m.forgetVectors(0)
		m.Rounding = nil
	default:
		m.setVector(u.Vector, Value{})
	}
}

// VectorsCover reports whether the vector registers of a include those of b, as far as both are known.
func VectorsCover(a, b *Machine) bool {
	for r := range lift.Register(lift.NumVectors) {
		if (a.vectors.set|b.vectors.set)>>r&1 != 0 && !a.Vector(r).Covers(b.Vector(r)) {
			return false
		}
	}
	return true
}

// WidenVectors makes the vector registers of m unknown that differ from those of another state.
func (m *Machine) WidenVectors(other *Machine) {
	for r := range lift.Register(lift.NumVectors) {
		if (m.vectors.set|other.vectors.set)>>r&1 == 0 {
			continue
		}
		if x := m.Vector(r); !x.Covers(other.Vector(r)) {
			m.setVector(r, Value{From: x.From})
		}
	}
}
