package locate

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

func TestOMPDWords(t *testing.T) {
	count := map[string]int{}
	for _, w := range ompdWords() {
		kind := w.kind
		if w.kind == "sizeof" && w.field == "" {
			kind = "type"
		}
		count[kind]++
	}
	if count["access"] != 54 || count["sizeof"] != 54 || count["bitfield"] != 11 || count["type"] != 26 {
		t.Errorf("the description has %v variables, want 54 offsets, 54 sizes, 11 masks, 26 types", count)
	}
}

// TestMemorySource compares every word found in memory with the release's debug information.
func TestMemorySource(t *testing.T) {
	for _, rt := range omptest.Runtimes(t) {
		c, mod := coreOf(t, "nested", rt)
		s := newMemorySource(c, mod)
		r := rowOf(t, rt.Major)
		words, compared := 0, 0
		for _, w := range ompdWords() {
			if _, err := s.word(w); err != nil {
				t.Errorf("%s: %s: %v", rt.Name, w.symbol(), err)
			}
			words++
			var got, want layout.Field
			var err error
			if w.field == "" {
				var typ layout.Type
				typ, err = s.Type(w.typ)
				got, want = layout.Field{Size: typ.Size}, r.field(w.typ, "")
			} else {
				got, err = s.Field(w.typ, w.field)
				want = r.field(w.typ, w.field)
			}
			if want.IsKnown() {
				compared++
				if err != nil || got != want {
					t.Errorf("%s: %s.%s is %v, %v; want %v", rt.Name, w.typ, w.field, got, err, want)
				}
			}
		}
		if words != 145 || compared < 120 {
			t.Errorf("%s: %d words, %d compared", rt.Name, words, compared)
		}
		for path, want := range map[string]layout.Field{
			"th_info.ds.ds_thread": {Offset: 24, Size: 8}, "th_info.ds.ds_tid": {Offset: 32, Size: 4},
			"th_team":                {Offset: 64, Size: 8},
			"ompt_thread_info.state": r.field("kmp_base_info_t", "ompt_thread_info.state"),
		} {
			if got, err := s.Field("kmp_base_info_t", path); err != nil || got != want {
				t.Errorf("%s: %s is %v, %v; want %v", rt.Name, path, got, err, want)
			}
		}
		for name := range poolRelation() {
			if a, err := s.Global(name); err != nil || !mod.Contains(callbacks.Addr(a)) {
				t.Errorf("%s: %s at %#x, %v", rt.Name, name, a, err)
			}
		}
	}
}

// TestSymbolSource adds to the core the symbols that a runtime has before it is stripped.
func TestSymbolSource(t *testing.T) {
	c, mod := coreOf(t, "nested", omptest.RuntimeOf(t, 16))
	symbols := described(t, c, mod)
	memory := newMemorySource(c, mod)
	s := newSymbolSource(&altered{Core: c, symbols: symbols}, mod)
	compared := 0
	for _, w := range ompdWords() {
		got, err := layout.Ask(s, fieldOf(w.typ, w.field))
		want, wantErr := layout.Ask(memory, fieldOf(w.typ, w.field))
		if err != nil || wantErr != nil || got != want {
			t.Errorf("%s is %v, %v; want %v, %v", w.symbol(), got, err, want, wantErr)
		}
		compared++
	}
	if a, err := s.Global("ompd_state"); err != nil || a != symbols["ompd_state"].Offset {
		t.Errorf("ompd_state at %#x, %v", a, err)
	}
	if compared != 145 {
		t.Errorf("%d names compared", compared)
	}
	stripped := newSymbolSource(c, mod)
	if _, err := stripped.Field("kmp_base_info_t", "th_team"); !errors.Is(err, layout.ErrUnknown) {
		t.Errorf("a stripped runtime's symbols: %v", err)
	}
}

func TestSymbolsBeforeInitialisation(t *testing.T) {
	c, mod := coreOf(t, "nested", omptest.RuntimeOf(t, 16))
	a := &altered{Core: c, symbols: described(t, c, mod)}
	for _, w := range ompdWords() {
		a.poke(a.symbols[w.symbol()], 0, 8)
	}
	s := newSymbolSource(a, mod)
	if f, err := s.Field("kmp_base_info_t", "th_team"); !errors.Is(err, layout.ErrUnknown) {
		t.Errorf("an offset that is not filled yet is %v, %v", f, err)
	}
	if n, err := s.Type("kmp_info_t"); !errors.Is(err, layout.ErrUnknown) {
		t.Errorf("a size that is not filled yet is %v, %v", n, err)
	}
}

