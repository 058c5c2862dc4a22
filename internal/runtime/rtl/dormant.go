package rtl

import (
	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
)

// Dormant is the error of opening a runtime that is loaded but not used yet, so that there is no data to read.
// It is callbacks.Unavailable.
type Dormant struct {
	Identity handles.Identity // family, name, module, and the version of OpenMP if it is known
	ICVs     []handles.ICV    // variables that can be read once it is used
}

// Error describes the loaded runtime, and that it is not used yet.
func (d *Dormant) Error() string {
	where := "the program"
	if m := d.Identity.Module; m != nil {
		where = m.Path
	}
	return d.Identity.Name + " in " + where + " is loaded but not initialized: the program has made no OpenMP call yet"
}

// Is reports whether target is callbacks.Unavailable.
func (d *Dormant) Is(target error) bool { return target == callbacks.Unavailable }

// Unread is the error of a runtime with an unknown layout. It is callbacks.Incompatible.
type Unread struct {
	Module *callbacks.Module
	Err    error
}

// Error returns the text of the layout's error.
func (u *Unread) Error() string { return u.Err.Error() }

// Unwrap returns the cause and callbacks.Incompatible.
func (u *Unread) Unwrap() []error { return []error{u.Err, callbacks.Incompatible} }
