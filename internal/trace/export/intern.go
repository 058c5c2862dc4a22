package export

// interning gives numbers from 1 on to things that come again and again. The last ones are
// found without a map.
type interning[K comparable] struct {
	ids    map[K]uint64
	recent [256]struct {
		key K
		id  uint64
	}
}

func newInterning[K comparable]() interning[K] { return interning[K]{ids: map[K]uint64{}} }

// id is the number of a thing; known says that it was there before. Things of different
// hashes are found faster.
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

// count is how many things have a number: that of the last one.
func (n *interning[K]) count() uint64 { return uint64(len(n.ids)) }
