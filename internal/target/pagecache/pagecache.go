// Package pagecache caches parts of a target's memory while the target does not change.
package pagecache

import (
	"sync"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/guard/budget"
)

// BlockSize is the unit of caching, in bytes. It divides the page size of every architecture, so a
// block is never partly mapped unless the target itself is cut there. A look needs only a small
// part of a page of a thread's stack, or of its control block: with whole pages the look at a
// thousand threads takes a fifth more memory.
const BlockSize = 1024

// maxBlocks bounds the blocks in one cache: 32 MiB. A picture of a thousand threads touches some
// ten blocks of each.
const maxBlocks = 32768

// maxCached is the size from which a read bypasses the cache, in bytes: such a large range is read
// once.
const maxCached = 64 << 10

// Read-ahead for a caller that reads successive blocks in either direction, such as lists in contiguously
// allocated memory.
const (
	aheadAfter = 16  // blocks in a row
	maxAhead   = 256 // blocks at once, 256 KiB
)

type block [BlockSize]byte

// Cache is a callbacks.Memory over another one. It keeps two generations of blocks: the young one
// becomes the old one when it is full, and an old block that is used again becomes young; so unused
// blocks are dropped.
type Cache struct {
	under  callbacks.Memory
	lender callbacks.Lender // under, if it lends
	memory *budget.Ledger

	mu         sync.Mutex
	young, old map[uint64]*block // by address
	last       *block            // last requested block, at lastAt; may be nil
	lastAt     uint64            // its address
	first      callbacks.Address // range of the last read blocks
	next       callbacks.Address // their end
	row        uint64            // number of adjacent reads in one direction
}

// New returns an empty cache over under, which must not change while the cache is used. Memory that
// under lends is not copied. The blocks are charged to l, which may be nil; a refused block is read
// and not cached.
func New(l *budget.Ledger, under callbacks.Memory) *Cache {
	lender, _ := under.(callbacks.Lender)
	return &Cache{under: under, lender: lender, memory: l, young: map[uint64]*block{}}
}

// ReadMemory fills p from address a. Adjacent blocks that are not cached are read from the
// underlying memory in one piece. Where a whole block cannot be read, exactly the requested bytes
// are.
func (c *Cache) ReadMemory(a callbacks.Address, p []byte) error {
	if len(p) > maxCached || a.Segment != 0 || a.Offset+uint64(len(p)) < a.Offset {
		return c.under.ReadMemory(a, p)
	}
	for len(p) > 0 {
		base := blockOf(a)
		pg := c.get(base)
		if pg == nil {
			if lent := c.lent(a, uint64(len(p))); lent != nil {
				copy(p, lent)
				return nil
			}
			pg = c.fill(base, a.Sub(base)+uint64(len(p)))
		}
		within := a.Sub(base)
		n := min(uint64(len(p)), BlockSize-within)
		if pg != nil {
			copy(p[:n], pg[within:])
		} else if err := c.under.ReadMemory(a, p[:n]); err != nil {
			return err
		}
		a, p = a.Add(n), p[n:]
	}
	return nil
}

// Lend returns the n bytes at a, if they are in one block: cached ones, or a copy where the block
// cannot be read as a whole. It implements callbacks.Lender.
func (c *Cache) Lend(a callbacks.Address, n uint64) []byte {
	base := blockOf(a)
	within := a.Sub(base)
	if n == 0 || n > BlockSize-within || a.Segment != 0 {
		return nil
	}
	pg := c.get(base)
	if pg == nil {
		pg = c.fill(base, within+n)
	}
	if pg != nil {
		return pg[within : within+n : within+n]
	}
	b := make([]byte, n)
	if c.under.ReadMemory(a, b) != nil {
		return nil
	}
	return b
}

// lent returns several blocks that the underlying memory lends, nil if it does not; a single block
// is cached (fill), since it is read again.
func (c *Cache) lent(a callbacks.Address, n uint64) []byte {
	if c.lender == nil || n <= BlockSize {
		return nil
	}
	return c.lender.Lend(a, n)
}

func blockOf(a callbacks.Address) callbacks.Address {
	a.Offset &^= BlockSize - 1
	return a
}

// missing returns the n blocks from low on that are not cached: base, those after it within size
// bytes, and the read-ahead in the direction of earlier reads.
func (c *Cache) missing(base callbacks.Address, size uint64) (low callbacks.Address, n uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	down := base.Add(BlockSize) == c.first
	if base != c.next && !down {
		c.row = 0
	}
	ahead := uint64(0)
	if c.row >= aheadAfter {
		ahead = min(c.row, maxAhead) * BlockSize
	}
	if !down {
		size = max(size, ahead)
	}
	low, n = base, 1
	for n*BlockSize < size && !c.contains(base.Offset+n*BlockSize) {
		n++
	}
	for down && n*BlockSize < ahead && low.Offset >= BlockSize && !c.contains(low.Offset-BlockSize) {
		low.Offset -= BlockSize
		n++
	}
	c.row, c.first, c.next = c.row+n, low, low.Add(n*BlockSize)
	return low, n
}

func (c *Cache) contains(block uint64) bool { return c.young[block] != nil || c.old[block] != nil }

// fill reads and caches the block at base, and missing ones around it, or base alone if not all can
// be read. It returns the block; nil if that cannot be read as a whole.
func (c *Cache) fill(base callbacks.Address, size uint64) *block {
	if c.lender != nil {
		if b := c.lender.Lend(base, BlockSize); b != nil {
			c.put(base, (*block)(b))
			return (*block)(b)
		}
	}
	low, n := c.missing(base, size)
	whole := make([]byte, n*BlockSize)
	err := c.under.ReadMemory(low, whole)
	if err != nil && n > 1 {
		low, n, whole = base, 1, make([]byte, BlockSize)
		err = c.under.ReadMemory(base, whole)
	}
	if err != nil {
		return nil
	}
	for i := range n {
		c.put(low.Add(i*BlockSize), (*block)(whole[i*BlockSize:]))
	}
	return (*block)(whole[base.Sub(low):])
}

// get returns a cached block, or nil. Blocks never change.
func (c *Cache) get(base callbacks.Address) *block {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last != nil && c.lastAt == base.Offset {
		return c.last
	}
	pg := c.young[base.Offset]
	if pg == nil {
		if pg = c.old[base.Offset]; pg == nil {
			return nil
		}
		if c.memory.Try("blocks of memory", BlockSize) == nil { // each of the two maps counts
			c.young[base.Offset] = pg
		}
	}
	c.last, c.lastAt = pg, base.Offset
	return pg
}

func (c *Cache) put(base callbacks.Address, pg *block) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.young) >= maxBlocks/2 {
		c.memory.Give(uint64(len(c.old)) * BlockSize)
		c.young, c.old = map[uint64]*block{}, c.young
	}
	if c.young[base.Offset] == nil && c.memory.Try("blocks of memory", BlockSize) != nil {
		return
	}
	c.young[base.Offset] = pg
}
