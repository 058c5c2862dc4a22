package live

import (
	"fmt"
	"maps"
	"math/bits"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// maxSnapshot bounds what is copied in one stop, in bytes: at 10 GB a second
// that is a stop of 50 ms.
const maxSnapshot = 512 << 20

// blocksOfPage is the number of blocks in a page.
const blocksOfPage = pageSize / blockSize

// blockSet is a set of blocks: by the address of the page, a bit for each block
// of it.
type blockSet map[uint64]uint8

// blocksOf are the blocks of the page at base that n bytes from offset at on lie
// in.
func blocksOf(at, n uint64) uint8 {
	first, last := at/blockSize, (at+n-1)/blockSize
	return uint8(1<<(last+1) - 1<<first)
}

// spans are the blocks of the set, in ranges. What lies between two blocks of a
// page, or of neighbouring pages, is copied with them where that is quicker than
// to copy two pieces.
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

func size(spans []span) uint64 {
	n := uint64(0)
	for _, s := range spans {
		n += s.size()
	}
	return n
}

// buffer is memory for n bytes, of which the kernel has already given the first likely ones
// to this process, so that no page fault makes a stop longer.
func buffer(n, likely uint64) ([]byte, error) {
	if n > maxSnapshot {
		return nil, fmt.Errorf("%w: %d MiB, more than %d", ErrTooBig, n>>20, maxSnapshot>>20)
	}
	page := uint64(os.Getpagesize())
	b := make([]byte, (n+page-1)&^(page-1)) // a large one is of whole pages
	first := b[:(min(n, likely)+page-1)&^(page-1)]
	if len(first) > 0 && unix.Madvise(first, unix.MADV_POPULATE_WRITE) != nil { // since Linux 5.14
		for i := uint64(0); i < uint64(len(first)); i += page {
			first[i] = 1
		}
	}
	return b[:n], nil
}
