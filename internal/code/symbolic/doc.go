// Package symbolic executes micro-operations (package lift) on symbols instead of numbers.
//
// A State is the machine at one point of a path: registers, flags and the cells of the stack
// frame, each with a value that is an Expr over the machine's state at the function's entry.
// Behind
//
//	mov 8(%rdi),%rax
//	add $16,%rax
//
// the register rax is load8(arg0+8)+16. Expressions are simplified as they are built, so that
// two that mean the same mostly look the same; Chain takes apart those that are a chain of
// pointers, and Eval gives the number that one is for a thread.
//
// Package accesspath follows each path of a small function in this way; package flow joins the
// states of all paths of a function of any shape.
package symbolic
