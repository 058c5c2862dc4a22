package jitcode

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// memory is a target with one block.
type memory struct {
	start uint64
	bytes []byte
}

func (m memory) ReadMemory(a callbacks.Address, p []byte) error {
	if off := a.Offset - m.start; off > uint64(len(m.bytes)) || uint64(len(p)) > uint64(len(m.bytes))-off {
		return errors.New("unmapped")
	}
	copy(p, m.bytes[a.Offset-m.start:])
	return nil
}

// TestInMap reads perf maps: the last of several functions is the newest, and lines of another form are left out.
func TestInMap(t *testing.T) {
	const text = "1000 10 old\nnothing\n0x1000 0x20 a name\n2000 zz bad\n3000 10\nffffffffffffffff 10 wraps\n"
	for _, tt := range []struct {
		pc   uint64
		want string
	}{{0x1000, "a name"}, {0x101f, "a name"}, {0x1020, ""}, {0x2000, ""}, {0x3000, ""}, {0, ""}} {
		if f, ok := InMap([]byte(text), tt.pc); f.Name != tt.want || ok != (tt.want != "") {
			t.Errorf("%#x: %+v, %v; want %q", tt.pc, f, ok, tt.want)
		}
	}
}

// TestObjects reads lists of objects: whole, of another version, cut, and without an end.
func TestObjects(t *testing.T) {
	const start, entry = 0x10000, 64
	list := func(version uint32, next, size uint64) memory {
		b := make([]byte, 128)
		binary.LittleEndian.PutUint32(b, version)
		binary.LittleEndian.PutUint64(b[descriptorFirst:], start+entry)
		binary.LittleEndian.PutUint64(b[entry+entryNext:], next)
		binary.LittleEndian.PutUint64(b[entry+entryObject:], start)
		binary.LittleEndian.PutUint64(b[entry+entryLength:], size)
		return memory{start, b}
	}
	for _, tt := range []struct {
		name    string
		mem     memory
		objects int
		fails   bool
	}{
		{"whole", list(1, 0, 128), 1, false},
		{"another version", list(2, 0, 128), 0, true},
		{"cut", list(1, 7, 128), 1, true},
		{"without an end", list(1, start+entry, 128), maxObjects, true},
		{"too large, without an end", list(1, start+entry, maxObjectSize+1), 0, true},
	} {
		got, err := Objects(tt.mem, start)
		if len(got) != tt.objects || (err != nil) != tt.fails {
			t.Errorf("%s: %d objects, %v", tt.name, len(got), err)
		}
	}
}

// FuzzObjects checks that damaged lists and objects end.
func FuzzObjects(f *testing.F) {
	f.Add(make([]byte, 256), uint64(0))
	f.Fuzz(func(_ *testing.T, b []byte, pc uint64) {
		const start = 0x10000
		objects, _ := Objects(memory{start, b}, start) // damaged
		for i, o := range objects {
			if i == 4 {
				break
			}
			o.Function(pc)
		}
		_, _ = Object{memory{start, b}, start, uint64(len(b))}.Function(pc)
		InMap(b, pc)
	})
}
