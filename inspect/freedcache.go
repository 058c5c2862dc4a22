package inspect

import "slices"

const (
	// tlsRoom is where a thread's pointer to its cache of free blocks (tcache) is
	// looked for: that many bytes below its thread pointer.
	tlsRoom = 4096
	// maxCached bounds a list of such a cache, which has 7 blocks by default.
	maxCached = 256
)

// cacheLayout is struct tcache_perthread_struct of some versions of glibc, told
// apart by the size of its chunk: counters of 2 bytes, and as many first entries of
// lists.
type cacheLayout struct {
	chunk uint64 // bytes
	lists int    // the number of lists
	left  bool   // the counters tell how many blocks may still be added
}

var cacheLayouts = []cacheLayout{
	{chunk: 0x290, lists: 64},             // 2.30 to 2.41
	{chunk: 0x300, lists: 76, left: true}, // Since 2.42.
}

// plainLists is the number of lists whose blocks are all of one size.
const plainLists = 64

// freeBlock is a block of the heap that was freed: [low, high), as the program used
// it.
type freeBlock struct{ low, high uint64 }

// cached finds the free block that addr is in, in the threads' caches.
func (in *Inspector) cached(addr uint64) (freeBlock, bool) {
	if in.caches == nil {
		in.caches = []freeBlock{}
		in.readCaches()
	}
	i := slices.IndexFunc(in.caches, func(b freeBlock) bool { return b.low <= addr && addr < b.high })
	if i < 0 {
		return freeBlock{}, false
	}
	return in.caches[i], true
}

// readCaches lists the free blocks in the threads' caches. Where a thread keeps the
// pointer to its own is not known, but what a cache looks like is.
func (in *Inspector) readCaches() {
	maps, seen := in.mappings(), map[uint64]bool{}
	for _, n := range in.natives {
		m := usable(maps, n.pthread)
		if m == nil {
			continue
		}
		for _, p := range in.words(max(m.Low.Offset, n.pthread-min(n.pthread, tlsRoom)), n.pthread) {
			if p == 0 || p%16 != 0 || seen[p] || usable(maps, p) == nil {
				continue
			}
			seen[p] = true
			in.caches = append(in.caches, in.cacheAt(p)...)
		}
	}
}

// cacheAt are the blocks of the cache at p; none if what is there is not in all
// parts as a cache must be.
func (in *Inspector) cacheAt(p uint64) []freeBlock {
	head, ok := in.pointer(p - chunkHeader)
	i := slices.IndexFunc(cacheLayouts, func(l cacheLayout) bool { return l.chunk == head&^chunkFlags })
	if !ok || i < 0 {
		return nil
	}
	l := cacheLayouts[i]
	ws := in.words(p, p+uint64(10*l.lists))
	if len(ws) != 10*l.lists/8 {
		return nil
	}
	counts, entries := make([]int, l.lists), ws[l.lists/4:]
	for i := range counts {
		counts[i] = int(uint16(ws[i/4] >> (i % 4 * 16)))
	}
	if l.left {
		for i, most := 0, slices.Max(counts); i < l.lists; i++ {
			counts[i] = most - counts[i]
		}
	}
	var out []freeBlock
	for i, n := range counts {
		list, ok := in.cacheList(i, n, entries[i])
		if !ok {
			return nil
		}
		out = append(out, list...)
	}
	return out
}

// cacheList are the blocks of list i of a cache, which begins at u and counts n; not
// ok if it has another number, or blocks of another size.
func (in *Inspector) cacheList(i, n int, u uint64) (list []freeBlock, ok bool) {
	if n > maxCached {
		return nil, false
	}
	for range n {
		size, ok := in.chunkOf(u)
		if !ok || i < plainLists && size != minChunk+16*uint64(i) {
			return nil, false
		}
		list = append(list, freeBlock{u, u + size - chunkHeader})
		raw, _ := in.pointer(u)
		u = in.cacheNext(u, raw, size)
	}
	return list, u == 0
}

// cacheNext is the block behind u in its list, 0 at the end. Since glibc 2.32 a
// pointer is mixed with the address where it lies; before that, it is plain.
func (in *Inspector) cacheNext(u, raw, size uint64) uint64 {
	if raw == 0 {
		return 0
	}
	next := raw ^ u>>12
	if got, ok := in.chunkOf(raw); ok && got == size {
		next = raw
	}
	return next
}

// chunkOf is the size of the chunk whose memory begins at u; not ok if there is no
// chunk.
func (in *Inspector) chunkOf(u uint64) (uint64, bool) {
	if u < minChunk || u%16 != 0 {
		return 0, false
	}
	size, ok := in.pointer(u - chunkHeader)
	size &^= chunkFlags
	return size, ok && size >= minChunk && size < maxChunk
}
