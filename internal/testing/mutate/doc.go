// Package mutate looks at cores that were changed on purpose: the tests know where headers,
// notes, registers, the loader's lists and each runtime's structures lie in a core, change
// some of their words as damage or malice would, and hold what the command line then says
// against what it promises: no panic, no wrong exit status, bounded time and memory.
//
// `go test -short` runs a few of them with a fixed seed, `make fuzz-cores` very many.
package mutate
