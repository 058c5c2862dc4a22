package inspect

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// What glibc's malloc keeps of memory that was freed. A block (chunk) begins with
// the size of the one before, if that is free, and its own; then comes what the
// program uses. A free one has in the same place pointers of the list it is in.

const (
	// chunkInUse is the bit of a chunk's size that tells that the chunk before
	// is in use.
	chunkInUse = 1
	// maxBack bounds how far before an address the begin of its chunk is looked
	// for, in bytes.
	maxBack = 64 << 10
	// arenaSpan is what the heaps of threads are aligned by (HEAP_MAX_SIZE).
	arenaSpan = 64 << 20
	// arenaHead is more than an arena has bytes, which begins the first heap of
	// a thread.
	arenaHead = 4096
	// maxLibraryData bounds the writable data of the C library.
	maxLibraryData = 1 << 20
)

// freed tells whether addr, in mapping m, is in memory that malloc has as free.
func (in *Inspector) freed(m *callbacks.Mapping, addr uint64) string {
	if m.Perm&callbacks.PermWrite == 0 {
		return ""
	}
	if b, ok := in.cached(addr); ok {
		return fmt.Sprintf("it lies in a block of %d bytes at %v, which was freed: a thread's cache of free blocks has it", b.high-b.low, Hex(b.low))
	}
	low := max(m.Low.Offset, addr-min(addr, maxBack))
	low = (low + 15) &^ 15
	ws := in.words(low, addr+16)
	for i := (len(ws) - 2) &^ 1; i >= 0; i -= 2 {
		c, size := low+uint64(i)*8, ws[i+1]&^chunkFlags
		if size < minChunk || size >= maxChunk || size%16 != 0 || c+size <= addr || c+size > m.High.Offset {
			continue
		}
		switch {
		case c+size == m.High.Offset && ws[i+1]&chunkInUse != 0 && c+16 <= addr && in.isTop(c):
			return fmt.Sprintf("it lies in the part of the heap that malloc has not given out, from %v on: it was freed", Hex(c))
		case in.inBin(c, size):
			return fmt.Sprintf("it lies in a block of %d bytes at %v, which was freed: a list of free blocks has it", size-16, Hex(c+16))
		}
	}
	return ""
}

// inBin tells whether the chunk at c is free: the chunk behind says so and has its
// size, and the chunks before and behind it in the list of free ones lead back to
// it, which are what malloc itself checks.
func (in *Inspector) inBin(c, size uint64) bool {
	before, ok1 := in.pointer(c + size)
	next, ok2 := in.pointer(c + size + 8)
	fd, ok3 := in.pointer(c + 16)
	bk, ok4 := in.pointer(c + 24)
	if !ok1 || !ok2 || !ok3 || !ok4 || before != size || next&chunkInUse != 0 || fd == 0 || bk == 0 {
		return false
	}
	back, ok1 := in.pointer(fd + 24)
	forth, ok2 := in.pointer(bk + 16)
	return ok1 && ok2 && back == c && forth == c
}

// isTop tells whether an arena of malloc has the chunk at c as the rest of its
// heap: that of the program, in the C library's data, or that of threads, at the
// begin of the heap.
func (in *Inspector) isTop(c uint64) bool {
	heap := c &^ (arenaSpan - 1)
	if slices.Contains(in.words(heap, min(heap+arenaHead, c)), c) {
		return true
	}
	mods := in.modules()
	i := slices.IndexFunc(mods, func(m *callbacks.Module) bool {
		base := filepath.Base(m.Path)
		return strings.HasPrefix(base, "libc.so") || strings.HasPrefix(base, "libc-")
	})
	return i >= 0 && slices.ContainsFunc(in.mappings(), func(m callbacks.Mapping) bool {
		size := m.High.Offset - m.Low.Offset
		return mods[i].Contains(m.Low) && m.Perm&callbacks.PermWrite != 0 && size <= maxLibraryData &&
			slices.Contains(in.words(m.Low.Offset, m.High.Offset), c)
	})
}
