// Package readers lists the readers of OpenMP runtimes and opens with them the runtimes of a target. It is the only
// package that names them.
package readers

import (
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

// Options control how the runtimes of a target are opened. The zero value suits a core.
type Options struct {
	layout.Options
	// Epoch is the number of the target's stop. Handles of another stop are stale.
	Epoch uint32
}

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

// Open opens every OpenMP runtime in target t. The error joins those of the runtimes that cannot be read, or that the
// program has not used yet (*rtl.Dormant, which is callbacks.Unavailable). It is ErrNoRuntime for a target without any
// runtime.
func Open(t callbacks.Target, o Options) ([]rtl.Runtime, error) {
	var opened []rtl.Runtime
	var errs []error
	all := drivers()
	for i, d := range all {
		taken := func(mod *callbacks.Module) bool {
			_, ok := recognize(all[:i], func(symbol string) bool {
				_, err := layout.SymbolIn(t, mod, symbol)
				return err == nil
			}, mod.Path)
			return ok && !refused(mod, opened, errs)
		}
		first := handles.Stamp{Space: uint16(len(opened) + 1), Epoch: o.Epoch}
		rts, err := d.Open(t, first, rtl.Options{Options: o.Options, Taken: taken})
		opened = append(opened, rts...)
		errs = append(errs, err)
	}
	errs = append(errs, lost(t, opened, errs)...)
	err := errors.Join(errs...)
	if err == nil && len(opened) == 0 {
		err = ErrNoRuntime
	}
	return opened, err
}

// errLost is why a runtime whose file is not at hand could not be read.
var errLost = fmt.Errorf("the file is not at hand, and the memory alone does not show the runtime: %w",
	callbacks.Incompatible)

// lost are the errors of runtimes that only the names of their files tell: these are not at hand,
// and nothing in memory shows what is in them.
func lost(t callbacks.Target, opened []rtl.Runtime, errs []error) []error {
	lister, ok := t.(callbacks.ModuleLister)
	if !ok {
		return nil
	}
	mods, _ := lister.Modules() // what is wrong with them was told
	var out []error
	for _, mod := range mods {
		if mod.Image != nil || !isRuntimeFile(path.Base(mod.Path)) || isKnown(mod, opened, errs) {
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
func isKnown(mod *callbacks.Module, opened []rtl.Runtime, errs []error) bool {
	for _, rt := range opened {
		if m := rt.Identity().Module; m != nil && m.Low == mod.Low {
			return true
		}
	}
	return slices.ContainsFunc(errs, func(err error) bool {
		var d *rtl.Dormant
		return errors.As(err, &d) && d.Identity.Module != nil && d.Identity.Module.Low == mod.Low
	}) || refused(mod, opened, errs)
}

// refused reports whether the driver that recognizes a module could not read it: its
// layout is not known. What its own functions tell is then better than nothing.
func refused(mod *callbacks.Module, opened []rtl.Runtime, errs []error) bool {
	for _, rt := range opened {
		if m := rt.Identity().Module; m != nil && m.Low == mod.Low {
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
