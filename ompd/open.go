package ompd

import (
	"debug/dwarf"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/readers"
)

// Options control how the runtimes of a target are opened. The zero value suits a core.
type Options struct {
	// Epoch is the number of the target's stop. Handles of another stop are stale.
	Epoch uint32
	// Sources names the sources from which the layout of the runtime's structures may come: symbols, memory,
	// debuginfo, code, table. Empty means all.
	Sources []string
	// Without lists releases of runtimes to ignore in the tables of layouts.
	Without []string
	// Debug returns the debug information of a module, or nil. It is called at most once for each module, and
	// only if it is needed. A nil Debug stands for modules without debug information.
	Debug func(*callbacks.Module) (*dwarf.Data, error)
	// Functions returns the start and the end of each function of a module, by address. It is called for
	// executables without symbols that have the runtime linked in. Nil stands for no functions.
	Functions func(*callbacks.Module) [][2]uint64
}

// ErrNoRuntime is the error of a target without an OpenMP runtime that this module reads. It is
// callbacks.Incompatible.
var ErrNoRuntime = readers.ErrNoRuntime

// Open finds every OpenMP runtime in target t and returns an address space for each. The error joins the errors
// of runtimes that cannot be read, and of those that the program has not used yet (callbacks.Unavailable). It is
// ErrNoRuntime for a target without any runtime.
func Open(t callbacks.Target, o Options) ([]*Process, error) {
	opened, err := readers.Open(t, readers.Options{Epoch: o.Epoch, Options: layout.Options{
		Only: o.Sources, Without: o.Without, Debug: o.Debug, Functions: o.Functions,
	}})
	var ps []*Process
	for _, rt := range opened {
		ps = append(ps, NewProcess(rt, t))
	}
	return ps, err
}
