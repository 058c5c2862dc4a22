package layout

import (
	"errors"
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// Global is a global variable of a runtime: its address in the target.
type Global struct {
	Address callbacks.Address

	absence *absence // as in Field
}

// Known reports whether Resolve found the field. Using a field that is not known
// is an error that says why it is not.
func (f Field) Known() bool { return f.Size != 0 }

// Err says why the field is not known; nil if it is.
func (f Field) Err() error { return unknown(f.Known(), f.absence) }

// End is the offset of the first byte behind the field.
func (f Field) End() uint64 { return f.Offset + f.Size }

// Within returns the place of f, a field of a nested structure, in the structure
// in which the nested one is at outer. If either is not known, neither is the
// result.
func (f Field) Within(outer Field) Field {
	if !outer.Known() {
		return outer
	}
	if f.Known() {
		f.Offset += outer.Offset
	}
	return f
}

// same compares places and ignores the reason of an absence.
func (f Field) same(g Field) bool {
	return f.Offset == g.Offset && f.Size == g.Size && f.Mask == g.Mask
}

// String is "+offset:size", with the mask of a bit field behind it.
func (f Field) String() string {
	if f.Mask != 0 {
		return fmt.Sprintf("+%d:%d&%#x", f.Offset, f.Size, f.Mask)
	}
	return fmt.Sprintf("+%d:%d", f.Offset, f.Size)
}

// Known reports whether Resolve found the size of the structure.
func (t Type) Known() bool { return t.Size != 0 }

// Err says why the size is not known; nil if it is.
func (t Type) Err() error { return unknown(t.Known(), t.absence) }

// Known reports whether Resolve found the variable.
func (g Global) Known() bool { return !g.Address.IsNull() }

// Err says why the address is not known; nil if it is.
func (g Global) Err() error { return unknown(g.Known(), g.absence) }

// absence is why a name is not known. It is an error that is
// callbacks.Incompatible, and the cause.
type absence struct {
	name string
	err  error
}

func (a *absence) Error() string   { return fmt.Sprintf("layout of %s: %v", a.name, a.err) }
func (a *absence) Unwrap() []error { return []error{a.err, callbacks.Incompatible} }

// errUndeclared is the absence of a value that never went through Resolve.
var errUndeclared = errors.New("layout of an undeclared name")

func unknown(known bool, a *absence) error {
	switch {
	case known:
		return nil
	case a == nil:
		return errUndeclared
	}
	return a
}
