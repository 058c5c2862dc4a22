package layout

import (
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// TestKept checks that the facts of each module are cached, and that a nil Kept caches no facts.
func TestKept(t *testing.T) {
	one, other := &callbacks.Module{Path: "one"}, &callbacks.Module{Path: "other"}
	var k Kept
	source := &fake{}
	k.ModuleOf(one).Code, k.ModuleOf(one).Located = source, 1
	if got := k.ModuleOf(one); got.Code != source || got.Located != 1 {
		t.Errorf("%+v", got)
	}
	if got := k.ModuleOf(other); got.Code != nil || got.Located != nil {
		t.Errorf("another module has %+v", got)
	}
	var none *Kept
	none.ModuleOf(one).Code = source
	if none.ModuleOf(one).Code != nil {
		t.Error("a source was kept without a place to keep it in")
	}
}
