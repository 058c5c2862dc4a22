package symbolic

import "github.com/ompd-inspect/ompd-inspect/internal/code/lift"

// Apply executes a micro-operation that neither forks nor jumps. Vector registers and floating-point numbers are not
// followed.
func (s *State) Apply(u *lift.Uop) {
	switch u.Code {
	case lift.UopSet:
		s.Regs[u.Dst] = Extend(s.Value(u.A), u.Size, u.Signed)
	case lift.UopInsert:
		kept := binary(lift.OpAnd, s.Content(u.Dst), Constant(^lift.Width(u.Size)))
		s.Regs[u.Dst] = binary(lift.OpOr, kept, Extend(s.Value(u.A), u.Size, false))
	case lift.UopBinary:
		s.Regs[u.Dst] = arithmetic(u.Op, s.Value(u.A), s.Value(u.B), u.Size)
	case lift.UopAddress:
		s.Regs[u.Dst] = s.address(u)
	case lift.UopLoad:
		s.Regs[u.Dst] = s.load(s.Value(u.A), u.Size)
	case lift.UopStore, lift.UopPush:
		s.store(s.Value(u.A), Extend(s.Value(u.B), u.Size, false), u.Size, u.Code == lift.UopPush)
	case lift.UopExchange: // the old value is unknown, and whether it is replaced
		addr := s.Value(u.A)
		s.load(addr, u.Size)
		s.store(addr, Leaf(KindUnknown, 0), u.Size, false)
		s.Regs[u.Dst] = nil
	case lift.UopFlags:
		s.SetFlags(u, true)
	case lift.UopFlagsIf:
		if holds, decided := s.Cond(u.CC).Decided(); decided {
			s.SetFlags(u, holds)
		} else {
			s.Flags = FlagState{}
		}
	case lift.UopSetIf:
		s.Regs[u.Dst] = Compare(s.Cond(u.CC))
	case lift.UopForget, lift.UopSyscall, lift.UopGetVector, lift.UopConvert, lift.UopFloatMask, lift.UopFloat:
		s.Regs[u.Dst] = nil
	}
}

// SetFlags sets the flags by the comparison of a micro-operation, or to those that it has for a comparison that is not
// made.
func (s *State) SetFlags(u *lift.Uop, compares bool) {
	if compares {
		s.Flags = FlagState{u.Flags, u.Size, Extend(s.Value(u.A), u.Size, false), Extend(s.Value(u.B), u.Size, false)}
		return
	}
	s.Flags = FlagState{lift.FlagsGiven, u.Size, Constant(u.Disp), Constant(0)}
}

// arithmetic returns a op b in size bytes, zero-extended.
func arithmetic(op lift.Operator, a, b *Expr, size uint8) *Expr {
	switch {
	case op == lift.OpShr && size < 8:
		a = Extend(a, size, false)
	case op == lift.OpSar && size < 8:
		a = Extend(a, size, true)
	}
	return Extend(binary(op, a, b), size, false)
}

// address returns base + index*scale + displacement.
func (s *State) address(u *lift.Uop) *Expr {
	e := Constant(u.Disp)
	if u.A.IsReg() || u.A.Absolute {
		e = Add(s.Value(u.A), e)
	}
	if u.B.IsReg() {
		e = Add(e, binary(lift.OpMul, s.Content(u.B.Reg), Constant(uint64(u.Scale))))
	}
	if u.TLS {
		e = Add(Leaf(KindTLSBase, 0), e)
	}
	return e
}
