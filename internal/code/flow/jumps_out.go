package flow

import (
	"slices"

	"github.com/ompd-inspect/ompd-inspect/internal/code/lift"
	"github.com/ompd-inspect/ompd-inspect/internal/code/symbolic"
)

// JumpOut is a jump or branch out of a function: a tail call, or a way to a part of the function elsewhere.
type JumpOut struct {
	symbolic.Target
	After uint64 // address of the next instruction
}

// JumpsOut returns the jumps out of the function that show their target in one instruction. complete is false if the
// function may have others. It does not follow values.
func (f *Function) JumpsOut() (jumps []JumpOut, complete bool) {
	if f.ensureDecoded() != nil {
		return nil, false
	}
	complete = !f.Indirect
	for i := range f.insts {
		in := &f.insts[i]
		if !slices.ContainsFunc(in.Uops, isJump) {
			continue
		}
		t, ok := f.branchTarget(i)
		switch {
		case !ok, t.Entry == 0 && t.Slot == 0:
			complete = false
		case t.Entry == 0 || !f.isInside(t.Entry):
			jumps = append(jumps, JumpOut{t, in.end()})
		}
	}
	return jumps, complete
}

// isJump reports whether a micro-operation may transfer control without a return address.
func isJump(u lift.Uop) bool { return u.Code == lift.UopJump || u.Code == lift.UopBranch }

// JumpsByPointer reports whether a jump of the function may lead to another function whose address comes from memory
// or from a register. A jump through a table, as compilers make it for a switch, stays in the function.
func (f *Function) JumpsByPointer() bool {
	if f.ensureDecoded() != nil {
		return true
	}
	f.ensureFollowed()
	for b := range f.blocks {
		blk := &f.blocks[b]
		if !blk.table {
			continue
		}
		if blk.in == nil {
			return true
		}
		s := blk.in.Fork()
		for i := blk.first; i < blk.last-1; i++ {
			f.execute(s, i)
		}
		if !f.entersTable(s, f.insts[blk.last-1].Uops) {
			return true
		}
	}
	return false
}

// entersTable reports whether an instruction jumps to the sum of a fixed address and an offset of 32 bits that is
// read from memory, or to an address in the function that is read from a table.
func (f *Function) entersTable(s *symbolic.State, uops []lift.Uop) bool {
	t := s.Fork()
	for k := range uops {
		u := &uops[k]
		if leads(*u) {
			to := t.Value(u.A)
			return f.isOwnLabel(to) || to.Kind == symbolic.KindBinary && to.Op == lift.OpAdd &&
				(isTableEntry(to.A) && to.B.Kind == symbolic.KindGlobal ||
					isTableEntry(to.B) && to.A.Kind == symbolic.KindGlobal)
		}
		if !u.Leaves() {
			t.Apply(u)
		}
	}
	return false
}

// isTableEntry reports whether e is an entry of a table of offsets.
func isTableEntry(e *symbolic.Expr) bool {
	return e.Kind == symbolic.KindLoad && e.Size == 4 && e.Signed
}

// isOwnLabel reports whether e is an element of a jump table: the first element is an address inside the function. Code
// that is linked to a fixed address has such tables. The elements of a table of functions are the starts of functions.
func (f *Function) isOwnLabel(e *symbolic.Expr) bool {
	if e.Kind != symbolic.KindLoad || e.Size != 8 || e.A.Kind != symbolic.KindBinary || e.A.Op != lift.OpAdd {
		return false
	}
	table, ok := e.A.A.Address()
	if _, other := e.A.B.Address(); ok == other { // the index is not known
		return false
	} else if other {
		table, _ = e.A.B.Address()
	}
	label, err := symbolic.Env{Mem: f.x.Mem}.Word(table, 8, false)
	return err == nil && label != f.insts[0].pc && f.isInside(label)
}
