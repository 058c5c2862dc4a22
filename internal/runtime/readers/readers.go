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

// drivers returns the readers of runtimes. A module that several recognize is read by the first; the last reads
// any other runtime that exports the functions of the standard.
func drivers() []rtl.Driver {
	return []rtl.Driver{libomp.Driver(), libgomp.Driver(), foreign.Driver()}
}

// Reads lists the runtimes that this library reads, and the kinds of programs.
func Reads() string {
	var all []string
	for _, d := range drivers() {
		all = append(all, d.Reads)
	}
	return strings.Join(all, ", ") + "; x86-64 Linux"
}

// ErrNoRuntime means that a target has no OpenMP runtime that this library reads. It is callbacks.Incompatible.
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

// errLost means that a runtime could not be read without its file.
var errLost = fmt.Errorf("the file is not at hand, and the memory alone does not show the runtime: %w",
	callbacks.Incompatible)

// lost returns the errors of runtimes that are known only by the names of their files: the files are missing,
// and the memory does not show their contents.
func lost(t callbacks.Target, opened []rtl.Runtime, errs []error) []error {
	lister, ok := t.(callbacks.ModuleLister)
	if !ok {
		return nil
	}
	mods, _ := lister.Modules() // errors in them were reported before
	var out []error
	for _, mod := range mods {
		if mod.Image != nil || !isRuntimeFile(path.Base(mod.Path)) || isKnown(mod, opened, errs) {
			continue
		}
		out = append(out, fmt.Errorf("OpenMP runtime in %s: %w", mod.Path, &rtl.Unread{Module: mod, Err: errLost}))
	}
	return out
}

// isRuntimeFile reports whether a file has the name of a runtime.
func isRuntimeFile(name string) bool {
	return slices.ContainsFunc(drivers(), func(d rtl.Driver) bool {
		return slices.ContainsFunc(d.Files, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
	})
}

// isKnown reports whether the runtime in a module was opened or has an error.
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

// refused reports whether the driver that recognizes a module could not read it, since its layout is unknown.
// The results of its own functions are then used instead.
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

// Recognize returns the kind of the runtime in a module with these symbols at path, before the target is read.
// It returns false if the module contains no runtime that this library reads.
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

// RecognizeStripped returns the kind of the runtime that is linked into an executable without symbols, by texts
// in its constant data. It returns false if the executable contains no runtime that this library reads.
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

// Classify returns the family of the runtime in a module, by its symbols or, if it is a stripped executable, by its
// texts. ok is false for a module without a runtime that this library reads.
func Classify(defines, contains func(string) bool) (family string, ok bool) {
	k, ok := Recognize(defines, "")
	if !ok {
		k, ok = RecognizeStripped(contains)
	}
	return k.Family, ok
}
