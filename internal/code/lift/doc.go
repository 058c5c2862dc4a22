// Package lift decodes machine code into micro-operations, the same for all instruction sets.
//
// It is the only package that knows the instructions of x86-64 and aarch64. An instruction
// becomes a short list of micro-operations over numbered registers: push %rbx is
//
//	temp0 = rsp - 8
//	store 8 bytes of rbx at temp0
//	rsp = temp0
//
// What an instruction does that is not understood, as vector arithmetic, makes its results
// unknown; bytes that are no instruction are refused. Package symbolic executes
// micro-operations on symbols; package flow takes whole functions apart into basic blocks.
package lift
