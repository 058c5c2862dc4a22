package locate

import (
	"errors"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/code/symbolic"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layoutcode"
)

// codeSource is the source for variables that the runtime's accessors read or its settings printer prints.
type codeSource struct {
	*layoutcode.Code
	settings *settingSource
}

// newCodeSource returns the source. The paths of accessors start from an element of __kmp_threads.
func newCodeSource(t callbacks.Target, mod *callbacks.Module) codeSource {
	code := layoutcode.New(t, mod, &layoutcode.Rules{
		Rules: codeRules, Root: "kmp_base_info_t", Pointees: pointees, Elements: []string{"t_threads"},
		Start: findThreads,
	})
	return codeSource{code, newSettingSource(t, mod, code)}
}

// Global returns the address of a variable that an accessor returns or that contains a setting.
func (s codeSource) Global(name string) (uint64, error) {
	a, err := s.Code.Global(name)
	if errors.Is(err, layout.ErrUnknown) {
		return s.settings.setting(name)
	}
	return a, err
}

// findThreads finds the array of all threads, and the function that returns the caller's number: omp_get_level
// calls it.
func findThreads(s *layoutcode.Code) (layoutcode.Start, error) {
	paths, err := s.Run("omp_get_level", false)
	if err != nil {
		return layoutcode.Start{}, err
	}
	for _, p := range paths {
		for _, e := range p.Returned() {
			if c, ok := s.Chain(e); ok && ofThread(c) && len(p.Calls) > 0 {
				return startFrom(c.Root.Address, p.Calls[0].Entry), nil
			}
		}
	}
	return layoutcode.Start{}, layout.ErrUnknown
}

func startFrom(threads, gtid uint64) layoutcode.Start {
	return layoutcode.Start{Global: "__kmp_threads", Value: threads, Opaque: gtid,
		Steps: func(c symbolic.Chain) []symbolic.Step {
			if c.Root.Address != threads || !ofThread(c) {
				return nil
			}
			return c.Steps[2:]
		}}
}

// ofThread reports whether a chain starts from an element of an array of pointers
// that a global variable points to.
func ofThread(c symbolic.Chain) bool {
	return c.Root.Kind == symbolic.RootGlobal && len(c.Steps) >= 2 && c.Steps[0].IsPointer() &&
		c.Steps[1].Index != nil && c.Steps[1].Offset == 0 && c.Steps[1].Size == 8
}
