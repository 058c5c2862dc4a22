package waits

import (
	"slices"

	"github.com/ompd-inspect/ompd-inspect/internal/inspect/stacks"
	"github.com/ompd-inspect/ompd-inspect/internal/lockflow"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// Neither OpenMP nor POSIX allows a thread to release a lock that another thread acquired, but programs do it. The
// waiters of such a lock do not wait for ever, although its holder waits, too. The threads and tasks that may
// release it are found by their code, as holders are.

const (
	// maxReleases bounds the listed calls on one lock. Those of threads that do not wait come first.
	maxReleases = 64
	// maxPerhaps bounds the listed calls with an unknown lock.
	maxPerhaps = 8
)

// addHandovers finds the releases of the locks with a waiting holder, and of those that code left.
func (g *gatherer) addHandovers() {
	waits := g.waitsByThread()
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
		if !ok || !lockflow.HandedOver(family) || !l.Held || l.OwnerEnded || l.InvalidReason != "" ||
			!holderWaits(l, waits) && !isLeft(l) {
			continue
		}
		lock := lockflow.Lock{Family: family, Address: w.variable}
		if l.Owner == 0 && !isLeft(l) && g.isHandedOver(lock) {
			l.HandedOver, l.Acquiring = true, g.acquiringThreads(lock, waits)
		}
		l.Releases = g.releases(lock, func(lwp int) bool {
			o := waits[lwp]
			return o != nil && o.Lock == id
		}, waits)
	}
}

// isHandedOver reports whether a function on the stack of a thread, or passed to the runtime, releases a lock on
// some path from its start without acquiring it before.
func (g *gatherer) isHandedOver(lock lockflow.Lock) bool {
	lh := g.from.holders
	flows := lh.flows
	if len(g.joiningReleases(lock)) > 0 {
		return true
	}
	if g.entered == nil {
		g.entered = lh.functionsOf(flows.Program.Entered)
	}
	inModule := lh.code.ModuleOf(lock.Address) != nil
	return slices.ContainsFunc(g.entered, func(entry uint64) bool {
		// The code of a module contains addresses in modules. Only generated code contains addresses on the heap.
		if !inModule && lh.code.ModuleOf(entry) != nil {
			return false
		}
		r, ok := flows.Program.FunctionReleases(entry, lock)
		return ok && r.Known
	})
}

// acquiringThreads returns the threads that are in a call that acquires a lock, and have no known wait.
func (g *gatherer) acquiringThreads(lock lockflow.Lock, waits map[int]*picture.Wait) []int {
	var out []int
	for _, t := range g.from.holders.look.Acquiring(lock) {
		if w := waits[t.ID]; w == nil || w.Lock == "" {
			out = append(out, t.ID)
		}
	}
	return out
}

// isLeft reports whether code leaves a lock without a release, and no thread may hold it by its code.
func isLeft(l *picture.Lock) bool {
	return l.Owner == 0 && len(l.Holders) == 0 && len(l.KnownLeaks()) > 0
}

// holderWaits reports whether the owner of a lock waits, or a thread that holds it by its code.
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

// releases returns the calls by which tasks, and threads that do not wait for a lock, may release it without
// having acquired it.
func (g *gatherer) releases(
	lock lockflow.Lock, waitsForIt func(lwp int) bool, waits map[int]*picture.Wait,
) []picture.Release {
	var out, waiting []releaseCandidate
	lh := g.from.holders
	for _, r := range lh.look.Releases(lock) {
		lwp := r.Thread.ID
		switch c := (releaseCandidate{r, lwp, ""}); {
		case waitsForIt(lwp):
		case waits[lwp] != nil:
			waiting = append(waiting, c)
		default:
			out = append(out, c)
		}
	}
	for i := range g.pic.Tasks {
		t := &g.pic.Tasks[i]
		if !t.Pending() || t.Function == nil || t.Function.Address == nil {
			continue
		}
		if r, ok := lh.flows.Program.FunctionReleases(uint64(*t.Function.Address), lock); ok {
			out = append(out, releaseCandidate{r, 0, t.ID})
		}
	}
	if g.mayJoinTeam() {
		out = append(out, g.joiningReleases(lock)...)
	}
	return lh.limitReleases(append(out, waiting...))
}

// joiningReleases returns the call by which a thread that joins a team may release a lock that it has not
// acquired. It searches the functions of regions that threads have passed to the runtime. The arguments with
// which these find locks are unknown: since the thread starts at any moment, the call counts as one on this lock.
func (g *gatherer) joiningReleases(lock lockflow.Lock) []releaseCandidate {
	program := g.from.holders.flows.Program
	entry, ok := g.regionFunctionThat(func(entry uint64) bool {
		_, ok := program.FunctionReleases(entry, lock)
		return ok
	})
	if !ok {
		return nil
	}
	r, _ := program.FunctionReleases(entry, lock)
	r.Known = true
	return []releaseCandidate{{Release: r}}
}

// limitReleases returns the first of some calls.
func (lh *lockHolders) limitReleases(all []releaseCandidate) []picture.Release {
	var out []picture.Release
	known, perhaps := 0, 0
	for _, c := range all {
		count, limit := &perhaps, maxPerhaps
		if c.Known {
			count, limit = &known, maxReleases
		}
		if *count < limit {
			*count++
			out = append(out, lh.describeRelease(c.Release, c.lwp, c.task))
		}
	}
	return out
}

