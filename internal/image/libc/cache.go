package libc

import (
	"errors"
	"fmt"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/code/arch"
)

// errNoCache means that the memory at an address is not a cache of free blocks.
var errNoCache = errors.New("no cache of free blocks")

// cached finds the free block that contains addr, in the threads' caches.
func (l *Library) cached(addr uint64) (Block, bool) {
	if l.caches == nil {
		l.caches = []Block{}
		l.readCaches()
	}
	i := slices.IndexFunc(l.caches, func(b Block) bool { return b.Low <= addr && addr < b.High })
	if i < 0 {
		return Block{}, false
	}
	return l.caches[i], true
}

// readCaches lists the free blocks in the threads' caches. The location of a thread's pointer to
// its cache is unknown, but caches are recognized by their content.
func (l *Library) readCaches() {
	seen := map[uint64]bool{}
	for _, t := range l.threads {
		m := l.usable(t.Pthread)
		if m == nil {
			continue
		}
		for _, p := range l.read().words(l.cacheRange(m, t.Pthread)) {
			if p == 0 || p%chunkAlign != 0 || seen[p] || l.usable(p) == nil {
				continue
			}
			seen[p] = true
			if blocks, err := l.cacheAt(p); err == nil { // other words than the pointer to the cache fail
				l.caches = append(l.caches, blocks...)
			}
		}
	}
}

// cacheRange returns the addresses in m at which a thread's pointer to its cache may be: its thread-local data, which
// is above or below its control block.
func (l *Library) cacheRange(m *callbacks.Mapping, pthread uint64) (low, high uint64) {
	if arch.Of(l.target.Arch()).HeaderSize > 0 {
		return pthread, min(m.High.Offset, pthread+blockSize+cacheRoom)
	}
	return max(m.Low.Offset, pthread-min(pthread, cacheRoom)), pthread
}

// cacheAt returns the blocks of the cache at p. It returns an error unless all parts are valid.
func (l *Library) cacheAt(p uint64) ([]Block, error) {
	r := l.read()
	head := r.word(p-HeaderSize) &^ chunkFlags
	i := slices.IndexFunc(cacheLayouts, func(c cacheLayout) bool { return c.chunk == head })
	if r.err != nil || i < 0 {
		return nil, errNoCache
	}
	layout := cacheLayouts[i]
	ws := r.words(p, p+uint64(10*layout.lists))
	if r.err != nil {
		return nil, fmt.Errorf("cache of free blocks at %#x: %w", p, r.err)
	}
	counts, entries := layout.counts(ws), ws[layout.lists/4:]
	var out []Block
	for i, n := range counts {
		list, err := l.cacheList(i, n, entries[i])
		if err != nil {
			return nil, fmt.Errorf("cache of free blocks at %#x: list %d: %w", p, i, err)
		}
		out = append(out, list...)
	}
	return out, nil
}

// counts returns the numbers of blocks in the lists of a cache.
func (c cacheLayout) counts(ws []uint64) []int {
	counts := make([]int, c.lists)
	for i := range counts {
		counts[i] = int(uint16(ws[i/4] >> (i % 4 * 16)))
	}
	if c.left {
		for i, most := 0, slices.Max(counts); i < c.lists; i++ {
			counts[i] = most - counts[i]
		}
	}
	return counts
}

// cacheList returns the blocks of list i of a cache, which starts at u and has n entries. It fails if the list
// has another length, or blocks of another size. It ends early at a block whose link was overwritten after it was
// freed, so that it leads to no memory.
func (l *Library) cacheList(i, n int, u uint64) ([]Block, error) {
	if n > maxCached {
		return nil, fmt.Errorf("%w: it counts %d blocks", errNoCache, n)
	}
	var list []Block
	for range n {
		size, err := l.chunkOf(u)
		if err != nil {
			return nil, err
		}
		if want := minChunk + chunkAlign*uint64(i); i < plainLists && size != want {
			return nil, fmt.Errorf("%w: the chunk at %#x has %d bytes, not %d", errNoCache, u, size, want)
		}
		list = append(list, Block{Low: u, High: u + size - HeaderSize, Place: InCache})
		if u, err = l.cacheNext(u, size); err != nil {
			return nil, err
		}
		if last := list[len(list)-1].Low; u != 0 && !l.leads(u) && !l.leads(l.read().word(last)) {
			return list, nil
		}
	}
	if u != 0 {
		return nil, fmt.Errorf("%w: it has more than the %d blocks that it counts", errNoCache, n)
	}
	return list, nil
}

// leads reports whether a link of a list may lead to a block.
func (l *Library) leads(link uint64) bool { return link%chunkAlign == 0 && l.usable(link) != nil }

// cacheNext returns the block after u in its list, 0 at the end. Since glibc 2.32, a pointer is mixed with its
// own address.
func (l *Library) cacheNext(u, size uint64) (uint64, error) {
	r := l.read()
	raw := r.word(u)
	if r.err != nil {
		return 0, fmt.Errorf("free block at %#x: %w", u, r.err)
	}
	if raw == 0 {
		return 0, nil
	}
	if got, err := l.chunkOf(raw); err == nil && got == size {
		return raw, nil
	}
	return raw ^ u>>12, nil
}
