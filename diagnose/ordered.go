package diagnose

import (
	"fmt"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// unorderedFix is the fix of a loop without an ordered clause.
const unorderedFix = "write the clause on the loop (#pragma omp for ordered, !$omp do ordered), or remove the " +
	"ordered construct"

// isUnordered reports whether a thread waits for its turn in an ordered region of a loop without an ordered clause.
func isUnordered(w *picture.Wait, l *picture.Lock) bool {
	return l != nil && w.Kind == picture.WaitOrdered && l.NeverLock
}

// findUnordered returns, for each region, the verdict on threads that wait for their turn in an ordered region of a
// loop without an ordered clause, and that no thread can let in.
func findUnordered(d *dependencies, c *covered) []picture.Verdict {
	var out []picture.Verdict
	of := map[picture.ID]int{} // index of the verdict on a region
	for _, lwp := range d.order {
		w, l := d.waits[lwp], d.locks[lwp]
		if !isUnordered(w, l) || c.threads[lwp] || !d.isStuck(lwp) || !isForTurn(d, lwp) {
			continue
		}
		i, known := of[w.Region]
		if !known {
			i = len(out)
			of[w.Region], out = i, append(out, newVerdict(picture.VerdictDoacrossStuck, picture.Certain))
			out[i].Region = w.Region
		}
		v := &out[i]
		v.Threads, v.Certainty = append(v.Threads, lwp), v.Certainty.Weaker(d.certainty(node{lwp: lwp}))
		if len(v.Evidence) < maxNamed {
			v.Evidence = append(v.Evidence, fmt.Sprintf("%s waits%s: %s; %s", d.threadName(lwp),
				innermostPlace(d.frames(lwp)), l.InvalidReason, l.Evidence))
		}
	}
	for i := range out {
		v := &out[i]
		for _, lwp := range v.Threads {
			c.addRing(d.rings[node{lwp: lwp}])
		}
		v.Summary = fmt.Sprintf("%s for a turn in an ordered construct that no thread will pass on: the loop has no "+
			"ordered clause", d.threadsWait(v.Threads))
		v.Explanation = "Without the clause, the runtime does not pass the turn from iteration to iteration."
		v.Fix = unorderedFix
		d.addBlocked(v)
	}
	return out
}

// isForTurn reports whether a thread is stuck because of such turns, and of the barriers behind them, alone.
func isForTurn(d *dependencies, lwp int) bool {
	l, r := d.locks[lwp], d.rings[node{lwp: lwp}]
	if l.Owner == 0 {
		return true
	}
	other := func(n node) bool {
		w := d.waits[n.lwp]
		return w == nil || w.Kind != picture.WaitBarrier && !isUnordered(w, d.locks[n.lwp])
	}
	return slices.Contains(r.nodes, node{lwp: l.Owner}) && !slices.ContainsFunc(r.nodes, other)
}

// unorderedTitle returns the heading of a verdict on a loop without an ordered clause; "" for other verdicts.
func unorderedTitle(v *picture.Verdict) string {
	if v.Kind == picture.VerdictDoacrossStuck && v.Fix == unorderedFix {
		return "NO ORDERED CLAUSE"
	}
	return ""
}
