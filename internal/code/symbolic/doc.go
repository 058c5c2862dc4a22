// Package symbolic executes micro-operations (package lift) on symbols instead of numbers.
//
// A State is the state of the machine at one point of a path: registers, flags and the cells of the stack frame.
// Each value is an Expr over the machine's state at the function's entry. After
//
//	mov 8(%rdi),%rax
//	add $16,%rax
//
// the register rax is load8(arg0+8)+16. Expressions are simplified as they are built, so that equal values
// mostly have equal expressions. Chain splits an expression that is a pointer chain; Eval returns its value for
// a thread.
//
// Package accesspath follows each path of a small function in this way. Package flow joins the states of all
// paths of a function of any shape. Package emulate executes the same micro-operations on numbers.
package symbolic
