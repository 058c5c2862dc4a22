package text

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/internal/print/waitgraph"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// maxEnds is how many ends of chains of waits are printed.
const maxEnds = 3

// chainEnd is what threads do for which others wait in the end, or for which none waits.
type chainEnd struct {
	threads []*picture.Thread
	does    string
	holds   string
	waiters map[int]bool
}

// endLines says in one line each what all wait for in the end: the threads that wait for no other one, what they
// do, and what they hold.
func endLines(pic *picture.Picture) []string {
	var list []*chainEnd
	for _, e := range endsOf(pic) {
		i := slices.IndexFunc(list, func(o *chainEnd) bool { return o.does == e.does && o.holds == e.holds })
		if i < 0 {
			list = append(list, e)
			continue
		}
		list[i].threads = append(list[i].threads, e.threads...)
		for lwp := range e.waiters {
			list[i].waiters[lwp] = true
		}
	}
	slices.SortStableFunc(list, func(a, b *chainEnd) int {
		return cmp.Or(cmp.Compare(len(b.waiters), len(a.waiters)), cmp.Compare(len(b.threads), len(a.threads)))
	})
	var lines []string
	for _, e := range list[:min(len(list), maxEnds)] {
		lines = append(lines, e.line())
	}
	if more := len(list) - maxEnds; more > 0 {
		lines = append(lines, fmt.Sprintf("… and %d more", more))
	}
	return lines
}

// endsOf finds the threads of OpenMP, and those for which such threads wait, that wait for no other thread which
// is known.
func endsOf(pic *picture.Picture) []*chainEnd {
	g := waitgraph.Of(pic)
	waits := map[int]*picture.Wait{}
	if pic.Facts != nil {
		for i := range pic.Facts.Waits {
			waits[pic.Facts.Waits[i].Thread] = &pic.Facts.Waits[i]
		}
	}
	threads, held, ends := threadsOf(pic), holdings(pic), g.Ends()
	waiting := map[int]bool{} // for others
	end := func(t *picture.Thread, waiters []int) *chainEnd {
		e := &chainEnd{threads: []*picture.Thread{t}, does: doing(t, waits[t.LWP]), holds: held[t.LWP],
			waiters: map[int]bool{}}
		for _, lwp := range waiters {
			e.waiters[lwp], waiting[lwp] = true, true
		}
		return e
	}
	var out []*chainEnd
	found := map[int]bool{}
	for _, e := range ends {
		if t := threads[e.LWP]; t != nil {
			out = append(out, end(t, e.Waiters))
			found[e.LWP] = true
		}
	}
	for i := range pic.Threads {
		t := &pic.Threads[i]
		idle := t.Role == picture.RoleIdle || t.State != nil && t.State.Name == picture.StateIdle
		if t.Runtime == "" || t.LWP == 0 || idle || t.Hidden || found[t.LWP] || waiting[t.LWP] {
			continue
		}
		out = append(out, end(t, nil))
	}
	return out
}

// line is "thread 0 (LWP 7) sleeps (sleep) in relax fort.f90:25, holds critical halo; 3 threads wait for it in
// the end".
func (e *chainEnd) line() string {
	s := phrase.NumberedThread(*e.threads[0]) + " " + e.does
	n := len(e.threads)
	if n > 1 {
		var lwps []int
		for _, t := range e.threads {
			lwps = append(lwps, t.LWP)
		}
		s = fmt.Sprintf("%d threads (LWP %s): each %s", n, phrase.Ranges(lwps, maxInCell), e.does)
	}
	if e.holds != "" {
		s += ", holds " + e.holds
	}
	it := "it"
	if n > 1 {
		it = "them"
	}
	switch w := len(e.waiters); {
	case w == 1:
		s += "; 1 thread waits for " + it + " in the end"
	case w > 1:
		s += fmt.Sprintf("; %d threads wait for %s in the end", w, it)
	}
	return s
}

// doing is what a thread does and where: "sleeps (sleep) in relax fort.f90:25", "waits in a taskwait in main
// x.c:7", "is in step x.c:12". w is its wait among the facts, nil if it has none.
func doing(t *picture.Thread, w *picture.Wait) string {
	s := "does what could not be read"
	switch {
	case t.State == nil && w != nil && w.Kind == picture.WaitSleep:
		s = "sleeps (" + phrase.Sleeping(w.Name, w.Sleep) + ")"
	case t.State == nil && w != nil:
		s = "waits for " + phrase.Target(picture.WaitTarget{Kind: w.Kind, Name: w.Name})
	case t.State == nil && t.Role == picture.RoleNone:
		s = "is no thread of OpenMP,"
	case t.State == nil, t.State.Name == picture.StateUndefined:
	case t.State.Name == picture.StateSleep:
		s = "sleeps (" + phrase.Sleeping(t.WaitName, t.Sleep) + ")"
	case t.State.Name.Waits():
		s = "waits " + waitPhrase(*t)
	case strings.HasPrefix(string(t.State.Name), "work_"): // a look does not show whether it makes progress
		s = "is"
		if _, ok := phrase.InnermostUser(t.UserStack); !ok {
			s = "is in the program's code"
		}
	case t.State.Name == picture.StateOverhead:
		s = "is in the runtime"
	default:
		s = "is in state " + string(t.State.Name)
	}
	if f, ok := phrase.InnermostUser(t.UserStack); ok {
		s += " in " + phrase.Where(f)
	}
	return s
}

// printEnds prints these lines.
func (p *Printer) printEnds(pic *picture.Picture) {
	for i, s := range endLines(pic) {
		if i == 0 {
			p.line("")
		}
		p.wrapped("  ", s)
	}
}

// standstillCause prints why a process makes no progress: the verdicts of a hang, or the end of the chains of
// waits, with the holders of locks.
func standstillCause(p *Printer, pic *picture.Picture) {
	if pic.Facts == nil {
		return
	}
	if slices.ContainsFunc(pic.Verdicts, func(v picture.Verdict) bool { return v.Severity == picture.SeverityHang }) {
		Verdicts(p, pic)
		return
	}
	p.printContention("  ", pic)
	p.printEnds(pic)
}
