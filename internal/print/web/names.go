package web

import (
	"fmt"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// names maps LWPs to the threads of a picture.
type names struct {
	threads map[int]*picture.Thread
	regions map[picture.ID]int // indices in the picture
}

func newNames(pic *picture.Picture) *names {
	n := &names{map[int]*picture.Thread{}, map[picture.ID]int{}}
	for i := range pic.Threads {
		n.threads[pic.Threads[i].LWP] = &pic.Threads[i]
	}
	for i, r := range pic.Regions {
		n.regions[r.ID] = i
	}
	return n
}

// nameOf names a thread: "thread 2 of 4 (LWP 455)".
func (n *names) nameOf(lwp int) string {
	s := fmt.Sprintf("LWP %d", lwp)
	if t := n.threads[lwp]; t != nil && t.ThreadNum != nil && t.TeamSize != nil && *t.TeamSize > 1 {
		return fmt.Sprintf("thread %d of %d (%s)", *t.ThreadNum, *t.TeamSize, s)
	}
	return s
}

// list names several threads by their numbers, and their LWPs: "threads 0-3 of 8 (LWP 14-17)".
func (n *names) list(lwps []int) string {
	ts := make([]picture.Thread, len(lwps))
	for i, lwp := range lwps {
		if ts[i] = (picture.Thread{LWP: lwp}); n.threads[lwp] != nil {
			ts[i] = *n.threads[lwp]
		}
	}
	return phrase.Threads(ts, false)
}

// place returns the place of a thread in the program.
func (n *names) place(lwp int) string {
	t := n.threads[lwp]
	if t == nil {
		return ""
	}
	f, ok := phrase.InnermostUser(t.UserStack)
	if !ok {
		return ""
	}
	return phrase.Where(f)
}

// class returns the group of a thread's state: its color.
func (n *names) class(lwp int) string {
	if t := n.threads[lwp]; t != nil {
		return class(t)
	}
	return classUnknown
}

// Groups of states, each with a color.
const (
	classWork    = "work"
	classLock    = "lock"
	classBarrier = "barrier"
	classTask    = "task"
	classWait    = "wait"
	classIdle    = "idle"
	classUnknown = "unknown"
)

// classes are the groups in the order of the legend.
var classes = []struct{ Class, Name string }{
	{classWork, "at work"}, {classLock, "waits for a lock"}, {classBarrier, "at a barrier"},
	{classTask, "waits for tasks"},
	{classWait, "waits for something else"}, {classIdle, "idle"}, {classUnknown, "not known"},
}

// class returns the group of a thread's state.
func class(t *picture.Thread) string {
	if t.State == nil {
		if t.Role == picture.RoleNone {
			return classIdle
		}
		return classUnknown
	}
	what, waits := strings.CutPrefix(string(t.State.Name), "wait_")
	switch {
	case strings.HasPrefix(what, "barrier"):
		return classBarrier
	case what == "taskwait" || what == "taskgroup":
		return classTask
	case waits && (picture.WaitKind(what).Exclusive() || what == "ordered"):
		return classLock
	case waits:
		return classWait
	case t.State.Name == picture.StateIdle:
		return classIdle
	case strings.HasPrefix(what, "work"):
		return classWork
	}
	return classUnknown
}

// clip truncates a text to a number of characters.
func clip(s string, most int) string {
	r := []rune(s)
	if len(r) <= most {
		return s
	}
	if most < 2 {
		return ""
	}
	return string(r[:most-1]) + "…"
}

// stack is a merged stack and its threads.
type stack struct {
	Count  string
	Who    string
	Class  string
	State  string
	Frames []frame
}

// stacks are the merged stacks, and the number of omitted ones.
type stacks struct {
	List []stack
	More string // "12 more stacks of 30 threads"
}

// maxStacks bounds the merged stacks of a page.
const maxStacks = 200

// newStacks returns the merged stacks, those of most threads first.
func newStacks(pic *picture.Picture, n *names) (out stacks) {
	for _, s := range pic.Stacks[:min(len(pic.Stacks), maxStacks)] {
		one := stack{
			Count: phrase.Count(s.Count, "thread"), Who: n.list(s.Threads), Class: classUnknown,
			Frames: n.newFrames(s.Frames),
		}
		if len(s.Threads) > 0 {
			one.Class = n.class(s.Threads[0])
			if t := n.threads[s.Threads[0]]; t != nil && t.State != nil {
				one.State = string(t.State.Name)
			}
		}
		out.List = append(out.List, one)
	}
	if left := pic.Stacks[len(out.List):]; len(left) > 0 {
		threads := 0
		for _, s := range left {
			threads += s.Count
		}
		out.More = phrase.Count(len(left), "more stack") + " of " + phrase.Count(threads, "thread")
	}
	return out
}
