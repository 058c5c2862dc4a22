// Package gocode reads a Go program's data for its own runtime: the table of functions with their frame sizes,
// files and lines (pclntab), which stripped programs contain too, and the offsets in the runtime's structures
// of goroutines.
package gocode

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"sort"

	"github.com/ompd-inspect/ompd-inspect/internal/image/elfx"
)

// ErrNone means that a file has no Go code.
var ErrNone = errors.New("no Go code")

// magic is the first word of the table since Go 1.20.
const magic = 0xfffffff1

// maxFuncs bounds the functions of one program; the largest have a million.
const maxFuncs = 1 << 24

// maxName bounds the name of a function or file, in bytes; those of generic functions have some
// hundred.
const maxName = 1 << 14

// Table holds the Go functions of one file. Addresses are those of the file. It is safe for
// concurrent use.
type Table struct {
	text    uint64 // base address of the functions
	n       int    // functions
	quantum uint64 // of code addresses
	names   []byte
	units   []byte // files of each compilation unit
	files   []byte
	pcs     []byte // tables of values along a function's code
	funcs   []byte // functab and the functions
}

// Memory reads n bytes that the loader has mapped at an address of the file, and
// may have relocated.
type Memory func(vaddr uint64, n int) ([]byte, error)

// Open finds the table of a file that is loaded bias bytes above its addresses. The error is
// ErrNone, or explains why the table cannot be used.
func Open(f *elfx.File, bias uint64, mem Memory) (*Table, error) {
	data, h, err := f.Section(".gopclntab")
	if errors.Is(err, elfx.ErrNoSection) {
		data, h, err = f.Section(".data.rel.ro.gopclntab") // in position-independent executables
	}
	if errors.Is(err, elfx.ErrNoSection) {
		return nil, ErrNone
	}
	if err != nil {
		return nil, err
	}
	t, err := parse(data)
	if err != nil {
		return nil, fmt.Errorf("table of Go functions: %w", err)
	}
	t.text, err = textOf(f, h.Addr, bias, data, mem)
	return t, err
}

// Offsets in the header of the table.
const (
	headerText  = 24 // of the code; 0 since Go 1.26
	headerParts = 32 // offsets of names, units, files, pcs, funcs
	headerSize  = 72
)

// parse decodes the header of a table.
func parse(data []byte) (*Table, error) {
	le := binary.LittleEndian
	if len(data) < headerSize || le.Uint32(data) != magic || data[7] != 8 || data[6] == 0 {
		return nil, errors.New("of an unknown form: Go 1.20 or newer is read")
	}
	n := le.Uint64(data[8:])
	t := &Table{quantum: uint64(data[6]), n: int(n)}
	parts := []*[]byte{&t.names, &t.units, &t.files, &t.pcs, &t.funcs}
	for i, part := range parts {
		off := le.Uint64(data[headerParts+8*i:])
		if off > uint64(len(data)) {
			return nil, fmt.Errorf("part %d begins at %#x, behind its end", i, off)
		}
		*part = data[off:]
	}
	if n == 0 || n > maxFuncs || uint64(len(t.funcs)) < 8*n+4 {
		return nil, fmt.Errorf("it has %d functions in %d bytes", n, len(t.funcs))
	}
	return t, nil
}

// moduleText is the offset of the code's address in the runtime's description of a module (runtime.moduledata).
// The first word of the description is the address of the table.
const moduleText = 176

// textOf returns the base address of functions: from the header of the table or, since Go 1.26, from the
// runtime's description of the module. Values relocated by the loader have priority over those in the file.
func textOf(f *elfx.File, at, bias uint64, data []byte, mem Memory) (uint64, error) {
	word := func(vaddr uint64) uint64 {
		b, err := mem(vaddr, 8)
		if err != nil {
			return 0
		}
		return binary.LittleEndian.Uint64(b)
	}
	if text := binary.LittleEndian.Uint64(data[headerText:]); text != 0 {
		return text, nil
	}
	if text := word(at + headerText); text > bias {
		return text - bias, nil
	}
	if s, ok := f.LookupStatic("runtime.text"); ok && s.Value != 0 {
		return s.Value, nil
	}
	b, h, err := f.Section(".go.module")
	if err != nil {
		return 0, fmt.Errorf("where Go functions begin is not known: %w", err)
	}
	if len(b) >= moduleText+8 && binary.LittleEndian.Uint64(b) == at {
		return binary.LittleEndian.Uint64(b[moduleText:]), nil
	}
	if word(h.Addr) == at+bias {
		return word(h.Addr+moduleText) - bias, nil
	}
	return 0, errors.New("where Go functions begin is not known: the runtime's description of the module is another " +
		"one")
}

