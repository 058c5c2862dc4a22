package layout

import (
	"errors"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// memory maps the start of a region to its bytes.
type memory map[uint64][]byte

func (m memory) ReadMemory(a callbacks.Address, p []byte) error {
	for low, data := range m {
		if a.Offset >= low && a.Offset-low <= uint64(len(data)) && uint64(len(p)) <= uint64(len(data))-(a.Offset-low) {
			copy(p, data[a.Offset-low:])
			return nil
		}
	}
	return &callbacks.FaultError{Address: a, Err: callbacks.ErrUnmapped}
}

func TestRecord(t *testing.T) {
	mem := memory{0x1000: {0: 0xff, 1: 0xfe, 4: 0x35, 8: 0x00, 9: 0x20, 15: 0}}
	var (
		i8  = Field{Offset: 0, Size: 1}
		i16 = Field{Offset: 0, Size: 2}
		bit = Field{Offset: 4, Size: 4, Mask: 0x10}
		two = Field{Offset: 4, Size: 4, Mask: 0x30}
		ptr = Field{Offset: 8, Size: 8}
	)
	r := Read(mem, callbacks.Addr(0x1000), i8, i16, bit, ptr)
	for _, c := range []struct {
		f    Field
		u    uint64
		i    int64
		b    bool
		name string
	}{
		{i8, 0xff, -1, true, "i8"}, {i16, 0xfeff, -257, true, "i16"}, {bit, 1, 1, true, "bit"},
		{two, 3, 3, true, "two bits"}, {ptr, 0x2000, 0x2000, true, "ptr"},
	} {
		if r.Uint(c.f) != c.u || r.Int(c.f) != c.i || r.Bool(c.f) != c.b {
			t.Errorf("%s: %#x %d %v", c.name, r.Uint(c.f), r.Int(c.f), r.Bool(c.f))
		}
	}
	if a := r.Address(ptr); a != callbacks.Addr(0x2000) {
		t.Errorf("address %v", a)
	}
	if v := r.RecordAt(4).Uint(Field{Size: 4}); v != 0x35 {
		t.Errorf("nested view gives %#x", v)
	}
	if r.Err() != nil {
		t.Fatal(r.Err())
	}
}

func TestRecordErrorSticks(t *testing.T) {
	ok := Field{Size: 4}
	mem := memory{0x1000: {1, 2, 3, 4, 5, 6, 7, 8}}
	for _, c := range []struct {
		name string
		r    *Record
		use  Field
		is   error
		says string
	}{
		{"null", ReadSize(mem, callbacks.Address{}, 8), ok, callbacks.ErrUnmapped, "read 0x0"},
		{"unmapped", ReadSize(mem, callbacks.Addr(0x9000), 8), ok, callbacks.DeviceReadError, "read 0x9000"},
		{"wraps around", ReadSize(mem, callbacks.Addr(^uint64(3)), 8), ok, callbacks.ErrUnmapped, ""},
		{"too large", ReadSize(mem, callbacks.Addr(0x1000), MaxRecord+1), ok, callbacks.Incompatible, "bound"},
		{"field too far", Read(mem, callbacks.Addr(0x1000), Field{Offset: 1 << 40, Size: 8}), ok,
			callbacks.Incompatible,
			"bound"},
		{"unknown field", ReadSize(mem, callbacks.Addr(0x1000), 8), Field{}, errUndeclared, "undeclared"},
		{"not read", Read(mem, callbacks.Addr(0x1000), Field{Offset: 4, Size: 4}), ok, callbacks.Error,
			"not in the part"},
		{"behind", ReadSize(mem, callbacks.Addr(0x1000), 8), Field{Offset: ^uint64(0), Size: 8}, callbacks.Error,
			"not in the part"},
		{"aggregate", ReadSize(mem, callbacks.Addr(0x1000), 8), Field{Size: 7}, callbacks.Incompatible,
			"not an integer"},
	} {
		c.r.Uint(c.use)
		first := c.r.Err()
		if !errors.Is(first, c.is) || !strings.Contains(first.Error(), c.says) {
			t.Errorf("%s: %v", c.name, first)
		}
		if v := c.r.RecordAt(4).Uint(ok); v != 0 || !errors.Is(c.r.Err(), first) {
			t.Errorf("%s: after the error %d, %v", c.name, v, c.r.Err())
		}
	}
	r := ReadSize(mem, callbacks.Addr(0x1000), 8)
	r.RecordAt(4).Uint(Field{Offset: 2, Size: 4})
	if r.Err() == nil {
		t.Error("an error in a nested view is not the record's")
	}
}

func TestWithin(t *testing.T) {
	if f := (Field{Offset: 4, Size: 4, Mask: 1}).InOuter(Field{Offset: 100, Size: 8}); !f.same(Field{Offset: 104,
		Size: 4, Mask: 1}) {
		t.Errorf("nested field at %v", f)
	}
	if (Field{Size: 4}).InOuter(Field{}).IsKnown() || (Field{}).InOuter(Field{Size: 4}).IsKnown() {
		t.Error("a field within an unknown one is known")
	}
}

func TestReadString(t *testing.T) {
	page := make([]byte, 0x1000)
	copy(page[0xff8:], "12345678")
	copy(page[0x10:], ";a.c;main;3;1;;")
	copy(page[0x200:], strings.Repeat("x", 600))
	mem := memory{0x1000: page}
	for _, c := range []struct {
		at    uint64
		limit int
		want  string
		is    error
	}{
		{0x1010, 100, ";a.c;main;3;1;;", nil},
		{0x1010, 15, ";a.c;main;3;1;;", nil},
		{0x1010, 14, ";a.c;main;3;1;", callbacks.Incomplete},
		{0x1200, 1000, strings.Repeat("x", 600), nil},
		{0x1200, 300, strings.Repeat("x", 300), callbacks.Incomplete},
		{0x1ff8, 100, "12345678", callbacks.DeviceReadError},
		{0x1010, 0, "", callbacks.Incomplete},
		{0x1010, -1, "", callbacks.Incomplete},
		{0, 10, "", callbacks.DeviceReadError},
	} {
		got, err := ReadString(mem, callbacks.Addr(c.at), c.limit)
		if got != c.want || !errors.Is(err, c.is) {
			t.Errorf("ReadString(%#x, %d) = %q, %v", c.at, c.limit, got, err)
		}
	}
}

func TestReadUint(t *testing.T) {
	mem := memory{0x1000: {1, 2, 3, 4, 5, 6, 7, 8}}
	if v, err := ReadUint(mem, callbacks.Addr(0x1004), 4); v != 0x08070605 || err != nil {
		t.Errorf("%#x, %v", v, err)
	}
	if _, err := ReadUint(mem, callbacks.Addr(0x1004), 8); !errors.Is(err, callbacks.DeviceReadError) {
		t.Error(err)
	}
	if _, err := ReadUint(mem, callbacks.Addr(0x1004), 3); !errors.Is(err, callbacks.Incompatible) {
		t.Error(err)
	}
}
