package engine

import (
	"errors"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/guard/budget"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/readers"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/symbolize"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/unwind"
)

// known is the data that stays valid from one pass of a look to the next while the modules are the same: the contents
// of their files, and the results of reading their code.
type known struct {
	mods []*callbacks.Module
	sym  *symbolize.Symbolizer
	unw  *unwind.Unwinder
	code layout.Kept

	memory    *budget.Ledger // of the symbolizer and the unwinder
	functions inspect.Functions
}

// keptMax limits the data that is kept from one look to the next, in bytes.
const keptMax = 64 << 20

// KeepFiles makes each look keep, for the next one, up to 64 MB of data about the program's files and their code.
// That saves time if one target is looked at repeatedly. The data is dropped when the program's modules change, and
// counts for the target's memory limit.
func (t *Target) KeepFiles() { t.keeps = true }

// takeKept returns the data that the last look has kept, or an empty known. Its memory is a part of the target's if
// it will be kept, otherwise of the look's.
func (t *Target) takeKept(look *budget.Ledger) *known {
	switch k := t.kept; {
	case k != nil:
		t.kept = nil
		return k
	case t.keeps:
		return &known{memory: t.memory.Look()}
	}
	return &known{memory: look.Part()}
}

// keep keeps k for the next look, and reports whether it did.
func (t *Target) keep(k *known) bool {
	if !t.keeps || t.kept != nil || k.sym == nil || k.memory.Err() != nil || k.memory.HeldBytes() > keptMax {
		return false
	}
	t.kept = k
	return true
}

// symbolizer returns the symbolizer of mods.
func (k *known) symbolizer(mods []*callbacks.Module, o Options) (*symbolize.Symbolizer, error) {
	if k.sym != nil && slices.Equal(k.mods, mods) {
		return k.sym, nil
	}
	if err := k.Close(); err != nil {
		return nil, err
	}
	opts := symbolize.Options{DebugDirs: o.DebugDirs, Sysroot: o.Sysroot, Open: o.Open, Memory: k.memory,
		NoDebug: o.NoDebug}
	opts.Debuginfod = symbolize.Debuginfod{URLs: o.Debuginfod, Timeout: symbolize.ServerTimeout}
	k.mods, k.sym, k.functions = slices.Clone(mods), symbolize.New(mods, opts), inspect.Functions{}
	return k.sym, nil
}

// unwinder returns the unwinder of mods for t, after symbolizer was called with them.
func (k *known) unwinder(t callbacks.Target, mods []*callbacks.Module) *unwind.Unwinder {
	if k.unw == nil {
		k.unw = unwind.New(t, t.Arch(), mods).WithMemory(k.memory)
		return k.unw
	}
	return k.unw.Retarget(t)
}

// Close closes the symbolizer.
func (k *known) Close() error {
	if k.sym == nil {
		return nil
	}
	err := k.sym.Close()
	k.sym, k.unw = nil, nil
	k.memory.Close()
	return err
}

// sortErrors separates the runtimes that the program has not used yet from the errors that deserve a warning.
func sortErrors(errs ...error) (warnings []error, dormant []*rtl.Dormant) {
	for _, err := range flatten(errors.Join(errs...)) {
		var d *rtl.Dormant
		switch {
		case errors.As(err, &d):
			dormant = append(dormant, d)
		case errors.Is(err, readers.ErrNoRuntime): // the header of a report contains it
		default:
			warnings = append(warnings, err)
		}
	}
	return warnings, dormant
}

// flatten returns the parts of joined errors.
func flatten(err error) []error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		if err == nil {
			return nil
		}
		return []error{err}
	}
	var out []error
	for _, e := range joined.Unwrap() {
		out = append(out, flatten(e)...)
	}
	return out
}
