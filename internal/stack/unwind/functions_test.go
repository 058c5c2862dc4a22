package unwind

import (
	"slices"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/image/elfx"
)

// TestFunctions lists the functions of the C library, and compares them with the lookup of an
// address in each.
func TestFunctions(t *testing.T) {
	img, c, err := elfx.OpenFile(nil).Map("/lib/x86_64-linux-gnu/libc.so.6")
	if err != nil {
		t.Skip(err)
	}
	defer c.Close()
	mod := &callbacks.Module{Path: "libc.so.6", Bias: 0x10000, Image: img, High: callbacks.Addr(1 << 40)}
	u := New(nil, callbacks.ArchX86_64, []*callbacks.Module{mod})
	all := u.Functions(mod)
	if len(all) < 1000 {
		t.Errorf("%d functions, want 1000 or more", len(all))
	}
	if !slices.IsSortedFunc(all, func(a, b [2]uint64) int { return int(a[0]) - int(b[0]) }) {
		t.Error("not by address")
	}
	for _, f := range all {
		if low, high, ok := u.FunctionBounds(f[0]); !ok || low != f[0] || high != f[1] {
			t.Fatalf("%#x-%#x is listed, the bounds are %#x-%#x, %t", f[0], f[1], low, high, ok)
		}
	}
	if u.Functions(&callbacks.Module{}) != nil {
		t.Error("functions of a module that is not there")
	}
}
