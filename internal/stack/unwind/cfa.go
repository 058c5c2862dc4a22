package unwind

import (
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// Call frame instructions (DWARF 5, section 7.24, and GNU and ARM additions).
const (
	cfaAdvanceLoc = 0x40 // high two bits; operand in the low six
	cfaOffset     = 0x80
	cfaRestore    = 0xc0
	cfaOperand    = 0x3f

	cfaNop                   = 0x00
	cfaSetLoc                = 0x01
	cfaAdvanceLoc1           = 0x02
	cfaAdvanceLoc2           = 0x03
	cfaAdvanceLoc4           = 0x04
	cfaOffsetExtended        = 0x05
	cfaRestoreExtended       = 0x06
	cfaUndefined             = 0x07
	cfaSameValue             = 0x08
	cfaRegister              = 0x09
	cfaRememberState         = 0x0a
	cfaRestoreState          = 0x0b
	cfaDefCFA                = 0x0c
	cfaDefCFARegister        = 0x0d
	cfaDefCFAOffset          = 0x0e
	cfaDefCFAExpression      = 0x0f
	cfaExpression            = 0x10
	cfaOffsetExtendedSF      = 0x11
	cfaDefCFASF              = 0x12
	cfaDefCFAOffsetSF        = 0x13
	cfaValOffset             = 0x14
	cfaValOffsetSF           = 0x15
	cfaValExpression         = 0x16
	cfaAArch64NegateRAWithPC = 0x2c
	cfaAArch64NegateRAState  = 0x2d // on SPARC: GNU_window_save
	cfaGNUArgsSize           = 0x2e
	cfaGNUNegativeOffset     = 0x2f
)

// ruleKind is the way to compute the value of a register in the calling frame.
type ruleKind uint8

const (
	ruleUnspecified ruleKind = iota // no rule
	ruleUndefined                   // the value is lost
	ruleSame                        // the same value as in this frame
	ruleOffset                      // in memory at CFA + offset
	ruleValOffset                   // CFA + offset
	ruleRegister                    // in another register; for the CFA: register + offset
	ruleExpr                        // in memory at the address that expr gives
	ruleValExpr                     // the value of expr
)

// rule computes one register, or the CFA.
type rule struct {
	kind   ruleKind
	reg    uint8
	offset int64
	expr   []byte
}

// state is the row of the table that call frame instructions build.
type state struct {
	cfa    rule
	regs   [callbacks.MaxRegister]rule
	signed bool // aarch64: the return address has an authentication code
}

// maxRemembered bounds DW_CFA_remember_state without restore; compilers nest
// one or two.
const maxRemembered = 32

// program runs call frame instructions up to an address.
type program struct {
	*cie
	b          buf
	loc        uint64
	state      state
	initial    *state // the row that DW_CFA_restore restores; nil while the CIE runs
	remembered []state
}

// run executes instructions until those for addresses above pc.
func (p *program) run(pc uint64) error {
	for len(p.b.b) > 0 && p.b.err == nil {
		op := p.b.u8()
		if !p.executeAdvance(op) {
			p.executeOther(op)
		}
		if p.loc > pc {
			break
		}
	}
	return p.b.err
}

// executeAdvance executes the instructions that start a new row.
func (p *program) executeAdvance(op byte) bool {
	switch {
	case op&^cfaOperand == cfaAdvanceLoc:
		p.loc += uint64(op&cfaOperand) * p.codeAlign
	case op == cfaSetLoc:
		p.loc = p.b.readPointer(p.ptrEnc, bases{})
	case op == cfaAdvanceLoc1:
		p.loc += uint64(p.b.u8()) * p.codeAlign
	case op == cfaAdvanceLoc2:
		p.loc += uint64(p.b.u16()) * p.codeAlign
	case op == cfaAdvanceLoc4:
		p.loc += uint64(p.b.u32()) * p.codeAlign
	default:
		return false
	}
	return true
}

// executeOther executes the remaining instructions.
func (p *program) executeOther(op byte) {
	switch {
	case op&^cfaOperand == cfaOffset:
		p.setRule(uint64(op&cfaOperand), rule{kind: ruleOffset, offset: p.unsignedFactored()})
	case op&^cfaOperand == cfaRestore:
		p.restoreRule(uint64(op & cfaOperand))
	case op >= cfaDefCFA && op <= cfaDefCFAExpression || op == cfaDefCFASF || op == cfaDefCFAOffsetSF:
		p.defineCFA(op)
	case op >= cfaOffsetExtended && op <= cfaRegister || op >= cfaExpression && op <= cfaValExpression:
		p.executeRegister(op)
	case op == cfaRememberState:
		if len(p.remembered) == maxRemembered {
			p.b.fail("more than %d remembered states", maxRemembered)
			return
		}
		p.remembered = append(p.remembered, p.state)
	case op == cfaRestoreState:
		n := len(p.remembered)
		if n == 0 {
			p.b.fail("restored a state that was not remembered")
			return
		}
		p.state, p.remembered = p.remembered[n-1], p.remembered[:n-1]
	case op == cfaAArch64NegateRAState || op == cfaAArch64NegateRAWithPC:
		p.state.signed = !p.state.signed
	case op == cfaGNUArgsSize:
		p.b.uleb() // used only by exception handling
	case op == cfaGNUNegativeOffset:
		p.setRule(p.b.uleb(), rule{kind: ruleOffset, offset: -p.unsignedFactored()})
	case op != cfaNop:
		p.b.err = fmt.Errorf("%w: call frame instruction %#x", ErrUnsupported, op)
	}
}

// unsignedFactored reads an unsigned offset, signedFactored a signed one, in
// units of the data alignment.
func (p *program) unsignedFactored() int64 { return int64(p.b.uleb()) * p.dataAlign }
func (p *program) signedFactored() int64   { return p.b.sleb() * p.dataAlign }

// executeRegister executes the instructions with a register as their first operand.
func (p *program) executeRegister(op byte) {
	reg := p.b.uleb()
	switch op {
	case cfaOffsetExtended:
		p.setRule(reg, rule{kind: ruleOffset, offset: p.unsignedFactored()})
	case cfaOffsetExtendedSF:
		p.setRule(reg, rule{kind: ruleOffset, offset: p.signedFactored()})
	case cfaRestoreExtended:
		p.restoreRule(reg)
	case cfaUndefined:
		p.setRule(reg, rule{kind: ruleUndefined})
	case cfaSameValue:
		p.setRule(reg, rule{kind: ruleSame})
	case cfaRegister:
		from := p.b.uleb()
		if from >= callbacks.MaxRegister { // for example a vector register
			p.setRule(reg, rule{kind: ruleUndefined})
			return
		}
		p.setRule(reg, rule{kind: ruleRegister, reg: uint8(from)})
	case cfaExpression:
		p.setRule(reg, rule{kind: ruleExpr, expr: p.b.takeBlock()})
	case cfaValOffset:
		p.setRule(reg, rule{kind: ruleValOffset, offset: p.unsignedFactored()})
	case cfaValOffsetSF:
		p.setRule(reg, rule{kind: ruleValOffset, offset: p.signedFactored()})
	case cfaValExpression:
		p.setRule(reg, rule{kind: ruleValExpr, expr: p.b.takeBlock()})
	}
}

// defineCFA executes the instructions that define the CFA.
func (p *program) defineCFA(op byte) {
	cfa := &p.state.cfa
	switch op {
	case cfaDefCFAExpression:
		*cfa = rule{kind: ruleValExpr, expr: p.b.takeBlock()}
		return
	case cfaDefCFA, cfaDefCFASF, cfaDefCFARegister:
		reg := p.b.uleb()
		if reg >= callbacks.MaxRegister {
			p.b.fail("CFA from register %d", reg)
			return
		}
		*cfa = rule{kind: ruleRegister, reg: uint8(reg), offset: cfa.offset}
	}
	switch op {
	case cfaDefCFA, cfaDefCFAOffset:
		cfa.offset = int64(p.b.uleb())
	case cfaDefCFASF, cfaDefCFAOffsetSF:
		cfa.offset = p.signedFactored()
	}
}

// setRule sets the rule of a register. Registers that are not kept (vector registers, flags) are
// ignored.
func (p *program) setRule(reg uint64, r rule) {
	if reg < callbacks.MaxRegister {
		p.state.regs[reg] = r
	}
}

// restoreRule resets the rule of a register to that of the CIE.
func (p *program) restoreRule(reg uint64) {
	if p.initial == nil {
		p.b.fail("restored a register in the CIE")
		return
	}
	if reg < callbacks.MaxRegister {
		p.state.regs[reg] = p.initial.regs[reg]
	}
}
