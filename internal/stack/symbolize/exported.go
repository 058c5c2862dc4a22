package symbolize

import "github.com/ompd-inspect/ompd-inspect/internal/image/elfx"

// sparse finds symbols of a table that may be large: of most of it nothing is asked, as threads
// are in few places.
type sparse struct {
	asked map[uint64]*symbols // what is around a file address
	all   *symbols            // once there was too much around one, or all have to be there
}

// maxAsked is how many addresses are remembered.
const maxAsked = 1 << 12

// at returns the symbols among which the one of a file address is: some of them, while those
// are few, or all.
func (x *sparse) at(addr uint64, some func() (s *symbols, few bool), all func() *symbols) *symbols {
	if x.all != nil {
		return x.all
	}
	if s, known := x.asked[addr]; known {
		return s
	}
	s, few := some()
	if !few {
		x.all, x.asked = all(), nil
		return x.all
	}
	if x.asked == nil || len(x.asked) >= maxAsked {
		x.asked = map[uint64]*symbols{}
	}
	x.asked[addr] = s
	return s
}

// exported returns the exported function at a file address.
func (m *module) exported(addr uint64) (*symbol, bool) {
	if s, ok := m.learned.at(addr); ok {
		return s, true
	}
	f := m.elf()
	if f == nil {
		return nil, false
	}
	sections := f.Sections()
	return m.exports.at(addr, func() (*symbols, bool) {
		list, few := f.DynamicAround(addr, wanted(codeSymbol(sections)))
		return newSymbols(sections, codeSymbol(sections), table{f, list, SourceDynsym}), few
	}, func() *symbols {
		list, _ := f.DynamicSymbols()
		return m.symbols(sections, codeSymbol(sections), table{f, list, SourceDynsym})
	}).find(addr)
}

// wanted is what an index keeps.
func wanted(keep func(*elfx.Symbol) (rank uint8, ok bool)) func(*elfx.Symbol) bool {
	return func(s *elfx.Symbol) bool {
		_, ok := keep(s)
		return ok && s.Value+s.Size >= s.Value
	}
}
