package gocode

import (
	"encoding/binary"
	"testing"
)

// smallTable is a table of two functions; the second has no files.
func smallTable() []byte {
	const names, units, files, pcs, funcs = 0x50, 0x60, 0x68, 0x80, 0x90
	le := binary.LittleEndian
	b := make([]byte, 0x110)
	le.PutUint32(b, magic)
	b[6], b[7] = 1, 8
	le.PutUint64(b[8:], 2)
	le.PutUint64(b[16:], 1)
	for i, part := range []uint64{names, units, files, pcs, funcs} {
		le.PutUint64(b[headerParts+8*i:], part)
	}
	copy(b[names:], "main.f\x00main.g\x00")
	copy(b[files:], "/src/main.go\x00")
	copy(b[pcs:], []byte{0, 0x20, 8, 1, 4, 2, 8, 0})
	for i, w := range []uint32{0, 0x14, 8, 0x40, 0x10} { // functab
		le.PutUint32(b[funcs+4*i:], w)
	}
	for _, at := range []int{funcs + 0x14, funcs + 0x40} {
		for i, w := range []uint32{0, 0, 0, 0, 1, 1, 1, 3, 0, 0, 0} {
			le.PutUint32(b[at+4*i:], w)
		}
	}
	return b
}

// FuzzTable reads bytes as the table of a Go program's functions.
func FuzzTable(f *testing.F) {
	f.Add(smallTable(), uint64(3))
	f.Add(smallTable()[:0xa0], uint64(9))
	f.Fuzz(func(t *testing.T, b []byte, pc uint64) {
		tab, err := parse(b)
		if err != nil {
			return
		}
		tab.text = 0x400000
		for _, pc := range []uint64{pc, tab.text + pc%64, tab.text, ^uint64(0)} {
			fn, ok := tab.Func(pc)
			if !ok {
				continue
			}
			if pc < fn.Low || pc >= fn.High || len(fn.Name) > maxName {
				t.Fatalf("%#x is not in %+v", pc, fn)
			}
			fn.Depth(pc)
			fn.Line(pc)
		}
		tab.Named(func(fn Func) bool { return fn.Name == "main.g" })
	})
}
