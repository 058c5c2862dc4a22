package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// unknown is a number that could not be read.
const unknown = -1

// index finds the parts of a picture and its facts by their keys. It is read-only, but for the holder of a lock that
// the wait-for graph finds by exclusion.
type index struct {
	pic      *picture.Picture
	facts    *picture.Facts
	settings settings
	threads  map[int]*picture.Thread
	regions  map[picture.ID]*picture.Region
	tasks    map[picture.ID]*picture.Task
	children map[picture.ID][]*picture.Task // by the parent
	explicit map[picture.ID]census          // by the region
	detached map[picture.ID]*detached       // that a barrier waits for; nil: none. See detachedTasks
	waits    map[int]*picture.Wait
	order    []int                 // LWPs of waits
	sleeping []*picture.Wait       // threads that only wait for time to pass
	locks    map[int]*picture.Lock // by the LWP of a waiter, in its view
	ended    ending
	waiting  map[waitKey][]int
	forks    map[picture.ID]*fork
	masks    map[int][]int // processors by LWP
	running  map[int]bool
	atWork   map[picture.ID]int // the number of a region's members that do not wait
}

// waitKey identifies the object that threads wait for.
type waitKey struct {
	kind    picture.WaitKind
	address picture.Hex
}

func keyOf(w *picture.Wait) waitKey { return waitKey{w.Kind, waitAddress(w)} }

// waitAddress returns the address of the object that a thread waits for, 0 if it is unknown.
func waitAddress(w *picture.Wait) picture.Hex {
	if w.Address == nil {
		return 0
	}
	return *w.Address
}

func newIndex(pic *picture.Picture) *index {
	x := &index{
		pic: pic, facts: pic.Facts,
		threads: map[int]*picture.Thread{}, regions: map[picture.ID]*picture.Region{},
		tasks: map[picture.ID]*picture.Task{}, children: map[picture.ID][]*picture.Task{},
		explicit: map[picture.ID]census{}, detached: map[picture.ID]*detached{},
		waits: map[int]*picture.Wait{},
		locks: map[int]*picture.Lock{}, waiting: map[waitKey][]int{},
		forks: map[picture.ID]*fork{}, masks: map[int][]int{},
		running: map[int]bool{}, atWork: map[picture.ID]int{},
	}
	if x.facts == nil {
		x.facts = &picture.Facts{}
	}
	x.settings = settings{x.facts}
	for i := range pic.Threads {
		x.threads[pic.Threads[i].LWP] = &pic.Threads[i]
	}
	for i := range pic.Tasks {
		t := &pic.Tasks[i]
		x.tasks[t.ID] = t
		x.children[t.Parent] = append(x.children[t.Parent], t)
		if t.Kind == picture.TaskExplicit {
			c := x.explicit[t.Region]
			c.add(t)
			x.explicit[t.Region] = c
		}
	}
	x.addWaits()
	for i := range pic.Regions {
		r := &pic.Regions[i]
		x.regions[r.ID] = r
		for _, lwp := range r.Threads {
			if w := x.waits[lwp]; w == nil || x.takesTask(w) {
				x.atWork[r.ID]++
			}
		}
	}
	for i := range x.facts.Forks {
		f := &x.facts.Forks[i]
		x.forks[f.Region] = newFork(f)
		if r := x.regions[f.Region]; r != nil && r.League > 0 && f.Frame == nil && !f.Clause {
			x.forks[f.Region].clause = unknown // a thread of the runtime forked it by a tail call
		}
	}
	x.addProcessors()
	return x
}

// ending is the thread that ended the program, by a fault or by abort. Its stack may look like that of a thread that
// waits; it does not.
type ending struct {
	lwp  int           // 0 if no thread ended the program
	call string        // the function for locks that it was in; "" if there is none
	lock *picture.Lock // that the function was given; nil if it is unknown
	// target is the lock as the program names it.
	target picture.WaitTarget
	// barrier is the barrier that it was at; nil if there is none.
	barrier *picture.Wait
}

