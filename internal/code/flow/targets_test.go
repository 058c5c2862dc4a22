package flow

import (
	"slices"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/code/symbolic"
)

// TestTargetsAfter compares TargetsAfter with the calls after a point by the values and the graph, for the calls of
// functions of GNU's C++ library: none may be missing whose target the instruction shows, and others must be left out.
func TestTargetsAfter(t *testing.T) {
	const each, path = 40, "/usr/lib/x86_64-linux-gnu/libstdc++.so.6" // one function of that many is compared
	n, points, left := 0, 0, 0
	for name, f := range functionsOf(t, path) {
		if n++; n%each != 0 {
			continue
		}
		shown := func(s CallSite) (target symbolic.Target, ok bool) {
			i, _ := f.instAt(s.PC)
			target, ok = f.branchTarget(i)
			target.Name = f.x.Stub(target)
			return target, ok && (target.Entry != 0 || target.Slot != 0)
		}
		for _, at := range f.Sites() {
			point := Point{PC: at.Return}
			after, unfinished, ok := f.TargetsAfter(point)
			if at.Return == 0 || !ok {
				continue
			}
			points++
			if want, known := shown(at); known && unfinished != want {
				t.Errorf("%s at %#x: unfinished %+v, want %+v", name, at.PC, unfinished, want)
			}
			later := f.SitesAfter(point)
			ahead, _ := AheadOf(f, point)
			reached, _ := ahead.Reach(Paths{})
			for _, s := range f.Sites() {
				isLater := reached[s.Index] || slices.ContainsFunc(later, func(l CallSite) bool { return l.PC == s.PC })
				target, known := shown(s)
				switch has := slices.Contains(after, target); {
				case known && isLater && !has:
					t.Errorf("%s at %#x: the call at %#x is missing", name, at.PC, s.PC)
				case known && !has:
					left++
				}
			}
		}
	}
	if points < 100 || left < 100 {
		t.Errorf("%d points compared, %d calls left out", points, left)
	}
}
