package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// misplacedBarriers finds threads that wait at a barrier in a construct that may have none,
// where no verdict says so that it hangs.
func misplacedBarriers(d *drawer) []picture.Verdict {
	var out []picture.Verdict
	told := map[picture.ID]bool{}
	for _, lwp := range d.order {
		w := d.waits[lwp]
		in := withinOf(d.index, w)
		if in == nil || in.Uncertain || d.reported[lwp] || told[w.Region] {
			continue
		}
		told[w.Region] = true
		v := picture.Verdict{
			Kind: picture.VerdictIllegalBarrier, Severity: picture.SeverityWarning, Certainty: picture.Certain,
			Threads: []int{lwp}, Region: w.Region,
		}
		tellMisplaced(&v, waitsWithin(d.index, w, in))
		v.Evidence = []string{"by the code on the thread's stack"}
		out = append(out, v)
	}
	return out
}

// barrierOf is what is known of the barrier that a thread waits at; nil if nothing is.
func barrierOf(x *index, w *picture.Wait) *picture.Barrier {
	i := slices.IndexFunc(x.facts.Barriers, func(b picture.Barrier) bool { return b.ID == w.Barrier })
	if i < 0 {
		return nil
	}
	return &x.facts.Barriers[i]
}

// withinOf is the construct that a thread waits in at a barrier, if it may have none.
func withinOf(x *index, w *picture.Wait) *picture.Construct {
	b := barrierOf(x, w)
	if b == nil {
		return nil
	}
	i := slices.IndexFunc(b.Misplaced, func(m picture.Misplaced) bool { return m.Thread == w.Thread })
	if i < 0 {
		return nil
	}
	return &b.Misplaced[i].Construct
}

// misplaced makes a verdict on threads that wait for each other one on a barrier in a
// construct that may have none: that in which one of them waits, or if they are members of
// one team at different barriers, one in the code of their region.
func misplaced(x *index, v *picture.Verdict) {
	team := x.oneTeam(v.Cycle)
	for _, s := range v.Cycle {
		w := x.waits[s.Thread]
		if in := withinOf(x, w); in != nil && (team || !in.Uncertain) {
			v.Region = w.Region
			tellMisplaced(v, waitsWithin(x, w, in))
			return
		}
	}
	atExplicit := func(s picture.CycleStep) bool {
		t := x.threads[s.Thread]
		return t != nil && t.State != nil && t.State.Name == picture.StateBarrierExplicit
	}
	if team && !slices.ContainsFunc(v.Cycle, atExplicit) { // where that one is, is the mistake
		misplacedInCode(x, v)
	}
}

// waitsWithin says at which barrier a thread waits, and in which construct.
func waitsWithin(x *index, w *picture.Wait, in *picture.Construct) string {
	return fmt.Sprintf("%s waits %s, in %s", x.who(w.Thread), x.whichBarrier(w.Thread), constructText(in))
}

// misplacedInCode makes a verdict on members of one team at different barriers one on the
// barriers in constructs that the code of their region has.
func misplacedInCode(x *index, v *picture.Verdict) {
	var what []string
	for _, s := range v.Cycle {
		b := barrierOf(x, x.waits[s.Thread])
		if b == nil {
			continue
		}
		for _, m := range b.Misplaced {
			text := "a barrier is in " + constructText(&m.Construct)
			if m.Frame != nil && m.Frame.Line != 0 {
				text = fmt.Sprintf("the barrier at %s is in ", m.Frame.Place())
				text += constructText(&m.Construct)
			}
			if m.Thread == 0 && !waitsAt(x, v, m.Frame) && !slices.Contains(what, text) {
				what = append(what, text)
			}
		}
	}
	if len(what) > 0 {
		v.Region, v.Evidence = x.waits[v.Threads[0]].Region, append(what, v.Evidence...)
		tellMisplaced(v, v.Summary+": "+phrase.Clauses(what, maxNamed, len(what)))
	}
}

// waitsAt reports whether a thread of the cycle waits at a barrier that is also called from a
// construct that may have none: it is in none, and where it is says nothing of the other call.
func waitsAt(x *index, v *picture.Verdict, barrier *picture.Frame) bool {
	return barrier != nil && barrier.Line != 0 && slices.ContainsFunc(v.Cycle, func(s picture.CycleStep) bool {
		f, ok := innermost(x.frames(s.Thread))
		return ok && f.File == barrier.File && f.Line == barrier.Line
	})
}

// tellMisplaced writes what is wrong with a barrier in a construct.
func tellMisplaced(v *picture.Verdict, summary string) {
	v.Kind, v.Summary = picture.VerdictIllegalBarrier, summary
	v.Explanation = strings.TrimSpace("OpenMP allows no barrier there: the threads of the team do not all come to " +
		"it, or not equally often. " + v.Explanation)
	v.Fix = "move the barrier, or the call of the function that has it, out of the construct, to where all threads " +
		"of the team come"
}

// constructText is "the critical construct at x.c:12, by the call at x.c:14".
func constructText(c *picture.Construct) string {
	name := "the " + c.Name + " construct"
	if c.Uncertain {
		name = "code for thread 0 alone (a master construct, or a condition on omp_get_thread_num())"
	}
	if c.Frame != nil && c.Frame.Line != 0 {
		name += " at " + c.Frame.Place()
	}
	if c.Call != nil && c.Call.Line != 0 {
		name += ", by the call at " + c.Call.Place()
	}
	return name
}
