package main

import "os"

// outputAtEntry is what the kernel answered of the standard output before Go's runtime
// began: negative if it was closed. It is 0 in a build whose linker was not told of
// main.entry (the Makefile does).
var outputAtEntry int64

// standardOutput is the file for output. If it was closed when the process was started, it
// is one that cannot be written, unlike what Go opened in its place, which stays so that no
// other file gets its number.
func standardOutput() *os.File {
	if outputAtEntry >= 0 {
		return os.Stdout
	}
	const nowhere = 1 << 30 // more than any limit on descriptors lets there be
	return os.NewFile(nowhere, os.Stdout.Name())
}
