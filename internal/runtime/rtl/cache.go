package rtl

import "sync"

// maxCached bounds each Cache. A program with more threads or teams is read
// again and again, not wrongly.
const maxCached = 1 << 16

// Cache keeps what a reader made of structures at one stop. The zero Cache is empty and
// ready; it is safe for concurrent use.
type Cache[K comparable, V any] struct {
	mu sync.Mutex
	m  map[K]V
}

// Get is what is kept for k.
func (c *Cache[K, V]) Get(k K) (V, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	v, ok := c.m[k]
	return v, ok
}

// Put keeps v, if there is room.
func (c *Cache[K, V]) Put(k K, v V) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.m == nil {
		c.m = map[K]V{}
	}
	if len(c.m) < maxCached {
		c.m[k] = v
	}
}

// Recent is a cache that begins anew when it is full: what is asked for one after the
// other lies close together.
type Recent[K comparable, V any] struct{ Cache[K, V] }

// Put keeps v, alone if limit values are kept already.
func (c *Recent[K, V]) Put(k K, v V, limit int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.m == nil || len(c.m) >= limit {
		c.m = map[K]V{}
	}
	c.m[k] = v
}
