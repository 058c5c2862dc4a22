package clib

import "github.com/ompd-inspect/ompd-inspect/callbacks"

const (
	cellBytes = 8
	// maxCells bounds the kept memory of a program: 64 Ki cells hold all structures of some thousand threads.
	// Further memory is read each time.
	maxCells = 1 << 16
	// maxKept is the longest kept piece, in bytes. Longer pieces are searched once.
	maxKept = 8 << 10
)

// cell is the known part of 8 aligned bytes of memory.
type cell struct {
	data [cellBytes]byte
	have uint8 // one bit per byte
}

// memory contains the bytes that were read of a program. The zero value is empty.
type memory struct{ cells map[callbacks.Address]*cell }

// fill fills p with the bytes at a. It reads the unknown bytes in as few pieces as possible.
func (m *memory) fill(a callbacks.Address, p []byte, read func(callbacks.Address, []byte) error) error {
	if len(p) > maxKept {
		return read(a, p)
	}
	for i := 0; i < len(p); {
		if m.lookup(a.Add(uint64(i)), &p[i]) {
			i++
			continue
		}
		end := i + 1
		for end < len(p) && !m.lookup(a.Add(uint64(end)), &p[end]) {
			end++
		}
		if err := read(a.Add(uint64(i)), p[i:end]); err != nil {
			return err
		}
		m.keep(a.Add(uint64(i)), p[i:end])
		i = end
	}
	return nil
}

// contains reports whether n bytes from a on are known.
func (m *memory) contains(a callbacks.Address, n int) bool {
	var b byte
	for i := range n {
		if !m.lookup(a.Add(uint64(i)), &b) {
			return false
		}
	}
	return true
}

// lookup reads the byte at a, if it is known.
func (m *memory) lookup(a callbacks.Address, b *byte) bool {
	at := a.Offset % cellBytes
	c := m.cells[callbacks.Address{Segment: a.Segment, Offset: a.Offset - at}]
	if c == nil || c.have&(1<<at) == 0 {
		return false
	}
	*b = c.data[at]
	return true
}

func (m *memory) keep(a callbacks.Address, p []byte) {
	if m.cells == nil {
		m.cells = map[callbacks.Address]*cell{}
	}
	for i, b := range p {
		at := a.Add(uint64(i))
		low := at.Offset % cellBytes
		key := callbacks.Address{Segment: at.Segment, Offset: at.Offset - low}
		c := m.cells[key]
		if c == nil {
			if len(m.cells) == maxCells {
				return
			}
			c = new(cell)
			m.cells[key] = c
		}
		c.data[low], c.have = b, c.have|1<<low
	}
}
