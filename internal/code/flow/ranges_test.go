package flow

import (
	"debug/elf"
	"slices"
	"strings"
	"testing"
)

// TestRanges reads functions of libgomp once as one range and once as three, with the last one before the second: the
// calls, their arguments, the jumps and the facts are the same.
func TestRanges(t *testing.T) {
	lib := openLibrary(t, systemLibgomp)
	syms, err := lib.file.DynamicSymbols()
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, s := range syms {
		if !s.Defined() || s.Type != elf.STT_FUNC || s.Size == 0 {
			continue
		}
		cfg := Config{Arch: lib.file.Arch(), Mem: lib, Resolve: lib.resolve}
		one, err := New(cfg, Range{s.Value, s.Value + s.Size})
		if err != nil {
			t.Fatal(err)
		}
		_ = one.ensureDecoded()
		if len(one.insts) < 3 {
			continue
		}
		compared++
		a, b := one.insts[len(one.insts)/3].pc, one.insts[2*len(one.insts)/3].pc
		three, err := New(cfg, Range{s.Value, a}, Range{b, s.Value + s.Size}, Range{a, b})
		if err != nil {
			t.Fatal(err)
		}
		compareFunctions(t, s.Name, one, three)
	}
	if compared < 100 {
		t.Errorf("%d functions are compared", compared)
	}
}

func compareFunctions(t *testing.T, name string, one, three *Function) {
	t.Helper()
	x, known := one.Outline()
	y, same := three.Outline()
	if known != same || known && (len(x.Calls) != len(y.Calls) || len(x.Numbers) != len(y.Numbers)) {
		t.Errorf("%s: the outlines are %+v and %+v", name, x, y)
	}
	if one.Indirect != three.Indirect {
		t.Errorf("%s: Indirect is %v and %v", name, one.Indirect, three.Indirect)
	}
	order := func(list []CallSite) []CallSite {
		list = slices.Clone(list)
		slices.SortFunc(list, func(a, b CallSite) int { return int(int64(a.PC - b.PC)) })
		return list
	}
	was, is := order(one.Sites()), order(three.Sites())
	if len(was) != len(is) {
		t.Errorf("%s: %d calls and %d", name, len(was), len(is))
		return
	}
	// An acquisition at every third call and a release at every fourth.
	effect := func(all []CallSite) func(CallSite) Effect {
		return func(s CallSite) Effect {
			switch n := slices.IndexFunc(all, func(o CallSite) bool { return o.PC == s.PC }); {
			case n%3 == 0:
				return Sets
			case n%4 == 0:
				return Clears
			}
			return NoEffect
		}
	}
	shapes := func(s CallSite) string {
		var out []string
		for _, a := range s.Args {
			if a != nil && a.OfArgs() {
				out = append(out, a.String())
			} else {
				out = append(out, "?")
			}
		}
		return strings.Join(out, ", ")
	}
	for i := range was {
		at := Point{PC: was[i].Return}
		if at.PC == 0 {
			at = Point{PC: was[i].PC, Exact: true}
		}
		wasHeld, _ := one.Holds(at, effect(was))
		isHeld, _ := three.Holds(at, effect(is))
		if was[i].PC != is[i].PC || was[i].Target != is[i].Target || was[i].Return != is[i].Return ||
			shapes(was[i]) != shapes(is[i]) || wasHeld != isHeld ||
			len(one.SitesAfter(at)) != len(three.SitesAfter(at)) {
			t.Errorf("%s: call %+v (%v), and %+v (%v)", name, was[i], wasHeld, is[i], isHeld)
		}
	}
	before := one.AtReturn(No, one.effects(effect(was)), nil, Sets)
	after := three.AtReturn(No, three.effects(effect(is)), nil, Sets)
	if before != after {
		t.Errorf("%s: the fact at the return is %v and %v", name, before, after)
	}
}
