// Package ompd is the OMPD library: the routines of the OpenMP specification
// (OpenMP 5.2, section 20.5) over the handles of package handles, and the
// list-all routines that the 2013 draft had and the standard dropped.
//
// Every routine has one method, whose doc comment names the C routine. A routine
// that only asks a runtime has the name that it has in package rtl, so that one
// name leads through all layers. What the C interface needs because it is C has
// no method of its own: out parameters are results, strings and handles are
// values with nothing to allocate.
//
// A Library has the version and the lifetime; a Process is the address space of
// one OpenMP runtime in one target at one stop. A handle is true for the Process
// that gave it, which every routine checks before it asks the runtime. Every
// error is an *Error and answers errors.Is with its return code:
//
//	if errors.Is(err, callbacks.Unavailable) { … }
package ompd