// regionFunctionThat returns the first function with some property among those that threads have passed to the runtime.
// To find out which ones they have passed takes the values in their functions. So it does that only if one that they
// may have passed has the property.
func (g *gatherer) regionFunctionThat(has func(entry uint64) bool) (entry uint64, ok bool) {
	lh := g.from.holders
	if g.handed == nil {
		if g.mayHand == nil {
			g.mayHand = lh.functionsOf(lh.flows.Program.MayHand)
		}
		if !slices.ContainsFunc(g.mayHand, has) {
			return 0, false
		}
		g.handed = lh.functionsOf(lh.flows.Program.Handed)
	}
	i := slices.IndexFunc(g.handed, has)
	if i < 0 {
		return 0, false
	}
	return g.handed[i], true
}

// functionsOf returns the functions that list returns for some thread, each once, by their addresses. It is never nil.
func (lh *lockHolders) functionsOf(list func(t *lockflow.Thread) []uint64) []uint64 {
	out := []uint64{}
	for _, t := range lh.holding() {
		out = append(out, list(t)...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// mayJoinTeam reports whether a thread may be about to execute the function of a region.
func (g *gatherer) mayJoinTeam() bool {
	return len(g.beginningTasks()) > 0 ||
		slices.ContainsFunc(g.pic.Regions, func(r picture.Region) bool { return len(r.Threads) < r.TeamSize })
}

// joiningMayRelease reports whether a thread that joins a team may release a lock of a family.
func (g *gatherer) joiningMayRelease(family string) bool {
	return len(g.joining(family)) > 0 || g.mayJoinTeam() && g.regionMayRelease(family)
}

// regionMayRelease reports whether the function of a region may release a lock of a family.
func (g *gatherer) regionMayRelease(family string) bool {
	_, ok := g.regionFunctionThat(func(entry uint64) bool {
		return g.from.holders.flows.Program.FunctionMayRelease(entry, family)
	})
	return ok
}

// joining returns the threads that may be about to execute the function of their region, if that may release a lock of
// a family.
func (g *gatherer) joining(family string) []int {
	var out []int
	for _, t := range g.beginningTasks() {
		known := t.Function != nil && t.Function.Address != nil
		if known && g.from.reach.taskMayRelease(t, family) || !known && g.regionMayRelease(family) {
			out = append(out, t.Thread)
		}
	}
	return out
}

// mayRelease returns the threads that may come to a release of a lock of a family, by their code or by that of the
// region which they join. It does not look at the lock, condition variable or event of the call.
func (g *gatherer) mayRelease(family string) []int {
	all := append(append([]int{}, g.from.reach.threads(family)...), g.joining(family)...)
	slices.Sort(all)
	return slices.Compact(all)
}

// waitsByThread returns the waits by the LWPs of their threads.
func (g *gatherer) waitsByThread() map[int]*picture.Wait {
	out := map[int]*picture.Wait{}
	for i := range g.facts.Waits {
		out[g.facts.Waits[i].Thread] = &g.facts.Waits[i]
	}
	return out
}

// beginningTasks returns the implicit tasks that threads may be about to execute.
func (g *gatherer) beginningTasks() []*picture.Task {
	if g.beginning == nil {
		g.beginning = []*picture.Task{}
		waits := g.waitsByThread()
		for i := range g.pic.Tasks {
			if t := &g.pic.Tasks[i]; t.Kind == picture.TaskImplicit && g.mayBeginTask(t, waits) {
				g.beginning = append(g.beginning, t)
			}
		}
	}
	return g.beginning
}

// isBeforeRegionEnd reports whether a thread is in its implicit task of a region and does not wait for the
// region's end. The runtime's record that all threads have arrived there is then about the previous region.
func (g *gatherer) isBeforeRegionEnd(region picture.ID, waits map[int]*picture.Wait) bool {
	if g.beforeEnd == nil {
		g.beforeEnd = map[picture.ID]bool{}
		implicit := map[picture.ID]bool{}
		for _, t := range g.pic.Tasks {
			implicit[t.ID] = t.Kind == picture.TaskImplicit
		}
		for _, t := range g.pic.Threads {
			if w := waits[t.LWP]; (w == nil || !w.EndOfRegion) && implicit[t.Task] {
				g.beforeEnd[t.Region] = true
			}
		}
	}
	return g.beforeEnd[region]
}

// mayBeginTask reports whether a thread may be about to execute an implicit task. It is in no function of the
// program and does not wait, or it waits at the end of a region and is not known to have arrived there. LLVM's
// workers wait for the next region in the code in which they waited for the end of the last one.
func (g *gatherer) mayBeginTask(t *picture.Task, waits map[int]*picture.Wait) bool {
	n := g.from.Threads.ByLWP[t.Thread]
	if n == nil || t.Thread == 0 || n.Info.Role == picture.RoleIdle {
		return false
	}
	if w := waits[t.Thread]; w != nil && (!w.EndOfRegion || !slices.ContainsFunc(g.facts.Barriers,
		func(b picture.Barrier) bool {
			return b.ID == w.Barrier && !slices.Contains(b.Arrived, t.Thread) &&
				(!b.WaitsForTasks || g.isBeforeRegionEnd(w.Region, waits))
		})) {
		return false
	}
	return !slices.Contains(n.Stack().Kinds, stacks.KindUser)
}

// describeRelease describes a call by which a thread or a task may release a lock.
func (lh *lockHolders) describeRelease(r lockflow.Release, lwp int, task picture.ID) picture.Release {
	out := picture.Release{Thread: lwp, Task: task, Certainty: picture.Possible}
	if r.Known {
		out.Certainty = picture.Likely
	}
	for i, pc := range r.Calls {
		fs := lh.code.FramesAt(pc, true)
		f := fs[stacks.ProgramFrame(fs)]
		if out.Frame = &f; stacks.HasProgramLine(f) || i == len(r.Calls)-1 {
			break
		}
	}
	return out
}
