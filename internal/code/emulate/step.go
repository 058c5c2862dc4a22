package emulate

import (
	"errors"

	"github.com/ompd-inspect/ompd-inspect/internal/code/lift"
)

// ErrOpaque is the error for code that is not followed: a system call, a trap, an invalid instruction, or a
// branch on an unknown value.
var ErrOpaque = errors.New("depends on code that was not followed")

// Policy decides how a machine continues while it executes an instruction. An error ends the execution.
type Policy interface {
	// Load returns size bytes, at most 8, at an address.
	Load(at Value, size uint8) (Value, error)
	// Store writes size bytes of v. perhaps is set if it is unknown whether they are written.
	Store(at, v Value, size uint8, perhaps bool) error
	// Branch continues at an address if the condition holds, otherwise at PC, the next instruction.
	Branch(c Truth, to uint64) error
	// Skip is called before a conditional part of an instruction is skipped.
	Skip(c Truth) error
	// Jump continues at an address. direct is set if the instruction contains it.
	Jump(to Value, direct bool) error
	// Call enters a function. PC is the return address.
	Call(to Value) error
	// Return leaves a function.
	Return() error
}

// Step executes one instruction.
func (m *Machine) Step(code *lift.Decoder, p Policy) error {
	in, ok := code.Fetch(m.PC)
	if !ok || in.Partial {
		return ErrOpaque
	}
	m.At, m.Instruction = m.PC, in
	m.PC += uint64(in.Length)
	for i := 0; i < len(in.Uops); i++ {
		u := &in.Uops[i]
		if u.Code != lift.UopSkip {
			if err := m.execute(u, p); err != nil {
				return err
			}
			continue
		}
		c := m.Flags.Test(u.CC)
		if err := p.Skip(c); err != nil {
			return err
		}
		switch {
		case !c.Known:
			return ErrOpaque
		case c.Holds:
			i += int(u.Scale)
		}
	}
	return nil
}

// execute executes one micro-operation.
func (m *Machine) execute(u *lift.Uop, p Policy) (err error) {
	switch u.Code {
	case lift.UopSet:
		m.Regs[u.Dst] = m.operand(u.A).Extend(u.Size, u.Signed)
	case lift.UopInsert:
		m.Regs[u.Dst] = m.Regs[u.Dst].insert(m.operand(u.A), u.Size)
	case lift.UopBinary:
		m.Regs[u.Dst] = m.binary(u)
	case lift.UopAddress:
		m.Regs[u.Dst] = m.address(u)
	case lift.UopLoad: // of a vector, the part that is followed
		m.Regs[u.Dst], err = p.Load(m.operand(u.A), min(u.Size, 8))
	case lift.UopStore, lift.UopPush:
		v := m.operand(u.B)
		if u.MayFail {
			v = m.Regs[u.Dst]
		}
		err = p.Store(m.operand(u.A), v, u.Size, u.MayFail)
	case lift.UopExchange:
		err = m.exchange(u, p)
	case lift.UopFlags:
		m.setFlags(u)
	case lift.UopSetIf, lift.UopSelect:
		m.Regs[u.Dst] = m.choose(u)
	case lift.UopForget:
		m.Regs[u.Dst] = Value{}
	case lift.UopFlagsIf:
		m.setFlagsIf(u)
	case lift.UopGetVector, lift.UopSetVector, lift.UopForgetVector:
		m.executeVector(u)
	case lift.UopConvert, lift.UopFloatMask, lift.UopFloat:
		m.Regs[u.Dst] = m.floatResult(u)
	case lift.UopBranch:
		err = p.Branch(m.branchTest(u), m.operand(u.A).V)
	case lift.UopJump:
		err = p.Jump(m.operand(u.A), !u.A.IsReg())
	case lift.UopCall:
		err = p.Call(m.operand(u.A))
	case lift.UopReturn:
		err = p.Return()
	default:
		err = ErrOpaque
	}
	return err
}

func (m *Machine) setFlags(u *lift.Uop) {
	m.Flags = Flags{u.Flags, u.Size, m.operand(u.A).Extend(u.Size, false), m.operand(u.B).Extend(u.Size, false)}
}

// setFlagsIf executes a conditional comparison.
func (m *Machine) setFlagsIf(u *lift.Uop) {
	c := m.Flags.Test(u.CC)
	switch {
	case !c.Known:
		m.Flags = Flags{}
		return
	case c.Holds:
		m.setFlags(u)
	default:
		m.Flags = Flags{Kind: lift.FlagsGiven, A: Number(u.Disp)}
	}
	m.Flags.A.From |= c.From
}

// exchange executes a compare-and-exchange.
func (m *Machine) exchange(u *lift.Uop, p Policy) error {
	at, expected := m.operand(u.A), m.Regs[u.Dst].Extend(u.Size, false)
	old, err := p.Load(at, u.Size)
	if err != nil {
		return err
	}
	f := Flags{lift.FlagsCompare, u.Size, expected, old}
	equal := f.Test(lift.Condition{Op: lift.EQ})
	m.Regs[u.Dst] = old
	switch {
	case !equal.Known:
		m.Regs[u.Dst].From = equal.From
		return p.Store(at, Value{}, u.Size, true)
	case equal.Holds:
		return p.Store(at, m.operand(u.B).Extend(u.Size, false), u.Size, false)
	}
	return nil
}
