package inspect

import "github.com/ompd-inspect/ompd-inspect/rtl"

// Lost are threads that a runtime counts on and that the process does not have.
type Lost struct {
	Runtime  string // ID of the runtime
	Count    int
	Waiting  []int // LWPs of the threads that wait for them
	Evidence string
}

// Lost tells of the threads that runtimes have lost, as in a child after fork. A
// runtime that starts anew in the child has lost none.
func (in *Inspector) Lost() []Lost {
	var out []Lost
	for _, rt := range in.runtimes {
		r, ok := rt.Runtime.(rtl.LossReader)
		if !ok {
			continue
		}
		if l := r.LostThreads(in.evidenceOf); l.Count > 0 {
			out = append(out, Lost{Runtime: rt.id, Count: l.Count, Waiting: in.lwps(l.Waiting), Evidence: l.Evidence})
		}
	}
	return out
}
