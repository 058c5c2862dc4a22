package recordings

import "testing"

// TestUnique checks that a name of two sections is removed.
func TestUnique(t *testing.T) {
	names := unique(map[uint64]string{1: "a", 2: "b", 3: "a"})
	if len(names) != 1 || names[2] != "b" {
		t.Errorf("%v", names)
	}
}

// TestRefers finds an address that code contains relative to an instruction's end, or as a number, and no other
// address.
func TestRefers(t *testing.T) {
	relative := []byte{0x4c, 0x8d, 0x3d, 0x70, 0x2b, 0, 0} // lea 0x2b70(%rip),%r15
	number := []byte{0xba, 0xa0, 0x40, 0x40, 0}            // mov $0x4040a0,%edx
	for _, c := range []struct {
		code   []byte
		at, to uint64
		want   bool
	}{
		{relative, 0x15c9, 0x4140, true}, {relative, 0x15c9, 0x4120, false}, {relative[:5], 0x15c9, 0x4140, false},
		{number, 0x401000, 0x4040a0, true}, {number, 0x401000, 0x404080, false}, {nil, 0x401000, 0x404080, false},
	} {
		if got := refersTo(c.code, c.at, c.to); got != c.want {
			t.Errorf("% x at %#x refers to %#x: %v", c.code, c.at, c.to, got)
		}
	}
}
