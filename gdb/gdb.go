// Package gdb embeds gdb's OpenMP commands, which are in Python: docs/guide/gdb.md. The tool passes them to each gdb
// that it starts itself.
package gdb

import "embed"

// Script contains ompd_inspect.py and its parts.
//
//go:embed ompd_inspect.py ompd_gdb/*.py
var Script embed.FS
