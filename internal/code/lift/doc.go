// Package lift decodes machine code into micro-operations that are the same for all instruction sets.
//
// Code execution and control-flow graphs are based on micro-operations. Package arch reads single instructions
// (calls, system calls, saved registers) by their bytes. An instruction becomes a short list of micro-operations
// over numbered registers. For example, push %rbx is
//
//	temp0 = rsp - 8
//	store 8 bytes of rbx at temp0
//	rsp = temp0
//
// The results of unsupported instructions, such as vector arithmetic, are unknown. Of vector registers, the low 8
// bytes are followed through moves, comparisons, simple conversions and bitwise operations: they contain a
// floating-point number. Invalid instructions are refused. Package symbolic executes micro-operations on symbols, and
// package emulate on numbers. Package flow splits whole functions into basic blocks.
package lift
