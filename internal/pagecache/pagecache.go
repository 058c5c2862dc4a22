// Package pagecache remembers pages of a target's memory while the target does
// not change.
package pagecache

import (
	"sync"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// PageSize is the unit that is remembered, in bytes. It divides the page size
// of every architecture, so a page is never partly mapped unless the target
// itself is cut there.
const PageSize = 4096

// maxPages bounds what one cache keeps: 32 MiB. A picture of a thousand threads
// touches some three pages of each.
const maxPages = 8192

// maxCached is the size from which a read goes past the cache: who reads that
// much at once reads it once.
const maxCached = 256 << 10

type page [PageSize]byte

// Cache is a callbacks.Memory over another one. It keeps two generations of
// pages: the young one becomes the old one when it is full, and an old page
// that is used again becomes young; so what is not used is forgotten.
type Cache struct {
	under callbacks.Memory

	mu         sync.Mutex
	young, old map[callbacks.Address]*page
}

// New returns an empty cache over under, which must not change as long as the
// cache is used.
func New(under callbacks.Memory) *Cache {
	return &Cache{under: under, young: map[callbacks.Address]*page{}}
}

// Forget drops all pages, for a target that ran in between.
func (c *Cache) Forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.young, c.old = map[callbacks.Address]*page{}, nil
}

// ReadMemory fills p from address a. Pages that are not remembered and lie side
// by side are read from the memory underneath in one piece. Where a whole page
// cannot be read, exactly the bytes that were asked for are.
func (c *Cache) ReadMemory(a callbacks.Address, p []byte) error {
	if len(p) >= maxCached || a.Offset+uint64(len(p)) < a.Offset {
		return c.under.ReadMemory(a, p)
	}
	for len(p) > 0 {
		base := pageOf(a)
		pg := c.get(base)
		if pg == nil {
			n := c.missing(base, a.Sub(base)+uint64(len(p)))
			pg = c.fill(base, n)
		}
		within := a.Sub(base)
		n := min(uint64(len(p)), PageSize-within)
		if pg != nil {
			copy(p[:n], pg[within:])
		} else if err := c.under.ReadMemory(a, p[:n]); err != nil {
			return err
		}
		a, p = a.Add(n), p[n:]
	}
	return nil
}

func pageOf(a callbacks.Address) callbacks.Address {
	a.Offset &^= PageSize - 1
	return a
}

// missing counts the pages that are not remembered from base on, base included,
// within size bytes.
func (c *Cache) missing(base callbacks.Address, size uint64) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := uint64(1)
	for n*PageSize < size {
		next := base.Add(n * PageSize)
		if c.young[next] != nil || c.old[next] != nil {
			break
		}
		n++
	}
	return n
}

// fill reads and remembers n pages, or the first one if not all can be read. It
// returns the first, nil if that cannot be read as a whole.
func (c *Cache) fill(base callbacks.Address, n uint64) *page {
	first := new(page)
	if n == 1 {
		if c.under.ReadMemory(base, first[:]) != nil {
			return nil
		}
		c.put(base, first)
		return first
	}
	whole := make([]byte, n*PageSize)
	if c.under.ReadMemory(base, whole) != nil {
		return c.fill(base, 1)
	}
	pg := first
	for i := uint64(0); ; pg = new(page) {
		copy(pg[:], whole[i*PageSize:])
		c.put(base.Add(i*PageSize), pg)
		if i++; i == n {
			return first
		}
	}
}

// get returns a remembered page, nil if there is none. Pages never change.
func (c *Cache) get(base callbacks.Address) *page {
	c.mu.Lock()
	defer c.mu.Unlock()
	if pg := c.young[base]; pg != nil {
		return pg
	}
	pg := c.old[base]
	if pg != nil {
		c.young[base] = pg
	}
	return pg
}

func (c *Cache) put(base callbacks.Address, pg *page) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.young) >= maxPages/2 {
		c.young, c.old = map[callbacks.Address]*page{}, c.young
	}
	c.young[base] = pg
}
