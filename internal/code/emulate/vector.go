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

// executeVector executes a micro-operation on vector registers, or on floating-point numbers.
func (m *Machine) executeVector(u *lift.Uop) {
	switch {
	case u.Code == lift.UopGetVector:
		m.Regs[u.Dst] = m.Vector(u.Vector).Extend(u.Size, false)
	case u.Code == lift.UopSetVector:
		m.setVector(u.Vector, m.operand(u.A))
	case u.Code == lift.UopForgetVector && u.Vector == lift.AllVectors:
		m.forgetVectors(0)
	case u.Code == lift.UopForgetVector:
		m.setVector(u.Vector, Value{})
	case u.Code == lift.UopFloatMask:
		m.Regs[u.Dst] = floatMask(u, m.operand(u.A).Extend(u.Size, false), m.operand(u.B).Extend(u.Size, false))
	default:
		m.Regs[u.Dst] = convert(u, m.operand(u.A).Extend(u.Scale, false))
	}
}

// convert returns a number in another format. It is unknown if not all bits of a are known.
func convert(u *lift.Uop, a Value) Value {
	v, known := u.Convert.Apply(a.V, u.Scale, u.Size)
	return resultOf(v, known && a.IsKnown(), a.From)
}

// floatMask returns the result of a comparison as a mask.
func floatMask(u *lift.Uop, a, b Value) Value {
	v, known := lift.FloatMask(u.Scale, u.Size, a.V, b.V)
	return resultOf(v, known && a.IsKnown() && b.IsKnown(), a.From|b.From)
}

// resultOf returns a value with origins, unknown without known.
func resultOf(v uint64, known bool, from Origins) Value {
	if !known {
		return Value{From: from}
	}
	return Value{V: v, Known: allBits, From: from}
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
