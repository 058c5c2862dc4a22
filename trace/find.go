package trace

import (
	"errors"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// Named returns the start addresses of mappings with a recorder's name. It reads no memory: a target without a
// recorder costs one pass over the names of its mappings.
func Named(maps []callbacks.Mapping) (at []uint64) {
	for i := range maps {
		if maps[i].FileOffset == 0 && strings.Contains(maps[i].File, mappingName) {
			at = append(at, maps[i].Low.Offset)
		}
	}
	return at
}

// headerSymbol is the recorder's variable with the header's address.
const headerSymbol = "ompd_recorder_header"

// searchMax bounds the number of mappings that are checked for the magic at their start.
const searchMax = 1 << 16

// Open finds the recorder of a target: by the name of its mapping; otherwise by the variable with its address,
// or by the first bytes of mappings. pid selects among several; 0 means any. The error is ErrNone if there is
// no recorder, ErrDamaged or ErrVersion if it cannot be read.
func Open(mem callbacks.Memory, pid int) (*Reader, error) {
	var maps []callbacks.Mapping
	if l, ok := mem.(callbacks.MappingLister); ok {
		maps = l.Mappings()
	}
	r, err := best(mem, Named(maps), pid)
	if r != nil {
		return r, nil
	}
	r, other := best(mem, searched(mem, maps), pid)
	if r != nil {
		return r, nil
	}
	for _, e := range []error{err, other} {
		if e != nil {
			return nil, e
		}
	}
	return nil, ErrNone
}

// OpenNamed is Open for callers that did not request a recorder: it searches only by the mapping's name.
func OpenNamed(mem callbacks.Memory, maps []callbacks.Mapping, pid int) (*Reader, error) {
	r, err := best(mem, Named(maps), pid)
	if r == nil && err == nil {
		return nil, ErrNone
	}
	return r, err
}

// best returns the recorder of pid among the headers at some addresses; without it, the one with the most
// forks.
func best(mem callbacks.Memory, at []uint64, pid int) (found *Reader, err error) {
	for _, a := range at {
		r := NewReader(mem, a)
		h, e := r.header()
		if e != nil {
			err = errors.Join(err, e)
			continue
		}
		r.last = h
		switch {
		case found == nil, int(h.PID) == pid && int(found.last.PID) != pid:
			found = r
		case int(found.last.PID) != pid && h.Generation > found.last.Generation:
			found = r
		}
	}
	return found, err
}

// searched returns the addresses of headers in mappings that lost their name.
func searched(mem callbacks.Memory, maps []callbacks.Mapping) (at []uint64) {
	if s, ok := mem.(callbacks.Symbols); ok {
		if a, err := s.Symbol(headerSymbol, ""); err == nil {
			b := make([]byte, 8)
			if mem.ReadMemory(a, b) == nil && le.Uint64(b) != 0 {
				at = append(at, le.Uint64(b))
			}
		}
	}
	const writable = callbacks.PermRead | callbacks.PermWrite
	b := make([]byte, len(magic))
	for i, m := range maps {
		if i == searchMax {
			break
		}
		if m.Perm&writable == writable && m.Perm&callbacks.PermExec == 0 &&
			mem.ReadMemory(m.Low, b) == nil && string(b) == magic {
			at = append(at, m.Low.Offset)
		}
	}
	return at
}
