// Package stacks reads the native stacks of a target's threads and names the code and the data that they
// refer to. It is the lowest layer of package inspect: it knows runtimes only as the owners of code.
//
//	Thread   registers and native stack of a thread, each read at most once
//	Stack    frames, each with the owner of its code (Kind)
//	Code     functions, lines, inlined functions, calls and their arguments
//	Data     variables, locals, heap blocks
//	Flow     control flow of the functions on the stacks (internal/lockflow)
//	Merge    threads with equal stacks
//	Notes    warnings, and the bounds of work and memory
package stacks