// TestDamagedDescription changes the description in memory.
func TestDamagedDescription(t *testing.T) {
	c, mod := coreOf(t, "nested", omptest.RuntimeOf(t, 19))
	at := described(t, c, mod)
	masks := at["ompd_bitfield__kmp_tasking_flags_t__final"]
	for _, d := range []struct {
		name string
		at   callbacks.Address
		v    uint64
		says string
	}{
		{"offset too large", at["ompd_access__kmp_base_info_t__th_current_task"], 1 << 40, "beyond the bound"},
		{"past the end", at["ompd_access__kmp_base_info_t__th_current_task"], 1536, "not inside of 1536 bytes"},
		{"size 0", at["ompd_sizeof__kmp_base_info_t__th_current_task"], 0, "contradicts itself"},
		{"type of size 0", at["ompd_sizeof__kmp_taskdata_t"], 0, "not inside of 0 bytes"},
		{"r not at the start", at["ompd_access__kmp_root_t__r"], 8, "ompd_access__kmp_root_t__r is 8"},
		{"no masks", masks, 3, "no OMPD description"},
	} {
		a := &altered{Core: c}
		a.poke(d.at, d.v, 8)
		s := newMemorySource(a, mod)
		if _, err := s.Field("kmp_base_info_t", "th_team"); err == nil || !strings.Contains(err.Error(), d.says) {
			t.Errorf("%s: %v, want %q", d.name, err, d.says)
		}
	}
	twice := &altered{Core: c}
	other := at["__kmp_team_pool"].Add(256)
	for i, b := range needle() {
		twice.poke(other.Add(uint64(i)), uint64(b), 1)
	}
	if _, err := newMemorySource(twice, mod).Field("kmp_base_info_t", "th_team"); err == nil ||
		!strings.Contains(err.Error(), "2 OMPD descriptions") {
		t.Errorf("two descriptions: %v", err)
	}
}

// TestThreadsAreConfirmed changes the data around __kmp_threads.
func TestThreadsAreConfirmed(t *testing.T) {
	c, mod := coreOf(t, "nested", omptest.RuntimeOf(t, 14))
	at := described(t, c, mod)
	list, err := layout.ReadUint(c, at["__kmp_threads"], 8)
	if err != nil {
		t.Fatal(err)
	}
	first, err := layout.ReadUint(c, callbacks.Addr(list), 8)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []struct {
		name string
		at   callbacks.Address
		v    uint64
		says string
	}{
		{"wrong number", callbacks.Addr(first + 36), 7, "has the number 7"},
		{"null", at["__kmp_threads"], 0, "not plausible"},
		{"into nowhere", at["__kmp_threads"], 16, "not plausible"},
		{"no array", at["__kmp_threads"], list - 0x80000, "__kmp_threads"},
		{"array of itself", callbacks.Addr(list + 8*3), list, "has the number"},
		{"thread into nowhere", callbacks.Addr(list), 0x1000, "not mapped"},
		{"2^31 threads", at["__kmp_all_nth"], 1 << 31, "not plausible"},
	} {
		a := &altered{Core: c}
		size := 8
		if d.v == 7 || d.v == 1<<31 {
			size = 4
		}
		a.poke(d.at, d.v, size)
		if x, err := newMemorySource(a, mod).Global("__kmp_threads"); err == nil ||
			!strings.Contains(err.Error(), d.says) {
			t.Errorf("%s: %#x, %v; want %q", d.name, x, err, d.says)
		}
	}
}

// TestGarbage reads runtimes from random memory: an answer or an error, no panic and no long walk.
func TestGarbage(t *testing.T) {
	c, mod := coreOf(t, "nested", omptest.RuntimeOf(t, 19))
	parts := writable(c, mod)
	random := rand.New(rand.NewPCG(1, 2))
	located := 0
	for range 60 {
		a := &altered{Core: c}
		for range 1 + random.IntN(200) {
			p := parts[random.IntN(len(parts))]
			a.poke(p.Low.Add(8*random.Uint64N(p.High.Sub(p.Low)/8)), random.Uint64()>>random.IntN(64), 8)
		}
		loc, err := Locate(a, mod, layout.Options{})
		if (loc == nil) == (err == nil) {
			t.Fatalf("%v and %v", loc, err)
		}
		if err == nil {
			located++
		}
	}
	if located < 30 {
		t.Errorf("only %d of 60 damaged runtimes could be read by what was left", located)
	}
}

// holed is memory with a missing page.
type holed struct {
	low, hole uint64
	data      []byte
}

func (h holed) ReadMemory(a callbacks.Address, p []byte) error {
	if end := a.Offset + uint64(len(p)); a.Offset < h.hole+pageSize && end > h.hole {
		return &callbacks.FaultError{Address: callbacks.Addr(max(a.Offset, h.hole)), Err: callbacks.ErrUnmapped}
	}
	copy(p, h.data[a.Offset-h.low:])
	return nil
}

func TestSearch(t *testing.T) {
	const low = 0x10000
	n := uint64(len(needle()))
	for _, start := range []uint64{0, searchChunk - 8, searchChunk - n, searchChunk, 2*searchChunk - n} {
		for _, hole := range []uint64{pageSize, searchChunk - 2*pageSize, searchChunk + pageSize} {
			h := holed{low, low + hole, make([]byte, 2*searchChunk)}
			copy(h.data[start:], needle())
			hits := 0
			search(h, []callbacks.Mapping{{Low: callbacks.Addr(low), High: callbacks.Addr(low + 2*searchChunk)}},
				int(n),
				func(at callbacks.Address, data []byte) {
					for i := bytes.Index(data, needle()); i >= 0; i = -1 {
						if hits++; at.Add(uint64(i)).Offset != low+start {
							t.Errorf("found at %v, want %#x", at.Add(uint64(i)), low+start)
						}
					}
				})
			if hits != 1 {
				t.Errorf("needle at %#x, hole at %#x: %d hits", start, hole, hits)
			}
		}
	}
}
