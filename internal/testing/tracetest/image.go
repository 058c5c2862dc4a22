// Package tracetest builds the memory image of a program with a recorder, for tests.
package tracetest

import (
	"encoding/binary"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/trace"
)

// Image is the memory of a program with a recorder: the header at base, its directory, and the rings after it.
type Image struct {
	Bytes   []byte
	Maps    []callbacks.Mapping
	Reading func(offset, n uint64) // is called before each read; may be nil
	// Hole is a range of unreadable offsets.
	Hole [2]uint64
}

// Offsets in an image, and the numbers of recorder/format.h.
const (
	Base      = 0x10000
	Directory = 4096
	Rings     = Directory + 8*16384
	Slots     = 2048 // in a ring, after its header
	RareShift = 6
)

var le = binary.LittleEndian

// New returns an image of n threads with main rings of 1 << shift records.
func New(n int, shift uint32) *Image {
	size := RingSize(shift)
	m := &Image{Bytes: make([]byte, Rings+n*size)}
	b := m.Bytes
	copy(b, "\x7fOMPDREC\r\n\x1a")
	for at, v := range map[int]uint32{
		16: 1, 20: 4096, 24: 32, 28: 2048, 40: 4711, 52: 1, 112: uint32(n), 140: 1, 400: 1,
	} {
		le.PutUint32(b[at:], v)
	}
	for at, v := range map[int]uint64{
		32: 0x0102030405060708, 56: 1e9, 64: 1000, 72: 5000, 80: 1e18, 88: Base + Rings,
		96: uint64(n * size), 128: 1<<38 - 2,
	} {
		le.PutUint64(b[at:], v)
	}
	copy(b[144:], "LLVM OMP version: 5.0.20140926")
	for i := range n {
		at := Rings + i*size
		le.PutUint64(b[Directory+8*i:], uint64(Base+at))
		g := b[at:]
		le.PutUint64(g[16:], uint64(Base+at+Slots))
		le.PutUint64(g[80:], uint64(Base+at+Slots+32<<shift))
		for field, v := range map[int]uint32{48: shift, 52: RareShift, 128: 1, 132: uint32(100 + i), 136: uint32(i)} {
			le.PutUint32(g[field:], v)
		}
		g[32] = 0xff // state: undefined
	}
	m.Maps = []callbacks.Mapping{{
		Low: callbacks.Addr(Base), High: callbacks.Addr(Base + Rings), Perm: callbacks.PermRead | callbacks.PermWrite,
		File: "/memfd:ompd-recorder (deleted)",
	}}
	return m
}

// RingSize returns the size of a ring of 1 << shift records, with its header.
func RingSize(shift uint32) int { return Slots + 32<<shift + 32<<RareShift }

// Record is struct recorder_record.
type Record struct {
	Time       uint64
	Code, Kind uint8
	Flags      uint8
	Value      uint32
	A, B       uint64
	Rare       bool
}

// Put writes a record as the thread of ring i does.
func (m *Image) Put(i int, r Record) {
	shift := le.Uint32(m.Bytes[Rings+48:])
	g := m.Bytes[Rings+i*RingSize(shift):]
	cursor, at := g, Slots
	if r.Rare {
		cursor, at, shift = g[64:], Slots+32<<shift, RareShift
	}
	number := le.Uint64(cursor[8:])
	b := g[at+32*int(number&(1<<shift-1)):]
	le.PutUint64(b, r.Time)
	b[8], b[9], b[10], b[11] = r.Code, r.Kind, r.Flags, uint8(number>>shift)
	le.PutUint32(b[12:], r.Value)
	le.PutUint64(b[16:], r.A)
	le.PutUint64(b[24:], r.B)
	le.PutUint64(cursor, number+1)
	le.PutUint64(cursor[8:], number+1)
	if r.Code != 64 {
		le.PutUint64(g[24:], r.Time)
	}
}

// Takes gives ring i to another thread.
func (m *Image) Takes(i int, time uint64, lwp uint32) {
	g := m.Bytes[Rings+i*RingSize(le.Uint32(m.Bytes[Rings+48:])):]
	le.PutUint32(g[160:], le.Uint32(g[132:]))
	le.PutUint32(g[132:], lwp)
	le.PutUint64(g[144:], le.Uint64(g[8:]))
	m.Put(i, Record{Time: time, Code: uint8(trace.NewThread), Value: lwp})
}

// Ends marks the thread of ring i as ended.
func (m *Image) Ends(i int) {
	le.PutUint32(m.Bytes[Rings+i*RingSize(le.Uint32(m.Bytes[Rings+48:]))+128:], uint32(trace.Ended))
}

// ReadMemory implements callbacks.Memory.
func (m *Image) ReadMemory(a callbacks.Address, p []byte) error {
	at, n := a.Offset-Base, uint64(len(p))
	if a.Offset < Base || at > uint64(len(m.Bytes)) || n > uint64(len(m.Bytes))-at {
		if end := uint64(Base + len(m.Bytes)); a.Offset >= Base && a.Offset < end {
			a.Offset = end
		}
		return &callbacks.FaultError{Address: a, Err: callbacks.ErrUnmapped}
	}
	if at < m.Hole[1] && at+n > m.Hole[0] {
		return &callbacks.FaultError{Address: callbacks.Addr(Base + max(at, m.Hole[0])), Err: callbacks.ErrNotCaptured}
	}
	if m.Reading != nil {
		m.Reading(at, n)
	}
	copy(p, m.Bytes[at:])
	return nil
}

// Mappings implements callbacks.MappingLister.
func (m *Image) Mappings() []callbacks.Mapping { return m.Maps }

// Read reads the whole recording.
func (m *Image) Read(t testing.TB) *trace.Recording {
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
