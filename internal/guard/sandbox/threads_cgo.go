//go:build cgo

package sandbox

// threadsByProc means that package psx finds the threads of this process in /proc, and ends the
// process without /proc. Without C code, the Go runtime knows all threads.
const threadsByProc = true
