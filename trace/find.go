package trace

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// Named are the addresses at which a recorder's mapping begins, by its name. It reads
// nothing: a target without recorder costs one pass over the names of its mappings.
func Named(maps []callbacks.Mapping) (at []uint64) {
	for i := range maps {
		if maps[i].FileOffset == 0 && strings.Contains(maps[i].File, mappingName) {
			at = append(at, maps[i].Low.Offset)
		}
	}
	return at
}

// headerSymbol is the variable of the recorder that has the header's address.
const headerSymbol = "ompd_recorder_header"

// searchMax bounds the mappings whose first bytes are compared with the magic.
const searchMax = 1 << 16

// Open finds the recorder of a target: by the name of its mapping; if there is none, by the
// variable that has its address, and by what mappings begin with. pid chooses if there are
// several; 0 is any. The error is ErrNone if nothing is there, ErrDamaged or ErrVersion if
// what is there cannot be read.
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

// OpenNamed is Open for a look that did not ask for a recorder: by the mapping's name only.
func OpenNamed(mem callbacks.Memory, maps []callbacks.Mapping, pid int) (*Reader, error) {
	r, err := best(mem, Named(maps), pid)
	if r == nil && err == nil {
		return nil, ErrNone
	}
	return r, err
}

// best is the recorder of pid among headers at some addresses, or the one of most forks.
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

// searched are addresses at which a header begins that has lost its name.
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

// header reads and checks the header.
func (r *Reader) header() (Header, error) {
	b := make([]byte, headerUsed)
	if err := r.mem.ReadMemory(callbacks.Addr(r.at), b); err != nil {
		return Header{}, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return parseHeader(b)
}
