// Package emulate executes micro-operations (package lift) on numbers, as the processor would.
//
// A Machine is a thread at one point: registers, flags, and the bytes that it has written, which the target never
// sees. A Value may be unknown, and what is computed from it is unknown too; it carries a set of origins that its user
// defines. The machine asks a Policy where the code leaves it: at memory, branches, calls and returns. There are three:
//
//   - Ending runs the rest of a function, over the calls in it: package unwind finds so the caller of a function that
//     moves to another stack, and package gocode the layout of Go's scheduler.
//   - Caller runs a whole function for its result: package accessor answers so as a runtime's omp_get_ functions do.
//   - Package spin follows a thread on all ways that it may take, to see whether it comes back to where it was.
//
// Package symbolic executes the same micro-operations on symbols.
package emulate
