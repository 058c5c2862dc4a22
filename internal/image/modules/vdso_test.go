package modules

import (
	"encoding/binary"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// counting counts the bytes read at and above an address, repeatedly.
type counting struct {
	callbacks.Memory
	from, bytes uint64
}

func (c *counting) ReadMemory(a callbacks.Address, p []byte) error {
	if a.Offset >= c.from && a.Offset < c.from+maxVDSO {
		c.bytes += uint64(len(p))
	}
	return c.Memory.ReadMemory(a, p)
}

// TestVDSO reads only the existing part of the kernel's module if the size of its mapping is unknown; with an
// invalid header, at most the maximal size.
func TestVDSO(t *testing.T) {
	facts, _ := start(t, "cat")
	facts.VDSOEnd = 0
	for _, tt := range []struct {
		name   string
		header map[int]uint16 // of the ELF header, by offset
		most   uint64         // bytes read
		known  bool
	}{
		{"whole", nil, 3 * pageSize, true},
		{"sections beyond all bounds", map[int]uint16{0x2a: 0xffff}, 2 * maxVDSO, false},
		{"no sections", map[int]uint16{0x3c: 0}, 2 * maxVDSO, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := facts
			memory := &counting{Memory: patched{facts.Memory, facts.Auxv[atSYSINFOEHDR], tt.header},
				from: facts.Auxv[atSYSINFOEHDR]}
			f.Memory = memory
			table := Find(f, Options{})
			n, known := table.imageSize(facts.Auxv[atSYSINFOEHDR])
			if known != tt.known || known && (n < pageSize/2 || n > 3*pageSize) {
				t.Errorf("%d bytes, %v", n, known)
			}
			if memory.bytes == 0 || memory.bytes > tt.most {
				t.Errorf("%d bytes were read, want at most %d", memory.bytes, tt.most)
			}
			if _, err := table.Symbol("__vdso_gettimeofday", vdsoPath); tt.known && err != nil {
				t.Error(err)
			}
		})
	}
}

// patched is memory with some words of 2 bytes replaced, by their distance from an address.
type patched struct {
	callbacks.Memory
	at    uint64
	words map[int]uint16
}

func (p patched) ReadMemory(a callbacks.Address, b []byte) error {
	err := p.Memory.ReadMemory(a, b)
	for off, v := range p.words {
		if low := p.at + uint64(off); low >= a.Offset && low+2 <= a.Offset+uint64(len(b)) {
			binary.LittleEndian.PutUint16(b[low-a.Offset:], v)
		}
	}
	return err
}
