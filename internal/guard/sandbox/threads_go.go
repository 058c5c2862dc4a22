//go:build !cgo

package sandbox

// threadsByProc is false: the Go runtime knows all threads.
const threadsByProc = false
