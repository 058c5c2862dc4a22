package rtl

import "github.com/ompd-inspect/ompd-inspect/callbacks"

// Dormant is the error of opening a runtime that is loaded, but that the program
// has not called yet: there is nothing to read in it. It is
// callbacks.Unavailable.
type Dormant struct {
	Identity Identity // family, name and module
}

// Error says what is loaded, and that it is not used yet.
func (d *Dormant) Error() string {
	where := "the program"
	if m := d.Identity.Module; m != nil {
		where = m.Path
	}
	return d.Identity.Name + " in " + where + " is loaded but not initialised: the program has made no OpenMP call yet"
}

// Is tells whether target is callbacks.Unavailable.
func (d *Dormant) Is(target error) bool { return target == callbacks.Unavailable }
