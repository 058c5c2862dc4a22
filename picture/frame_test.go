package picture

import "testing"

// TestInnermostUser checks that the first frame with a name is chosen, if its code is the same.
func TestInnermostUser(t *testing.T) {
	system := Frame{Kind: FrameSystem, Function: "futex", Module: "libc.so.6"}
	bare := Frame{Kind: FrameUser, Module: "python3.11"}
	named, other := bare, bare
	named.Function = "PyEval_RestoreThread"
	other.Function, other.Module = "work", "work"
	for _, c := range []struct {
		stack []Frame
		want  int
	}{
		{nil, -1},
		{[]Frame{system}, -1},
		{[]Frame{system, named, other}, 1},
		{[]Frame{system, bare, bare, named, other}, 3},
		{[]Frame{system, bare, other, named}, 1},
		{[]Frame{bare, system, named}, 0},
		{[]Frame{bare, bare}, 0},
	} {
		if got := InnermostUser(c.stack); got != c.want {
			t.Errorf("%v: %d, want %d", c.stack, got, c.want)
		}
	}
}
