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

// IsKnown reports whether Resolve found the field. Using an unknown field is an error with the
// reason.
func (f Field) IsKnown() bool { return f.Size != 0 }

// Err explains why the field is unknown; nil if it is known.
func (f Field) Err() error { return unknown(f.IsKnown(), f.absence) }

// End returns the offset of the first byte after the field.
func (f Field) End() uint64 { return f.Offset + f.Size }

// InOuter returns the offset of f, a field of a nested structure, in the outer structure, which has
// the nested one at outer. If either is unknown, so is the result.
func (f Field) InOuter(outer Field) Field {
	if !outer.IsKnown() {
		return outer
	}
	if f.IsKnown() {
		f.Offset += outer.Offset
	}
	return f
}

// same compares places and ignores the reason of an absence.
func (f Field) same(g Field) bool {
	return f.Offset == g.Offset && f.Size == g.Size && f.Mask == g.Mask
}

// String returns "+offset:size", followed by the mask of a bit field.
func (f Field) String() string {
	if f.Mask != 0 {
		return fmt.Sprintf("+%d:%d&%#x", f.Offset, f.Size, f.Mask)
	}
	return fmt.Sprintf("+%d:%d", f.Offset, f.Size)
}

// IsKnown reports whether Resolve found the size of the structure.
func (t Type) IsKnown() bool { return t.Size != 0 }

// Err explains why the size is unknown; nil if it is known.
func (t Type) Err() error { return unknown(t.IsKnown(), t.absence) }

// IsKnown reports whether Resolve found the variable.
func (g Global) IsKnown() bool { return !g.Address.IsNull() }

// Err explains why the address is unknown; nil if it is known.
func (g Global) Err() error { return unknown(g.IsKnown(), g.absence) }

// absence is the reason why a name is unknown. It is an error that is callbacks.Incompatible, and
// the cause.
type absence struct {
	name string
	err  error
}

func (a *absence) Error() string   { return fmt.Sprintf("layout of %s: %v", a.name, a.err) }
func (a *absence) Unwrap() []error { return []error{a.err, callbacks.Incompatible} }

// errUndeclared is the absence of a value that Resolve never set.
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
