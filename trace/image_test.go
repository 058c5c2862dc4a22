package trace_test

import (
	"encoding/binary"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/trace"
)

// image is the memory of a program with a recorder: the header at base, its directory, and
// the rings behind it.
type image struct {
	bytes   []byte
	maps    []callbacks.Mapping
	reading func(offset, n uint64) // is told of each read before it is done; may be nil
}

// Where an image has what, and the numbers of recorder/format.h.
const (
	base      = 0x10000
	directory = 4096
	rings     = directory + 8*16384
	slots     = 2048 // of a ring, behind its header
	rareShift = 6
)

var le = binary.LittleEndian

// newImage makes an image of n threads with main rings of 1 << shift records.
func newImage(n int, shift uint32) *image {
	size := ringSize(shift)
	m := &image{bytes: make([]byte, rings+n*size)}
	b := m.bytes
	copy(b, "\x7fOMPDREC\r\n\x1a")
	for at, v := range map[int]uint32{
		16: 1, 20: 4096, 24: 32, 28: 2048, 40: 4711, 52: 1, 112: uint32(n), 140: 1, 400: 1,
	} {
		le.PutUint32(b[at:], v)
	}
	for at, v := range map[int]uint64{
		32: 0x0102030405060708, 56: 1e9, 64: 1000, 72: 5000, 80: 1e18, 88: base + rings,
		96: uint64(n * size), 128: 1<<38 - 2,
	} {
		le.PutUint64(b[at:], v)
	}
	copy(b[144:], "LLVM OMP version: 5.0.20140926")
	for i := range n {
		at := rings + i*size
		le.PutUint64(b[directory+8*i:], uint64(base+at))
		g := b[at:]
		le.PutUint64(g[16:], uint64(base+at+slots))
		le.PutUint64(g[80:], uint64(base+at+slots+32<<shift))
		for field, v := range map[int]uint32{48: shift, 52: rareShift, 128: 1, 132: uint32(100 + i), 136: uint32(i)} {
			le.PutUint32(g[field:], v)
		}
		g[32] = 0xff // state: undefined
	}
	m.maps = []callbacks.Mapping{{
		Low: callbacks.At(base), High: callbacks.At(base + rings), Perm: callbacks.PermRead | callbacks.PermWrite,
		File: "/memfd:ompd-recorder (deleted)",
	}}
	return m
}

func ringSize(shift uint32) int { return slots + 32<<shift + 32<<rareShift }

// record is struct recorder_record.
type record struct {
	time       uint64
	code, kind uint8
	flags      uint8
	value      uint32
	a, b       uint64
	rare       bool
}

// put writes a record as the thread of ring i does.
func (m *image) put(i int, r record) {
	shift := le.Uint32(m.bytes[rings+48:])
	g := m.bytes[rings+i*ringSize(shift):]
	cursor, at := g, slots
	if r.rare {
		cursor, at, shift = g[64:], slots+32<<shift, rareShift
	}
	number := le.Uint64(cursor[8:])
	b := g[at+32*int(number&(1<<shift-1)):]
	le.PutUint64(b, r.time)
	b[8], b[9], b[10], b[11] = r.code, r.kind, r.flags, uint8(number>>shift)
	le.PutUint32(b[12:], r.value)
	le.PutUint64(b[16:], r.a)
	le.PutUint64(b[24:], r.b)
	le.PutUint64(cursor, number+1)
	le.PutUint64(cursor[8:], number+1)
	if r.code != 64 {
		le.PutUint64(g[24:], r.time)
	}
}

// ReadMemory implements callbacks.Memory.
func (m *image) ReadMemory(a callbacks.Address, p []byte) error {
	at, n := a.Offset-base, uint64(len(p))
	if a.Offset < base || at > uint64(len(m.bytes)) || n > uint64(len(m.bytes))-at {
		return &callbacks.FaultError{Address: a, Err: callbacks.ErrUnmapped}
	}
	if m.reading != nil {
		m.reading(at, n)
	}
	copy(p, m.bytes[at:])
	return nil
}

// Mappings implements callbacks.MappingLister.
func (m *image) Mappings() []callbacks.Mapping { return m.maps }

// read reads the whole recording.
func (m *image) read(t testing.TB) *trace.Recording {
	t.Helper()
	r, err := trace.Open(m, 0)
	if err != nil {
		t.Fatal(err)
	}
	rec, err := r.Read()
	if err != nil {
		t.Fatal(err)
	}
	return rec
}
