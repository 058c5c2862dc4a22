package unwind

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// showRow writes a row as "CFA; register=rule …".
func showRow(r *row) string {
	out := "exp"
	if r.cfa.kind == ruleRegister {
		out = fmt.Sprintf("r%d%+d", r.cfa.reg, r.cfa.offset)
	}
	for _, u := range r.regs {
		out += fmt.Sprintf(" %d=%s", u.reg, formatRule(u.rule))
	}
	if r.signed {
		out += " signed"
	}
	return out
}

// start is the usual start of a CIE on x86-64: CFA = rsp+8, RA at CFA-8.
var start = []byte{cfaDefCFA, 7, 8, cfaOffset | 16, 1}

func repeatOp(op byte, n int) []byte { return slices.Repeat([]byte{op}, n) }

// instructions are call frame instructions with the expected row.
var instructions = []struct {
	name  string
	insts []byte
	pc    uint64 // from the start of the function
	want  string
	err   error
}{
	{"nothing", nil, 0, "r7+8 16=c-8", nil},
	{"nop", []byte{cfaNop, cfaNop}, 0, "r7+8 16=c-8", nil},
	{"before the advance", []byte{cfaAdvanceLoc | 1, cfaDefCFAOffset, 16}, 0, "r7+8 16=c-8", nil},
	{"after the advance", []byte{cfaAdvanceLoc | 1, cfaDefCFAOffset, 16}, 1, "r7+16 16=c-8", nil},
	{"advance 1 2 4", []byte{cfaAdvanceLoc1, 2, cfaAdvanceLoc2, 3, 0, cfaAdvanceLoc4, 4, 0, 0, 0, cfaDefCFAOffset,
		16}, 9, "r7+16 16=c-8", nil},
	{"advance 1 2 4, before", []byte{cfaAdvanceLoc1, 2, cfaAdvanceLoc2, 3, 0, cfaAdvanceLoc4, 4, 0, 0, 0,
		cfaDefCFAOffset, 16}, 8, "r7+8 16=c-8", nil},
	{"set_loc", []byte{cfaSetLoc, 0x05, 0x10, 0, 0, 0, 0, 0, 0, cfaDefCFAOffset, 16}, 5, "r7+16 16=c-8", nil},
	{"set_loc, before", []byte{cfaSetLoc, 0x05, 0x10, 0, 0, 0, 0, 0, 0, cfaDefCFAOffset, 16}, 4, "r7+8 16=c-8",
		nil},
	{"cfa register", []byte{cfaDefCFARegister, 6}, 0, "r6+8 16=c-8", nil},
	{"cfa sf", []byte{cfaDefCFASF, 6, 0x7e}, 0, "r6+16 16=c-8", nil},
	{"cfa offset sf", []byte{cfaDefCFAOffsetSF, 0x7e}, 0, "r7+16 16=c-8", nil},
	{"cfa expression", []byte{cfaDefCFAExpression, 2, opBreg0 + 6, 0}, 0, "exp 16=c-8", nil},
	{"offsets", []byte{cfaOffset | 3, 4, cfaOffsetExtended, 6, 5, cfaOffsetExtendedSF, 12, 0x7f}, 0,
		"r7+8 3=c-32 6=c-40 12=c+8 16=c-8", nil},
	{"negative offset", []byte{cfaGNUNegativeOffset, 3, 2}, 0, "r7+8 3=c+16 16=c-8", nil},
	{"val_offset is scaled", []byte{cfaValOffset, 7, 3, cfaValOffsetSF, 6, 0x7e}, 0, "r7+8 6=v+16 7=v-24 16=c-8",
		nil},
	{"expressions", []byte{cfaExpression, 3, 1, opLit0, cfaValExpression, 6, 1, opLit0}, 0,
		"r7+8 3=exp 6=vexp 16=c-8", nil},
	{"undefined, same, register", []byte{cfaUndefined, 0, cfaSameValue, 3, cfaRegister, 6, 8}, 0,
		"r7+8 0=u 3=s 6=r8 16=c-8", nil},
	{"register that is not kept", []byte{cfaRegister, 6, 40, cfaOffsetExtended, 40, 1}, 0, "r7+8 6=u 16=c-8", nil},
	{"restore to nothing", []byte{cfaOffset | 3, 4, cfaRestore | 3}, 0, "r7+8 16=c-8", nil},
	{"restore to the CIE's", []byte{cfaOffset | 16, 4, cfaRestore | 16}, 0, "r7+8 16=c-8", nil},
	{"restore extended", []byte{cfaOffset | 16, 4, cfaRestoreExtended, 16}, 0, "r7+8 16=c-8", nil},
	{"remember and restore, with CFA", []byte{cfaRememberState, cfaOffset | 3, 2, cfaDefCFA, 6, 16,
		cfaRestoreState}, 0, "r7+8 16=c-8", nil},
	{"args size", []byte{cfaGNUArgsSize, 0x90, 0x01, cfaOffset | 3, 2}, 0, "r7+8 3=c-16 16=c-8", nil},
	{"signed", []byte{cfaAArch64NegateRAState}, 0, "r7+8 16=c-8 signed", nil},
	{"signed twice", []byte{cfaAArch64NegateRAState, cfaAArch64NegateRAState}, 0, "r7+8 16=c-8", nil},
	{"signed with pc", []byte{cfaAArch64NegateRAWithPC}, 0, "r7+8 16=c-8 signed", nil},
	{"unknown", []byte{0x3e}, 0, "", ErrUnsupported},
	{"restore without remember", []byte{cfaRestoreState}, 0, "", ErrDamaged},
	{"cut off", []byte{cfaOffsetExtended, 6}, 0, "", ErrDamaged},
	{"remember without end", repeatOp(cfaRememberState, maxRemembered+1), 0, "", ErrDamaged},
	{"remember to the bound", repeatOp(cfaRememberState, maxRemembered), 0, "r7+8 16=c-8", nil},
	{"number without end", append([]byte{cfaDefCFAOffset}, repeatOp(0x80, 20)...), 0, "", ErrDamaged},
	{"expression longer than the entry", []byte{cfaExpression, 3, 9, opLit0}, 0, "", ErrDamaged},
	{"no return address", []byte{cfaSameValue, 16}, 0, "", ErrDamaged},
	{"cfa from a vector register", []byte{cfaDefCFARegister, 40}, 0, "", ErrDamaged},
}

