package layout

import (
	"bytes"
	"fmt"
	"math/bits"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// MaxRecord is the size in bytes of the largest structure that is read at once. The runtimes' largest structures
// have some 2 KiB; a larger one means a wrong layout.
const MaxRecord = 64 << 10

// Record is a copy of a structure of the target; the bytes belong to the record or to the target. Its getters
// return 0 after an error, and the first error stays: a walk checks Err once, at its end. A Record is for one
// goroutine.
type Record struct {
	base callbacks.Address // of the structure with the requested fields
	low  callbacks.Address // of data[0]
	data []byte
	err  *error // shared with the views made by At
	part *part  // the part of data that was read, likewise; nil: all
}

// Read copies the part of the structure at a that spans the given fields, with one read. Unknown
// fields are left out.
func Read(mem callbacks.Memory, a callbacks.Address, fields ...Field) *Record {
	low, high := uint64(MaxRecord), uint64(0)
	for _, f := range fields {
		if f.IsKnown() {
			low, high = min(low, f.Offset), max(high, f.End())
		}
	}
	if s, ok := sparing(mem, high-min(low, high)); ok && high <= MaxRecord {
		return readSparing(s, a, low, high, fields...)
	}
	return read(mem, a, min(low, high), high)
}

// ReadSize copies the size bytes of the structure at a with one read.
func ReadSize(mem callbacks.Memory, a callbacks.Address, size uint64) *Record {
	if s, ok := sparing(mem, size); ok && size <= MaxRecord {
		return readSparing(s, a, 0, size, Field{Size: word})
	}
	return read(mem, a, 0, size)
}

// ownRecord is a Record with its error.
type ownRecord struct {
	Record
	fault error
}

// lent returns the record of a structure that the target has a copy of, or nil.
func lent(mem callbacks.Memory, a callbacks.Address, low, n uint64) *Record {
	l, ok := mem.(callbacks.Lender)
	from := a.Add(low)
	if !ok || a.IsNull() || from.Offset < a.Offset {
		return nil
	}
	data := l.Lend(from, n)
	if data == nil {
		return nil
	}
	r := &ownRecord{Record: Record{base: a, low: from, data: data}}
	r.err = &r.fault
	return &r.Record
}

// newRecord is a Record with everything that it points to, unless that is large.
type newRecord struct {
	ownRecord
	short [shortRecord]byte
}

// shortRecord is the buffer size for a few adjacent fields, in bytes.
const shortRecord = 64

func read(mem callbacks.Memory, a callbacks.Address, low, high uint64) *Record {
	if low < high && high <= MaxRecord {
		if r := lent(mem, a, low, high-low); r != nil {
			return r
		}
	}
	n := &newRecord{ownRecord: ownRecord{Record: Record{base: a, low: a.Add(low)}}}
	r := &n.Record
	r.err = &n.fault
	if low > high || high > MaxRecord {
		r.fail(fmt.Errorf("structure at %v: %d bytes is more than the bound of %d: %w", a, high, uint64(MaxRecord),
			callbacks.Incompatible))
		return r
	}
	data := n.short[:min(high-low, shortRecord)]
	if high-low > shortRecord {
		data = make([]byte, high-low)
	}
	if err := readMemory(mem, a, low, data); err != nil {
		r.fail(err)
		return r
	}
	r.data = data
	return r
}

// readMemory reads at base+off. A null base is a fault without a read, since some targets have
// bytes at page 0.
func readMemory(mem callbacks.Memory, base callbacks.Address, off uint64, p []byte) error {
	a := base.Add(off)
	if base.IsNull() || a.Offset < base.Offset || a.Offset+uint64(len(p)) < a.Offset {
		return &readError{&callbacks.FaultError{Address: a, Err: callbacks.ErrUnmapped}}
	}
	if err := mem.ReadMemory(a, p); err != nil {
		return &readError{err}
	}
	return nil
}

// readError is a fault that is callbacks.DeviceReadError too.
type readError struct{ err error }

func (e *readError) Error() string   { return e.err.Error() }
func (e *readError) Unwrap() []error { return []error{e.err, callbacks.DeviceReadError} }

// RecordAt returns a view of the structure that is nested at offset off. It shares the copy and the
// error.
func (r *Record) RecordAt(off uint64) *Record {
	v := *r
	v.base = r.base.Add(off)
	return &v
}

// Fork returns the same copy with its own error, for another goroutine or walk. It is a value, so
// that it need not be allocated.
func (r *Record) Fork() Record {
	v, fault := *r, *r.err
	v.err = &fault
	return v
}

// Base returns the address of the structure in the target.
func (r *Record) Base() callbacks.Address { return r.base }

// Err returns the first error: the read's fault, the use of an unknown field, or the use of one
// that was not read.
func (r *Record) Err() error { return *r.err }

func (r *Record) fail(err error) {
	if *r.err == nil {
		*r.err = err
	}
}

// Uint returns the unsigned value of a field of 1, 2, 4 or 8 bytes, or of a bit field.
func (r *Record) Uint(f Field) uint64 {
	p := r.Bytes(f)
	if p == nil {
		return 0
	}
	switch f.Size {
	case 1, 2, 4, 8:
	default:
		r.fail(fmt.Errorf("field %v at %v is not an integer: %w", f, r.base, callbacks.Incompatible))
		return 0
	}
	v := callbacks.Word(p)
	if f.Mask != 0 {
		v = v & f.Mask >> bits.TrailingZeros64(f.Mask)
	}
	return v
}

// Int returns the value of a field, sign-extended; bit fields are unsigned.
func (r *Record) Int(f Field) int64 {
	v := r.Uint(f)
	if f.Mask != 0 || f.Size == 0 || f.Size > 8 {
		return int64(v)
	}
	shift := 64 - 8*f.Size
	return int64(v<<shift) >> shift
}

// Bool reports whether the field is not 0.
func (r *Record) Bool(f Field) bool { return r.Uint(f) != 0 }

// Address returns the value of a pointer field.
func (r *Record) Address(f Field) callbacks.Address {
	return callbacks.Address{Segment: r.base.Segment, Offset: r.Uint(f)}
}

// Bytes returns the field's part of the copy; nil after an error. The caller must not change it.
func (r *Record) Bytes(f Field) []byte {
	if *r.err != nil {
		return nil
	}
	if err := f.Err(); err != nil {
		r.fail(err)
		return nil
	}
	low := r.base.Offset + f.Offset - r.low.Offset
	if n := uint64(len(r.data)); low > n || f.Size > n-low {
		r.fail(fmt.Errorf("field %v at %v is not in the part of the structure that was read: %w", f, r.base,
			callbacks.Error))
		return nil
	}
	if r.part != nil && !r.part.fetch(r, low, f.Size) {
		return nil
	}
	return r.data[low : low+f.Size]
}

// ReadUint reads the little-endian integer of size 1, 2, 4 or 8 bytes at a.
func ReadUint(mem callbacks.Memory, a callbacks.Address, size uint64) (uint64, error) {
	r := ReadSize(mem, a, size)
	v := r.Uint(Field{Size: size})
	return v, r.Err()
}

// ReadGlobal reads a global variable that is a signed integer of size 1, 2, 4 or 8 bytes. An
// unknown one is an error with the reason.
func ReadGlobal(mem callbacks.Memory, g Global, size uint64) (int64, error) {
	if err := g.Err(); err != nil {
		return 0, err
	}
	v, err := ReadUint(mem, g.Address, size)
	unused := 64 - 8*size
	return int64(v<<unused) >> unused, err
}

// stringChunk divides the page size, so that a string that ends before an unmapped page is read.
const stringChunk = 256

// ReadString reads the string at a up to its terminating zero byte. It cuts a string of more than
// limit bytes, and returns an error for it.
func ReadString(mem callbacks.Memory, a callbacks.Address, limit int) (string, error) {
	var text []byte
	for len(text) < limit {
		at := a.Add(uint64(len(text)))
		chunk := make([]byte, stringChunk-at.Offset%stringChunk)
		if err := readMemory(mem, a, uint64(len(text)), chunk); err != nil {
			return string(text), err
		}
		if i := bytes.IndexByte(chunk, 0); i >= 0 && len(text)+i <= limit {
			return string(append(text, chunk[:i]...)), nil
		}
		text = append(text, chunk...)
	}
	return string(text[:max(limit, 0)]), fmt.Errorf("string at %v has more than %d bytes: %w", a, limit,
		callbacks.Incomplete)
}
