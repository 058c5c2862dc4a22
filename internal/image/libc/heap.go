package libc

import (
	"errors"
	"fmt"
	"path"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// Place is the place of a freed block in the C library.
type Place uint8

// The places of free blocks.
const (
	InUse   Place = iota // not known to be free
	InCache              // the cache of a thread
	InList               // a list of an arena
	AtTop                // the part of a heap that was never allocated, or is not allocated again
)

// Block is a block of the heap, [Low, High), as the program uses it.
type Block struct {
	Low, High uint64
	Place     Place
}

// ErrNotFreed means that there is no proof that memory was freed. Test with errors.Is.
var ErrNotFreed = errors.New("not known to be freed")

// BlockAt returns the block of the heap that starts at addr, from the header before it.
func (l *Library) BlockAt(addr uint64) (Block, error) {
	if err := l.Supported("heaps"); err != nil {
		return Block{}, err
	}
	size, err := l.chunkOf(addr)
	if err != nil {
		return Block{}, err
	}
	return Block{Low: addr, High: addr + size - HeaderSize}, nil
}

// FreedBlock returns the freed block of the heap that contains addr, in mapping m. High is 0 for
// the part of a heap that was never allocated. ErrNotFreed is no proof that addr is in use: fast
// bins are not read.
func (l *Library) FreedBlock(m *callbacks.Mapping, addr uint64) (Block, error) {
	if err := l.Supported("heaps"); err != nil {
		return Block{}, err
	}
	if m.Perm&callbacks.PermWrite == 0 {
		return Block{}, fmt.Errorf("%#x: %w: it is not writable", addr, ErrNotFreed)
	}
	if b, ok := l.cached(addr); ok {
		return b, nil
	}
	low := max(m.Low.Offset, addr-min(addr, maxBack))
	low = (low + chunkAlign - 1) &^ (chunkAlign - 1)
	// Most blocks are small, so the memory before addr is read in pieces, the nearest first.
	b := make([]byte, searchPiece)
	for high := addr &^ (chunkAlign - 1); high > low; {
		piece := b[:min(high-low, (high-1)%searchPiece+1)]
		high -= uint64(len(piece))
		r := l.read()
		if r.read(high, piece); r.err != nil {
			return Block{}, fmt.Errorf("heap before %#x: %w", addr, r.err)
		}
		if free, ok := l.freedIn(m, addr, high, piece); ok {
			return free, nil
		}
	}
	return Block{}, fmt.Errorf("%#x: %w: no list of free blocks has it", addr, ErrNotFreed)
}

// freedIn finds a free chunk that contains addr, in mapping m, and whose header is in words, the memory at low.
func (l *Library) freedIn(m *callbacks.Mapping, addr, low uint64, words []byte) (Block, bool) {
	for i := len(words) - chunkAlign; i >= 0; i -= chunkAlign {
		head := callbacks.Word(words[i+HeaderSize : i+HeaderSize+8])
		c := chunk{at: low + uint64(i), size: head &^ chunkFlags, flags: head & chunkFlags}
		// The first word of a chunk is the end of the block before it, if that is in use.
		if !c.fits() || c.at+chunkLinks > addr || c.end() <= addr || c.end() > m.High.Offset {
			continue
		}
		switch {
		case c.end() == m.High.Offset && c.flags&previousInUse != 0 && l.isTop(c.at):
			return Block{Low: c.at, Place: AtTop}, true
		case l.inList(c) == nil:
			return Block{Low: c.at + chunkLinks, High: c.end(), Place: InList}, true
		}
	}
	return Block{}, false
}

// chunk is malloc's unit of a heap: at is the address of the word before its size.
type chunk struct{ at, size, flags uint64 }

func (c chunk) end() uint64 { return c.at + c.size }

// fits reports whether a chunk may have that size.
func (c chunk) fits() bool { return c.size >= minChunk && c.size < maxChunk && c.size%chunkAlign == 0 }

// inList checks that a chunk is free, like malloc itself: the next chunk has its flag and size, and
// the neighbours in the list of free chunks link back to it.
func (l *Library) inList(c chunk) error {
	r := l.read()
	size, next := r.word(c.end()), r.word(c.end()+HeaderSize)
	fd, bk := r.word(c.at+chunkLinks), r.word(c.at+chunkLinks+8)
	switch {
	case r.err != nil:
		return fmt.Errorf("chunk at %#x: %w", c.at, r.err)
	case size != c.size, next&previousInUse != 0:
		return fmt.Errorf("chunk at %#x: %w: the one behind says that it is in use", c.at, ErrNotFreed)
	case fd == 0, bk == 0:
		return fmt.Errorf("chunk at %#x: %w: it has no links", c.at, ErrNotFreed)
	}
	if back, forth := r.word(fd+chunkLinks+8), r.word(bk+chunkLinks); r.err != nil || back != c.at || forth != c.at {
		return fmt.Errorf("chunk at %#x: %w: its links to %#x and %#x do not lead back", c.at, ErrNotFreed, fd, bk)
	}
	return nil
}

// isTop reports whether the chunk at c is the top of an arena of malloc: the program's, in the C library's
// data, or a thread's, at the start of the heap.
func (l *Library) isTop(c uint64) bool {
	heap := c &^ (arenaSpan - 1)
	if slices.Contains(l.read().words(heap, min(heap+arenaHead, c)), c) {
		return true
	}
	i := slices.IndexFunc(l.modules, func(m *callbacks.Module) bool { return isGlibc(path.Base(m.Path)) })
	return i >= 0 && slices.ContainsFunc(l.mappings(), func(m callbacks.Mapping) bool {
		size := m.High.Offset - m.Low.Offset
		return l.modules[i].Contains(m.Low) && m.Perm&callbacks.PermWrite != 0 && size <= maxLibraryData &&
			slices.Contains(l.read().words(m.Low.Offset, m.High.Offset), c)
	})
}

// chunkOf returns the size of the chunk of the block that starts at addr.
func (l *Library) chunkOf(addr uint64) (uint64, error) {
	if addr < minChunk || addr%chunkAlign != 0 {
		return 0, fmt.Errorf("no block of the heap begins at %#x: it is not aligned by %d", addr, chunkAlign)
	}
	r := l.read()
	size := r.word(addr-HeaderSize) &^ chunkFlags
	switch {
	case r.err != nil:
		return 0, fmt.Errorf("block of the heap at %#x: %w", addr, r.err)
	case size < minChunk, size >= maxChunk:
		return 0, fmt.Errorf("no block of the heap begins at %#x: it would have %#x bytes", addr, size)
	}
	return size, nil
}
