package symbolize

import "github.com/ompd-inspect/ompd-inspect/internal/image/elfx"

// sparseSymbols finds symbols of a table that may be large. Most of it is never needed, because threads
// are in few places.
type sparseSymbols struct {
	asked map[uint64]*symbols // symbols around a file address
	all   *symbols            // set once there were too many around one, or all are needed
}

// maxAsked is the number of cached addresses.
const maxAsked = 1 << 12

// symbolsAt returns symbols that include the one at a file address: some of them while they are few, or
// all.
func (x *sparseSymbols) symbolsAt(addr uint64, some func() (s *symbols, few bool), all func() *symbols) *symbols {
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

// exportedAt returns the exported function at a file address.
func (m *module) exportedAt(addr uint64) (*symbol, bool) {
	if s, ok := m.learned.findSymbol(addr); ok {
		return s, true
	}
	f := m.ownFile()
	if f == nil {
		return nil, false
	}
	sections, keep := f.Sections(), m.codeFilter(f)
	return m.exports.symbolsAt(addr, func() (*symbols, bool) {
		list, few := f.DynamicAround(addr, symbolFilter(keep))
		return newSymbols(sections, keep, table{f, list, SourceDynsym}), few
	}, func() *symbols {
		list, _ := f.DynamicSymbols()
		return m.indexSymbols(sections, keep, table{f, list, SourceDynsym})
	}).find(addr)
}

// symbolFilter returns the filter of an index's symbols.
func symbolFilter(keep func(*elfx.Symbol) (rank uint8, ok bool)) func(*elfx.Symbol) bool {
	return func(s *elfx.Symbol) bool {
		_, ok := keep(s)
		return ok && s.Value+s.Size >= s.Value
	}
}