func (x *index) addWaits() {
	x.ended.lwp = x.facts.EndingThread()
	locks := map[picture.ID]*picture.Lock{}
	for i := range x.facts.Locks {
		locks[x.facts.Locks[i].ID] = &x.facts.Locks[i]
	}
	for i := range x.facts.Waits {
		w := &x.facts.Waits[i]
		if w.Thread == x.ended.lwp {
			if w.Kind == picture.WaitBarrier {
				x.ended.barrier = w
			}
			if w.Kind == picture.WaitLock || w.Kind == picture.WaitNestLock {
				x.ended.lock, x.ended.target = locks[w.Lock], x.waitTarget(w)
				if isLockCall(w.Call) {
					x.ended.call = w.Call
				}
			}
			continue
		}
		switch {
		case w.Kind == picture.WaitSleep: // it proceeds by itself
			x.sleeping = append(x.sleeping, w)
			continue
		case w.Timed: // so does this one, at its time limit
			continue
		}
		x.waits[w.Thread] = w
		x.order = append(x.order, w.Thread)
		x.waiting[keyOf(w)] = append(x.waiting[keyOf(w)], w.Thread)
		if l := locks[w.Lock]; l != nil {
			x.locks[w.Thread] = viewOfWaiter(w, l)
		}
	}
}

// viewOfWaiter returns a lock in the view of a thread that waits for it. If the runtime names that thread as the
// owner, it may have just acquired the lock, or acquire a nestable one again, unless it is known to sleep: then only
// its code shows whether it holds the lock. The turn in an ordered loop is passed on by other threads: a thread that
// sleeps may have just received it.
func viewOfWaiter(w *picture.Wait, l *picture.Lock) *picture.Lock {
	if l.Owner != w.Thread || w.Asleep && w.Kind != picture.WaitOrdered {
		return l
	}
	seen := *l
	switch seen.Owner = 0; {
	case w.Kind == picture.WaitOrdered:
		seen.Held = false
	case l.Nested && l.InvalidReason == "":
		seen.Holders = nil
	}
	return &seen
}

func (x *index) addProcessors() {
	p := x.facts.Processors
	if p == nil {
		return
	}
	for _, lwp := range p.Running {
		x.running[lwp] = true
	}
	for i := range p.Masks {
		for _, lwp := range p.Masks[i].Threads {
			x.masks[lwp] = p.Masks[i].Processors
		}
	}
}

// fork is the call that forked a region and the settings that decided on its size, with unknown for numbers that could
// not be read.
type fork struct {
	*picture.Fork
	clause   int // 0 if the construct has no such clause
	nthreads int
	maxLevel int
	limit    int
	procs    int
}

func newFork(f *picture.Fork) *fork {
	number := func(n *int) int {
		if n == nil {
			return unknown
		}
		return *n
	}
	out := &fork{Fork: f, nthreads: number(f.NThreads), maxLevel: number(f.MaxActiveLevels),
		limit: number(f.ThreadLimit), procs: number(f.NumProcs)}
	if f.Clause {
		out.clause = number(f.ClauseValue)
	}
	return out
}

// waitKind returns the kind of a thread's wait, "" if no wait is known.
func (x *index) waitKind(lwp int) picture.WaitKind {
	if w := x.waits[lwp]; w != nil {
		return w.Kind
	}
	return ""
}

// waitTarget returns the object that a thread waits for.
func (x *index) waitTarget(w *picture.Wait) picture.WaitTarget {
	t := picture.WaitTarget{Kind: w.Kind, Name: w.Name}
	if l := x.locks[w.Thread]; l != nil && l.Nested && w.Kind == picture.WaitLock {
		t.Kind = picture.WaitNestLock
	}
	if len(awaitedIteration(w)) > 0 {
		t.Name = "iteration " + iteration(w)
	}
	t.Address = w.Address
	return t
}

// awaitedIteration returns the iteration of a doacross loop that a thread waits for, nil in any other wait.
func awaitedIteration(w *picture.Wait) []int64 {
	if w == nil || w.Awaited == nil {
		return nil
	}
	return w.Awaited.Iteration
}

// iteration formats the iteration that a thread waits for: 3, or (3, 4).
func iteration(w *picture.Wait) string {
	var parts []string
	for _, n := range awaitedIteration(w) {
		parts = append(parts, fmt.Sprint(n))
	}
	if len(parts) == 1 {
		return parts[0]
	}
	return "(" + strings.Join(parts, ", ") + ")"
}

// waitersFor returns the threads that wait for the same object as w, with that of w.
func (x *index) waitersFor(w *picture.Wait) []int { return x.waiting[keyOf(w)] }

