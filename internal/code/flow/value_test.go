package flow

import (
	"encoding/binary"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// TestValueOfFixedMemory asks for an argument that code on aarch64 loads from a table of addresses: it is certain only
// if the program cannot write the table. A frame that still contains the loaded value changes nothing.
func TestValueOfFixedMemory(t *testing.T) {
	const table, variable = fuzzBase + 0x20, 0x1234_5678
	const begin, page, call, end, ret = 0xa9bf_7bfd, 0x9000_0008, 0x9400_0010, 0xa8c1_7bfd, 0xd65f_03c0
	for _, c := range []struct {
		name string
		load [2]uint32 // into x0
		most uint64    // accesses below this address are to fixed memory
		sure bool
	}{
		{"constant", [2]uint32{0xf940_1100, 0xd503_201f}, table + 8, true}, // ldr x0, [x8, #32]
		{"variable", [2]uint32{0xf940_1100, 0xd503_201f}, 0, false},
		{"constant in a kept register", [2]uint32{0xf940_1113, 0xaa13_03e0}, table + 8, true}, // ldr x19
		{"variable in a kept register", [2]uint32{0xf940_1113, 0xaa13_03e0}, 0, false},
		{"variable at a constant address", [2]uint32{0xf940_1108, 0xf940_0100}, table + 8, false}, // ldr x8, then x0
	} {
		code := make([]byte, 0x38)
		for i, word := range []uint32{begin, page, c.load[0], c.load[1], call, end, ret} {
			binary.LittleEndian.PutUint32(code[4*i:], word)
		}
		binary.LittleEndian.PutUint64(code[table-fuzzBase:], variable)
		if !c.sure && c.most > 0 {
			binary.LittleEndian.PutUint64(code[table-fuzzBase:], table+0x10)
			binary.LittleEndian.PutUint64(code[table-fuzzBase+0x10:], variable)
		}
		f, err := New(Config{
			Arch: callbacks.ArchAArch64, Mem: codeAt(code), Fixed: func(a uint64) bool { return a < c.most },
		}, Range{fuzzBase, fuzzBase + 4*7})
		if err != nil {
			t.Fatal(err)
		}
		regs := &callbacks.Registers{Arch: callbacks.ArchAArch64}
		regs.Set(19, variable)
		sites := f.Sites()
		if len(sites) != 1 {
			t.Fatalf("%s: the calls are %+v", c.name, sites)
		}
		at := Point{PC: sites[0].Return, CFA: 0x7000, Registers: regs}
		if v, sure, ok := f.Value(sites[0], sites[0].Args[0], at); v != variable || sure != c.sure || !ok {
			t.Errorf("%s: %#x, sure %v, known %v; want %#x, sure %v", c.name, v, sure, ok, variable, c.sure)
		}
	}
}
