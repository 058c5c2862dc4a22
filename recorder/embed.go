// Package recorder embeds the C sources of the recorder (docs/guide/recorder.md). The tool compiles them if no recorder
// is installed. recorder.h lists their parts.
//
// The first line of each C file in this directory hides it from the Go compiler.
package recorder

import "embed"

// Sources contains all files that the C compiler needs.
//
//go:embed *.c *.h legacy/*.c legacy/*.h
var Sources embed.FS
