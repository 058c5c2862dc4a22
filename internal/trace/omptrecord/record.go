// Package omptrecord encodes and decodes the trace records of OpenMP 5.1 (section 4.5.2), which tracing devices
// write into a tool's buffers and ompt_get_record_ompt returns. The bytes are those of ompt_record_ompt_t in C
// on x86-64 and aarch64.
package omptrecord

import (
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"
)

// Size is the size of ompt_record_ompt_t, whatever its union contains.
const Size = headerSize + bodySize

const (
	headerSize = 32 // type, time, thread_id, target_id
	bodySize   = 72 // of the largest member of the union, ompt_record_target_data_op_t
)

// Record is ompt_record_ompt_t.
type Record struct {
	Type             uint32 // ompt_callbacks_t
	Time             uint64 // ompt_device_time_t
	ThreadID, Target uint64
	// Body is a pointer to one of this package's types; nil for events without a record of their own:
	// thread_end and device_initialize, _finalize, _load and _unload.
	Body any
}

// Errors of invalid records.
var (
	ErrShort = errors.New("the buffer ends in a record")
	ErrType  = errors.New("no such type of record")
	ErrBody  = errors.New("the record's body is not of its type")
)

// Append appends the record's bytes.
func (r *Record) Append(b []byte) ([]byte, error) {
	at := len(b)
	b = append(b, make([]byte, Size)...)
	out := b[at:]
	binary.LittleEndian.PutUint32(out, r.Type)
	binary.LittleEndian.PutUint64(out[8:], r.Time)
	binary.LittleEndian.PutUint64(out[16:], r.ThreadID)
	binary.LittleEndian.PutUint64(out[24:], r.Target)
	want, err := newBody(r.Type)
	if err != nil {
		return b[:at], err
	}
	if reflect.TypeOf(want) != reflect.TypeOf(r.Body) {
		return b[:at], fmt.Errorf("type %d: %w", r.Type, ErrBody)
	}
	if r.Body != nil {
		walk(reflect.ValueOf(r.Body).Elem(), headerSize, func(field reflect.Value, at int) { put(out[at:], field) })
	}
	return b, nil
}

// Parse decodes the record at the start of b.
func Parse(b []byte) (*Record, error) {
	if len(b) < Size {
		return nil, ErrShort
	}
	r := &Record{
		Type: binary.LittleEndian.Uint32(b), Time: binary.LittleEndian.Uint64(b[8:]),
		ThreadID: binary.LittleEndian.Uint64(b[16:]), Target: binary.LittleEndian.Uint64(b[24:]),
	}
	var err error
	if r.Body, err = newBody(r.Type); err != nil {
		return nil, err
	}
	if r.Body != nil {
		walk(reflect.ValueOf(r.Body).Elem(), headerSize, func(field reflect.Value, at int) { get(b[at:], field) })
	}
	return r, nil
}

// newBody returns an empty body for records of a type (ompt_callbacks_t).
func newBody(code uint32) (any, error) {
	if code == 0 || code >= uint32(len(bodies)) {
		return nil, fmt.Errorf("%d: %w", code, ErrType)
	}
	if bodies[code] == nil {
		return nil, nil
	}
	return reflect.New(bodies[code]).Interface(), nil
}

// walk calls visit for each number of a structure, with its offset in C: each is aligned to its size, and a
// structure to its largest member. It returns the offset of the structure's end.
func walk(v reflect.Value, offset int, visit func(field reflect.Value, offset int)) int {
	for i := range v.NumField() {
		field := v.Field(i)
		size := align(field.Type())
		offset = (offset + size - 1) &^ (size - 1)
		if field.Kind() == reflect.Struct {
			offset = walk(field, offset, visit)
			continue
		}
		visit(field, offset)
		offset += size
	}
	size := align(v.Type())
	return (offset + size - 1) &^ (size - 1)
}

// align returns the alignment of a type.
func align(t reflect.Type) int {
	if t.Kind() != reflect.Struct {
		return int(t.Size())
	}
	most := 1
	for i := range t.NumField() {
		most = max(most, align(t.Field(i).Type))
	}
	return most
}

func put(b []byte, field reflect.Value) {
	switch field.Kind() {
	case reflect.Int32:
		binary.LittleEndian.PutUint32(b, uint32(field.Int()))
	case reflect.Uint32:
		binary.LittleEndian.PutUint32(b, uint32(field.Uint()))
	default:
		binary.LittleEndian.PutUint64(b, field.Uint())
	}
}

func get(b []byte, field reflect.Value) {
	switch field.Kind() {
	case reflect.Int32:
		field.SetInt(int64(int32(binary.LittleEndian.Uint32(b))))
	case reflect.Uint32:
		field.SetUint(uint64(binary.LittleEndian.Uint32(b)))
	default:
		field.SetUint(binary.LittleEndian.Uint64(b))
	}
}
