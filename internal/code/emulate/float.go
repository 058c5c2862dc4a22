package emulate

import "github.com/ompd-inspect/ompd-inspect/internal/code/lift"

// floatResult returns the result of a micro-operation on floating-point numbers. It is unknown if not all bits of its
// operands are known.
func (m *Machine) floatResult(u *lift.Uop) Value {
	a := m.operand(u.A)
	if u.Code == lift.UopConvert {
		if a = a.Extend(u.Scale, false); u.Convert == lift.FloatToFloat {
			a = settleNaN(a, u.Scale)
		}
		return m.roundedResult(u.Convert.Apply(m.mode(), a.V, u.Scale, u.Size), a)
	}
	a, b := settleNaN(a, u.Size), settleNaN(m.operand(u.B), u.Size)
	switch {
	case u.Code == lift.UopFloatMask:
		v, known := lift.FloatMask(u.Scale, u.Size, a.V, b.V)
		if !known {
			return Value{From: a.From | b.From}
		}
		return m.roundedResult(lift.Result{V: v, Known: allBits}, a, b)
	case u.Float != lift.FloatMulAdd:
		return m.roundedResult(u.Float.Apply(m.mode(), u.Size, a.V, b.V, 0), a, b)
	}
	c := settleNaN(m.Regs[u.Dst], u.Size)
	return m.roundedResult(u.Float.Apply(m.mode(), u.Size, a.V, b.V, c.V), a, b, c)
}

// mode returns the way in which the thread rounds numbers.
func (m *Machine) mode() lift.Rounding {
	if m.Rounding == nil {
		return lift.RoundUnknown
	}
	return m.Rounding.Mode
}

// roundedResult returns a result that was computed from some values.
func (m *Machine) roundedResult(r lift.Result, from ...Value) Value {
	out := Value{V: r.V, Known: r.Known}
	for _, v := range from {
		out.From |= v.From
		if !v.IsKnown() {
			out.V, out.Known = 0, 0
		}
	}
	if r.Rounded && out.Known != 0 && m.Rounding != nil {
		m.Rounding.Used = true
	}
	return out
}

// settleNaN returns the floating-point number in the low size bytes of a value. If it is the result of an invalid
// operation, its other bits make no difference.
func settleNaN(v Value, size uint8) Value {
	v = v.Extend(size, false)
	if bits := lift.QuietNaN(size); v.V&bits == bits {
		v.V, v.Known = bits, allBits
	}
	return v
}
