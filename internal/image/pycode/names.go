package pycode

import (
	"fmt"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// nameReads has the instructions of a release that read a variable or an attribute by its name, with their specialized
// forms. Their arguments are an index into co_names, or twice that and a flag. Sources: opcode.h (3.13 and later:
// opcode_ids.h).
type nameReads struct{ index, twice []byte }

var nameReadsOf = map[int]nameReads{
	11: {[]byte{101, 106, 39, 40, 41, 42, 43, 160, 56, 57, 58, 59, 62, 63}, []byte{116, 47, 48, 55}},
	12: {[]byte{101}, []byte{106, 70, 72, 73, 76, 77, 78, 79, 80, 81, 82, 116, 111, 112}},
	13: {[]byte{92}, opcodes([]byte{82, 91, 203, 204}, 191, 202)},
	14: {[]byte{93}, opcodes([]byte{80, 92, 192, 193}, 177, 189)},
	15: {[]byte{92}, opcodes([]byte{79, 91, 196, 197}, 183, 195)},
}

// opcodes returns opcodes with those from first to last.
func opcodes(some []byte, first, last byte) []byte {
	for o := first; o <= last; o++ {
		some = append(some, o)
	}
	return some
}

// Bounds on the code and the names of a code object.
const (
	maxUnits = 1 << 20
	maxNames = 1 << 16
)

// NameLines returns the lines on which the code of a frame reads one of the names, as a variable or an attribute, in
// an instruction before the frame's present one; each line once. Instructions are found by the line table, which has
// one entry for each with columns of its own: others are not found. Before 3.11 none is.
func (p *Runtime) NameLines(f Frame, names ...string) ([]int, error) {
	reads, ok := nameReadsOf[p.l.minor]
	if !ok || f.code == 0 {
		return nil, nil
	}
	c := p.code(f.code)
	if c.err != nil {
		return nil, c.err
	}
	wanted, err := p.nameIndexes(f.code, names)
	if err != nil || len(wanted) == 0 {
		return nil, err
	}
	n, err := p.word(f.code + p.l.objectType + 8) // ob_size, in code units
	if err != nil {
		return nil, err
	}
	if n > maxUnits {
		return nil, fmt.Errorf("code of %d units: %w", n, ErrDamaged)
	}
	code := make([]byte, n*unitSize)
	if err := p.mem.ReadMemory(callbacks.Addr(c.instructions), code); err != nil {
		return nil, fmt.Errorf("reading the instructions of Python code: %w", err)
	}
	var out []int
	eachLocation(c.lines, c.first, func(start, _, line int) bool {
		i := start * unitSize
		if i >= f.at || i+1 >= len(code) {
			return false
		}
		index := int(code[i+1])
		switch {
		case slices.Contains(reads.twice, code[i]):
			index /= 2
		case !slices.Contains(reads.index, code[i]):
			return true
		}
		if slices.Contains(wanted, index) && line != noLine && !slices.Contains(out, line) {
			out = append(out, line)
		}
		return true
	})
	return out, nil
}

// nameIndexes returns the indexes of names in the co_names of a code object.
func (p *Runtime) nameIndexes(code uint64, names []string) ([]int, error) {
	size := p.l.objectType + 8             // of each object before its ob_size
	tuple, err := p.word(code + size + 16) // after ob_size and co_consts
	if err != nil {
		return nil, err
	}
	head := make([]byte, size+8)
	if err := p.mem.ReadMemory(callbacks.Addr(tuple), head); err != nil {
		return nil, fmt.Errorf("reading the names of a code object: %w", err)
	}
	if err := p.checkType(head, p.types.tuple, "tuple", tuple); err != nil {
		return nil, err
	}
	n := word(head, size)
	if n > maxNames {
		return nil, fmt.Errorf("a code object with %d names: %w", n, ErrDamaged)
	}
	items := size + 8
	if p.l.minor >= 14 { // Since 3.14 the hash comes first.
		items += 8
	}
	b := make([]byte, 8*n)
	if err := p.mem.ReadMemory(callbacks.Addr(tuple+items), b); err != nil {
		return nil, fmt.Errorf("reading the names of a code object: %w", err)
	}
	var out []int
	for i := range n {
		s, err := p.text(word(b, 8*i))
		if err != nil {
			return nil, err
		}
		if slices.Contains(names, s) {
			out = append(out, int(i))
		}
	}
	return out, nil
}
