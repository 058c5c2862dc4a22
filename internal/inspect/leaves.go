package inspect

import (
	"cmp"

	"github.com/ompd-inspect/ompd-inspect/internal/inspect/stacks"
	"github.com/ompd-inspect/ompd-inspect/internal/lockflow"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/symbolize"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// leaves are the places where the code that acquires the lock which w waits for goes on
// without releasing it.
func (lh *lockHolders) leaves(w wait, family string, waiting map[int]bool) []picture.Leak {
	var waiters []*lockflow.Thread
	for _, n := range lh.roster.sorted() {
		if waiting[n.LWP] {
			waiters = append(waiters, lh.flows.Thread(&n.Thread))
		}
	}
	var out []picture.Leak
	seen := map[picture.Frame]bool{}
	for _, d := range lh.look.Departures(lockflow.Lock{Family: family, Address: w.variable}, waiters) {
		l := picture.Leak{Frame: lh.departure(d), ExitCall: symbolize.Demangle(d.Throws)}
		if key := (picture.Frame{File: l.Frame.File, Line: l.Frame.Line}); l.Frame.Line != 0 && !seen[key] {
			seen[key] = true
			out = append(out, l)
		}
	}
	return out
}

// departure is where code goes on without releasing a lock: the line to which its branch
// leads, if nothing else leads there, else that of the branch.
func (lh *lockHolders) departure(d lockflow.Departure) picture.Frame {
	at := func(pc uint64, exact bool) picture.Frame {
		fs := lh.code.FramesAt(pc, exact)
		return fs[stacks.ProgramFrame(fs)]
	}
	if d.Call != 0 {
		return at(d.Call, false)
	}
	branch := at(d.Branch, true)
	if d.Target == 0 {
		return branch
	}
	target := at(d.Target, true)
	if cmp.Or(target.File, branch.File) != branch.File || target.Function != branch.Function ||
		target.Line <= branch.Line {
		return branch // the target's line belongs to what comes after it
	}
	return target
}
