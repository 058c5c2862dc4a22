package symbolic

import (
	"reflect"
	"testing"
)

// TestCopyFrom compares copies in the memory of another state with forks, and changes each without the other.
func TestCopyFrom(t *testing.T) {
	cell := func(n uint64) *Expr { return Leaf(KindStack, n) }
	from := &State{PC: 1, Frames: []Frame{{}}}
	from.store(cell(8), Constant(1), 8, false)
	from.store(cell(16), Constant(2), 4, true)
	from.Again(5, 1)
	var s State
	for range 2 { // into new memory, and into that of a state with other cells
		s.CopyFrom(from)
		if !reflect.DeepEqual(&s, from.Fork()) {
			t.Fatalf("%+v, want %+v", s, *from)
		}
		s.store(cell(8), Constant(3), 8, false)
		s.store(cell(24), Constant(4), 8, false)
		s.Again(5, 1)
		s.PC = 2
	}
	if v := from.LoadStack(8, 8); !v.Equal(Constant(1)) || len(from.Stack) != 2 || from.visits[0].n != 1 ||
		from.PC != 1 {
		t.Errorf("a change of the copy changed the state: %+v", *from)
	}
}