// isLoop reports whether a kind of wait is a loop of the program itself.
func isLoop(k picture.WaitKind) bool { return k == picture.WaitFlag || k == picture.WaitNothing }

// allMembersWait reports whether all members of a region wait, so that no task is just being created, started or
// finished.
func (x *index) allMembersWait(id picture.ID) bool {
	r := x.regions[id]
	return r != nil && len(r.Threads) >= r.TeamSize && x.atWork[id] == 0
}

// isInRegion reports whether a thread is in a parallel region.
func (x *index) isInRegion(lwp int) bool {
	t := x.threads[lwp]
	return t != nil && t.Level != nil && *t.Level > 0
}

// holdsUpRegion reports whether a thread is in a parallel region, or a thread of one waits for its end.
func (x *index) holdsUpRegion(lwp int) bool {
	return x.isInRegion(lwp) || slices.ContainsFunc(x.order, func(other int) bool {
		w := x.waits[other]
		return w.Kind == picture.WaitJoin && w.WaitOn == lwp && x.isInRegion(other)
	})
}

// isEnding reports whether a thread is ending in a region.
func (x *index) isEnding(lwp int) bool {
	return slices.ContainsFunc(x.facts.LostThreads,
		func(l picture.LostThreads) bool { return slices.Contains(l.Ending, lwp) })
}

// isQueued reports whether a node is a task that waits to be executed.
func (x *index) isQueued(n node) bool {
	t := x.tasks[n.task]
	return t != nil && t.State == picture.TaskQueued
}

// frames returns the user-model stack of a thread.
func (x *index) frames(lwp int) []picture.Frame {
	if t := x.threads[lwp]; t != nil {
		return t.UserStack
	}
	return nil
}

// hasCrashed reports whether the program died of a fault or was ended by a library.
func (x *index) hasCrashed() bool {
	a := x.facts.Abort
	return x.facts.Fault != nil || a != nil && (a.Exception != nil || a.Component != "")
}

// threadName returns "thread 1 (LWP 4712)", or "LWP 4712" outside of parallel regions.
func (x *index) threadName(lwp int) string {
	t := x.threads[lwp]
	if t == nil || t.ThreadNum == nil || t.Level == nil || *t.Level == 0 {
		return fmt.Sprintf("LWP %d", lwp)
	}
	return fmt.Sprintf("thread %d (LWP %d)", *t.ThreadNum, lwp)
}

// oneOf returns the name of a thread, or "one of LWP 4712, 4713".
func (x *index) oneOf(lwps []int) string {
	if len(lwps) == 1 {
		return x.threadName(lwps[0])
	}
	return "one of LWP " + phrase.Ranges(lwps, maxNamed)
}

// threadsWait returns "2 threads wait", or "thread 1 (LWP 4712) waits" for a single one.
func (x *index) threadsWait(lwps []int) string {
	if len(lwps) == 1 {
		return x.threadName(lwps[0]) + " waits"
	}
	return fmt.Sprintf("%d threads wait", len(lwps))
}

// taskPlace returns the place of a task's construct: "at x.c:12 ", "" if it is unknown.
func (x *index) taskPlace(id picture.ID) string {
	if t := x.tasks[id]; t != nil && hasLine(t.Function) {
		return fmt.Sprintf("at %s ", codePlace(t.Function))
	}
	return ""
}

// census counts unfinished tasks: those that have been executed and wait for their event, those that depend on other
// tasks, and the others.
type census struct {
	events, blocked, others int
	places                  []string // the first constructs of tasks that wait for their event
}

func (c *census) add(t *picture.Task) {
	switch {
	case !t.Unfinished():
	case t.State == picture.TaskBlocked:
		c.blocked++
	case t.AwaitsEvent():
		c.events++
		if !hasLine(t.Function) || len(c.places) > maxNamed {
			return
		}
		if p := codePlace(t.Function); !slices.Contains(c.places, p) {
			c.places = append(c.places, p)
		}
	default:
		c.others++
	}
}

// placesText returns the constructs of the tasks that wait for their event, "" if they are unknown.
func (c *census) placesText() string {
	s := strings.Join(c.places[:min(len(c.places), maxNamed)], ", ")
	if len(c.places) > maxNamed {
		s += ", …"
	}
	return s
}
