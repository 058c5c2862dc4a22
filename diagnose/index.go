package diagnose

import (
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// unknown is a number that could not be read.
const unknown = -1

// target is what threads wait for.
type target struct {
	kind    picture.WaitKind
	address picture.Hex
}

func targetOf(w *picture.Wait) target { return target{w.Kind, address(w)} }

// address is that of what is waited for, 0 if it is not known.
func address(w *picture.Wait) picture.Hex {
	if w.Address == nil {
		return 0
	}
	return *w.Address
}

// index finds the parts of a picture and its facts by what they are called.
type index struct {
	pic      *picture.Picture
	facts    *picture.Facts
	threads  map[int]*picture.Thread
	regions  map[picture.ID]*picture.Region
	tasks    map[picture.ID]*picture.Task
	children map[picture.ID][]*picture.Task // by the parent
	explicit map[picture.ID]census          // by the region
	waits    map[int]*picture.Wait
	order    []int                 // LWPs of waits
	sleeping []*picture.Wait       // threads that only wait for time to pass
	locks    map[int]*picture.Lock // by the LWP of a waiter, as it sees the lock
	waiting  map[target][]int
	forks    map[picture.ID]*fork
	masks    map[int][]int // processors by LWP
	running  map[int]bool
	atWork   map[picture.ID]int // members of a region that wait for nothing
}

func newIndex(pic *picture.Picture) *index {
	x := &index{
		pic: pic, facts: pic.Facts,
		threads: map[int]*picture.Thread{}, regions: map[picture.ID]*picture.Region{},
		tasks: map[picture.ID]*picture.Task{}, children: map[picture.ID][]*picture.Task{},
		explicit: map[picture.ID]census{},
		waits:    map[int]*picture.Wait{},
		locks:    map[int]*picture.Lock{}, waiting: map[target][]int{},
		forks: map[picture.ID]*fork{}, masks: map[int][]int{},
		running: map[int]bool{}, atWork: map[picture.ID]int{},
	}
	if x.facts == nil {
		x.facts = &picture.Facts{}
	}
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
			if x.waits[lwp] == nil {
				x.atWork[r.ID]++
			}
		}
	}
	for i := range x.facts.Forks {
		f := &x.facts.Forks[i]
		x.forks[f.Region] = forkOf(f)
	}
	x.addProcessors()
	return x
}

// addWaits enters what threads wait for.
func (x *index) addWaits() {
	locks := map[picture.ID]*picture.Lock{}
	for i := range x.facts.Locks {
		locks[x.facts.Locks[i].ID] = &x.facts.Locks[i]
	}
	for i := range x.facts.Waits {
		w := &x.facts.Waits[i]
		if w.Kind == picture.WaitSleep { // it proceeds by itself
			x.sleeping = append(x.sleeping, w)
			continue
		}
		x.waits[w.Thread] = w
		x.order = append(x.order, w.Thread)
		x.waiting[targetOf(w)] = append(x.waiting[targetOf(w)], w.Thread)
		if l := locks[w.Lock]; l != nil {
			x.locks[w.Thread] = asSeenBy(w, l)
		}
	}
}

// asSeenBy is a lock as one that waits for it sees it. Its owner may have just acquired it,
// or acquire a nestable one again, unless it is known to sleep: then only its code tells
// whether it holds the lock. A turn in an ordered loop is given by others: one who sleeps may
// just have got it.
func asSeenBy(w *picture.Wait, l *picture.Lock) *picture.Lock {
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

// waitsAs is the kind of a thread's wait, empty if it waits for nothing that is known.
func (x *index) waitsAs(lwp int) picture.WaitKind {
	if w := x.waits[lwp]; w != nil {
		return w.Kind
	}
	return ""
}

// sameTarget are the threads that wait for the same as w.
func (x *index) sameTarget(w *picture.Wait) []int { return x.waiting[targetOf(w)] }

// quiet reports whether all members of a region wait, so that no task is just being made,
// begun or ended.
func (x *index) quiet(id picture.ID) bool {
	r := x.regions[id]
	return r != nil && len(r.Threads) >= r.TeamSize && x.atWork[id] == 0
}

// isQueued reports whether n is a task that waits to be run.
func (x *index) isQueued(n node) bool {
	t := x.tasks[n.task]
	return t != nil && t.State == picture.TaskQueued
}

// frames is the user stack of a thread.
func (x *index) frames(lwp int) []picture.Frame {
	if t := x.threads[lwp]; t != nil {
		return t.UserStack
	}
	return nil
}

// variables are the variables of the environment for some purpose that are set, as
// NAME=value, and whether one of them has a value that means always.
func (x *index) variables(purpose picture.VariablePurpose) (set []string, always bool) {
	for _, v := range x.facts.Environment {
		if v.Purpose == purpose && v.State == picture.VariableSet {
			set = append(set, v.Name+"="+v.Value)
			always = always || v.AlwaysSpins
		}
	}
	return set, always
}

// environment is a variable of the environment; known reports whether the environment
// could be read.
func (x *index) environment(name string) (value string, set, known bool) {
	for _, v := range x.facts.Environment {
		if v.Name == name {
			return v.Value, v.State == picture.VariableSet, v.State == picture.VariableSet ||
				v.State == picture.VariableUnset
		}
	}
	return "", false, false
}

// setting is a control variable of a runtime; empty if it is not known.
func (x *index) setting(name string) string {
	for _, s := range x.facts.Settings {
		if s.Name == name {
			return s.Value
		}
	}
	return ""
}

// who names a thread: "thread 1 (LWP 4712)".
func (x *index) who(lwp int) string {
	t := x.threads[lwp]
	if t == nil || t.ThreadNum == nil || t.Level == nil || *t.Level == 0 {
		return fmt.Sprintf("LWP %d", lwp)
	}
	return fmt.Sprintf("thread %d (LWP %d)", *t.ThreadNum, lwp)
}

// wait is "2 threads wait", or the one thread that does.
func (x *index) wait(lwps []int) string {
	if len(lwps) == 1 {
		return x.who(lwps[0]) + " waits"
	}
	return fmt.Sprintf("%d threads wait", len(lwps))
}
