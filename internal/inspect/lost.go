package inspect

import (
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// lost finds the threads that runtimes have lost, as in a child after fork, and those that are ending. A
// runtime that is initialized again in the child has lost none.
func (s *states) lost() []picture.LostThreads {
	var out []picture.LostThreads
	for _, rt := range s.roster.runtimes {
		r, ok := rt.Runtime.(rtl.LossReader)
		if !ok {
			continue
		}
		if l := r.LostThreads(s.evidenceOf); l.Count > 0 || len(l.Ending) > 0 {
			out = append(out, picture.LostThreads{Runtime: rt.id, Count: l.Count, Ending: s.roster.lwps(l.Ending),
				Waiting: s.roster.lwps(l.Waiting), Evidence: l.Evidence})
		}
	}
	return out
}
