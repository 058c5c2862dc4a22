package elfx

import (
	"cmp"
	"encoding/binary"
	"slices"
	"sort"

	"github.com/ompd-inspect/ompd-inspect/internal/guard/budget"
)

// maxAround is how many symbols may cover one address, or begin where one does: the C
// library has a handful of names for some functions.
const maxAround = 64

// maxPassed is how many symbols are passed on the way to those: of a damaged table, one that
// claims to cover all may lie far before an address.
const maxPassed = 1 << 12

// DynamicAround returns those of the dynamic symbols that keep takes among which the one
// that an address belongs to is: all that begin where one begins that covers it, and all
// that begin last at or before it. It sorts where symbols begin, once, and decodes no others:
// a large program has a million. Keep is asked about a symbol without its name first. It is
// not ok if there are more than a few.
func (f *File) DynamicAround(addr uint64, keep func(*Symbol) bool) (list []Symbol, ok bool) {
	if _, err := f.dynsym(); err != nil {
		return nil, true
	}
	return f.dynamicStarts().around(addr, keep)
}

// StaticAround is DynamicAround for .symtab. It is not ok if there is none, too.
func (f *File) StaticAround(addr uint64, keep func(*Symbol) bool) (list []Symbol, ok bool) {
	return f.staticStarts().around(addr, keep)
}

// starts are the entries of a symbol table in the order in which they begin.
type starts struct {
	table   *symbolTable
	entries []start
}

// start is where an entry begins, and how far those up to it reach.
type start struct {
	low, reach uint64
	entry      uint32
}

// sortStarts sorts a table; nil if there is none, or no memory for it.
func sortStarts(l *budget.Ledger, find func() (*symbolTable, error)) *starts {
	const each = 24
	t, err := find()
	if err != nil || t.len() > 1<<31 || l.Take("index of symbols", each*t.len()) != nil {
		return nil
	}
	x := &starts{table: t, entries: make([]start, 0, t.len())}
	for i := uint64(1); i < t.len(); i++ {
		if b := t.raw[i*symSize : (i+1)*symSize]; t.wanted(i) {
			low, size := binary.LittleEndian.Uint64(b[8:]), binary.LittleEndian.Uint64(b[16:])
			x.entries = append(x.entries, start{low, max(low, low+size), uint32(i)})
		}
	}
	slices.SortFunc(x.entries, func(a, b start) int { return cmp.Compare(a.low, b.low) })
	for i := 1; i < len(x.entries); i++ {
		x.entries[i].reach = max(x.entries[i].reach, x.entries[i-1].reach)
	}
	return x
}

// around is DynamicAround.
func (x *starts) around(addr uint64, keep func(*Symbol) bool) (list []Symbol, ok bool) {
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
		if s := x.table.at(uint64(e.entry)); last && addr-e.low >= s.Size || slices.Contains(lows, e.low) {
			continue
		}
		if _, ok := x.kept(e, keep); ok {
			lows, last = append(lows, e.low), true
		}
	}
	for _, low := range lows {
		i := sort.Search(behind, func(i int) bool { return x.entries[i].low >= low })
		for ; i < behind && x.entries[i].low == low; i++ {
			if s, ok := x.kept(x.entries[i], keep); ok {
				list = append(list, s)
			}
			if len(list) > maxAround {
				return nil, false
			}
		}
	}
	return list, true
}

// kept is an entry that keep takes.
func (x *starts) kept(e start, keep func(*Symbol) bool) (Symbol, bool) {
	s := x.table.at(uint64(e.entry))
	if !keep(&s) {
		return s, false
	}
	s.Name = string(x.table.name(uint64(e.entry)))
	return s, s.Name != "" && keep(&s)
}
