package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// dependencies are the facts of a picture, and the graph of the threads and tasks that wait for each other.
type dependencies struct {
	*index
	*waitGraph
}

// isStuck reports whether a thread can never proceed.
func (d *dependencies) isStuck(lwp int) bool { return d.stuck[node{lwp: lwp}] }

// certaintyOfAny returns how certain it is that one of some threads can never proceed.
func (d *dependencies) certaintyOfAny(lwps []int) picture.Certainty {
	best := picture.Possible
	for _, lwp := range lwps {
		if !d.isStuck(lwp) {
			continue
		}
		c := d.certainty(node{lwp: lwp})
		if c.Rank() < best.Rank() {
			best = c
		}
	}
	return best
}

// waitersBehind lists the threads that cannot proceed before a thread does, without those that never do.
func (d *dependencies) waitersBehind(lwp int) []int {
	var behind []int
	for n := range d.stuckWithout(node{lwp: lwp}) {
		if n.isThread() && n.lwp != lwp && !d.stuck[n] {
			behind = append(behind, n.lwp)
		}
	}
	slices.Sort(behind)
	return behind
}

// addBlocked adds to a verdict the threads that wait for its threads and can never proceed either.
func (d *dependencies) addBlocked(v *picture.Verdict) {
	var of []node
	own := map[int]bool{}
	for _, lwp := range v.Threads {
		of = append(of, node{lwp: lwp})
		own[lwp] = true
	}
	waiters := d.dependents(of...)
	for _, lwp := range d.order {
		if waiters[node{lwp: lwp}] && !own[lwp] && !d.isOfOtherLibrary(lwp, v.Threads) {
			v.Waiting = append(v.Waiting, lwp)
		}
	}
}

// isOfOtherLibrary reports whether a thread waits at a condition variable in a library in which no thread of a verdict
// is, as an idle thread of the library's pool does: by their code, they may signal any condition variable.
func (d *dependencies) isOfOtherLibrary(lwp int, threads []int) bool {
	t := d.threads[lwp]
	if t == nil || t.Role != picture.RoleNone || d.waitKind(lwp) != picture.WaitCondition {
		return false
	}
	modules := map[string]bool{}
	for _, f := range d.frames(lwp) {
		if f.Kind == picture.FrameUser {
			modules[f.Module] = true
		}
	}
	return len(modules) > 0 && !slices.ContainsFunc(threads, func(other int) bool {
		return slices.ContainsFunc(d.frames(other), func(f picture.Frame) bool {
			return f.Kind == picture.FrameUser && modules[f.Module]
		})
	})
}

// step returns the part of a cycle between two threads.
func (d *dependencies) step(from, to int, hops []hop) picture.CycleStep {
	w := d.waits[from]
	s := picture.CycleStep{Thread: from, HeldBy: to, WaitsFor: d.waitTarget(w)}
	var how []string
	for _, h := range hops {
		how = append(how, h.edge.evidence)
		s.MayRelease = s.MayRelease || h.edge.help
		if h.edge.place != nil {
			s.HeldAt = h.edge.place
		}
		if t := d.tasks[h.edge.to.task]; t != nil && hasLine(t.Function) {
			how[len(how)-1] += fmt.Sprintf(" (%s)", codePlace(t.Function))
		}
	}
	s.HeldEvidence = strings.Join(how, ", ")
	if t := d.threads[from]; t != nil {
		s.Frames = t.UserStack
		if t.ThreadNum != nil && t.TeamSize != nil {
			s.Place = &picture.ThreadSpot{ThreadNum: *t.ThreadNum, TeamSize: *t.TeamSize}
		}
	}
	return s
}

// isHelped reports whether code of other threads may release the lock that a thread waits for.
func (d *dependencies) isHelped(lwp int) bool {
	x := d.nodes[node{lwp: lwp}]
	if x == nil {
		return false
	}
	h := x.helpers
	return h.known != nil && len(h.known.edges) > 0
}

// heldWait is a lock that a thread holds, or its turn in an ordered loop, and the threads that wait for it.
type heldWait struct {
	waiters  []int
	turn     picture.ID     // region of the loop; "" for a lock
	at       *picture.Frame // where the thread acquired it; nil if unknown
	evidence string
}

// acquired returns the clause with the place where the lock was acquired; "" if it is unknown.
func (h heldWait) acquired() string {
	if h.at == nil {
		return ""
	}
	return ", acquired in " + place(*h.at)
}

// heldWaits returns the locks that a thread holds and others wait for.
func (d *dependencies) heldWaits(lwp int) []heldWait {
	var out []heldWait
	seen := map[waitKey]bool{}
	for _, other := range d.order {
		l := d.locks[other]
		if other == lwp || l == nil || !l.Held || seen[keyOf(d.waits[other])] {
			continue
		}
		held := heldWait{at: l.OwnerAt, evidence: l.Evidence}
		if h := holderOf(sureHolders(l.Holders), lwp); h != nil {
			held.at, held.evidence = h.AcquiredAt, h.Evidence
		} else if l.Owner != lwp {
			continue
		}
		seen[keyOf(d.waits[other])] = true
		held.waiters = slices.DeleteFunc(slices.Clone(d.waitersFor(d.waits[other])),
			func(waiter int) bool { return waiter == lwp })
		if d.waits[other].Kind == picture.WaitOrdered { // each thread waits for a turn of its own
			held.turn = d.waits[other].Region
			if i := slices.IndexFunc(out, func(h heldWait) bool { return h.turn == held.turn }); i >= 0 {
				out[i].waiters = append(out[i].waiters, held.waiters...)
				continue
			}
		}
		out = append(out, held)
	}
	return out
}

// heldLocks names the locks that a thread holds and others wait for, each with the place where it was acquired.
func (d *dependencies) heldLocks(lwp int) []string {
	var out []string
	for _, held := range d.heldWaits(lwp) {
		text := phrase.Awaited(d.waitTarget(d.waits[held.waiters[0]])) + held.acquired()
		if len(out) < maxNamed && !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return out
}

// waitsText returns the waits of some threads as clauses.
func (d *dependencies) waitsText(lwps []int, verb string) string {
	var all []string
	for _, lwp := range lwps[:min(len(lwps), maxNamed)] {
		text := d.threadName(lwp)
		if w := d.waits[lwp]; w != nil {
			text += verb + phrase.Awaited(d.waitTarget(w))
		}
		all = append(all, text)
	}
	return phrase.Clauses(all, maxNamed, len(lwps))
}
