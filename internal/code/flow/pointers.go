package flow

import (
	"slices"

	"github.com/ompd-inspect/ompd-inspect/internal/code/lift"
	"github.com/ompd-inspect/ompd-inspect/internal/code/symbolic"
)

// ThreadPointersAt returns the addresses of the thread-local words, by the pointer of the thread, from which the
// pointers were loaded by which the instruction at pc accesses memory.
func (f *Function) ThreadPointersAt(pc, threadPointer uint64) (out []uint64) {
	env := symbolic.Env{Mem: f.x.Mem, ThreadPointer: threadPointer}
	base := symbolic.Leaf(symbolic.KindTLSBase, 0)
	for _, e := range f.pointersAt(pc) {
		if addr, err := symbolic.Eval(e, env); err == nil && threadPointer != 0 && e.Contains(base) {
			out = append(out, addr)
		}
	}
	return out
}

// pointersAt returns the addresses from which the pointers were loaded by which the instruction at pc accesses memory.
func (f *Function) pointersAt(pc uint64) []*symbolic.Expr {
	f.ensureSolved()
	i, ok := f.instAt(pc)
	if !ok || f.blocks[f.owner[i]].in == nil {
		return nil
	}
	var out []*symbolic.Expr
	s := f.stateAt(i).Fork()
	for k := range f.insts[i].Uops {
		u := &f.insts[i].Uops[k]
		switch {
		case u.Leaves():
			return out
		case u.Code == lift.UopLoad || u.Stores():
			if e, ok := s.Value(u.A).PointerFrom(); ok && !slices.ContainsFunc(out, e.Equal) {
				out = append(out, e)
			}
		}
		s.Apply(u)
	}
	return out
}
