package flow

import (
	"slices"
	"testing"
)

// TestPassedBefore compares PassedBefore with the calls that may precede a point by the values and the graph, for the
// calls of functions of GNU's C++ library: none may be missing.
func TestPassedBefore(t *testing.T) {
	const each, path = 40, "/usr/lib/x86_64-linux-gnu/libstdc++.so.6" // one function of that many is compared
	n, points, left := 0, 0, 0
	for name, f := range functionsOf(t, path) {
		if n++; n%each != 0 {
			continue
		}
		for _, at := range f.Sites() {
			if at.Return == 0 {
				continue
			}
			point := Point{PC: at.Return}
			passed, ok := f.PassedBefore(point)
			if !ok {
				continue
			}
			points++
			if passed.Unfinished.PC != at.PC {
				t.Errorf("%s at %#x: unfinished %#x, want %#x", name, at.PC, passed.Unfinished.PC, at.PC)
			}
			for _, s := range f.Sites() {
				effects := make([]Effect, len(f.Sites()))
				effects[s.Index] = Unsure
				truth, _ := f.HoldsBy(point, effects, nil, NoEffect)
				known := slices.ContainsFunc(passed.Before, func(c Call) bool { return c.PC == s.PC })
				switch {
				case truth == Maybe && !known:
					t.Errorf("%s at %#x: the call at %#x is missing", name, at.PC, s.PC)
				case truth == No && !known:
					left++
				}
			}
		}
	}
	if points < 100 || left < 100 {
		t.Errorf("%d points compared, %d calls left out", points, left)
	}
}
