package locate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/code/symbolic"
	"github.com/ompd-inspect/ompd-inspect/internal/image/elfx"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
)

// recovery finds the symbols of one runtime.
type recovery struct {
	target callbacks.Target
	module *callbacks.Module
	memory *memorySource
	layout struct{ Globals Globals }
	list   []rtl.Symbol
}

// Symbols lists by name the symbols that OMPD libraries and debuggers look up in the runtime in mod, even if it
// is stripped: the OMPD description, the breakpoint locations, and the variables of the control variables. A
// symbol that was not found has an error. Without the description, the result is only an error.
func Symbols(t callbacks.Target, mod *callbacks.Module) ([]rtl.Symbol, error) {
	r := &recovery{target: t, module: mod, memory: newMemorySource(t, mod)}
	if err := r.description(); err != nil {
		return nil, err
	}
	if err := r.globals(); err != nil {
		return nil, err
	}
	if err := r.breakpoints(); err != nil {
		return nil, err
	}
	r.threadNumber()
	slices.SortStableFunc(r.list, func(a, b rtl.Symbol) int { return strings.Compare(a.Name, b.Name) })
	return r.list, nil
}

func (r *recovery) add(s rtl.Symbol) { r.list = append(r.list, s) }

func (r *recovery) fail(name string, err error) { r.add(rtl.Symbol{Name: name, Err: err}) }

// description names the words of the OMPD description.
func (r *recovery) description() error {
	evidence := "the runtime's OMPD description, found by its bit masks"
	r.memory.scan()
	if r.memory.scanErr != nil {
		evidence = "the runtime's OMPD description, found by the code that fills it"
		if err := r.memory.describedByCode(); err != nil {
			return fmt.Errorf("%w; %w", r.memory.scanErr, err)
		}
		r.memory.scanErr = nil
	}
	words := ompdWords()
	low := r.memory.globals[ompdGlobals()[0]].Add(-uint64(len(words)) * wordBytes)
	for i, w := range words {
		r.add(rtl.Symbol{Name: w.symbol(), Address: low.Add(uint64(i) * wordBytes), Size: wordBytes,
			Evidence: evidence})
	}
	for i, name := range ompdGlobals() {
		r.add(rtl.Symbol{Name: name, Address: low.Add(uint64(len(words)+i) * wordBytes), Size: wordBytes,
			Evidence: evidence})
	}
	return nil
}

// globals names the runtime's variables. Variables on which the sources disagree are omitted.
func (r *recovery) globals() error {
	sources := []layout.Source{newSymbolSource(r.target, r.module), r.memory, newCodeSource(r.target, r.module)}
	report, err := layout.Resolve(&r.layout, sources...)
	if err != nil {
		return err
	}
	settings, _ := layout.Resolve(&Settings{}, sources...) // each name has its own error
	for _, e := range slices.Concat(report.Entries, settings.Entries) {
		if slices.Contains(ompdGlobals(), e.Name) {
			continue
		}
		switch {
		case e.Err == nil:
			evidence := strings.Join(append([]string{e.Source}, e.Agreed...), ", ")
			r.add(rtl.Symbol{Name: e.Name, Address: callbacks.Addr(e.Global), Size: r.sizeOf(e.Name),
				Evidence: evidence})
		case asked(e.Name):
			r.fail(e.Name, e.Err)
		}
	}
	return nil
}

// asked reports whether OMPD libraries look a variable up: then the description has its size. There are two
// exceptions; __kmp_max_nth is described, but not looked up.
func asked(name string) bool {
	return slices.Contains(strings.Fields(ompdSizes), name) && name != "__kmp_max_nth" ||
		name == "__kmp_threads" || name == "__kmp_openmp_version"
}

// sizeOf returns the size of a variable in the description, or 0.
func (r *recovery) sizeOf(name string) uint64 { return r.memory.words[ompdWord{"sizeof", name, ""}] }

// breakpoints names the locations at which debuggers stop the runtime.
func (r *recovery) breakpoints() error {
	list, err := NewLocations(r.target, r.module, &r.layout.Globals).Breakpoints()
	if err != nil {
		return err
	}
	for _, b := range list {
		switch {
		case b.Address.IsNull() && !isStub(b.Name):
		case b.Address.IsNull():
			r.fail(b.Name, b.Err)
		case b.How != handles.BreakpointEquivalent:
			r.add(rtl.Symbol{Name: b.Name, Address: b.Address, Size: 1, Kind: rtl.SymbolFunction, Evidence: b.Evidence})
		}
	}
	return nil
}

// threadNumber names the thread-local number of the calling thread: omp_get_thread_num reads it first.
func (r *recovery) threadNumber() {
	const name = "__kmp_gtid"
	paths, err := newCodeSource(r.target, r.module).Run("omp_get_thread_num", false)
	if err != nil {
		r.fail(name, err)
		return
	}
	offsets := map[uint64]bool{}
	for _, p := range paths {
		for _, e := range p.Loads {
			c, ok := e.Chain()
			if !ok || len(c.Steps) != 1 || c.Last().Size != 4 {
				continue
			}
			off, known, err := r.threadOffset(c.Root)
			if err != nil {
				r.fail(name, err)
				return
			}
			if !known {
				continue
			}
			offsets[off+c.Steps[0].Offset] = true
		}
	}
	if len(offsets) != 1 {
		r.fail(name, fmt.Errorf("omp_get_thread_num reads %d thread-local variables: %w", len(offsets),
			layout.ErrUnknown))
	}
	for off := range offsets {
		r.add(rtl.Symbol{Name: name, Address: callbacks.Addr(off), Size: r.sizeOf(name), Kind: rtl.SymbolThread,
			Evidence: "read by omp_get_thread_num"})
		return
	}
}

// threadOffset returns the offset of the thread-local variable at the root of a path, in the block of its module; not
// known for other roots.
func (r *recovery) threadOffset(root symbolic.Root) (off uint64, known bool, err error) {
	switch root.Kind {
	case symbolic.RootTLSVar:
		// The two words at the root are the number of the module and the offset, for __tls_get_addr.
		off, err = layout.ReadUint(r.target, callbacks.Addr(root.Address+wordBytes), wordBytes)
		return off, true, err
	case symbolic.RootTLSSlot:
		// The words of a descriptor do not contain the offset; its relocation does.
		if r.module.Image == nil {
			return 0, true, fmt.Errorf("%w: its place is in the relocations of the missing file", layout.ErrUnknown)
		}
		f, err := elfx.Open(r.module.Image)
		if err != nil {
			return 0, true, err
		}
		off, err = f.ThreadOffset(root.Address - r.module.Bias)
		return off, true, err
	}
	return 0, false, nil
}
