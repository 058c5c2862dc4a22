package ompd

import (
	"debug/dwarf"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/foreign"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/libgomp"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/libomp"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
)

// This file is the only one that names runtimes.

// Options say how to open the runtimes of a target. The zero value suits a core.
type Options struct {
	// Epoch is the number of the target's stop; handles of another are stale.
	Epoch uint32
	// Sources names the layout sources that may answer: symbols, memory,
	// debuginfo, code, table. Empty means all.
	Sources []string
	// Without names releases whose rows in the tables of layouts do not count.
	Without []string
	// Debug gives the debug information of a module, if there is any. It is
	// called at most once for each, and only if something is asked of it; nil
	// means that there is none.
	Debug func(*callbacks.Module) (*dwarf.Data, error)
	// Kept has what was found out about runtimes when the same process was opened
	// before; nil keeps nothing.
	Kept *Kept
	// Functions lists where the functions of a module begin and end, by address; nil stands
	// for none. It is asked for executables without symbols.
	Functions func(*callbacks.Module) [][2]uint64
}

func (o Options) layout() layout.Options {
	return layout.Options{
		Only: o.Sources, Without: o.Without, Debug: o.Debug, Kept: o.Kept, Functions: o.Functions,
	}
}

// Kept keeps what was found out about runtimes, from one Open to the next of the same
// process. The zero value is empty. It is not for concurrent use.
type Kept = layout.Kept

// drivers are the readers of runtimes that this library knows. A module that several
// recognise is read by the first; the last takes whatever else answers the functions
// of the standard.
func drivers() []rtl.Driver {
	return []rtl.Driver{libomp.Driver(), libgomp.Driver(), foreign.Driver()}
}

// Reads says which runtimes this library reads, and of which programs.
func Reads() string {
	var all []string
	for _, d := range drivers() {
		all = append(all, d.Reads)
	}
	return strings.Join(all, ", ") + "; x86-64 Linux"
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
	all := drivers()
	for i, d := range all {
		taken := func(mod *callbacks.Module) bool {
			_, ok := recognize(all[:i], func(symbol string) bool {
				_, err := layout.SymbolIn(t, mod, symbol)
				return err == nil
			}, mod.Path)
			return ok && !refused(mod, ps, errs)
		}
		first := handles.Stamp{Space: uint16(len(ps) + 1), Epoch: o.Epoch}
		rts, err := d.Open(t, first, rtl.Options{Options: o.layout(), Taken: taken})
		for _, rt := range rts {
			ps = append(ps, newProcess(rt, t))
		}
		errs = append(errs, err)
	}
	errs = append(errs, lost(t, ps, errs)...)
	err := errors.Join(errs...)
	if err == nil && len(ps) == 0 {
		err = ErrNoRuntime
	}
	return ps, err
}

// errLost is why a runtime whose file is not at hand could not be read.
var errLost = fmt.Errorf("the file is not at hand, and the memory alone does not show the runtime: %w",
	callbacks.Incompatible)

// lost are the errors of runtimes that only the names of their files tell: these are not at hand,
// and nothing in memory shows what is in them.
func lost(t callbacks.Target, ps []*Process, errs []error) []error {
	lister, ok := t.(callbacks.ModuleLister)
	if !ok {
		return nil
	}
	mods, _ := lister.Modules() // what is wrong with them was told
	var out []error
	for _, mod := range mods {
		if mod.Image != nil || !isRuntimeFile(path.Base(mod.Path)) || isKnown(mod, ps, errs) {
			continue
		}
		out = append(out, fmt.Errorf("OpenMP runtime in %s: %w", mod.Path, &rtl.Unread{Module: mod, Err: errLost}))
	}
	return out
}

// isRuntimeFile reports whether a file is called like a runtime.
func isRuntimeFile(name string) bool {
	return slices.ContainsFunc(drivers(), func(d rtl.Driver) bool {
		return slices.ContainsFunc(d.Files, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
	})
}

// isKnown reports whether the runtime in a module was opened, or there is an error of it.
func isKnown(mod *callbacks.Module, ps []*Process, errs []error) bool {
	for _, p := range ps {
		if m := p.rt.Identity().Module; m != nil && m.Low == mod.Low {
			return true
		}
	}
	return slices.ContainsFunc(errs, func(err error) bool {
		var d *rtl.Dormant
		return errors.As(err, &d) && d.Identity.Module != nil && d.Identity.Module.Low == mod.Low
	}) || refused(mod, ps, errs)
}

// refused reports whether the driver that recognizes a module could not read it: its
// layout is not known. What its own functions tell is then better than nothing.
func refused(mod *callbacks.Module, ps []*Process, errs []error) bool {
	for _, p := range ps {
		if m := p.rt.Identity().Module; m != nil && m.Low == mod.Low {
			return false
		}
	}
	return slices.ContainsFunc(errs, func(err error) bool {
		var unread *rtl.Unread
		return errors.As(err, &unread) && unread.Module.Low == mod.Low
	})
}

// Recognize tells which kind of runtime a module holds that defines these symbols
// and lies at path, before anything of a target is read; not ok if it holds none
// that this library knows.
func Recognize(defines func(symbol string) bool, path string) (rtl.Kind, bool) {
	return recognize(drivers(), defines, path)
}

func recognize(by []rtl.Driver, defines func(symbol string) bool, path string) (rtl.Kind, bool) {
	for _, d := range by {
		if k, ok := d.Recognize(defines, path); ok {
			return k, true
		}
	}
	return rtl.Kind{}, false
}

// RecognizeStripped tells which kind of runtime an executable without symbols has
// linked in, by texts in its constant data; not ok if it has none that this library
// knows.
func RecognizeStripped(contains func(text string) bool) (rtl.Kind, bool) {
	for _, d := range drivers() {
		if d.RecognizeStripped == nil {
			continue
		}
		if k, ok := d.RecognizeStripped(contains); ok {
			return k, true
		}
	}
	return rtl.Kind{}, false
}
