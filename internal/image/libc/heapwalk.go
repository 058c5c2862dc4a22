package libc

import (
	"fmt"
	"path"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

const (
	// maxWalk bounds the number of blocks that are checked: they take a second.
	maxWalk = 1 << 18
	// minWalk is the minimal number of blocks before the damaged one: the cache and one more.
	minWalk = 2
	// firstLow and firstHigh bound the size of the first chunk of a heap, the cache of the thread that created
	// the heap: 0x250 up to glibc 2.29, 0x290, 0x300 since 2.42.
	firstLow, firstHigh = 0x200, 0x400
	// fencepost is the size of a chunk after which memory belongs to another owner.
	fencepost = 16
)

// BrokenHeap is the place where the chain of the heap's blocks breaks: the header after Block is
// impossible.
type BrokenHeap struct {
	Block Block
	Size  uint64 // size of the block in the impossible header
}

// BrokenHeap follows the blocks of the program's heap from the first to the last, and finds the
// first impossible header. It returns nil if the heap is intact or unknown. The caller must exclude
// that a thread is about to write a header.
func (l *Library) BrokenHeap() (*BrokenHeap, error) {
	if err := l.Supported("heaps"); err != nil {
		return nil, err
	}
	for _, m := range l.mappings() {
		if !mayBeHeap(m) || !l.beginsHeap(m) {
			continue
		}
		if b, err := l.walk(m); b != nil || err != nil {
			return b, err
		}
	}
	return nil, nil
}

func mayBeHeap(m callbacks.Mapping) bool {
	return m.Perm&callbacks.PermWrite != 0 && (m.File == "" || m.File == "[heap]")
}

// heapEnds returns the end of a mapping that starts a heap, and the ends of those that follow without a gap: a child
// process after fork that extends the heap of its parent gets another mapping for its part.
func (l *Library) heapEnds(m callbacks.Mapping) []uint64 {
	out := []uint64{m.High.Offset}
	for _, next := range l.mappings() {
		if next.Low.Offset == out[len(out)-1] && mayBeHeap(next) {
			out = append(out, next.High.Offset)
		}
	}
	return out
}

// beginsHeap reports whether the first chunk of the program's heap, that of the main arena, is at
// the start of a mapping.
func (l *Library) beginsHeap(m callbacks.Mapping) bool {
	r := l.read()
	head := r.word(m.Low.Offset + HeaderSize)
	size := head &^ chunkFlags
	if r.err != nil || head&chunkFlags != previousInUse || size < firstLow || size > firstHigh {
		return false
	}
	ends := l.heapEnds(m)
	return l.arenaIn(m.Low.Offset, ends[len(ends)-1])
}

// arenaIn reports whether the C library's own data points into [low, high): the main arena points to the end of its
// heap.
func (l *Library) arenaIn(low, high uint64) bool {
	i := slices.IndexFunc(l.modules, func(m *callbacks.Module) bool { return isGlibc(path.Base(m.Path)) })
	return i >= 0 && slices.ContainsFunc(l.mappings(), func(data callbacks.Mapping) bool {
		size := data.High.Offset - data.Low.Offset
		return l.modules[i].Contains(data.Low) && data.Perm&callbacks.PermWrite != 0 && size <= maxLibraryData &&
			slices.ContainsFunc(l.read().words(data.Low.Offset, data.High.Offset), func(w uint64) bool {
				return w > low && w < high
			})
	})
}

// walk checks the chunks of a heap in order.
func (l *Library) walk(m callbacks.Mapping) (*BrokenHeap, error) {
	r, last, ends := l.read(), chunk{at: m.Low.Offset}, l.heapEnds(m)
	end := ends[len(ends)-1]
	for n := 0; n < maxWalk; n++ {
		at := last.end()
		ws := r.words(at, at+chunkLinks)
		if r.err != nil {
			return nil, fmt.Errorf("heap at %v: %w", m.Low, r.err)
		}
		c := chunk{at: at, size: ws[1] &^ chunkFlags, flags: ws[1] & chunkFlags}
		switch {
		case c.size == fencepost, c.fits() && slices.Contains(ends, c.end()):
			return nil, nil
		case c.fits() && c.end() < end && c.flags&^previousInUse == 0 &&
			(n == 0 || c.flags == previousInUse || ws[0] == last.size):
			last = c
		case n < minWalk:
			return nil, nil
		default:
			return &BrokenHeap{Block: Block{Low: last.at + chunkLinks, High: at + HeaderSize}, Size: c.size}, nil
		}
	}
	return nil, nil
}
