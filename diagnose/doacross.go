package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// maxReasons bounds the iterations of a verdict that have a reason why they will not be posted.
const maxReasons = 2

// findStuckDoacross finds loops with dependences in which threads wait for iterations, and all others of the team wait
// for those threads, at a barrier or in the loop: no thread is left to post.
func findStuckDoacross(d *dependencies, c *covered) []picture.Verdict {
	var out []picture.Verdict
	for _, lwp := range d.order {
		w := d.waits[lwp]
		if len(awaitedIteration(w)) == 0 || c.threads[lwp] || !d.isStuck(lwp) {
			continue
		}
		ring := d.rings[node{lwp: lwp}]
		waiters, ok := onlyIterations(d, w, ring)
		if !ok || isBehindLock(d, ring) {
			continue
		}
		c.addRing(ring)
		out = append(out, explainStuckDoacross(d, waiters))
	}
	return out
}

// isBehindLock reports whether the threads of a ring wait for iterations of a loop or at barriers, and one of their
// team waits for a lock that it will never acquire: that thread may be the one to post, and a verdict on the lock
// explains it.
func isBehindLock(d *dependencies, r *ring) bool {
	i := slices.IndexFunc(r.nodes, func(n node) bool { return len(awaitedIteration(d.waits[n.lwp])) > 0 })
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

// onlyIterations lists the threads of a ring that wait for iterations of one team's loop; not ok if the ring contains
// any other wait, except for barriers.
func onlyIterations(d *dependencies, first *picture.Wait, r *ring) (waiters []*picture.Wait, ok bool) {
	for _, n := range r.nodes {
		w := d.waits[n.lwp]
		switch {
		case w == nil:
			return nil, false
		case len(awaitedIteration(w)) > 0 && w.Region == first.Region:
			waiters = append(waiters, w)
		case w.Kind != picture.WaitBarrier:
			return nil, false
		}
	}
	slices.SortFunc(waiters, func(a, b *picture.Wait) int {
		if c := slices.Compare(awaitedIteration(a), awaitedIteration(b)); c != 0 {
			return c
		}
		return a.Thread - b.Thread
	})
	return waiters, true
}

// explainStuckDoacross returns the verdict on threads that wait for iterations which no thread will post.
func explainStuckDoacross(d *dependencies, waiters []*picture.Wait) picture.Verdict {
	v := newVerdict(picture.VerdictDoacrossStuck, picture.Certain)
	v.Region = waiters[0].Region
	var why []string
	for _, w := range waiters {
		v.Threads = append(v.Threads, w.Thread)
		v.Certainty = v.Certainty.Weaker(d.certainty(node{lwp: w.Thread}))
		if len(v.Evidence) < maxNamed {
			v.Evidence = append(v.Evidence, fmt.Sprintf("%s waits for iteration %s%s: %s", d.threadName(w.Thread),
				iteration(w), innermostPlace(d.frames(w.Thread)), w.Evidence))
		}
		if text := neverPosted(d, w, waiters); text != "" && !slices.Contains(why, text) && len(why) < maxReasons {
			why = append(why, text)
		}
	}
	if more := len(waiters) - maxNamed; more > 0 {
		v.Evidence = append(v.Evidence, fmt.Sprintf("%s more", threadCount(more)))
	}
	v.Summary = fmt.Sprintf("%s for iteration %s of a loop with dependences, which nobody will post",
		d.threadsWait(v.Threads), iterations(waiters))
	v.Explanation = "All other threads of the team wait, at a barrier or in the loop. " + iterationCount
	switch {
	case slices.ContainsFunc(waiters, func(w *picture.Wait) bool {
		return isOutside(d.threads[w.Thread], awaitedIteration(w)[0])
	}):
		v.Fix = outsideFix
	case allWaitForLater(d, waiters):
		v.Fix = laterFix
		if len(why) == 0 {
			why = []string{"Each waits for an iteration that comes after its own."}
			if len(waiters) == 1 {
				why = []string{"It waits for an iteration that comes after its own."}
			}
		}
	}
	if len(why) > 0 {
		v.Explanation = strings.Join(why, " ") + " " + v.Explanation
	}
	d.addBlocked(&v)
	return v
}

// laterFix is the fix of a loop in which iterations wait for later ones.
const laterFix = "wait only for iterations that come before the own one in the order of the loop: " +
	"depend(sink: i - 1), not i + 1; " + unsignedFix

// outsideFix is the fix of a loop in which a thread waits for an iteration that the loop does not have.
const outsideFix = "wait only for iterations of the loop; " + unsignedFix

// unsignedFix is the fix of a correct loop in which GCC's code waits for a wrong iteration. GCC 12 to 16 does not
// extend the sign of an offset to an unsigned variable of less than 8 bytes, and divides an offset by the step as an
// unsigned number.
const unsignedFix = "if the loop does so and its variable is unsigned, make it signed: GCC passes wrong iterations " +
	"for unsigned variables that have less than 8 bytes or count down"

// iterationCount explains the numbers of iterations.
const iterationCount = "GCC and clang count iterations from 0."

// isOutside reports whether a loop has no such iteration of the outermost loop.
func isOutside(t *picture.Thread, n int64) bool {
	if t == nil || t.Loop == nil || t.Loop.Last == nil {
		return false
	}
	last := *t.Loop.Last
	if t.Loop.First == nil {
		return t.Loop.Step != nil && (*t.Loop.Step > 0 && n > last || *t.Loop.Step < 0 && n < last)
	}
	return n < min(*t.Loop.First, last) || n > max(*t.Loop.First, last)
}

// allWaitForLater reports whether each of the threads waits for an iteration after the one, or all of the part, that it
// executes.
func allWaitForLater(d *dependencies, waiters []*picture.Wait) bool {
	return !slices.ContainsFunc(waiters, func(w *picture.Wait) bool {
		t, n := d.threads[w.Thread], awaitedIteration(w)[0]
		switch {
		case t == nil || t.Loop == nil:
			return true
		case t.Loop.At != nil: // a counter from 0
			return n <= *t.Loop.At
		case t.Loop.From == nil || t.Loop.To == nil || t.Loop.Step == nil:
			return true
		case *t.Loop.Step < 0:
			return n >= min(*t.Loop.From, *t.Loop.To)
		}
		return n <= max(*t.Loop.From, *t.Loop.To)
	})
}

// neverPosted explains why an iteration will not be posted: the loop does not have it, or it belongs to the waiter
// itself, or to no thread that is still in the loop. It returns "" if another waiter has it, or if that is unknown.
func neverPosted(d *dependencies, w *picture.Wait, waiters []*picture.Wait) string {
	n := awaitedIteration(w)[0]
	if isOutside(d.threads[w.Thread], n) {
		outermost := ""
		if len(awaitedIteration(w)) > 1 {
			outermost = " of the outermost loop"
		}
		return fmt.Sprintf("There is no iteration %s: the last one%s is %d.", iteration(w), outermost,
			*d.threads[w.Thread].Loop.Last)
	}
	if owner, ok := staticOwner(d.threads[w.Thread], n); ok {
		own := owner == *d.threads[w.Thread].ThreadNum
		i := slices.IndexFunc(waiters, func(o *picture.Wait) bool {
			t := d.threads[o.Thread]
			return t != nil && t.ThreadNum != nil && *t.ThreadNum == owner
		})
		switch {
		case i < 0:
			return fmt.Sprintf("Iteration %s is one of thread %d by the schedule, which has left the loop without "+
				"posting it.", iteration(w), owner)
		case !own && isPast(d.threads[waiters[i].Thread], n):
			return fmt.Sprintf("Iteration %s is one of %s by the schedule, which is past it: it went on without "+
				"posting it.", iteration(w), d.threadName(waiters[i].Thread))
		case !own:
			return ""
		}
	}
	for _, o := range waiters {
		switch has, known := hasIteration(d.threads[o.Thread], n); {
		case !known:
			return ""
		case has && o != w:
			return ""
		case has && d.threads[w.Thread].Loop.At != nil && n > *d.threads[w.Thread].Loop.At:
			return fmt.Sprintf("Iteration %s is one that %s itself has yet to come to.", iteration(w),
				d.threadName(w.Thread))
		case has:
			return fmt.Sprintf("Iteration %s is one that %s has itself: it went on without posting it, or has yet to "+
				"come to it.", iteration(w), d.threadName(w.Thread))
		}
	}
	or := ""
	if l := d.threads[w.Thread].Loop; l.Schedule != "static" && (l.Left == nil || *l.Left > 0) {
		or = ", or no thread has it yet"
	}
	return fmt.Sprintf("Iteration %s is that of no thread which is still in the loop: the one that had it went on "+
		"without posting it%s.", iteration(w), or)
}

// staticOwner returns the number of the thread that has an iteration of the outermost loop by its schedule: that of
// static loops with a chunk size deals out the chunks in turn.
func staticOwner(t *picture.Thread, n int64) (number int, ok bool) {
	if t == nil || t.Loop == nil || t.ThreadNum == nil || t.TeamSize == nil || *t.TeamSize <= 0 ||
		t.Loop.Schedule != "static" || t.Loop.Chunk == nil || *t.Loop.Chunk == 0 || t.Loop.First == nil ||
		t.Loop.Step == nil || *t.Loop.Step == 0 {
		return 0, false
	}
	i := (n - *t.Loop.First) / *t.Loop.Step
	if i < 0 {
		return 0, false
	}
	return int(uint64(i) / *t.Loop.Chunk % uint64(*t.TeamSize)), true
}

// hasIteration reports whether an iteration of the outermost loop is in the part that a thread executes now.
func hasIteration(t *picture.Thread, n int64) (has, known bool) {
	if t == nil || t.Loop == nil || t.Loop.From == nil || t.Loop.To == nil {
		return false, false
	}
	from, to := *t.Loop.From, *t.Loop.To
	return min(from, to) <= n && n <= max(from, to), true
}

// isPast reports whether the part that a thread executes now comes after an iteration of the outermost loop.
func isPast(t *picture.Thread, n int64) bool {
	if t == nil || t.Loop == nil || t.Loop.From == nil || t.Loop.To == nil || t.Loop.Step == nil {
		return false
	}
	if *t.Loop.Step < 0 {
		return max(*t.Loop.From, *t.Loop.To) < n
	}
	return min(*t.Loop.From, *t.Loop.To) > n
}

// iterations names the first few iterations that threads wait for, and the number of the others.
func iterations(waiters []*picture.Wait) string {
	var parts []string
	for _, w := range waiters {
		if text := iteration(w); !slices.Contains(parts, text) {
			parts = append(parts, text)
		}
	}
	return phrase.Some(parts, maxNamed, len(parts))
}
