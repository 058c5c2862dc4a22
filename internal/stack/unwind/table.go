package unwind

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"unsafe"

	"github.com/ompd-inspect/ompd-inspect/internal/guard/budget"
)

// source reads the bytes of a module at virtual addresses of its file.
type source interface {
	bytes(vaddr uint64, n int) ([]byte, error)
}

// table is one .eh_frame or .debug_frame with its index.
type table struct {
	src        source
	debugFrame bool
	bases      bases
	memory     *budget.Ledger
	start, end uint64      // of the entries; end may be past the last one
	index      searchTable // .eh_frame_hdr; or, if it has no entries, scanned

	scan    sync.Once
	scanned []span // ascending by low
	scanErr error

	mu   sync.Mutex
	cies map[uint64]*cie
}

// span is the range of one FDE.
type span struct{ low, high, addr uint64 }

// maxFDEs bounds an index made by reading a whole table. Chromium's has about 1,000,000.
const maxFDEs = 1 << 22

// fdesCounted is the number of index entries that are charged to the ledger at once.
const fdesCounted = 1 << 12

// read returns n bytes at addr, bounded by the table's end.
func (t *table) read(addr uint64, n int) (buf, error) {
	if addr < t.start || addr >= t.end || uint64(n) > t.end-addr {
		return buf{}, fmt.Errorf("%w: entry at %#x is outside of the table", ErrDamaged, addr)
	}
	b, err := t.src.bytes(addr, n)
	return buf{b: b, addr: addr}, err
}

// readIndirect reads the pointer at virtual address addr.
func (t *table) readIndirect(addr uint64) (uint64, error) {
	p, err := t.src.bytes(addr, 8)
	if err != nil {
		return 0, err
	}
	b := buf{b: p}
	return b.u64(), nil
}

// lookup returns the FDE of pc, or nil without one.
func (t *table) lookup(pc uint64) (*fde, error) {
	addr, ok := uint64(0), false
	var err error
	if t.index.n > 0 {
		addr, ok, err = t.index.search(t.src, pc)
	} else {
		addr, ok, err = t.scanFor(pc)
	}
	if err != nil || !ok {
		return nil, err
	}
	f, err := t.fdeAt(addr)
	if err != nil {
		return nil, err
	}
	if pc < f.low || pc >= f.high {
		return nil, nil
	}
	return f, nil
}

// scanFor finds the FDE of pc in an index of the whole table, which the first call makes.
func (t *table) scanFor(pc uint64) (addr uint64, ok bool, err error) {
	t.readAll()
	i, found := slices.BinarySearchFunc(t.scanned, pc, func(s span, pc uint64) int { return cmp.Compare(s.low, pc) })
	if !found {
		i--
	}
	if i < 0 || pc >= t.scanned[i].high {
		return 0, false, t.scanErr
	}
	return t.scanned[i].addr, true, nil
}

// readAll makes the index of the whole table, once.
func (t *table) readAll() { t.scan.Do(func() { t.scanned, t.scanErr = t.scanAll() }) }

// scanAll reads every entry. It stops at a damaged entry and keeps the preceding ones.
func (t *table) scanAll() ([]span, error) {
	var all []span
	var err error
	for addr := t.start; addr < t.end && len(all) < maxFDEs; {
		var h header
		if h, err = t.readHeader(addr); err != nil {
			break
		}
		if h.end {
			if addr += 4; t.debugFrame {
				continue
			}
			break
		}
		if !h.isCIE {
			// An unsupported entry affects only its own function.
			if f, err := t.parseFDE(&h); err == nil && f.low < f.high && f.low != 0 {
				if len(all)%fdesCounted == 0 {
					if t.memory.Take("index of unwind information",
						2*fdesCounted*uint64(unsafe.Sizeof(span{}))) != nil {
						break // use the entries read so far
					}
				}
				all = append(all, span{f.low, f.high, addr})
			}
		}
		addr = h.next
	}
	slices.SortStableFunc(all, func(a, b span) int { return cmp.Compare(a.low, b.low) })
	return all, err
}

// searchTable is the binary search table of .eh_frame_hdr.
type searchTable struct {
	entries uint64 // virtual address of the first
	n       uint64
	format  byte // of both fields of an entry, relative to base
	size    int  // of one field
	base    uint64
}

// maxHeader is an upper bound of the bytes of .eh_frame_hdr before its table.
const maxHeader = 32

// maxHeaderFDEs bounds the count in .eh_frame_hdr; its search is logarithmic.
const maxHeaderFDEs = 1 << 32

// ehFrame reads the .eh_frame_hdr of size bytes at hdr. The caller sets the end of the table.
func ehFrame(src source, hdr, size uint64) (*table, error) {
	p, err := src.bytes(hdr, int(min(size, maxHeader)))
	if err != nil {
		return nil, fmt.Errorf(".eh_frame_hdr: %w", err)
	}
	b := buf{b: p, addr: hdr}
	if v := b.u8(); v != 1 {
		return nil, fmt.Errorf(".eh_frame_hdr: %w: version %d", ErrUnsupported, v)
	}
	framePtr, count, format := b.u8(), b.u8(), b.u8()
	t := newTable(src, bases{data: hdr})
	t.start = b.readPointer(framePtr, t.bases)
	n := b.readPointer(count, t.bases)
	if b.err != nil {
		return nil, fmt.Errorf(".eh_frame_hdr: %w", b.err)
	}
	width := formatSize(format & peFormat)
	room := uint64(0)
	if used := b.addr - hdr; width > 0 && used < size {
		room = (size - used) / uint64(2*width)
	}
	relative := format&peBase == peDataRel || format&peBase == peAbsolute
	if format != peOmit && format&peIndirect == 0 && relative && n <= maxHeaderFDEs {
		t.index = searchTable{entries: b.addr, n: min(n, room), format: format & peFormat, size: width}
		if format&peBase == peDataRel {
			t.index.base = hdr
		}
	}
	return t, nil
}

func newTable(src source, rel bases) *table {
	return &table{src: src, bases: rel, cies: map[uint64]*cie{}}
}

// formatSize returns the size of a format of fixed size, or 0.
func formatSize(format byte) int {
	switch format {
	case peUData2, peSData2:
		return 2
	case peUData4, peSData4:
		return 4
	case peAbsolute, peUData8, peSData8:
		return 8
	}
	return 0
}

// search returns the address of the FDE with the highest start that is not above pc.
func (s *searchTable) search(src source, pc uint64) (addr uint64, ok bool, err error) {
	low, high := uint64(0), s.n // entries below low start at or below pc
	for low < high {
		mid := low + (high-low)/2
		begin, a, err := s.readEntry(src, mid)
		if err != nil {
			return 0, false, err
		}
		if begin <= pc {
			low, addr, ok = mid+1, a, true
		} else {
			high = mid
		}
	}
	return addr, ok, nil
}

func (s *searchTable) readEntry(src source, i uint64) (begin, addr uint64, err error) {
	at := s.entries + i*uint64(2*s.size)
	p, err := src.bytes(at, 2*s.size)
	if err != nil {
		return 0, 0, fmt.Errorf(".eh_frame_hdr: %w", err)
	}
	b := buf{b: p, addr: at}
	begin, addr = s.base+b.readFormat(s.format), s.base+b.readFormat(s.format)
	return begin, addr, b.err
}
