package elfx

import (
	"debug/elf"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"
)

// entry is a symbol of a test's table.
type entry struct {
	name      byte // 0: no name
	typ       elf.SymType
	section   uint16
	low, size uint64
}

func tableOf(entries []entry) *symbolTable {
	t := &symbolTable{raw: make([]byte, symSize), strtab: []byte{0}}
	for _, e := range entries {
		b := make([]byte, symSize)
		if e.name != 0 {
			binary.LittleEndian.PutUint32(b, uint32(len(t.strtab)))
			t.strtab = append(t.strtab, e.name, 0)
		}
		b[4] = elf.ST_INFO(elf.STB_GLOBAL, e.typ)
		binary.LittleEndian.PutUint16(b[6:], e.section)
		binary.LittleEndian.PutUint64(b[8:], e.low)
		binary.LittleEndian.PutUint64(b[16:], e.size)
		t.raw = append(t.raw, b...)
	}
	return t
}

// isFunction accepts functions, for the tests.
func isFunction(s *Symbol) bool { return s.Defined() && s.Type == elf.STT_FUNC && s.Name != "x" }

// namesAround returns the names around an address by the definition.
func namesAround(t *symbolTable, addr uint64) (names []string) {
	var kept []Symbol
	for _, s := range t.decodeEntries() {
		if s.Name != "" && isFunction(&s) {
			kept = append(kept, s)
		}
	}
	var lows []uint64
	last, found := uint64(0), false
	for _, s := range kept {
		if s.Value <= addr && addr-s.Value < s.Size {
			lows = append(lows, s.Value)
		}
		if s.Value <= addr && (!found || s.Value > last) {
			last, found = s.Value, true
		}
	}
	if found {
		lows = append(lows, last)
	}
	for _, s := range kept {
		if slices.Contains(lows, s.Value) {
			names = append(names, s.Name)
		}
	}
	slices.Sort(names)
	return names
}

// TestAround compares the symbols around addresses with the definition, in random tables of symbols
// that are nested, overlap, have no size, no name, or are not functions.
func TestAround(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var entries []entry
		for range random.IntN(40) {
			entries = append(entries, entry{
				name: "\x00xabcdefgh"[random.IntN(10)], typ: []elf.SymType{elf.STT_FUNC, elf.STT_FUNC, elf.STT_OBJECT,
					elf.STT_SECTION}[random.IntN(4)],
				section: uint16(min(random.IntN(5), 1)), low: random.Uint64N(60),
				size: random.Uint64N(4) * random.Uint64N(10),
			})
		}
		table := tableOf(entries)
		x := sortStarts(nil, func() (*symbolTable, error) { return table, nil })
		for addr := range uint64(70) {
			list, ok := x.findAround(addr, isFunction)
			var names []string
			for _, s := range list {
				names = append(names, s.Name)
			}
			slices.Sort(names)
			if want := namesAround(table, addr); !ok || !slices.Equal(names, want) {
				t.Fatalf("around %d: %v %v, want %v\n%+v", addr, names, ok, want, entries)
			}
		}
	}
}

// TestAroundMany checks that the search stops after a bounded number of symbols.
func TestAroundMany(t *testing.T) {
	many := make([]entry, 2*maxPassed)
	for i := range many {
		many[i] = entry{'x', elf.STT_FUNC, 1, uint64(i), 1}
	}
	for name, entries := range map[string][]entry{
		"far before":     append([]entry{{'a', elf.STT_FUNC, 1, 0, 1 << 40}}, many...),
		"at one address": slices.Repeat([]entry{{'a', elf.STT_FUNC, 1, 7, 1}}, maxAround+1),
	} {
		table := tableOf(entries)
		x := sortStarts(nil, func() (*symbolTable, error) { return table, nil })
		if list, ok := x.findAround(uint64(len(entries)), isFunction); ok {
			t.Errorf("%s: %d symbols", name, len(list))
		}
	}
}
