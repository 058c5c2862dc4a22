package symbolic

import (
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/code/lift"
)

// TestRealigned checks the addresses of stack cells below a stack pointer that was rounded down.
func TestRealigned(t *testing.T) {
	const sp = 0x7ffe_1238
	entry := Leaf(KindStack, 0)
	round := func(e *Expr, to uint64) *Expr { return binary(lift.OpAnd, e, Constant(-to)) }
	for _, tt := range []struct {
		cell *Expr
		want uint64
	}{
		{Add(entry, Constant(8)), sp + 8},
		{Add(entry, Constant(^uint64(0x97f))), sp - 0x980},
		{round(Add(entry, Constant(^uint64(0x27))), 64), 0x7ffe_1200},
		{Add(round(Add(entry, Constant(^uint64(0x37))), 64), Constant(^uint64(0x97f))), 0x7ffe_1200 - 0x980},
		{Add(round(entry, 32), Constant(^uint64(1<<30-1))), 0x7ffe_1220 - 1<<30},
		{Add(round(entry, 4096), Constant(0x28)), 0x7ffe_1028},
	} {
		if tt.cell.Kind != KindStack {
			t.Errorf("%v is no cell of the stack", tt.cell)
		} else if got := StackAddress(tt.cell.Val, sp); got != tt.want {
			t.Errorf("%v is at %#x, want %#x", tt.cell, got, tt.want)
		}
	}
	if again := round(Add(round(entry, 32), Constant(^uint64(0xff))), 64); again.Kind == KindStack {
		t.Errorf("a pointer that was rounded twice is the cell %v", again)
	}
}
