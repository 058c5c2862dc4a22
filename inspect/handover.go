package inspect

import (
	"slices"

	"github.com/ompd-inspect/ompd-inspect/internal/lockflow"
	"github.com/ompd-inspect/ompd-inspect/picture"
	"github.com/ompd-inspect/ompd-inspect/rtl"
	"github.com/ompd-inspect/ompd-inspect/unwind"
)

// A lock may be released by a thread that did not acquire it, though neither OpenMP nor POSIX allows that: then a
// thread that waits for a lock whose holder waits, too, does not wait for ever. The threads and tasks whose code comes
// to such a release are found by the code, as the holders are.

const (
	// maxReleases bounds the calls on one lock that are listed. Those of threads that do not wait come first.
	maxReleases = 64
	// maxPerhaps bounds the same of calls of which it is not known on which lock they are.
	maxPerhaps = 8
)

// handovers finds the releases of the locks whose holders wait.
func (g *gatherer) handovers() {
	waits := map[int]*picture.Wait{}
	g.claimed = map[picture.ID]bool{}
	for i := range g.facts.Waits {
		waits[g.facts.Waits[i].Thread] = &g.facts.Waits[i]
	}
	index, done := map[picture.ID]int{}, map[picture.ID]bool{}
	for i, l := range g.facts.Locks {
		index[l.ID] = i
	}
	for i := range g.waits {
		w, id := &g.waits[i], g.facts.Waits[i].Lock
		if id == "" || done[id] {
			continue
		}
		done[id] = true
		l := &g.facts.Locks[index[id]]
		family, ok := lockFamily(*w, picture.Lock{Nested: l.Nested})
		if !ok || !lockflow.HandedOver(family) || !l.Held || l.OwnerGone || l.Gone != "" || !holderWaits(l, waits) {
			continue
		}
		g.claimed[id] = true
		if l.Owner == 0 {
			l.Acquiring = g.acquiring(lockflow.Lock{Family: family, Address: w.variable}, waits)
		}
		l.Releases = g.releases(lockflow.Lock{Family: family, Address: w.variable}, func(lwp int) bool {
			o := waits[lwp]
			return o != nil && o.Lock == id
		}, waits)
	}
}

// acquiring are the threads in a call that acquires a lock which do not wait for anything that is known.
func (g *gatherer) acquiring(lock lockflow.Lock, waits map[int]*picture.Wait) []int {
	var out []int
	for _, t := range g.from.waits.holders.flows.look.Acquiring(lock) {
		if waits[t.ID] == nil {
			out = append(out, t.ID)
		}
	}
	return out
}

// holderWaits reports whether a thread waits that a lock names as its owner, or whose code shows that it has it.
func holderWaits(l *picture.Lock, waits map[int]*picture.Wait) bool {
	if l.Owner != 0 {
		return waits[l.Owner] != nil
	}
	return slices.ContainsFunc(l.Holders, func(h picture.Holder) bool {
		return h.Certainty != picture.Possible && waits[h.Thread] != nil
	})
}

// releaseCandidate is a call by which a thread or a task may release a lock.
type releaseCandidate struct {
	lockflow.Release
	lwp  int
	task picture.ID
}

// releases are the calls by which threads that do not wait for a lock, and tasks, may release it though they have not
// acquired it.
func (g *gatherer) releases(
	lock lockflow.Lock, waitsForIt func(lwp int) bool, waits map[int]*picture.Wait,
) []picture.Release {
	var out, waiting []releaseCandidate
	lh, seen := g.from.waits.holders, map[int]bool{}
	for _, r := range lh.flows.look.Releases(lock) {
		lwp := r.Thread.ID
		switch c := (releaseCandidate{r, lwp, ""}); {
		case waitsForIt(lwp):
		case waits[lwp] != nil:
			waiting = append(waiting, c)
		default:
			out = append(out, c)
		}
		seen[lwp] = true
	}
	joining := g.joining()
	for i := range g.pic.Tasks {
		t := &g.pic.Tasks[i]
		joins := t.Kind == picture.TaskImplicit && (joining[t.Region] || g.begins(t, waits) && !seen[t.Thread])
		if !joins && !t.Pending() || t.Function == nil || t.Function.Address == nil {
			continue
		}
		r, ok := lh.flows.program.FunctionReleases(uint64(*t.Function.Address), lock)
		switch {
		case !ok:
		case joins:
			out, joining[t.Region] = append(out, releaseCandidate{r, 0, ""}), false
		default:
			out = append(out, releaseCandidate{r, 0, t.ID})
		}
	}
	return lh.listed(append(out, waiting...))
}

// listed are the first of some calls.
func (lh *lockHolders) listed(all []releaseCandidate) []picture.Release {
	var out []picture.Release
	known, perhaps := 0, 0
	for _, c := range all {
		count, limit := &perhaps, maxPerhaps
		if c.Known {
			count, limit = &known, maxReleases
		}
		if *count < limit {
			*count++
			out = append(out, lh.release(c.Release, c.lwp, c.task))
		}
	}
	return out
}

// joining are the regions of which some members are not there yet: they will execute its function.
func (g *gatherer) joining() map[picture.ID]bool {
	out := map[picture.ID]bool{}
	for _, r := range g.pic.Regions {
		if len(r.Threads) < r.TeamSize {
			out[r.ID] = true
		}
	}
	return out
}

// begins reports whether a thread may be about to execute an implicit task: it is in none of the program's functions,
// and does not wait, or waits at the end of a region and is not known to have arrived there. LLVM's workers wait for
// the next region where they have waited for the end of the last one.
func (g *gatherer) begins(t *picture.Task, waits map[int]*picture.Wait) bool {
	n := g.from.roster.byLWP[t.Thread]
	if n == nil || t.Thread == 0 || n.info.Role == rtl.RoleIdle {
		return false
	}
	if w := waits[t.Thread]; w != nil && (!w.EndOfRegion || slices.ContainsFunc(g.facts.Barriers,
		func(b picture.Barrier) bool { return b.ID == w.Barrier && slices.Contains(b.Arrived, t.Thread) })) {
		return false
	}
	return !slices.Contains(g.from.reach.stacks.stackOf(n).kinds, kindUser)
}

// release is a call by which a thread or a task may release a lock.
func (lh *lockHolders) release(r lockflow.Release, lwp int, task picture.ID) picture.Release {
	out := picture.Release{Thread: lwp, Task: task, Certainty: picture.Possible}
	if r.Known {
		out.Certainty = picture.Likely
	}
	for i, pc := range r.Calls {
		fs := lh.code.placed(unwind.Frame{PC: pc, Exact: true, Module: lh.code.moduleOf(pc)}, kindUser)
		f := fs[ownOf(fs)]
		if out.At = &f; ofPeople(f) || i == len(r.Calls)-1 {
			break
		}
	}
	return out
}
