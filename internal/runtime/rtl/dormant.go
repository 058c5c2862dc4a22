package rtl

import (
	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
)

// Dormant is the error of opening a runtime that is loaded, but that the program
// has not called yet: there is nothing to read in it. It is
// callbacks.Unavailable.
type Dormant struct {
	Identity handles.Identity // family, name, module, and the version of OpenMP if it is known
	ICVs     []handles.ICV    // the variables that can be asked for when it is used
}

// Error says what is loaded, and that it is not used yet.
func (d *Dormant) Error() string {
	where := "the program"
	if m := d.Identity.Module; m != nil {
		where = m.Path
	}
	return d.Identity.Name + " in " + where + " is loaded but not initialized: the program has made no OpenMP call yet"
}

// Is reports whether target is callbacks.Unavailable.
func (d *Dormant) Is(target error) bool { return target == callbacks.Unavailable }

// Unread is the error of a runtime in a module whose layout is not known. It is
// callbacks.Incompatible.
type Unread struct {
	Module *callbacks.Module
	Err    error
}

// Error is that of the layout.
func (u *Unread) Error() string { return u.Err.Error() }

// Unwrap returns why.
func (u *Unread) Unwrap() []error { return []error{u.Err, callbacks.Incompatible} }
