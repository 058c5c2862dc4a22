// Package gdb has gdb's OpenMP commands, which are in Python: docs/gdb.md. The tool carries them along for
// the gdb that it starts itself.
package gdb

import "embed"

// Script has ompd_inspect.py and its parts.
//
//go:embed ompd_inspect.py ompd_gdb/*.py
var Script embed.FS
