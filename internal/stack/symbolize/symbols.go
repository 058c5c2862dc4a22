package symbolize

import (
	"cmp"
	"debug/elf"
	"slices"
	"strings"
	"unsafe"

	"github.com/ompd-inspect/ompd-inspect/internal/image/elfx"
	"github.com/ompd-inspect/ompd-inspect/internal/image/spans"
)

// symbol is a named range of a file's addresses.
type symbol struct {
	name      string
	low, high uint64
	sized     bool // the symbol table has its size
	rank      uint8
	source    Source
	asked     bool   // the fields below are set
	shown     string // display name
	outlined  bool   // from an OpenMP construct
	around    string // display name of the function with the construct
}

// symbols finds the symbol that covers an address.
type symbols struct {
	sized   spans.Set[*symbol]
	unsized spans.Set[*symbol]
}

// find returns the symbol that covers addr. It prefers one with a size: a symbol without one may be
// a label inside a function.
func (t *symbols) find(addr uint64) (*symbol, bool) {
	if t == nil {
		return nil, false
	}
	if s, ok := t.sized.Find(addr); ok {
		return s.Value, true
	}
	s, ok := t.unsized.Find(addr)
	return s.Value, ok
}

// table is a symbol table with its origin.
type table struct {
	file   *elfx.File
	list   []elfx.Symbol
	source Source
}

// symbolKey is the small key by which symbols are sorted.
type symbolKey struct {
	low uint64
	i   int
}

// indexSymbols is newSymbols within the limit of memory: the result is empty if they do not fit.
func (m *module) indexSymbols(sections []elf.SectionHeader, keep func(*elfx.Symbol) (rank uint8, ok bool),
	tables ...table) *symbols {
	const each = uint64(unsafe.Sizeof(symbol{}) + unsafe.Sizeof(symbolKey{}) + 2*unsafe.Sizeof(spans.Span[*symbol]{}) +
		8)
	n := uint64(0)
	for _, t := range tables {
		n += uint64(len(t.list))
		defer t.file.Release(t.list)
	}
	if m.finder.memory.Take("index of symbols", n*each) != nil {
		return &symbols{}
	}
	return newSymbols(sections, keep, tables...)
}

// newSymbols makes an index of the symbols that keep accepts; keep also ranks them, lower is
// better. sections bound symbols without a size.
func newSymbols(sections []elf.SectionHeader, keep func(*elfx.Symbol) (rank uint8, ok bool), tables ...table) *symbols {
	var all []symbol
	var keys []symbolKey
	for _, t := range tables {
		all, keys = slices.Grow(all, len(t.list)), slices.Grow(keys, len(t.list))
		for i := range t.list {
			s := &t.list[i]
			if rank, ok := keep(s); ok && s.Name != "" && s.Value+s.Size >= s.Value {
				keys = append(keys, symbolKey{s.Value, len(all)})
				all = append(all, symbol{name: s.Name, low: s.Value, high: s.Value + s.Size, sized: s.Size > 0,
					rank: rank, source: t.source})
			}
		}
	}
	slices.SortFunc(keys, func(a, b symbolKey) int { return cmp.Compare(a.low, b.low) })
	t := &symbols{}
	for len(keys) > 0 {
		best, n := &all[keys[0].i], 1
		for ; n < len(keys) && keys[n].low == best.low; n++ {
			if s := &all[keys[n].i]; compareSymbols(s, best) < 0 {
				best = s
			}
		}
		if keys = keys[n:]; best.sized {
			t.sized.Add(best.low, best.high, best)
			continue
		}
		best.high = sectionEnd(sections, best.low)
		if len(keys) > 0 {
			best.high = min(best.high, keys[0].low)
		}
		t.unsized.Add(best.low, best.high, best)
	}
	t.sized.Seal()
	t.unsized.Seal()
	return t
}

