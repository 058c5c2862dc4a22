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
