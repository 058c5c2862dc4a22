// Package emulate executes micro-operations (package lift) on numbers, like the processor.
//
// A Machine is the state of a thread at one point: registers (of vector registers the low 8 bytes), flags, and the
// bytes that it has written, which never reach the target. A Value may be unknown; values computed from it are then
// unknown too. It carries a set of origins that its user defines. A Policy decides about memory accesses, branches,
// calls and returns. There are three policies:
//
//   - Ending runs the rest of a function and skips its calls. With it, package unwind finds the caller of a
//     function that switches stacks, and package gocode finds the layout of Go's scheduler.
//   - Caller runs a whole function for its result. With it, package accessor gives the answers of a runtime's
//     omp_get_ functions.
//   - Package spin follows a thread on all possible paths to find out whether it returns to an earlier state.
//
// Package symbolic executes the same micro-operations on symbols.
package emulate
