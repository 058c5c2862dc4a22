package unwind

import (
	"encoding/binary"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// FuzzTable parses bytes as tables of every kind. The result is a row or an error, never both, and
// never reads past the bytes.
func FuzzTable(f *testing.F) {
	for _, enc := range []byte{pePCRel | peSData4, peAbsolute, peULEB} {
		frame := ehTable("zPR", []byte{peUData2, 1, 2, enc}, enc, enc == peAbsolute)
		f.Add(frame, uint64(funcLow+4))
		f.Add(ehHeader(frame, peDataRel|peSData4, 1), uint64(funcLow+4))
	}
	f.Fuzz(func(t *testing.T, data []byte, pc uint64) {
		end := tableAt + uint64(len(data))
		linear := newTable(memorySlice{tableAt, data}, bases{data: tableAt})
		linear.start, linear.end = tableAt, end
		debug := newTable(memorySlice{data: data}, bases{})
		debug.debugFrame, debug.end = true, uint64(len(data))
		tables := []*table{linear, debug}
		if t, err := ehFrame(memorySlice{tableAt, data}, tableAt, uint64(len(data))); err == nil {
			t.end = end
			tables = append(tables, t)
		}
		for _, tab := range tables {
			lookups := []uint64{pc, 0, ^uint64(0)}
			_, _ = tab.lookup(pc) // which makes the index
			for _, s := range tab.scanned {
				lookups = append(lookups, s.low)
			}
			for _, pc := range lookups {
				fde, err := tab.lookup(pc)
				if fde != nil && err != nil {
					t.Fatalf("both %+v and %v", fde, err)
				}
				if fde == nil {
					continue
				}
				if pc < fde.low || pc >= fde.high {
					t.Fatalf("%#x is not in [%#x, %#x)", pc, fde.low, fde.high)
				}
				r, err := fde.makeRow(pc, callbacks.ArchX86_64)
				if (r == nil) == (err == nil) {
					t.Fatalf("%v and %v", r, err)
				}
			}
		}
	})
}

// FuzzInstructions runs bytes as call frame instructions.
func FuzzInstructions(f *testing.F) {
	f.Add([]byte{cfaRememberState, cfaAdvanceLoc | 3, cfaOffset | 6, 2, cfaRestoreState}, uint64(4))
	f.Add([]byte{cfaDefCFAExpression, 2, opBreg0 + 6, 0, cfaValExpression, 3, 1, opLit0, cfaValOffsetSF, 7, 0x7f},
		uint64(0))
	f.Fuzz(func(t *testing.T, insts []byte, pc uint64) {
		for _, a := range []callbacks.Arch{callbacks.ArchX86_64, callbacks.ArchAArch64} {
			common := &cie{codeAlign: 1, dataAlign: -8, ra: 16, insts: buf{b: start}}
			fde := fde{cie: common, low: 0x1000, high: 0x2000, insts: buf{b: insts}}
			r, err := fde.makeRow(pc, a)
			if (r == nil) == (err == nil) {
				t.Fatalf("%v and %v", r, err)
			}
		}
	})
}

// FuzzExpression evaluates bytes as an expression.
func FuzzExpression(f *testing.F) {
	f.Add([]byte{opBreg0 + 7, 8, opDeref, opLit0, opPlus, opDup, opBra, 0xfe, 0xff})
	regs := callbacks.Registers{Arch: callbacks.ArchX86_64}
	regs.SetSP(0x7000)
	f.Fuzz(func(t *testing.T, code []byte) {
		if v, err := evaluate(code, &regs, words{0x7008: 0x7000, 0x7000: 0x7008}, 0x7000, true); err != nil && v != 0 {
			t.Fatalf("both %#x and %v", v, err)
		}
	})
}

// stackBytes is memory with only a stack of bytes at stackAt.
type stackBytes struct {
	b     []byte
	reads int
}

const stackAt = 0x7ffe0000

func (m *stackBytes) ReadMemory(a callbacks.Address, p []byte) error {
	m.reads++
	off := a.Offset - stackAt
	if off > uint64(len(m.b)) || uint64(len(p)) > uint64(len(m.b))-off {
		return &callbacks.FaultError{Address: a, Err: callbacks.ErrUnmapped}
	}
	copy(p, m.b[off:])
	return nil
}

// FuzzStack walks bytes as a stack over one function with a valid table.
func FuzzStack(f *testing.F) {
	frame := ehTable("zR", []byte{peUData4}, peUData4, false)
	good := make([]byte, 64)
	binary.LittleEndian.PutUint64(good[8:], funcLow+5)
	binary.LittleEndian.PutUint64(good[24:], funcLow+5)
	f.Add(good, uint64(funcLow+4), uint64(stackAt), uint64(stackAt))
	f.Add(good, uint64(0), uint64(stackAt+8), uint64(stackAt))
	f.Fuzz(func(t *testing.T, stack []byte, pc, sp, fp uint64) {
		for _, a := range []callbacks.Arch{callbacks.ArchX86_64, callbacks.ArchAArch64} {
			mem := &stackBytes{b: stack}
			m := &module{Module: &callbacks.Module{Path: "m", Low: callbacks.Addr(funcLow),
				High: callbacks.Addr(funcLow + funcSize)}, mem: mem}
			m.eh = newTable(memorySlice{tableAt, frame}, bases{})
			m.eh.start, m.eh.end = tableAt, tableAt+uint64(len(frame))
			m.load.Do(func() {})
			u := New(mem, a, nil)
			u.mods = []*module{m}
			regs := callbacks.Registers{Arch: a}
			regs.SetPC(pc)
			regs.SetSP(sp)
			regs.Set(6, fp)
			regs.Set(callbacks.AArch64FP, fp)
			frames, err := u.Stack(regs, 100)
			if len(frames) == 0 || len(frames) > 100 || len(frames) == 100 && err == nil && len(stack) < 100*8 {
				t.Fatalf("%d frames, %v", len(frames), err)
			}
			if most := 100 * (len(frames) + 1); mem.reads > most {
				t.Fatalf("%d reads for %d frames", mem.reads, len(frames))
			}
		}
	})
}
