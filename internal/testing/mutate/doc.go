// Package mutate looks at deliberately changed cores. The tests know the offsets of headers, notes, registers,
// the loader's lists and each runtime's structures in a core, and change some of their words as damage or malice
// would. The output of the command line must keep its promises: no panic, no wrong exit status, bounded time and
// memory.
//
// `go test -short` runs a few of them with a fixed seed, the campaign hostile very many.
package mutate
