package mutate

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
)

// edit is a change of a core.
type edit struct {
	place
	value, was uint64
}

// mutant returns the changes of one mutant.
func (s *subject) mutant(r *rand.Rand) []edit {
	kinds := []kind{
		inHeader, inSegments, inNotes, inThreads, inFiles,
		inAuxv, inLoader, inRuntime, inRuntime, inRuntime, inRuntime, inStacks,
	}
	if len(s.places[inInterpreter]) > 0 {
		kinds = append(kinds, slices.Repeat([]kind{inInterpreter}, 16)...)
	}
	if r.IntN(8) != 0 {
		kinds = kinds[5:] // found only if the headers are intact
	}
	var list []edit
	for range 1 + r.IntN(maxEdits) {
		at := s.places[kinds[r.IntN(len(kinds))]]
		if len(at) == 0 {
			continue
		}
		p := at[r.IntN(len(at))]
		near := func(e edit) bool { return e.off < p.off+8 && p.off < e.off+8 }
		if !slices.ContainsFunc(list, near) {
			was := s.read(p)
			list = append(list, edit{p, s.value(r, p, was, at), was})
		}
	}
	return list
}

// value returns a misleading number: a count that is huge or negative, a pointer to itself, to another structure,
// into one, or to unmapped memory, or the value of another place.
func (s *subject) value(r *rand.Rand, p place, was uint64, alike []place) uint64 {
	if len(s.bases) > 0 && p.size == 8 && r.IntN(3) == 0 {
		base := s.bases[r.IntN(len(s.bases))]
		return []uint64{base, base + 8*r.Uint64N(64), p.addr, p.addr - 8*r.Uint64N(32), base + 1}[r.IntN(5)]
	}
	switch r.IntN(10) {
	case 0:
		return 0
	case 1:
		return ^uint64(0)
	case 2:
		return 1 << r.IntN(8*p.size)
	case 3:
		return 1<<r.IntN(8*p.size) - 1
	case 4:
		return was + 1
	case 5:
		return was - 1
	case 6:
		return was ^ 1<<r.IntN(8*p.size)
	case 7:
		return r.Uint64() >> r.IntN(64)
	case 8:
		return uint64(r.IntN(300))
	}
	return s.read(alike[r.IntN(len(alike))])
}

// read returns the number at a place.
func (s *subject) read(p place) uint64 {
	var b [8]byte
	_, _ = s.file.ReadAt(b[:p.size], p.off)
	return binary.LittleEndian.Uint64(b[:])
}

// write writes the new numbers, or restores the old ones.
func (s *subject) write(list []edit, back bool) error {
	for _, e := range list {
		v := e.value
		if back {
			v = e.was
		}
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], v)
		if _, err := s.file.WriteAt(b[:e.size], e.off); err != nil {
			return err
		}
	}
	return nil
}
