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

// maxContended bounds the locks that are printed with their holders before everything else, so that the answer is
// within the first ten lines.
const maxContended = 3

// Contention returns one line for each of the locks that most threads wait for, with its holder, and the number of the
// other locks. Locks that a verdict of a hang explains are left out.
func Contention(pic *picture.Picture) []string {
	list := withoutExplained(pic, waitgraph.Contention(pic))
	threads := threadsByLWP(pic)
	var lines []string
	for _, c := range list[:min(len(list), maxContended)] {
		lines = append(lines, contendedLine(threads, c))
	}
	if more := len(list) - maxContended; more > 0 {
		lines = append(lines, fmt.Sprintf("… %d more such locks; the table of threads has their holders", more))
	}
	return lines
}

// withoutExplained removes the locks with a waiter in a verdict of a hang.
func withoutExplained(pic *picture.Picture, list []waitgraph.Contended) []waitgraph.Contended {
	named := map[int]bool{}
	for _, v := range pic.Verdicts {
		if v.Severity == picture.SeverityHang {
			for _, lwp := range v.Threads {
				named[lwp] = true
			}
		}
	}
	return slices.DeleteFunc(list, func(c waitgraph.Contended) bool {
		return slices.ContainsFunc(c.Waiters, func(lwp int) bool { return named[lwp] })
	})
}

// threadsByLWP returns the threads of a picture by LWP.
func threadsByLWP(pic *picture.Picture) map[int]*picture.Thread {
	out := map[int]*picture.Thread{}
	for i := range pic.Threads {
		out[pic.Threads[i].LWP] = &pic.Threads[i]
	}
	return out
}

// contendedLine returns "lock table_lock: held by thread 0 (LWP 30262) in rehash slowholder.c:8, acquired at
// slowholder.c:12; 3 threads wait".
func contendedLine(threads map[int]*picture.Thread, c waitgraph.Contended) string {
	s := phrase.Target(c.Target) + ": "
	switch n := len(c.Holders); {
	case n == 0 && len(c.Possible) == 1:
		s += "its holder is not known: perhaps " + holderText(threads, c.Possible[0])
	case n == 0 && len(c.Possible) > 1:
		s += fmt.Sprintf("its holder is not known: by their code, %d threads may hold it", len(c.Possible))
	case n == 0:
		s += "its holder is not known: " + c.Unknown
	default:
		s += "held by " + holderText(threads, c.Holders[0])
		shared := c.Target.Kind == picture.WaitReadWrite
		if shared && n > 1 {
			s += fmt.Sprintf(", and by %d more", n-1)
		} else if n > 1 && c.Holders[1].Certainty == c.Holders[0].Certainty {
			s += fmt.Sprintf(", or by one of %d others", n-1)
		}
		if c.Unknown != "" {
			s += "; " + c.Unknown
		}
	}
	wait := "1 thread waits"
	if n := len(c.Waiters); n > 1 {
		wait = fmt.Sprintf("%d threads wait", n)
	}
	return s + "; " + wait
}

// holderText names the holder of a lock, its place, and the place where it acquired the lock.
func holderText(threads map[int]*picture.Thread, h waitgraph.Holder) string {
	s := fmt.Sprintf("LWP %d", h.LWP)
	if t := threads[h.LWP]; t != nil {
		s = phrase.NumberedThread(*t)
		if f, ok := phrase.InnermostUser(t.UserStack); ok {
			s += " in " + phrase.Where(f)
		}
	}
	if h.At != nil {
		at := h.At.Place()
		if at == "" {
			at = phrase.Where(*h.At)
		}
		s += ", acquired at " + at
	}
	if h.Certainty == picture.Possible {
		s += ", on some paths through its code"
	} else if h.Certainty != picture.Certain {
		s += " (" + string(h.Certainty) + ")"
	}
	return s
}

// printContention prints the lines of Contention, after an empty line if they are indented.
func printContention(p *Printer, indent string, pic *picture.Picture) {
	for i, s := range Contention(pic) {
		if i == 0 && indent != "" {
			p.printLine("")
		}
		if name, rest, ok := strings.Cut(s, ": "); ok {
			s = p.cyan(name) + ": " + rest
		}
		p.printWrapped(indent, s)
	}
}

// heldNames returns the locks that each thread holds and others wait for, for a cell of a table.
func heldNames(pic *picture.Picture) map[int]string {
	out := map[int]string{}
	for lwp, list := range waitgraph.Holdings(waitgraph.Contention(pic)) {
		out[lwp] = phrase.HeldText(list)
	}
	return out
}

// maxEnds bounds the printed ends of chains of waits.
const maxEnds = 3

// chainEnd is threads at the end of chains of waits, or threads without a chain, that have the same activity.
type chainEnd struct {
	threads  []*picture.Thread
	activity string
	holds    string
	waiters  map[int]bool
}

// chainEndLines returns one line for each end of the chains of waits: the threads that wait for no other one, their
// activity, and the locks that they hold.
func chainEndLines(pic *picture.Picture) []string {
	var list []*chainEnd
	for _, e := range chainEnds(pic) {
		i := slices.IndexFunc(list, func(o *chainEnd) bool { return o.activity == e.activity && o.holds == e.holds })
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

// chainEnds finds the threads of OpenMP, and those that such threads wait for, that wait for no known thread.
func chainEnds(pic *picture.Picture) []*chainEnd {
	g := waitgraph.NewGraph(pic)
	waits := map[int]*picture.Wait{}
	if pic.Facts != nil {
		for i := range pic.Facts.Waits {
			waits[pic.Facts.Waits[i].Thread] = &pic.Facts.Waits[i]
		}
	}
	threads, held, ends := threadsByLWP(pic), heldNames(pic), g.Ends()
	waiting := map[int]bool{} // for others
	end := func(t *picture.Thread, waiters []int) *chainEnd {
		e := &chainEnd{threads: []*picture.Thread{t}, activity: activityOf(t, waits[t.LWP]), holds: held[t.LWP],
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

// line returns "thread 0 (LWP 7) sleeps (sleep) in relax fort.f90:25, holds critical halo; 3 threads wait for it in
// the end".
func (e *chainEnd) line() string {
	s := phrase.NumberedThread(*e.threads[0]) + " " + e.activity
	n := len(e.threads)
	if n > 1 {
		var ts []picture.Thread
		for _, t := range e.threads {
			ts = append(ts, *t)
		}
		s = phrase.Threads(ts, false) + ": each " + e.activity
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

// activityOf returns the activity of a thread and its place: "sleeps (sleep) in relax fort.f90:25", "waits in a
// taskwait in main x.c:7", "is in step x.c:12". w is its wait among the facts, or nil.
func activityOf(t *picture.Thread, w *picture.Wait) string {
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
	case strings.HasPrefix(string(t.State.Name), "work_"): // a snapshot does not show whether it makes progress
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

// printEnds prints the lines of chainEndLines.
func printEnds(p *Printer, pic *picture.Picture) {
	for i, s := range chainEndLines(pic) {
		if i == 0 {
			p.printLine("")
		}
		p.printWrapped("  ", s)
	}
}

// printStandstillCause prints the cause of a standstill: the verdicts of a hang, or the ends of the chains of waits,
// with the holders of locks.
func printStandstillCause(p *Printer, pic *picture.Picture) {
	if pic.Facts == nil {
		return
	}
	if slices.ContainsFunc(pic.Verdicts, func(v picture.Verdict) bool { return v.Severity == picture.SeverityHang }) {
		Verdicts(p, pic)
		return
	}
	printContention(p, "  ", pic)
	printEnds(p, pic)
}
