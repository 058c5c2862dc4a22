package layout

import (
	"errors"
	"fmt"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// dearMemory contains at each address the address's low byte, and records the reads.
type dearMemory struct {
	read map[uint64]int
	end  uint64 // of the memory
	late []error

	foreseen []callbacks.Piece
}

func (m *dearMemory) ReadMemory(a callbacks.Address, p []byte) error {
	if a.Offset+uint64(len(p)) > m.end {
		return &callbacks.FaultError{Address: a, Err: callbacks.ErrUnmapped}
	}
	for i := range p {
		p[i] = byte(a.Offset) + byte(i)
		m.read[a.Offset+uint64(i)]++
	}
	return nil
}

func (m *dearMemory) ReadLater(a callbacks.Address, p []byte) error {
	err := m.ReadMemory(a, p)
	if err != nil {
		m.late = append(m.late, err)
	}
	return err
}

func (m *dearMemory) Foresee(pieces []callbacks.Piece) { m.foreseen = pieces }

// TestForesee checks that only memory with expensive bytes gets the announcement of reads.
func TestForesee(t *testing.T) {
	m := &dearMemory{}
	for _, mem := range []callbacks.Memory{struct{ callbacks.Memory }{m}, m} {
		var s Foresee
		s.Field(callbacks.Addr(0x1000), Field{Offset: 16, Size: 4})
		s.Field(callbacks.Addr(0x2000), Field{Offset: 100, Size: 400})
		s.Field(callbacks.Address{}, Field{Offset: 16, Size: 4})
		s.Field(callbacks.Addr(0x3000), Field{})
		s.Ask(mem)
	}
	if got := fmt.Sprint(m.foreseen); len(m.foreseen) != 2 || m.foreseen[1].Size != 8 {
		t.Errorf("foreseen: %s", got)
	}
}

// TestSparingReadsWhatIsAskedFor compares records of expensive and of ordinary memory, and counts the bytes
// read.
func TestSparingReadsWhatIsAskedFor(t *testing.T) {
	first, near, second, last := Field{Offset: 16, Size: 4}, Field{Offset: 24, Size: 1}, Field{Offset: 48, Size: 8},
		Field{Offset: 1000, Size: 2}
	m := &dearMemory{read: map[uint64]int{}, end: 1 << 20}
	r := Read(m, callbacks.Addr(0x1000), last, second, Field{Offset: 100, Size: 400}, first, near)
	if len(m.read) != 9+8+8+2 { // first and near together, second, a word of the long one, last
		t.Errorf("%d bytes were read: %v", len(m.read), m.read)
	}
	m.read = map[uint64]int{}
	plain := Read(struct{ callbacks.Memory }{m}, callbacks.Addr(0x1000), first, second, last)
	if len(m.read) != 1000-16+2 {
		t.Fatalf("%d bytes were read of ordinary memory", len(m.read))
	}
	for range 2 {
		for _, f := range []Field{second, last, first} {
			if got, want := r.Uint(f), plain.Uint(f); got != want {
				t.Errorf("%v: %#x, want %#x", f, got, want)
			}
		}
	}
	if got, want := r.RecordAt(24).Uint(Field{Offset: 24, Size: 8}), plain.Uint(second); got != want || r.Err() != nil {
		t.Errorf("as a nested structure: %#x, want %#x; %v", got, want, r.Err())
	}
	if whole := ReadSize(m, callbacks.Addr(0x2000),
		64); fmt.Sprint(whole.Bytes(Field{Offset: 6, Size: 4})) != "[6 7 8 9]" {
		t.Errorf("%v", whole.Bytes(Field{Offset: 6, Size: 4}))
	}
}

// TestSparingFaults reads missing structures, and a structure that is cut short.
func TestSparingFaults(t *testing.T) {
	first, second := Field{Offset: 0, Size: 8}, Field{Offset: 64, Size: 8}
	m := &dearMemory{read: map[uint64]int{}, end: 0x1020}
	for _, a := range []callbacks.Address{{}, callbacks.Addr(0x2000), callbacks.Addr(^uint64(0) - 3)} {
		if r := Read(m, a, first, second); !errors.Is(r.Err(), callbacks.DeviceReadError) || r.Uint(first) != 0 {
			t.Errorf("%v: %v", a, r.Err())
		}
	}
	if m.late != nil {
		t.Errorf("who asked was told at once, and all the same: %v", m.late)
	}
	r := Read(m, callbacks.Addr(0x1000), Field{Size: 72})
	if r.Err() != nil {
		t.Fatal(r.Err())
	}
	if r.RecordAt(56).Uint(first) != 0 || !errors.Is(r.Err(), callbacks.DeviceReadError) || len(m.late) != 1 {
		t.Errorf("%v, %v", r.Err(), m.late)
	}
}
