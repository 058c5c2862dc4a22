package ompd

import (
	"debug/dwarf"
	"errors"
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/layout"
	"github.com/ompd-inspect/ompd-inspect/rtl"
	"github.com/ompd-inspect/ompd-inspect/rtl/foreign"
	"github.com/ompd-inspect/ompd-inspect/rtl/libgomp"
	"github.com/ompd-inspect/ompd-inspect/rtl/libomp"
)

// This file is the only one that names runtimes.

// Reads says which runtimes this library reads, of programs for x86-64 Linux.
const Reads = "LLVM libomp 14-23, GNU libgomp 7-16, omp_get_* of others; x86-64 Linux"

// Options say how to open the runtimes of a target. The zero value suits a core.
type Options struct {
	// Epoch is the number of the target's stop; handles of another are stale.
	Epoch uint32
	// Sources names the layout sources that may answer: symbols, memory,
	// debuginfo, code, table. Empty means all.
	Sources []string
	// Full asks the costly sources for everything, to compare, and not only for
	// what the others left open.
	Full bool
	// Debug gives the debug information of a module, if there is any. It is
	// called at most once for each, and only if something is asked of it; nil
	// means that there is none.
	Debug func(*callbacks.Module) (*dwarf.Data, error)
	// Kept has what was found out about runtimes when the same process was opened
	// before; nil keeps nothing.
	Kept *Kept
}

func (o Options) layout() layout.Options {
	return layout.Options{Only: o.Sources, Full: o.Full, Debug: o.Debug, Kept: o.Kept}
}

// Kept keeps what was found out about runtimes, from one Open to the next of the same
// process. The zero value is empty. It is not for concurrent use.
type Kept = layout.Kept

// family opens all runtimes of one kind in a target. The first gets the stamp, the
// next ones following spaces. None is no error.
type family func(t callbacks.Target, first handles.Stamp, o Options) ([]rtl.Runtime, error)

// families are the kinds of runtimes that this library knows, and last, whatever
// else answers the functions of the standard.
func families() []family { return []family{openLibomp, openLibgomp, openForeign} }

// recognizers tell the kind of a module by its symbols, in the same order.
func recognizers() []func(func(string) bool, string) (rtl.Kind, bool) {
	return []func(func(string) bool, string) (rtl.Kind, bool){libomp.Recognize, libgomp.Recognize, foreign.Recognize}
}

func openLibomp(t callbacks.Target, first handles.Stamp, o Options) ([]rtl.Runtime, error) {
	return libomp.Open(t, first, o.layout())
}

func openLibgomp(t callbacks.Target, first handles.Stamp, o Options) ([]rtl.Runtime, error) {
	return libgomp.Open(t, first, o.layout())
}

// openForeign opens the modules that none of the others reads.
func openForeign(t callbacks.Target, first handles.Stamp, _ Options) ([]rtl.Runtime, error) {
	return foreign.Open(t, first, func(mod *callbacks.Module) bool {
		defines := func(symbol string) bool {
			_, err := layout.SymbolIn(t, mod, symbol)
			return err == nil
		}
		for _, recognize := range recognizers()[:len(recognizers())-1] {
			if _, ok := recognize(defines, mod.Path); ok {
				return true
			}
		}
		return false
	})
}

// ErrNoRuntime says that a target has no OpenMP runtime that this library reads.
// It is callbacks.Incompatible.
var ErrNoRuntime = fmt.Errorf("no OpenMP runtime in this target: %w", callbacks.Incompatible)

// Open finds every OpenMP runtime in target t and makes one address space of
// each. Errors of runtimes that are there but cannot be read, or that the program
// has not used yet (callbacks.Unavailable), are joined beside those that can. A
// target without any runtime is callbacks.Incompatible.
func Open(t callbacks.Target, o Options) ([]*Process, error) {
	var ps []*Process
	var errs []error
	for _, open := range families() {
		rts, err := open(t, handles.Stamp{Space: uint16(len(ps) + 1), Epoch: o.Epoch}, o)
		for _, rt := range rts {
			ps = append(ps, newProcess(rt, t))
		}
		errs = append(errs, err)
	}
	err := errors.Join(errs...)
	if err == nil && len(ps) == 0 {
		err = ErrNoRuntime
	}
	return ps, err
}

// Recognize tells which kind of runtime a module holds that defines these symbols
// and lies at path, before anything of a target is read; not ok if it holds none
// that this library knows.
func Recognize(defines func(symbol string) bool, path string) (rtl.Kind, bool) {
	for _, recognize := range recognizers() {
		if k, ok := recognize(defines, path); ok {
			return k, true
		}
	}
	return rtl.Kind{}, false
}

// RecognizeStripped tells which kind of runtime an executable without symbols has
// linked in, by texts in its constant data; not ok if it has none that this library
// knows.
func RecognizeStripped(contains func(text string) bool) (rtl.Kind, bool) {
	return libgomp.RecognizeStripped(contains)
}

// recoverSymbols recovers what each kind of runtime has. Only LLVM's describes
// itself to OMPD: GCC's has neither variables nor functions for it, and no OMPD
// library would find in it what it asks for.
func recoverSymbols(t callbacks.Target) ([]ModuleSymbols, error) {
	mods, err := libomp.Find(t)
	if err != nil {
		return nil, err
	}
	all, err := recoverModules(mods, func(mod *callbacks.Module) ([]rtl.Symbol, error) { return libomp.Symbols(t, mod) })
	others, findErr := libgomp.Find(t)
	if len(all) == 0 && len(others) > 0 {
		err = errors.Join(err, fmt.Errorf("%s: GCC's runtime has nothing for OMPD libraries, stripped or not, so that there is no symbol to give back: %w", others[0].Path, callbacks.Unsupported))
	}
	return all, errors.Join(err, findErr)
}
