package diagnose

import (
	"fmt"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/inspect"
)

// freedLocks finds threads that wait for a lock that is none any more: its memory
// was freed, or the runtime has destroyed it.
func freedLocks(g *graph) []inspect.Verdict {
	var out []inspect.Verdict
	told := map[uint64]bool{}
	for _, lwp := range g.order {
		w, l := g.waits[lwp], g.locks[lwp]
		if l == nil || l.Gone == "" || told[w.Address] {
			continue
		}
		told[w.Address] = true
		what := describe(g.target(w))
		v := inspect.Verdict{
			Kind: inspect.VerdictLockFreed, Severity: inspect.SeverityHang, Certainty: inspect.Likely, Threads: g.waitingFor(w),
			Evidence: []string{l.Gone},
			Cure:     "let no thread use a lock any more before it is destroyed, or before its memory is freed: wait for the threads first (a barrier, a taskwait, a join)",
		}
		v.Summary = fmt.Sprintf("%s for %s, whose memory was freed meanwhile", g.wait(v.Threads), what)
		if l.Overwritten {
			v.Summary = fmt.Sprintf("%s for %s, whose memory has something else in it now", g.wait(v.Threads), what)
		}
		v.Explanation = "Nobody may give back what is not there any more. What is in that memory now, or will be, may be taken for the lock, and written to."
		h, known := g.holderOfGone(w, l)
		switch {
		case l.Destroyed:
			v.Certainty = inspect.Certain
			v.Summary = fmt.Sprintf("%s for %s, which was destroyed meanwhile", g.wait(v.Threads), what)
			v.Explanation = "A lock that is destroyed forgets who waits for it: nobody will wake them."
		case h != 0 && !g.stuck[node{lwp: h}]:
			v.Severity, v.Certainty = inspect.SeverityWarning, inspect.Certain
			v.Evidence = append(v.Evidence, fmt.Sprintf("LWP %d %s", h, g.howHeld(l)))
			v.Explanation = g.who(h) + " has the lock and may still give it back, by writing to memory that is not the lock's any more."
		case !known:
			v.Certainty = inspect.Possible
			v.Explanation += " Whether a thread has the lock, and may still give it back by writing to that memory, is not known."
			others := g.others(w, l)
			for _, m := range others[:min(len(others), maxNamed)] {
				v.Evidence = append(v.Evidence, fmt.Sprintf("LWP %d: %s", m.LWP, m.Evidence))
			}
		case h == 0:
			v.Evidence = append(v.Evidence, "no thread shows that it has the lock")
		}
		g.behind(&v)
		out = append(out, v)
	}
	return out
}

// holderOfGone is the thread that has a lock which is none any more; 0 if none has, as
// the lock was destroyed, or as no stack shows it. It is not known if one may have it.
func (g *graph) holderOfGone(w inspect.Wait, l *inspect.Lock) (lwp int, known bool) {
	if l.Destroyed || l.Owner != 0 {
		return l.Owner, true
	}
	if h, ok := oneHolder(l.Holders); ok {
		return h.LWP, true
	}
	return 0, len(g.others(w, l)) == 0 && g.in.AllStacks()
}

// others are the threads that may have the lock that w waits for, and do not wait for
// it themselves.
func (g *graph) others(w inspect.Wait, l *inspect.Lock) []inspect.Holder {
	waiting := g.waitingFor(w)
	return slices.DeleteFunc(slices.Clone(l.Holders), func(h inspect.Holder) bool { return slices.Contains(waiting, h.LWP) })
}

// howHeld tells how the holder of such a lock is known.
func (g *graph) howHeld(l *inspect.Lock) string {
	if l.Owner != 0 {
		return "has it: " + l.Evidence
	}
	return l.Holders[0].Evidence
}
