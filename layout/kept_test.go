package layout

import (
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// TestKeep makes one source of each kind for a module, and a new one each time
// where nothing is kept.
func TestKeep(t *testing.T) {
	one, other := &callbacks.Module{Path: "one"}, &callbacks.Module{Path: "other"}
	made := 0
	create := func() *fake { made++; return &fake{} }
	var k Kept
	first := Keep(&k, one, create)
	if Keep(&k, one, create) != first || Keep(&k, other, create) == first || made != 2 {
		t.Errorf("%d sources made for two modules", made)
	}
	if Keep(nil, one, create) == first || made != 3 {
		t.Error("a source was kept without a place to keep it in")
	}
	// A source of another kind is not taken for it.
	if s := Keep(&k, one, func() *Code { return NewCode(nil, one, &CodeRules{}) }); s == nil {
		t.Error("no source of the other kind")
	}
	if s, ok := Recall[*fake](&k, one); !ok || s != first {
		t.Error("a source of another kind took the place of the first")
	}
	if _, ok := Recall[int](&k, one); ok {
		t.Error("something is there that was not kept")
	}
}
