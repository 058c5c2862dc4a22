package elfx

import (
	"cmp"
	"encoding/binary"
	"slices"
	"sort"

	"github.com/ompd-inspect/ompd-inspect/internal/guard/budget"
)

// maxAround bounds the symbols that cover one address, or start at its symbol's start: the C
// library has several names for some functions.
const maxAround = 64

// maxPassed bounds the symbols that are skipped in that search: in a damaged table, one that claims
// to cover everything may start far before an address.
const maxPassed = 1 << 12

// DynamicAround returns the dynamic symbols accepted by keep that may be the symbol of an address: the symbols
// that start with one that covers it, and the last ones that start at or before it. It sorts the starts of
// symbols once, and decodes no others: a large program has a million. It first calls keep for a symbol without
// its name. ok is false if there are too many.
func (f *File) DynamicAround(addr uint64, keep func(*Symbol) bool) (list []Symbol, ok bool) {
	if _, err := f.dynsym(); err != nil {
		return nil, true
	}
	return f.dynamicStarts().findAround(addr, keep)
}

// StaticAround is DynamicAround for .symtab. ok is also false without a .symtab.
func (f *File) StaticAround(addr uint64, keep func(*Symbol) bool) (list []Symbol, ok bool) {
	return f.staticStarts().findAround(addr, keep)
}

// symbolStarts are the entries of a symbol table sorted by start.
type symbolStarts struct {
	table   *symbolTable
	entries []symbolStart
}

// symbolStart is the start of an entry, with the highest end of the entries up to it.
type symbolStart struct {
	low, reach uint64
	entry      uint32
}

// sortStarts sorts a table; it returns nil without a table, or without memory for it.
func sortStarts(l *budget.Ledger, find func() (*symbolTable, error)) *symbolStarts {
	const each = 24
	t, err := find()
	if err != nil || t.len() > 1<<31 || l.Take("index of symbols", each*t.len()) != nil {
		return nil
	}
	x := &symbolStarts{table: t, entries: make([]symbolStart, 0, t.len())}
	for i := uint64(1); i < t.len(); i++ {
		if b := t.raw[i*symSize : (i+1)*symSize]; t.isWanted(i) {
			low, size := binary.LittleEndian.Uint64(b[8:]), binary.LittleEndian.Uint64(b[16:])
			x.entries = append(x.entries, symbolStart{low, max(low, low+size), uint32(i)})
		}
	}
	slices.SortFunc(x.entries, func(a, b symbolStart) int { return cmp.Compare(a.low, b.low) })
	for i := 1; i < len(x.entries); i++ {
		x.entries[i].reach = max(x.entries[i].reach, x.entries[i-1].reach)
	}
	return x
}

// findAround implements DynamicAround.
func (x *symbolStarts) findAround(addr uint64, keep func(*Symbol) bool) (list []Symbol, ok bool) {
	if x == nil {
		return nil, false
	}
	behind := sort.Search(len(x.entries), func(i int) bool { return x.entries[i].low > addr })
	var lows []uint64
	last := false
	for i := behind - 1; i >= 0 && (!last || x.entries[i].reach > addr); i-- {
		if behind-i > maxPassed || len(lows) > maxAround {
			return nil, false
		}
		e := x.entries[i]
		if s := x.table.entryAt(uint64(e.entry)); last && addr-e.low >= s.Size || slices.Contains(lows, e.low) {
			continue
		}
		if _, ok := x.keepEntry(e, keep); ok {
			lows, last = append(lows, e.low), true
		}
	}
	for _, low := range lows {
		i := sort.Search(behind, func(i int) bool { return x.entries[i].low >= low })
		for ; i < behind && x.entries[i].low == low; i++ {
			if s, ok := x.keepEntry(x.entries[i], keep); ok {
				list = append(list, s)
			}
			if len(list) > maxAround {
				return nil, false
			}
		}
	}
	return list, true
}

// keepEntry returns the entry's symbol if keep accepts it.
func (x *symbolStarts) keepEntry(e symbolStart, keep func(*Symbol) bool) (Symbol, bool) {
	s := x.table.entryAt(uint64(e.entry))
	if !keep(&s) {
		return s, false
	}
	s.Name = string(x.table.name(uint64(e.entry)))
	return s, s.Name != "" && keep(&s)
}