// compareSymbols orders the symbols at one address so that the one to show comes first. The order is total,
// so the choice does not depend on the order of the table.
func compareSymbols(a, b *symbol) int {
	return cmp.Or(
		compareBools(b.sized, a.sized),
		cmp.Compare(a.rank, b.rank),
		cmp.Compare(b.high, a.high),
		cmp.Compare(countUnderscores(a.name), countUnderscores(b.name)),
		cmp.Compare(len(a.name), len(b.name)),
		strings.Compare(a.name, b.name),
		cmp.Compare(a.source, b.source),
	)
}

// compareBools orders false before true.
func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// countUnderscores counts leading and trailing underscores, except those of a mangled C++ or Rust name.
func countUnderscores(name string) int {
	if strings.HasPrefix(name, "_Z") || strings.HasPrefix(name, "_R") {
		return 0
	}
	return len(name) - len(strings.Trim(name, "_"))
}

// sectionEnd returns the end of the section that contains the address. It returns the address
// itself outside of sections, and the highest number if there are no section headers.
func sectionEnd(sections []elf.SectionHeader, addr uint64) uint64 {
	if len(sections) == 0 {
		return ^uint64(0)
	}
	for _, s := range sections {
		if s.Flags&elf.SHF_ALLOC != 0 && s.Flags&elf.SHF_TLS == 0 && addr >= s.Addr && addr-s.Addr < s.Size {
			return s.Addr + s.Size
		}
	}
	return addr
}

// hasBytes reports whether a section has content in the file.
func hasBytes(s elf.SectionHeader) bool {
	return s.Type != elf.SHT_NOBITS && s.Type != elf.SHT_NULL && s.Size > 0
}

// codeSymbol returns a filter that accepts functions. It drops the names that linkers give to the entries of
// procedure linkage tables (mold: omp_set_lock$plt): a call of an entry is a call of the function to which its slot
// is bound, see SlotSymbol.
func codeSymbol(sections []elf.SectionHeader) func(*elfx.Symbol) (uint8, bool) {
	linkage := linkageTables(sections)
	return func(s *elfx.Symbol) (uint8, bool) {
		if !s.Defined() || mappingSymbol(s.Name) || slices.ContainsFunc(linkage, func(t elf.SectionHeader) bool {
			return s.Value-t.Addr < t.Size
		}) {
			return 0, false
		}
		switch s.Type {
		case elf.STT_FUNC, elf.STT_GNU_IFUNC:
			return bindRank(s.Bind), true
		case elf.STT_NOTYPE: // assembly without .type
			i := int(s.Section)
			if i < len(sections) && sections[i].Flags&elf.SHF_EXECINSTR != 0 {
				return 4 + bindRank(s.Bind), true
			}
		}
		return 0, false
	}
}

// linkageTables returns the sections of procedure linkage tables: .plt, .plt.got, .plt.sec.
func linkageTables(sections []elf.SectionHeader) []elf.SectionHeader {
	var out []elf.SectionHeader
	for _, s := range sections {
		if (s.Name == ".plt" || strings.HasPrefix(s.Name, ".plt.")) && s.Flags&elf.SHF_EXECINSTR != 0 {
			out = append(out, s)
		}
	}
	return out
}

// dataSymbol accepts variables; symbols without a size are boundaries of sections.
func dataSymbol(s *elfx.Symbol) (uint8, bool) {
	if !s.Defined() || s.Size == 0 || mappingSymbol(s.Name) {
		return 0, false
	}
	return bindRank(s.Bind), s.Type == elf.STT_OBJECT || s.Type == elf.STT_COMMON
}

// bindRank prefers global and weak symbols to local ones. Weak symbols are not worse: in the C library
// sched_yield is weak and __sched_yield is global.
func bindRank(b elf.SymBind) uint8 {
	if b == elf.STB_LOCAL {
		return 1
	}
	return 0
}

// mappingSymbol reports whether a symbol marks code or data on ARM ($x, $d.1) or is a label that
// assemblers should have dropped.
func mappingSymbol(name string) bool {
	if strings.HasPrefix(name, ".L") {
		return true
	}
	return len(name) >= 2 && name[0] == '$' && strings.IndexByte("xdat", name[1]) >= 0 &&
		(len(name) == 2 || name[2] == '.')
}