func TestInstructions(t *testing.T) {
	for _, c := range instructions {
		t.Run(c.name, func(t *testing.T) {
			common := &cie{codeAlign: 1, dataAlign: -8, ra: 16, insts: buf{b: start}}
			f := fde{cie: common, low: 0x1000, high: 0x2000, insts: buf{b: c.insts}}
			r, err := f.makeRow(0x1000+c.pc, callbacks.ArchX86_64)
			if !errors.Is(err, c.err) {
				t.Fatalf("error %v, want %v", err, c.err)
			}
			if err == nil && showRow(r) != c.want {
				t.Errorf("%s, want %s", showRow(r), c.want)
			}
		})
	}
}

func TestReturnAddressInLinkRegister(t *testing.T) {
	common := &cie{codeAlign: 4, dataAlign: -8, ra: 30, insts: buf{b: []byte{cfaDefCFA, 31, 0}}}
	f := fde{cie: common, low: 0x1000, high: 0x2000}
	r, err := f.makeRow(0x1000, callbacks.ArchAArch64)
	if err != nil {
		t.Fatal(err)
	}
	if r.ra.kind != ruleRegister || r.ra.reg != 30 {
		t.Errorf("return address %+v, want in register 30", r.ra)
	}
}

// words is memory of 8-byte words.
type words map[uint64]uint64

func (w words) read(addr uint64, size int) (uint64, error) {
	v, ok := w[addr]
	if !ok {
		return 0, &callbacks.FaultError{Address: callbacks.Addr(addr), Err: callbacks.ErrUnmapped}
	}
	if size < 8 {
		v &= 1<<(8*size) - 1
	}
	return v, nil
}

