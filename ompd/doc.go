// Package ompd is the OMPD library: the routines of the OpenMP specification (OpenMP 5.2, section 20.5) over the
// handles of package handles, and the list-all routines that the 2013 draft had and the standard dropped.
//
// Every routine has one method, with the C routine's name in its doc comment. A routine that only queries a
// runtime has the same name in package rtl, so that one name leads through all layers. Some routines exist only
// because of the C language and have no method: out parameters are results, and strings and handles are values
// without allocation.
//
// A Library has the version and the lifetime; a Process is the address space of one OpenMP runtime in one target
// at one stop. A handle is valid for the Process that returned it; every routine checks that before it queries
// the runtime. Every error is an *Error and matches its return code with errors.Is:
//
//	if errors.Is(err, callbacks.Unavailable) { … }
package ompd
