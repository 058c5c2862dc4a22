package libomptarget

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
)

// tree is the header of a std::set of GNU's C++ library: the node above the root, and the number of nodes. A node has a
// color, the parent, and the children; in the header, these are the root, the first and the last node.
type tree struct{ header, root, first, last, count uint64 }

const (
	nodeWords = 6 // color, parent, left, right; the key of the mapping, and the mapping
	treeWords = 5 // color, root, first, last, count
)

// errEntry is the error for a damaged mapping.
var errEntry = errors.New("is no mapping that is known")

func word(r *layout.Record, i uint64) uint64 {
	return r.Uint(layout.Field{Offset: i * wordSize, Size: wordSize})
}

// Words of a ProtectedObj after the header of its set: the mutex. Since release 18, a pointer to the device follows.
const mutexWords = 5

// deviceBytes returns the size of a DeviceTy up to the end of its map of host data, in the release that has it last.
func (f form) deviceBytes() uint64 {
	if f.apart {
		return 34 * wordSize
	}
	return 12 * wordSize
}

// findTree returns the map of host data in a DeviceTy. Until release 17, it is the first std::set or std::map; then it
// is followed by a pointer to the device. An empty set is known by the pointers to itself, another one by its root's
// pointer to the header.
func (r *reader) findTree(object uint64, head *layout.Record) (tree, bool) {
	need, words := uint64(treeWords), r.form.deviceBytes()/wordSize
	if r.form.apart {
		need += mutexWords + 1
	}
	for i := uint64(2); i+need <= words; i++ {
		t := tree{object + i*wordSize, word(head, i+1), word(head, i+2), word(head, i+3), word(head, i+4)}
		switch {
		case word(head, i)&0xffffffff != 0: // the header is red
		case r.form.apart && word(head, i+need-1) != object:
		case t.root == 0 && t.first == t.header && t.last == t.header && t.count == 0:
			return t, true
		case t.root == 0 || t.first == 0 || t.last == 0 || t.root%wordSize != 0 || t.count == 0:
		case r.isRoot(t):
			return t, true
		}
	}
	return tree{}, false
}

// isRoot reports whether the root of a tree points back to its header.
func (r *reader) isRoot(t tree) bool {
	parent, err := layout.ReadUint(r.target, callbacks.Addr(t.root+wordSize), wordSize)
	return err == nil && parent == t.header
}

// mapped returns the mappings in a tree, in the order of their host addresses. With an error, it returns those that
// were read before.
func (r *reader) mapped(t tree) ([]Mapping, error) {
	if t.count > r.left {
		return nil, fmt.Errorf("the map of host data at %#x does not fit: it has %d entries", t.header, t.count)
	}
	w := &walk{reader: r, tree: t}
	if t.root != 0 {
		w.visit(t.root, t.header, 0)
	}
	if w.err == nil && (uint64(len(w.out)) != t.count || t.count > 0 && (w.first != t.first || w.last != t.last)) {
		w.err = fmt.Errorf("the map of host data at %#x does not fit (a thread may be changing it): it has %d "+
			"entries, not %d", t.header, len(w.out), t.count)
	}
	r.left -= uint64(len(w.out))
	return w.out, w.err
}

// walk visits the nodes of a tree in their order.
type walk struct {
	*reader
	tree
	out         []Mapping
	first, last uint64 // nodes
	err         error
}

func (w *walk) visit(node, parent uint64, depth int) {
	n := layout.ReadSize(w.target, callbacks.Addr(node), nodeWords*wordSize)
	up, left, right, key, entry := word(n, 1), word(n, 2), word(n, 3), word(n, 4), word(n, 5)
	if w.form.inline {
		key, entry = entry, node+4*wordSize // its second word is the host address
	}
	switch {
	case w.err != nil:
		return
	case n.Err() != nil:
		w.err = fmt.Errorf("map of host data: %w", n.Err())
		return
	case up != parent || depth > maxDepth || uint64(len(w.out)) >= w.count:
		w.err = fmt.Errorf("the map of host data at %#x does not fit at the node %#x (a thread may be changing it)",
			w.header, node)
		return
	}
	if left != 0 {
		w.visit(left, node, depth+1)
	}
	if w.err != nil {
		return
	}
	m, err := w.mapping(key, entry)
	if err == nil && len(w.out) > 0 && w.out[len(w.out)-1].Host >= m.Host {
		err = fmt.Errorf("the entry at %#x is out of order: %w", entry, errEntry)
	}
	if err != nil {
		w.err = err
		return
	}
	if w.out = append(w.out, m); len(w.out) == 1 {
		w.first = node
	}
	w.last = node
	if right != 0 {
		w.visit(right, node, depth+1)
	}
}

const (
	infinite      = ^uint64(0)
	maxReferences = 1 << 32 // more than constructs that can be active
	maxPadding    = 16      // between the start of an allocation on a device and the data: the largest alignment
)

// mapping reads an HostDataToTargetTy: the host's base, begin and end, the name, the device's address, and the pointer
// to the reference counts. Since release 17, the start of the device's allocation precedes the device's address.
func (r *reader) mapping(key, entry uint64) (Mapping, error) {
	words := uint64(6)
	if r.form.padded {
		words++
	}
	e := layout.ReadSize(r.target, callbacks.Addr(entry), words*wordSize)
	m := Mapping{Base: word(e, 0), Host: word(e, 1), Size: word(e, 2) - word(e, 1), Device: word(e, 4)}
	end, name, states := word(e, 2), word(e, 3), word(e, 5)
	allocation := m.Device
	if r.form.padded {
		m.Device, states = word(e, 5), word(e, 6)
	}
	if err := e.Err(); err != nil {
		return m, fmt.Errorf("map of host data: %w", err)
	}
	if m.Host != key || end < m.Host || m.Device < allocation || m.Device-allocation >= maxPadding || states == 0 ||
		states%wordSize != 0 || states-m.Device < min(max(m.Size, 1), maxPadding) {
		return m, fmt.Errorf("the entry at %#x %w", entry, errEntry)
	}
	counts := layout.ReadSize(r.target, callbacks.Addr(states), 2*wordSize)
	dynamic, hold := word(counts, 0), word(counts, 1)
	if err := counts.Err(); err != nil {
		return m, fmt.Errorf("map of host data: %w", err)
	}
	switch m.Forever = dynamic == infinite || hold == infinite; {
	case m.Forever && (dynamic == infinite || dynamic < maxReferences) && (hold == infinite || hold < maxReferences):
	case dynamic < maxReferences && hold < maxReferences:
		m.References = dynamic + hold
	default:
		return m, fmt.Errorf("the entry at %#x has %d and %d references: it %w", entry, dynamic, hold, errEntry)
	}
	if text, err := layout.ReadString(r.target, callbacks.Addr(name), maxName); name != 0 && err == nil {
		m.Name, m.File, m.Line = parseName(text)
	}
	return m, nil
}

// parseName splits the name that clang gives to a mapping: ";name;file;line;column;;", or that of a declare target
// variable.
func parseName(text string) (name, file string, line int) {
	parts := strings.Split(text, ";")
	if len(parts) == 1 { // a declare target variable
		return text, "", 0
	}
	if len(parts) != 7 || parts[0] != "" || parts[5] != "" || parts[6] != "" {
		return "", "", 0
	}
	line, err := strconv.Atoi(parts[3])
	if err != nil || line < 0 {
		return "", "", 0
	}
	if parts[1] == "unknown" {
		parts[1] = ""
	}
	return parts[1], parts[2], line
}
