package unwind

import (
	"errors"
	"testing"
)

// bytesAt is memory at an address, for exception tables.
type bytesAt struct {
	low uint64
	b   []byte
}

func (m bytesAt) bytes(vaddr uint64, n int) ([]byte, error) {
	if vaddr < m.low || vaddr-m.low+uint64(n) > uint64(len(m.b)) {
		return nil, errors.New("not mapped")
	}
	return m.b[vaddr-m.low:][:n], nil
}

// TestCallSites checks the handling of exceptions by a function's call-site table.
func TestCallSites(t *testing.T) {
	const low = 0x1000
	table := func(entries ...byte) bytesAt {
		b := append([]byte{peOmit, peOmit, peULEB, byte(len(entries))}, append(entries, 0, 0, 0, 0)...)
		return bytesAt{low, b}
	}
	three := table(0x10, 8, 0, 0, 0x20, 8, 0x60, 0, 0x30, 8, 0x70, 1)
	for _, c := range []struct {
		name string
		src  bytesAt
		at   uint64 // in the function
		want Handling
		pad  uint64
	}{
		{"no landing pad", three, 0x14, PassesOn, 0},
		{"a cleanup", three, 0x20, Cleans, 0x4060},
		{"a handler", three, 0x37, MayCatch, 0x4070},
		{"between", three, 0x18, Ends, 0},
		{"behind", three, 0x38, Ends, 0},
		{"an empty table", table(), 0x14, Ends, 0},
		{"cut", bytesAt{low, three.b[:9]}, 0x37, HandlingUnknown, 0},
		{"a number of another kind", bytesAt{low, []byte{peOmit, peOmit, 0x0f, 4, 1, 1, 1, 1}}, 1, HandlingUnknown, 0},
	} {
		f := &fde{cie: &cie{}, low: 0x4000, high: 0x4100, lsda: low}
		if got, pad, _ := callSite(c.src, f, f.low+c.at); got != c.want || pad != c.pad {
			t.Errorf("%s: %d, pad %#x, want %d, pad %#x", c.name, got, pad, c.want, c.pad)
		}
	}
}
