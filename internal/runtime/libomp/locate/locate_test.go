package locate

import (
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// TestLocate finds everything on the distributions' stripped runtimes.
func TestLocate(t *testing.T) {
	for _, rt := range omptest.Runtimes(t) {
		c, mod := coreOf(t, "nested", rt)
		loc, err := Locate(c, mod, layout.Options{})
		if err != nil {
			t.Fatal(err)
		}
		r := rowOf(t, rt.Major)
		known := 0
		for _, e := range loc.Report.All() {
			want := r.field(e.Type, e.Name)
			if e.Err == nil && e.Type != "" {
				known++
				if e.Field != want {
					t.Errorf("%s: %s at %v from %s, want %v", rt.Name, e, e.Field, e.Source, want)
				}
			}
			if open := e.Err != nil && want.IsKnown(); open && e.String() != "kmp_taskdata_t.td_flags.hidden_helper" {
				t.Errorf("%s: %v", rt.Name, e.Err)
			}
		}
		if known < 290 {
			t.Errorf("%s: %d fields and types are known", rt.Name, known)
		}
		l := &loc.Layout.Globals
		for name, g := range map[string]layout.Global{"Threads": l.Threads, "Root": l.Root, "ThreadPool": l.ThreadPool,
			"TeamPool": l.TeamPool,
			"Nth":      l.Nth, "AllNth": l.AllNth, "OmpdState": l.OmpdState, "OmpdEnvBlock": l.OmpdEnvBlock,
			"OmpdEnvBlockSize": l.OmpdEnvBlockSize} {
			if !g.IsKnown() {
				t.Errorf("%s: global %s: %v", rt.Name, name, g.Err())
			}
		}
		if id := loc.Identity; id.Version != strconv.Itoa(rt.Major) || id.Family != "libomp" || id.Module != mod ||
			id.VersionBy == "" {
			t.Errorf("%s: identity %+v", rt.Name, id)
		}
		for _, key := range []fieldName{fieldOf("kmp_base_info_t", "th_team"),
			fieldOf("kmp_base_info_t", "th_current_task"), fieldOf("kmp_base_team_t", "t_level")} {
			e, _ := loc.Report.Lookup(key.Type, key.Field)
			if e.Source != "memory" || len(e.Agreed) != 2 || e.Agreed[0] != "code" ||
				!strings.HasPrefix(e.Agreed[1], "table ") {
				t.Errorf("%s: %s is from %q, agreed %q", rt.Name, e, e.Source, e.Agreed)
			}
		}
		if e, _ := loc.Report.Lookup("", "__kmp_threads"); e.Source != "memory" ||
			!slices.Equal(e.Agreed, []string{"code"}) {
			t.Errorf("%s: __kmp_threads is from %q, agreed %q", rt.Name, e.Source, e.Agreed)
		}
	}
}

// TestEachSourceAlone disables all sources except one.
func TestEachSourceAlone(t *testing.T) {
	c, mod := coreOf(t, "nested", omptest.RuntimeOf(t, 16))
	unstripped := &altered{Core: c, symbols: described(t, c, mod)}
	r := rowOf(t, 16)
	for source, least := range map[string]int{"symbols": 60, "memory": 60, "code": 30, "table": 280} {
		loc, err := Locate(unstripped, mod, layout.Options{Only: []string{source}})
		if err != nil {
			t.Errorf("%s: %v", source, err)
			continue
		}
		given := 0
		for _, e := range loc.Report.All() {
			if e.Err != nil || e.Type == "" {
				continue
			}
			given++
			if by, _, _ := strings.Cut(e.Source, " "); by != source || len(e.Agreed) != 0 ||
				e.Field != r.field(e.Type, e.Name) {
				t.Errorf("%s alone: %s at %v from %s", source, e, e.Field, e.Source)
			}
		}
		if given < least {
			t.Errorf("%s alone gave %d names, want %d", source, given, least)
		}
	}
	if _, err := Locate(c, mod, layout.Options{Only: []string{"symbols"}}); err != nil {
		t.Errorf("the exported symbols of a stripped runtime: %v", err)
	}
}

// TestSourcesThatDisagree makes the symbols contradict the memory.
func TestSourcesThatDisagree(t *testing.T) {
	c, mod := coreOf(t, "nested", omptest.RuntimeOf(t, 16))
	symbols := described(t, c, mod)
	other := symbols["ompd_access__kmp_desc_base_t__ds_thread"] // has 24
	for _, settled := range []string{"ompd_access__kmp_base_info_t__th_team",
		"ompd_access__kmp_base_info_t__th_current_task", "ompd_access__kmp_base_team_t__t_threads"} {
		a := &altered{Core: c, symbols: map[string]callbacks.Address{}}
		for name, at := range symbols {
			a.symbols[name] = at
		}
		a.symbols[settled] = other
		loc, err := Locate(a, mod, layout.Options{Only: []string{"symbols", "memory"}})
		if err != nil {
			t.Fatal(err)
		}
		name := strings.Split(settled, "__")
		e, _ := loc.Report.Lookup(name[1], name[2])
		if e.Source != "memory" || len(e.Claims) != 2 || e.Field != rowOf(t, 16).field(name[1], name[2]) {
			t.Errorf("%s is not settled by the live data: %v %v %v", settled, e.Field, e.Claims, e.Err)
		}
	}
	a := &altered{Core: c, symbols: symbols}
	a.symbols["ompd_access__kmp_task_t__routine"] = other
	loc, err := Locate(a, mod, layout.Options{Only: []string{"symbols", "memory"}})
	if err != nil {
		t.Fatal(err)
	}
	f := loc.Layout.Task.Routine
	if f.IsKnown() || !errors.Is(f.Err(), layout.ErrConflict) ||
		!strings.Contains(f.Err().Error(), "symbols says +24:8, memory says +8:8") {
		t.Errorf("kmp_task_t.routine is %v, %v", f, f.Err())
	}
}

func TestNotInitialized(t *testing.T) {
	c, mod := coreOf(t, "nested", omptest.RuntimeOf(t, 19))
	at := described(t, c, mod)
	fresh := &altered{Core: c}
	for _, w := range ompdWords() {
		fresh.poke(at[w.symbol()], 0, 8)
	}
	for name := range poolRelation() {
		fresh.poke(at[name], 0, 4)
		fresh.poke(at[name].Add(4), 0, 4)
	}
	if _, err := Locate(fresh, mod, layout.Options{}); !errors.Is(err, ErrNotInitialized) ||
		!errors.Is(err, callbacks.Unavailable) {
		t.Errorf("stripped: %v", err)
	}
	fresh.symbols = at
	if _, err := Locate(fresh, mod, layout.Options{}); !errors.Is(err, ErrNotInitialized) {
		t.Errorf("with symbols: %v", err)
	}
}

// TestDescriptionIsMissing reads a runtime by its code and the table alone, and refuses a runtime without
// symbols.
func TestDescriptionIsMissing(t *testing.T) {
	for _, rt := range omptest.Runtimes(t) {
		c, mod := coreOf(t, "nested", rt)
		a := &altered{Core: c}
		a.poke(described(t, c, mod)["ompd_bitfield__kmp_tasking_flags_t__final"], 3, 8)
		loc, err := Locate(a, mod, layout.Options{})
		if err != nil {
			t.Fatal(err)
		}
		r := rowOf(t, rt.Major)
		given := map[string]int{}
		for _, e := range loc.Report.All() {
			if e.Err == nil && e.Type != "" {
				by, _, _ := strings.Cut(e.Source, " ")
				given[by]++
				if e.Field != r.field(e.Type, e.Name) {
					t.Errorf("%s: %s at %v from %s", rt.Name, e, e.Field, e.Source)
				}
			}
		}
		if given["code"] == 0 || given["table"] < 240 || given["memory"] != 0 {
			t.Errorf("%s: names by source: %v", rt.Name, given)
		}
		a.mute = true
		if _, err := Locate(a, mod, layout.Options{}); !errors.Is(err, callbacks.Incompatible) {
			t.Errorf("%s: without symbols: %v", rt.Name, err)
		}
	}
}

// TestFullReport compares all sources for all names.
func TestFullReport(t *testing.T) {
	for _, rt := range omptest.Runtimes(t) {
		c, mod := coreOf(t, "nested", rt)
		loc, err := Locate(c, mod, layout.Options{Full: true})
		if err != nil {
			t.Fatal(err)
		}
		said := map[string]int{}
		for _, e := range loc.Report.All() {
			if len(e.Claims) != 0 {
				t.Errorf("%s: %s: %v", rt.Name, e, e.Claims)
			}
			for _, by := range append(e.Agreed, e.Source) {
				said[strings.Fields(by + " none")[0]]++
			}
		}
		if said["memory"] < 70 || said["code"] < 40 || said["table"] < 290 {
			t.Errorf("%s: names by source: %v", rt.Name, said)
		}
	}
}

// TestUnknownRelease moves a field, as a release that the table lacks would.
func TestUnknownRelease(t *testing.T) {
	c, mod := coreOf(t, "nested", omptest.RuntimeOf(t, 16))
	at := described(t, c, mod)
	a := &altered{Core: c}
	a.poke(at["ompd_sizeof__kmp_base_info_t__th_info"], 56, 8)
	loc, err := Locate(a, mod, layout.Options{})
	if err != nil {
		t.Fatal(err)
	}
	l, r := &loc.Layout, rowOf(t, 16)
	for name, f := range map[string]layout.Field{"th_task_team": l.Thread.TaskTeam,
		"th_serial_team": l.Thread.SerialTeam, "th_info.ds.ds_gtid": l.Thread.Gtid, "th_cg_roots": l.Thread.CgRoots} {
		if f != r.field("kmp_base_info_t", name) {
			t.Errorf("%s is %v, %v; want %v", name, f, f.Err(), r.field("kmp_base_info_t", name))
		}
	}
	if e, _ := loc.Report.Lookup("kmp_base_info_t", "th_task_team"); e.Source != "table near 16/17" {
		t.Errorf("th_task_team is from %q", e.Source)
	}
	derived := 0
	for _, e := range loc.Report.All() { // names on which the neighbours disagree are omitted, and no name is wrong
		if !strings.HasPrefix(e.Source, "table near") || e.Type == "" || e.Name == "" {
			continue
		}
		derived++
		if want := r.field(e.Type, e.Name); e.Field != want {
			t.Errorf("%s.%s is %v by %s, want %v", e.Type, e.Name, e.Field, e.Source, want)
		}
	}
	if derived < 100 {
		t.Errorf("%d fields by the neighbours", derived)
	}
	if got := loc.Identity.Version; got != "16" {
		t.Errorf("version %q, from the path", got)
	}
}

// TestFind searches for the runtime in targets that reveal less and less.
func TestFind(t *testing.T) {
	c, mod := coreOf(t, "nested", omptest.RuntimeOf(t, 15))
	whole, err := Locate(c, mod, layout.Options{})
	if err != nil {
		t.Fatal(err)
	}
	stripped := &altered{Core: c, mute: true}
	data := writable(c, mod) // the data after this looks like __kmp_threads and __kmp_root: pointers to these two
	decoy := callbacks.Addr(data[len(data)-1].High.Offset - 0x100)
	stripped.poke(decoy, described(t, c, mod)["__kmp_threads"].Offset, 8)
	stripped.poke(decoy.Add(8), described(t, c, mod)["__kmp_root"].Offset, 8)
	exported := &altered{Core: c}
	for name, target := range map[string]callbacks.Target{
		"no symbol at all":    stripped,
		"no list of mappings": struct{ targetWithModules }{exported},
		"callbacks only":      struct{ callbacks.Target }{exported},
	} {
		mods, err := Find(target, nil)
		if err != nil || len(mods) != 1 {
			t.Errorf("%s: found %v, %v", name, mods, err)
			continue
		}
		loc, err := Locate(target, mods[0], layout.Options{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		all := whole.Report.All()
		for i, e := range loc.Report.All() {
			want := all[i]
			if want.Source == "code" && e.Source == "" {
				continue // the functions are found by their symbols
			}
			if (e.Err == nil) != (want.Err == nil) || e.Field != want.Field || e.Global != want.Global {
				t.Errorf("%s: %s is %v %#x, %v; want %v %#x", name, e, e.Field, e.Global, e.Err, want.Field,
					want.Global)
			}
		}
		if loc.Identity.Version != "15" {
			t.Errorf("%s: version %q by %s", name, loc.Identity.Version, loc.Identity.VersionBy)
		}
	}
	masks := described(t, c, mod)["ompd_bitfield__kmp_tasking_flags_t__final"]
	stripped.poke(masks, 3, 8)
	if mods, err := Find(stripped, nil); len(mods) != 0 || err != nil {
		t.Errorf("without masks and symbols: %v, %v", mods, err)
	}
	if mods, err := Find(struct{ callbacks.Target }{stripped}, nil); len(mods) != 0 || err != nil {
		t.Errorf("callbacks without a runtime: %v, %v", mods, err)
	}
}

// targetWithModules lists modules, but no mappings.
type targetWithModules interface {
	callbacks.Target
	callbacks.ModuleLister
}

// TestUnlistedBounds checks that the module of a bare target is not searched whole.
func TestUnlistedBounds(t *testing.T) {
	c, mod := coreOf(t, "nested", omptest.RuntimeOf(t, 16))
	everywhere := &callbacks.Module{High: callbacks.Addr(math.MaxUint64)}
	parts := writable(struct{ callbacks.Target }{c}, everywhere)
	if len(parts) != 1 || parts[0].High.Sub(parts[0].Low) != 2*aroundPool ||
		!mod.Contains(parts[0].Low.Add(aroundPool)) {
		t.Errorf("searched are %v", parts)
	}
}

func BenchmarkLocate(b *testing.B) {
	c, _ := coreOf(b, "nested", omptest.RuntimeOf(b, 19))
	for b.Loop() {
		mods, err := Find(c, nil)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := Locate(c, mods[0], layout.Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

// wholeImage is a file that is in memory; a partImage can only be read in parts.
type wholeImage struct{ partImage }

func (w wholeImage) Bytes() []byte { return []byte(w.text) }

type partImage struct{ text string }

func (p partImage) Size() int64 { return int64(len(p.text)) }
func (p partImage) ReadAt(b []byte, off int64) (int, error) {
	return strings.NewReader(p.text).ReadAt(b, off)
}

func TestMayHold(t *testing.T) {
	if !mayHold(nil, nil) {
		t.Error("a file that is not at hand holds no runtime")
	}
	for _, filler := range []int{0, 10, searchChunk - 5, searchChunk, 3*searchChunk - len(setting)} {
		with := partImage{strings.Repeat("x", filler) + setting + "yy"}
		without := partImage{strings.Repeat("x", filler) + setting[1:] + "yy"}
		if !mayHold(with, nil) || !mayHold(wholeImage{with}, nil) || mayHold(without, nil) ||
			mayHold(wholeImage{without}, nil) {
			t.Errorf("behind %d bytes: %v %v %v %v", filler, mayHold(with, nil), mayHold(wholeImage{with}, nil),
				mayHold(without, nil), mayHold(wholeImage{without}, nil))
		}
	}
	if mayHold(partImage{}, nil) {
		t.Error("an empty file holds a runtime")
	}
}
