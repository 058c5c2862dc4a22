package export

// interning assigns numbers from 1 on to keys that are used repeatedly. The last ones are found without a map.
type interning[K comparable] struct {
	ids    map[K]uint64
	recent [256]struct {
		key K
		id  uint64
	}
}

func newInterning[K comparable]() interning[K] { return interning[K]{ids: map[K]uint64{}} }

// id returns the number of a key; known reports whether it had one before. Keys with different hashes are found
// faster.
func (n *interning[K]) id(key K, hash uint8) (id uint64, known bool) {
	slot := &n.recent[hash]
	if slot.id != 0 && slot.key == key {
		return slot.id, true
	}
	id, known = n.ids[key]
	if !known {
		id = uint64(len(n.ids)) + 1
		n.ids[key] = id
	}
	slot.key, slot.id = key, id
	return id, known
}

// count returns the number of keys, which is the number of the last one.
func (n *interning[K]) count() uint64 { return uint64(len(n.ids)) }
