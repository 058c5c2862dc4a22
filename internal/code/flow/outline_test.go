package flow

import (
	"slices"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/code/symbolic"
)

// TestOutline compares the outlines of libgomp's functions with the calls found by following values: no call is
// missing, and no address in an argument.
func TestOutline(t *testing.T) {
	whole, calls, addresses := 0, 0, 0
	for name, f := range libgompFunctions(t) {
		outline, ok := f.Outline()
		if !ok {
			t.Fatalf("%s has no outline", name)
		}
		if f.Indirect || outline.ByRegister || len(outline.ByMemory) > 0 {
			continue
		}
		whole++
		for _, site := range f.Sites() {
			if !f.isInside(site.Entry) && !slices.Contains(outline.Calls, site.Target) {
				t.Errorf("%s calls %+v at %#x, which its outline does not have", name, site.Target, site.PC)
			}
			calls++
			for _, a := range site.Args {
				if a == nil || a.Kind != symbolic.KindGlobal {
					continue
				}
				addresses++
				if !slices.Contains(outline.Numbers, a.Val) {
					t.Errorf("%s hands %#x to a call at %#x, which its outline does not have", name, a.Val, site.PC)
				}
			}
		}
	}
	if whole < 150 || calls < 150 || addresses < 20 {
		t.Errorf("%d outlines, %d calls, %d addresses", whole, calls, addresses)
	}
}
