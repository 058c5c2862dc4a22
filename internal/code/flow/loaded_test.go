package flow

import (
	"slices"
	"testing"
)

// TestCallsLoaded compares CallsLoaded with the calls found by following values, for functions of GNU's C++ library:
// if it returns true, one of them has an unknown callee. It finds most functions with virtual calls.
func TestCallsLoaded(t *testing.T) {
	const each, path = 2, "/usr/lib/x86_64-linux-gnu/libstdc++.so.6" // every other function is compared
	n, found, missed := 0, 0, 0
	for name, f := range functionsOf(t, path) {
		if n++; n%each != 0 {
			continue
		}
		unknown := slices.ContainsFunc(f.Sites(), func(s CallSite) bool {
			return s.Return != 0 && s.Name == "" && s.Entry == 0
		})
		o, ok := f.Outline()
		switch loaded := f.CallsLoaded(); {
		case loaded && !unknown:
			t.Errorf("%s calls no unknown function", name)
		case loaded:
			found++
		case unknown && ok && o.ByRegister:
			missed++
		}
	}
	if found < 20 || missed > found {
		t.Errorf("%d functions found, %d missed", found, missed)
	}
}
