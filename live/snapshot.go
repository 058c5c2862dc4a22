package live

import (
	"fmt"
	"maps"
	"math/bits"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// maxSnapshot bounds the copy of one stop, in bytes: at 10 GB a second that is a stop of 50 ms.
const maxSnapshot = 512 << 20

// blocksOfPage is the number of blocks in a page.
const blocksOfPage = pageSize / blockSize

// blockSet is a set of blocks: a bit mask of blocks by page address.
type blockSet map[uint64]uint8

// blocksOf returns the blocks of a page that contain n bytes at offset at.
func blocksOf(at, n uint64) uint8 {
	first, last := at/blockSize, (at+n-1)/blockSize
	return uint8(1<<(last+1) - 1<<first)
}

// all yields the addresses of the blocks.
func (s blockSet) all(yield func(uint64) bool) {
	for base, blocks := range s {
		for ; blocks != 0; blocks &= blocks - 1 {
			if !yield(base + uint64(bits.TrailingZeros8(blocks))*blockSize) {
				return
			}
		}
	}
}

// spans returns the blocks of the set as ranges. A gap between two blocks of a page, or of
// neighbouring pages, is included where that is faster than copying two pieces.
func (s blockSet) spans() []span {
	var list []span
	for _, base := range slices.Sorted(maps.Keys(s)) {
		low := base + uint64(bits.TrailingZeros8(s[base]))*blockSize
		high := base + uint64(bits.Len8(s[base]))*blockSize
		if n := len(list); n > 0 && low-list[n-1].high <= pageSize && base-list[n-1].high < pageSize {
			list[n-1].high = high
		} else {
			list = append(list, span{low, high})
		}
	}
	return list
}

func totalSize(spans []span) uint64 {
	n := uint64(0)
	for _, s := range spans {
		n += s.size()
	}
	return n
}

// newBuffer allocates n bytes. The first likely ones are already backed by memory, so that no page fault makes
// a stop longer.
func newBuffer(n, likely uint64) ([]byte, error) {
	if n > maxSnapshot {
		return nil, fmt.Errorf("%w: %d MiB, more than %d", ErrTooBig, n>>20, maxSnapshot>>20)
	}
	page := uint64(os.Getpagesize())
	b := make([]byte, (n+page-1)&^(page-1)) // a large slice has whole pages
	first := b[:(min(n, likely)+page-1)&^(page-1)]
	if len(first) > 0 && unix.Madvise(first, unix.MADV_POPULATE_WRITE) != nil { // since Linux 5.14
		for i := uint64(0); i < uint64(len(first)); i += page {
			first[i] = 1
		}
	}
	return b[:n], nil
}
