package layout

import (
	"cmp"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// part is the part of a structure that was read, in memory in which each byte is expensive to read.
type part struct {
	mem  callbacks.Sparing
	have []bool // by byte of the record's data
}

const (
	// word is the minimum size of a read, in bytes.
	word = 8
	// longField is more than the size of a plain field, in bytes: longer ones are arrays or structures, and are
	// read in parts.
	longField = 16
	// worthGap is the number of bytes between two fields up to which one read is cheaper than two.
	worthGap = 16
)

// sparing returns memory in which each byte is expensive to read, if there is more to read than one
// word.
func sparing(mem callbacks.Memory, n uint64) (callbacks.Sparing, bool) {
	s, ok := mem.(callbacks.Sparing)
	return s, ok && n > word
}

// readSparing returns the record of a structure after reading only its plain fields; for a long field, the first
// word. So a missing structure is an error like any other.
func readSparing(mem callbacks.Sparing, a callbacks.Address, low, high uint64, fields ...Field) *Record {
	n := &ownRecord{Record: Record{base: a, low: a.Add(low), data: make([]byte, high-low)}}
	r := &n.Record
	r.err = &n.fault
	r.part = &part{mem, make([]bool, len(r.data))}
	all := pieces(fields)
	foresee(mem, a, all)
	for _, p := range all {
		if err := readMemory(mem, a, p.Offset, r.data[p.Offset-low:p.End()-low]); err != nil {
			r.fail(err)
			return r
		}
		r.part.mark(p.Offset-low, p.Size)
	}
	return r
}

// pieces returns the parts of a structure that contain fields, in the fewest worthwhile reads.
func pieces(fields []Field) []Field {
	sorted := slices.SortedFunc(slices.Values(fields), func(a, b Field) int { return cmp.Compare(a.Offset, b.Offset) })
	var all []Field
	for _, f := range sorted {
		if !f.IsKnown() {
			continue
		}
		if f.Size > longField {
			f.Size = word
		}
		if n := len(all) - 1; n >= 0 && f.Offset <= all[n].End()+worthGap {
			all[n].Size = max(all[n].End(), f.End()) - all[n].Offset
			continue
		}
		all = append(all, Field{Offset: f.Offset, Size: f.Size})
	}
	return all
}

// foresee announces parts of the structure at a in one call.
func foresee(mem callbacks.Sparing, a callbacks.Address, parts []Field) {
	if len(parts) < 2 {
		return
	}
	var s Foresee
	for _, p := range parts {
		s.pieces = append(s.pieces, callbacks.Piece{At: a.Add(p.Offset), Size: p.Size})
	}
	mem.Foresee(s.pieces)
}

func (p *part) mark(low, size uint64) {
	for i := range size {
		p.have[low+i] = true
	}
}

// Fetch reads fields that will be requested, in the fewest worthwhile reads, if memory is expensive to read.
// Otherwise they were read with their structure.
func (r *Record) Fetch(fields ...Field) {
	if r.part == nil || *r.err != nil {
		return
	}
	all := pieces(fields)
	foresee(r.part.mem, r.base, all)
	for _, p := range all {
		low := r.base.Offset + p.Offset - r.low.Offset
		if n := uint64(len(r.data)); low > n || p.Size > n-low || !r.part.fetch(r, low, p.Size) {
			return // the read of the field returns the error
		}
	}
}

// fetch reads the missing part of size bytes of r's data, and reports whether all bytes are there.
func (p *part) fetch(r *Record, low, size uint64) bool {
	for i := low; i < low+size; i++ {
		if p.have[i] {
			continue
		}
		if err := p.mem.ReadLater(r.low.Add(low), r.data[low:low+size]); err != nil {
			r.fail(&readError{err})
			return false
		}
		p.mark(low, size)
		return true
	}
	return true
}

// Foresee announces reads of fields to memory in which each byte is expensive to read.
type Foresee struct{ pieces []callbacks.Piece }

// Field adds a field of the structure at a, or the first word of a long one.
func (s *Foresee) Field(a callbacks.Address, f Field) {
	if !f.IsKnown() || a.IsNull() {
		return
	}
	size := f.Size
	if size > longField {
		size = word
	}
	s.pieces = append(s.pieces, callbacks.Piece{At: a.Add(f.Offset), Size: size})
}

// Ask requests the added fields, if memory is expensive to read.
func (s *Foresee) Ask(mem callbacks.Memory) {
	if m, ok := mem.(callbacks.Sparing); ok && len(s.pieces) > 1 {
		m.Foresee(s.pieces)
	}
	s.pieces = s.pieces[:0]
}
