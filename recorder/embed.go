// Package recorder has the sources of the recorder, which is in C: docs/recorder.md. The tool carries them along, and
// compiles them where no recorder is installed.
//
// The first line of each C file hides it from the Go compiler.
package recorder

import "embed"

// Sources has all files that a compiler needs.
//
//go:embed *.c *.h
var Sources embed.FS
