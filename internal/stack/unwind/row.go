package unwind

import (
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/code/arch"
)

// row is the decoded rules of one code address. It is immutable.
type row struct {
	module *callbacks.Module
	how    How
	err    error // the reason if there are no rules

	low, high uint64 // the function, as addresses in the target

	cfa    rule
	ra     rule
	regs   []regRule
	gofn   *goFunc // of a Go function
	signal bool    // the code is a signal trampoline
	signed bool    // aarch64: the return address has an authentication code
}

// regRule is the rule of one register.
type regRule struct {
	reg int
	rule
}

// makeRow runs the instructions of an FDE up to file address pc.
func (f *fde) makeRow(pc uint64, a callbacks.Arch) (*row, error) {
	p := program{cie: f.cie, b: f.cie.insts}
	if err := p.run(^uint64(0)); err != nil {
		return nil, fmt.Errorf("rules at %#x: %w", pc, err)
	}
	initial := p.state
	p.b, p.loc, p.initial = f.insts, f.low, &initial
	if err := p.run(pc); err != nil {
		return nil, fmt.Errorf("rules at %#x: %w", pc, err)
	}
	if p.ra >= callbacks.MaxRegister {
		return nil, fmt.Errorf("rules at %#x: %w: return address in register %d", pc, ErrUnsupported, p.ra)
	}
	r := &row{cfa: p.state.cfa, ra: p.state.regs[p.ra], signal: p.signal, signed: p.state.signed}
	for n, u := range p.state.regs {
		if u.kind != ruleUnspecified {
			r.regs = append(r.regs, regRule{n, u})
		}
	}
	if r.ra.kind == ruleUnspecified || r.ra.kind == ruleSame {
		if !arch.Of(a).HasLinkRegister() {
			return nil, fmt.Errorf("rules at %#x: %w: no rule for the return address", pc, ErrDamaged)
		}
		r.ra = rule{kind: ruleRegister, reg: uint8(p.ra)}
	}
	return r, nil
}
