package session

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
)

// known keeps what stays true from one pass of a look to the next, as long as the modules
// are the same: what was read of their files and what their code told.
type known struct {
	mods []*callbacks.Module
	sym  *symbolize.Symbolizer
	code layout.Kept

	memory    *budget.Ledger // of the symbolizer
	functions inspect.Functions
}

// keptMax bounds what is kept of files from one look to the next, in bytes.
const keptMax = 64 << 20

// Keep has what is read of the files of the program, and what their code tells, stay until the next look, up to 64 MB:
// for who looks at one target again and again. It stays as long as the program has the same modules, and counts for the
// target's limit of memory.
func (t *Target) Keep() { t.keeps = true }

// takeKept is what the last look has kept, or nothing yet. Its memory is a part of the target's if it is to be kept,
// else
// of the look's.
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

// Close ends the use of the symbolizer.
func (k *known) Close() error {
	if k.sym == nil {
		return nil
	}
	err := k.sym.Close()
	k.sym = nil
	k.memory.Close()
	return err
}

// sortErrors parts runtimes that the program has not used yet from what else is worth a
// warning.
func sortErrors(errs ...error) (warnings []error, dormant []*rtl.Dormant) {
	for _, err := range flat(errors.Join(errs...)) {
		var d *rtl.Dormant
		switch {
		case errors.As(err, &d):
			dormant = append(dormant, d)
		case errors.Is(err, readers.ErrNoRuntime): // the header says so
		default:
			warnings = append(warnings, err)
		}
	}
	return warnings, dormant
}

// flat takes joined errors apart.
func flat(err error) []error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		if err == nil {
			return nil
		}
		return []error{err}
	}
	var out []error
	for _, e := range joined.Unwrap() {
		out = append(out, flat(e)...)
	}
	return out
}
