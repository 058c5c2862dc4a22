// Package layout finds the offsets of the fields and the addresses of the globals of a runtime,
// with their sources.
//
// A runtime reader declares the fields that it needs, under the runtime's own names; Resolve asks
// every Source for each of them and compares the answers. Only this package knows how an offset was
// found.
package layout

import "errors"

// ErrUnknown is a Source's answer for an unknown name; the next source is asked.
var ErrUnknown = errors.New("no layout source knows it")

// Field is the place of a field in its structure.
type Field struct {
	Offset uint64 // bytes from the structure's start
	Size   uint64 // bytes that hold the field: 1, 2, 4, 8, or the size of an aggregate
	Mask   uint64 // for a bit field, its bits in the little-endian word of Size bytes at Offset; 0 for a whole field

	absence *absence // reason why Resolve left the field unknown, with Size 0
}

// Type holds the facts on a structure as a whole.
type Type struct {
	Size uint64 // bytes

	absence *absence // as in Field
}

// Source is one source of layouts: the runtime's OMPD symbols, the same table found in memory, DWARF, accessor
// code, or checked-in integers.
//
// Laws: an answer is the source's own and complete, never mixed with another source's; an unknown name is an
// error that is ErrUnknown; any other error means that the source is damaged, and is reported. Types and fields
// are named as in the runtime's source; dots lead into nested structures (team, level; task, icvs.nproc).
type Source interface {
	// Name returns one word: symbols, memory, debuginfo, code or table.
	Name() string
	// Field returns the place of a field.
	Field(typ, field string) (Field, error)
	// Type returns the facts on a structure.
	Type(typ string) (Type, error)
	// Global returns the address in the target of one of the runtime's global variables.
	Global(name string) (uint64, error)
}

// Report lists all requested names with their offsets and sources.
type Report struct {
	Entries []Entry
	// Late returns the names that are resolved on demand; it may be nil. All includes them.
	Late func() []Entry
	// Instead is the source of numbers other than fields; empty otherwise.
	Instead string
}

// Entry is one resolved, refused or missing name.
type Entry struct {
	Type   string // empty for a global variable
	Name   string // field or global; empty for the size of a type
	Field  Field  // of a field; for the size of a type, Size
	Global uint64 // address, of a global variable

	Optional bool // some versions of the runtime lack it

	Source string   // the source that gave it; empty if refused or missing
	Agreed []string // other sources with the same answer
	Claims []Claim  // all answers, if they differ
	Err    error    // the reason why it is refused or missing; nil otherwise
}

// Claim is the answer of one source.
type Claim struct {
	Source string
	Value  string
}
