//go:build !cgo

package sandbox

// threadsByProc is false: all threads are the Go runtime's, which knows them.
const threadsByProc = false
