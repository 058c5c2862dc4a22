// Package lift decodes machine code into micro-operations, the same for all instruction sets.
//
// All that executes code or builds control-flow graphs works on micro-operations; package arch reads single
// instructions (calls, system calls, saved registers) by their bytes. An instruction becomes a short list of
// micro-operations over numbered registers: push %rbx is
//
//	temp0 = rsp - 8
//	store 8 bytes of rbx at temp0
//	rsp = temp0
//
// The results of an instruction that is not followed, as vector arithmetic, are unknown; bytes that are no instruction
// are refused. Package symbolic executes micro-operations on symbols, package emulate on numbers; package flow splits
// whole functions into basic blocks.
package lift
