//go:build cgo

package sandbox

// threadsByProc says that package psx finds the threads of this process in /proc, and ends
// the process where that is not there. Without C code, the Go runtime knows them all.
const threadsByProc = true