// Func is one function of Go's table. It does not distinguish inlined functions.
type Func struct {
	Name      string
	Low, High uint64 // its code, as addresses of the file

	t    *Table
	data []byte // its description
}

// entry returns the offsets of function i: of its code and of its description.
func (t *Table) entry(i int) (code, desc uint32) {
	code = binary.LittleEndian.Uint32(t.funcs[8*i:])
	if i < t.n {
		desc = binary.LittleEndian.Uint32(t.funcs[8*i+4:])
	}
	return code, desc
}

// Offsets in the description of a function, and its size without the tables after it.
const (
	funcName = 4
	funcPCSP = 16
	funcFile = 20
	funcLine = 24
	funcUnit = 32
	funcSize = 44
)

// Func returns the function that contains address pc.
func (t *Table) Func(pc uint64) (Func, bool) {
	off := pc - t.text
	if last, _ := t.entry(t.n); pc < t.text || off >= uint64(last) {
		return Func{}, false
	}
	i := sort.Search(t.n, func(i int) bool {
		low, _ := t.entry(i)
		return uint64(low) > off
	}) - 1
	if i < 0 {
		return Func{}, false
	}
	return t.functionAt(i)
}

// functionAt returns function i.
func (t *Table) functionAt(i int) (Func, bool) {
	low, desc := t.entry(i)
	high, _ := t.entry(i + 1)
	if uint64(desc)+funcSize > uint64(len(t.funcs)) || high < low {
		return Func{}, false
	}
	f := Func{Low: t.text + uint64(low), High: t.text + uint64(high), t: t, data: t.funcs[desc:][:funcSize]}
	f.Name = text(t.names, f.word(funcName))
	return f, f.Name != ""
}

// Named returns the first function that accept accepts.
func (t *Table) Named(accept func(Func) bool) (Func, bool) {
	for i := range t.n {
		if f, ok := t.functionAt(i); ok && accept(f) {
			return f, true
		}
	}
	return Func{}, false
}

// word returns a number of the description.
func (f Func) word(off int) uint32 { return binary.LittleEndian.Uint32(f.data[off:]) }

// text returns the string at an offset; "" if the offset is outside.
func text(b []byte, off uint32) string {
	if uint64(off) >= uint64(len(b)) {
		return ""
	}
	b = b[off:min(len(b), int(off)+maxName)]
	end := bytes.IndexByte(b, 0)
	if end < 0 {
		return ""
	}
	return string(b[:end])
}

// Depth returns the number of bytes between the stack pointer at pc and the return address.
func (f Func) Depth(pc uint64) (uint64, bool) {
	v, ok := f.along(funcPCSP, pc)
	return uint64(v), ok && v >= 0
}

// Line returns the source line at pc.
func (f Func) Line(pc uint64) (file string, line int, ok bool) {
	n, ok := f.along(funcFile, pc)
	l, known := f.along(funcLine, pc)
	at := 4 * (uint64(f.word(funcUnit)) + uint64(n))
	if !ok || !known || n < 0 || at+4 > uint64(len(f.t.units)) {
		return "", 0, false
	}
	file = text(f.t.files, binary.LittleEndian.Uint32(f.t.units[at:]))
	return file, int(l), file != "" && l > 0
}

// along returns the value of one of the function's tables at pc. A table is a sequence of pairs of
// differences: that of the value, and that of the end of its addresses.
func (f Func) along(table int, pc uint64) (int32, bool) {
	off := f.word(table)
	if off == 0 || uint64(off) >= uint64(len(f.t.pcs)) {
		return 0, false
	}
	b, at, v := f.t.pcs[off:], f.Low, int32(-1)
	for {
		dv, n := binary.Uvarint(b)
		if n <= 0 || dv == 0 && at != f.Low {
			return 0, false
		}
		b = b[n:]
		v += int32(uint32(dv)>>1) ^ -int32(dv&1)
		da, n := binary.Uvarint(b)
		if n <= 0 || da == 0 {
			return 0, false
		}
		b = b[n:]
		if at += da * f.t.quantum; pc < at {
			return v, true
		}
	}
}
