package rtl

import "sync"

// maxCached bounds each Cache. Beyond it, structures are read repeatedly.
const maxCached = 1 << 16

// Cache stores values that a reader derived from structures at one stop. The zero Cache is empty and ready; it
// is safe for concurrent use.
type Cache[K comparable, V any] struct {
	mu sync.Mutex
	m  map[K]V
}

// Get returns the value for k.
func (c *Cache[K, V]) Get(k K) (V, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	v, ok := c.m[k]
	return v, ok
}

// Put stores v, if there is room.
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

// Recent is a cache that is cleared when it is full. Successive requests are usually close together.
type Recent[K comparable, V any] struct{ Cache[K, V] }

// Put stores v. It clears the cache first if that has limit values.
func (c *Recent[K, V]) Put(k K, v V, limit int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.m == nil || len(c.m) >= limit {
		c.m = map[K]V{}
	}
	c.m[k] = v
}
