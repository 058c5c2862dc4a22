package flow

import (
	"slices"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/code/lift"
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

// TestOutlineAsDecoded compares the outlines of libgomp's functions with their decoded instructions.
func TestOutlineAsDecoded(t *testing.T) {
	whole, calls, indirect := 0, 0, 0
	for name, f := range libgompFunctions(t) {
		outline, ok := f.Outline()
		if !ok {
			t.Errorf("%s has no outline", name)
			continue
		}
		whole++
		early := f.Indirect
		if err := f.ensureDecoded(); err != nil {
			t.Errorf("%s has an outline, but %v", name, err)
			continue
		}
		if early != f.Indirect {
			t.Errorf("%s: indirect is %v before it is decoded and %v afterwards", name, early, f.Indirect)
		}
		var want []symbolic.Target
		var byMemory []uint64
		byRegister := false
		for i := range f.insts {
			target, leads := f.branchTarget(i)
			switch {
			case !leads || f.isInside(target.Entry):
			case target.Entry != 0 || target.Slot != 0:
				target.Name = f.x.Stub(target)
				if !slices.Contains(want, target) {
					want = append(want, target)
				}
			case slices.ContainsFunc(f.insts[i].Uops, func(u lift.Uop) bool {
				return u.Code == lift.UopCall && u.A.Reg >= lift.Temp0
			}):
				byMemory = append(byMemory, f.insts[i].pc)
			default:
				byRegister = true
			}
		}
		if !slices.Equal(outline.Calls, want) || !slices.Equal(outline.ByMemory, byMemory) ||
			outline.ByRegister != byRegister {
			t.Errorf("%s: outline %+v, decoded: %v, %#x, %v", name, outline, want, byMemory, byRegister)
		}
		calls += len(want)
		if f.Indirect {
			indirect++
		}
	}
	if whole < 150 || calls < 150 || indirect < 3 {
		t.Errorf("%d outlines, %d calls, %d indirect", whole, calls, indirect)
	}
}