func TestExpressions(t *testing.T) {
	regs := callbacks.Registers{Arch: callbacks.ArchX86_64}
	regs.SetSP(0x7000)
	regs.SetPC(0x40100c)
	mem := words{0x7008: 0x1122334455667788}
	lit := func(n byte) byte { return opLit0 + n }
	for _, c := range []struct {
		name string
		code []byte
		want uint64
		err  string
	}{
		{"plt, past the push", []byte{opBreg0 + 7, 8, opBreg0 + 16, 0, lit(15), opAnd, lit(11), opGe, lit(3), opShl,
			opPlus}, 0x7010, ""},
		{"cfa is pushed", []byte{opPlusUconst, 0x10}, 0x9010, ""},
		{"constants", []byte{opConst1u, 0xff, opConst1s, 0xff, opPlus, opConst2u, 0xff, 0xff, opPlus, opConst2s, 0xff,
			0xff, opPlus,
			opConst4s, 0xff, 0xff, 0xff, 0xff, opPlus, opConsts, 0x7f, opPlus, opConstu, 0x81, 1, opPlus}, 0xff - 1 +
			0xffff - 3 + 0x81, ""},
		{"8 bytes", []byte{opConst8u, 1, 2, 3, 4, 5, 6, 7, 8}, 0x0807060504030201, ""},
		{"deref", []byte{opBreg0 + 7, 8, opDeref}, 0x1122334455667788, ""},
		{"deref 4", []byte{opBregx, 7, 8, opDerefSize, 4}, 0x55667788, ""},
		{"stack", []byte{lit(1), lit(2), lit(3), opRot, opOver, opPick, 2, opSwap, opDrop, opDup, opMul, opPlus,
			opMinus}, ^uint64(1), ""},
		{"arithmetic", []byte{lit(7), opNeg, lit(2), opDiv, opAbs, lit(2), opMod, lit(5), opXor, opNot}, ^uint64(4),
			""},
		{"shifts", []byte{lit(16), opNeg, lit(2), opShra, lit(1), opShl, lit(4), opShr}, ^uint64(7) >> 4, ""},
		{"branch", []byte{lit(1), opBra, 1, 0, opDrop, lit(9)}, 9, ""},
		{"skip", []byte{lit(8), opSkip, 1, 0, lit(9)}, 8, ""},
		{"compare", []byte{lit(1), opNeg, lit(1), opLt, lit(1), opEq, lit(0), opNe}, 1, ""},
		{"for ever", []byte{opSkip, 0xfd, 0xff}, 0, "does not end"},
		{"out of the code", []byte{opSkip, 0xf0, 0xff}, 0, "jump out"},
		{"overflow", []byte{opDup, opSkip, 0xfc, 0xff}, 0, "overflows"},
		{"empty", []byte{opDrop}, 0, "empty"},
		{"no register", []byte{opBreg0 + 3, 0}, 0, "register 3 is not known"},
		{"far register", []byte{opRegx, 0xff, 0xff, 0x7f}, 0, "not known"},
		{"no memory", []byte{lit(8), opDeref}, 0, "not mapped"},
		{"odd size", []byte{opBreg0 + 7, 8, opDerefSize, 3}, 0, "size"},
		{"by zero", []byte{lit(1), lit(0), opDiv}, 0, "zero"},
		{"pick too deep", []byte{opPick, 5}, 0, "no entry"},
		{"unknown", []byte{0xe0}, 0, "unsupported"},
		{"cut off", []byte{opConst4u, 1}, 0, "past the end"},
	} {
		t.Run(c.name, func(t *testing.T) {
			v, err := evaluate(c.code, &regs, mem, 0x9000, true)
			switch {
			case c.err == "" && (err != nil || v != c.want):
				t.Errorf("%#x, %v; want %#x", v, err, c.want)
			case c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)):
				t.Errorf("%v, want an error with %q", err, c.err)
			}
		})
	}
}
