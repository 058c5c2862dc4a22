package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// maxReasons bounds the iterations of which a verdict says why they will not be posted.
const maxReasons = 2

// awaited is the iteration that a thread waits for.
func awaited(w *picture.Wait) []int64 {
	if w == nil || w.Awaited == nil {
		return nil
	}
	return w.Awaited.Iteration
}

// doacrossNeeds adds the other members of the team, of whom one must come to post the
// iteration that the waiter waits for.
func (b *builder) doacrossNeeds(w *picture.Wait, x *needs) {
	r := b.regions[w.Region]
	if r == nil || len(r.Threads) < r.TeamSize {
		return
	}
	if len(r.Threads) == 1 {
		x.never = true
		return
	}
	b.othersNeed(r.Threads, w.Thread, w.Evidence, x)
}

// doacrossStuck finds loops with dependences in which threads wait for iterations, and all
// others of the team wait for those, at a barrier or in the loop: nobody is left to post.
func doacrossStuck(d *drawer) []picture.Verdict {
	var out []picture.Verdict
	for _, lwp := range d.order {
		w := d.waits[lwp]
		if len(awaited(w)) == 0 || d.reported[lwp] || !d.isStuck(lwp) {
			continue
		}
		ring := d.rings[node{lwp: lwp}]
		waiters, ok := onlyIterations(d, w, ring)
		if !ok || behindLock(d, ring) {
			continue
		}
		for _, m := range ring.nodes {
			d.reported[m.lwp] = true
		}
		out = append(out, iterationsMissing(d, waiters))
	}
	return out
}

// behindLock reports whether those of a ring wait for iterations of a loop, or at barriers, and one of their
// team waits for a lock, and will never have it: that may be the one that is to post, and a verdict on the
// lock says what keeps it.
func behindLock(d *drawer, r *ring) bool {
	i := slices.IndexFunc(r.nodes, func(n node) bool { return len(awaited(d.waits[n.lwp])) > 0 })
	if i < 0 {
		return false
	}
	w := d.waits[r.nodes[i].lwp]
	if _, ok := onlyIterations(d, w, r); !ok || d.regions[w.Region] == nil {
		return false
	}
	return slices.ContainsFunc(d.regions[w.Region].Threads, func(lwp int) bool {
		return d.waits[lwp] != nil && d.waits[lwp].Kind.Exclusive() && d.isStuck(lwp)
	})
}

// onlyIterations lists the threads of a ring that wait for iterations of one team's loop; not
// ok if one of the ring waits for something else than that or a barrier.
func onlyIterations(d *drawer, first *picture.Wait, r *ring) (waiters []*picture.Wait, ok bool) {
	for _, n := range r.nodes {
		w := d.waits[n.lwp]
		switch {
		case w == nil:
			return nil, false
		case len(awaited(w)) > 0 && w.Region == first.Region:
			waiters = append(waiters, w)
		case w.Kind != picture.WaitBarrier:
			return nil, false
		}
	}
	slices.SortFunc(waiters, func(a, b *picture.Wait) int {
		if c := slices.Compare(awaited(a), awaited(b)); c != 0 {
			return c
		}
		return a.Thread - b.Thread
	})
	return waiters, true
}

// iterationsMissing makes the verdict on threads that wait for iterations nobody will post.
func iterationsMissing(d *drawer, waiters []*picture.Wait) picture.Verdict {
	v := picture.Verdict{
		Kind: picture.VerdictDoacrossStuck, Severity: picture.SeverityHang, Certainty: picture.Certain,
		Region: waiters[0].Region,
		Fix: "post every iteration on every path through it, also where it has nothing to do: ordered " +
			"depend(source) (doacross(source:)); wait for iterations only that come before the own one",
	}
	var why []string
	for _, w := range waiters {
		v.Threads = append(v.Threads, w.Thread)
		v.Certainty = v.Certainty.Weaker(d.weakest(node{lwp: w.Thread}))
		if len(v.Evidence) < maxNamed {
			v.Evidence = append(v.Evidence, fmt.Sprintf("%s waits for iteration %s%s: %s", d.who(w.Thread),
				iteration(w), where(d.frames(w.Thread)), w.Evidence))
		}
		if text := neverPosted(d, w, waiters); text != "" && !slices.Contains(why, text) && len(why) < maxReasons {
			why = append(why, text)
		}
	}
	if more := len(waiters) - maxNamed; more > 0 {
		v.Evidence = append(v.Evidence, fmt.Sprintf("%s more", count(more)))
	}
	v.Summary = fmt.Sprintf("%s for iteration %s of a loop with dependences, which nobody will post",
		d.wait(v.Threads), iterations(waiters))
	v.Explanation = "All other threads of the team wait, at a barrier or in the loop."
	if len(why) > 0 {
		v.Explanation = strings.Join(why, " ") + " " + v.Explanation
	}
	d.addBlocked(&v)
	return v
}

// neverPosted says why an iteration will not be posted, as far as is known who has it: the
// waiter, or nobody who is still in the loop. It is empty if another waiter has it.
func neverPosted(d *drawer, w *picture.Wait, waiters []*picture.Wait) string {
	n := awaited(w)[0]
	for _, o := range waiters {
		switch has, known := hasIteration(d.threads[o.Thread], n); {
		case !known:
			return ""
		case has && o != w:
			return ""
		case has && d.threads[w.Thread].Loop.At != nil && n > *d.threads[w.Thread].Loop.At:
			return fmt.Sprintf("Iteration %s is one that %s itself has yet to come to.", iteration(w), d.who(w.Thread))
		case has:
			return fmt.Sprintf("Iteration %s is one that %s has itself: it went on without posting it, or has yet to "+
				"come to it.", iteration(w), d.who(w.Thread))
		}
	}
	return fmt.Sprintf("Iteration %s is that of no thread which is still in the loop: the one that had it went on "+
		"without posting it.", iteration(w))
}

// hasIteration reports whether a thread has an iteration of the outermost loop, as its part of it now.
func hasIteration(t *picture.Thread, n int64) (has, known bool) {
	if t == nil || t.Loop == nil || t.Loop.From == nil || t.Loop.To == nil {
		return false, false
	}
	from, to := *t.Loop.From, *t.Loop.To
	return min(from, to) <= n && n <= max(from, to), true
}

// where is " in foo x.c:12", where the stack shows it.
func where(fs []picture.Frame) string {
	if f, ok := innermost(fs); ok {
		return " in " + place(f)
	}
	return ""
}

// iteration writes the iteration that a thread waits for: 3, or (3, 4).
func iteration(w *picture.Wait) string {
	var parts []string
	for _, n := range awaited(w) {
		parts = append(parts, fmt.Sprint(n))
	}
	if len(parts) == 1 {
		return parts[0]
	}
	return "(" + strings.Join(parts, ", ") + ")"
}

// iterations names the first of the iterations that are waited for, and how many more.
func iterations(waiters []*picture.Wait) string {
	var parts []string
	for _, w := range waiters {
		if text := iteration(w); !slices.Contains(parts, text) {
			parts = append(parts, text)
		}
	}
	return phrase.Some(parts, maxNamed, len(parts))
}
