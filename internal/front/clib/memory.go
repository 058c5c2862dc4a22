package clib

import "github.com/ompd-inspect/ompd-inspect/callbacks"

const (
	cellBytes = 8
	// maxCells bounds what is kept of a program: 64 Ki cells are all structures of
	// some thousand threads. What comes when it is full is read each time.
	maxCells = 1 << 16
	// maxKept is the longest piece that is kept: what is longer is searched, once.
	maxKept = 8 << 10
)

// cell is what is known of 8 bytes of memory that are aligned.
type cell struct {
	data [cellBytes]byte
	have uint8 // one bit for each byte
}

// memory is what was read of a program, byte by byte. The zero value is empty.
type memory struct{ cells map[callbacks.Address]*cell }

// fill fills p with what lies at a. It reads, in as few pieces as there can be, the
// bytes that are not known.
func (m *memory) fill(a callbacks.Address, p []byte, read func(callbacks.Address, []byte) error) error {
	if len(p) > maxKept {
		return read(a, p)
	}
	for i := 0; i < len(p); {
		if m.known(a.Add(uint64(i)), &p[i]) {
			i++
			continue
		}
		end := i + 1
		for end < len(p) && !m.known(a.Add(uint64(end)), &p[end]) {
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

// has reports whether n bytes from a on were all read.
func (m *memory) has(a callbacks.Address, n int) bool {
	var b byte
	for i := range n {
		if !m.known(a.Add(uint64(i)), &b) {
			return false
		}
	}
	return true
}

// known gives the byte at a, if it was read.
func (m *memory) known(a callbacks.Address, b *byte) bool {
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
