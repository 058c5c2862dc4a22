package libgomp

import (
	"fmt"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/code/symbolic"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layoutcode"
)

// teamInThread is the offset of ts.team in gomp_thread: in every release it follows the two pointers fn and
// data. If the linker has relaxed accesses through gomp_tls_data to accesses relative to the thread pointer,
// this offset gives the difference.
const teamInThread = 16

// newCodeSource returns the source that reads the code of the runtime's accessors. The access paths start at
// gomp_tls_data: omp_get_num_threads reads ts.team there, and the number of threads in that team.
func newCodeSource(t callbacks.Target, mod *callbacks.Module) *layoutcode.Code {
	return layoutcode.New(t, mod, &layoutcode.Rules{
		Rules: codeRules, Root: "gomp_thread", Pointees: pointees,
		Start: func(s *layoutcode.Code) (layoutcode.Start, error) { return findTLS(t, s) },
	})
}

func findTLS(t callbacks.Target, s *layoutcode.Code) (layoutcode.Start, error) {
	for _, through := range []bool{false, true} {
		paths, err := s.Run("omp_get_num_threads", through)
		if err != nil {
			return layoutcode.Start{}, err
		}
		for _, p := range paths {
			for _, e := range p.Returned() {
				if c, ok := e.Chain(); ok && len(c.Steps) == 2 && c.Steps[0].Size == 8 {
					if start, ok, err := startFrom(t, c); ok {
						return start, err
					}
				}
			}
		}
	}
	return layoutcode.Start{}, fmt.Errorf("%w: omp_get_num_threads reads no thread-local variable at a fixed "+
		"distance from the thread pointer", layout.ErrUnknown)
}

// startFrom converts the root of a path to ts.team to a start at gomp_tls_data, if the root is the thread
// pointer or an offset that the loader has written to a word.
func startFrom(t callbacks.Target, team symbolic.Chain) (start layoutcode.Start, ok bool, err error) {
	start.Global = "gomp_tls_data"
	switch root := team.Root; root.Kind {
	case symbolic.RootTLS:
		start.Value = team.Steps[0].Offset - teamInThread
		start.Steps = func(c symbolic.Chain) []symbolic.Step {
			if c.Root.Kind != symbolic.RootTLS {
				return nil
			}
			steps := slices.Clone(c.Steps)
			steps[0].Offset -= start.Value
			return steps
		}
	case symbolic.RootTLSSlot:
		start.Value, err = layout.ReadUint(t, callbacks.Addr(root.Address), 8)
		if err == nil && start.Value == 0 {
			err = fmt.Errorf("%w: the loader has not filled the word for gomp_tls_data at %#x", layout.ErrUnknown,
				root.Address)
		}
		start.Steps = func(c symbolic.Chain) []symbolic.Step {
			if c.Root.Kind != root.Kind || c.Root.Address != root.Address {
				return nil
			}
			return c.Steps
		}
	default:
		return start, false, nil
	}
	return start, true, err
}
