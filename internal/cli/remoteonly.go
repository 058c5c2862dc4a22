package cli

import (
	"fmt"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/internal/engine"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// A server makes the whole picture. The functions of this file reduce it to the one thread, region or task of a
// question.

// widen returns a question with the parts that are needed to find the item that q names.
func widen(q engine.Query) engine.Query {
	if !q.All() {
		q.Verdicts = false
	}
	q.Threads = q.Threads || q.LWP != 0
	q.Regions = q.Regions || q.Region != ""
	q.Tasks = q.Tasks || q.Task != "" && !q.AllTasks
	return q
}

// reduce removes all but the selected items from a picture, and all parts that q does not ask for.
func (s selection) reduce(pic *picture.Picture, q engine.Query) {
	if q.All() {
		return
	}
	pic.Threads = slices.DeleteFunc(pic.Threads, func(t picture.Thread) bool { return !s.thread(t.LWP) })
	pic.Regions = slices.DeleteFunc(pic.Regions, func(r picture.Region) bool { return !s.region(r.ID) })
	pic.Tasks = slices.DeleteFunc(pic.Tasks, func(t picture.Task) bool { return !s.task(&t) })
	for i := range pic.Stacks {
		m := &pic.Stacks[i]
		m.Threads = slices.DeleteFunc(m.Threads, func(lwp int) bool { return !s.thread(lwp) })
		m.Count = len(m.Threads)
	}
	pic.Stacks = slices.DeleteFunc(pic.Stacks, func(m picture.MergedStack) bool { return m.Count == 0 })
	if !q.Threads {
		pic.Threads = nil
	}
	if !q.Regions {
		pic.Regions = nil
	}
	if !q.Tasks {
		pic.Tasks = nil
	}
}

// selection contains the items of a picture that are kept.
type selection struct {
	only    picture.Only
	lwps    []int
	regions []picture.ID
	runs    picture.ID // the task that the thread executes
}

func (s selection) thread(lwp int) bool       { return slices.Contains(s.lwps, lwp) }
func (s selection) region(id picture.ID) bool { return slices.Contains(s.regions, id) }

// task reports whether a task is selected.
func (s selection) task(t *picture.Task) bool {
	switch o := s.only; {
	case o.LWP != 0:
		return s.runs != "" && t.ID == s.runs
	case o.Region != "":
		return t.Region == o.Region
	default:
		return o.Task == "" || t.ID == o.Task
	}
}

// selectOnly returns the threads and regions of the item that q names.
func selectOnly(pic *picture.Picture, q engine.Query) (s selection, err error) {
	s.only = q.Only
	switch {
	case q.LWP != 0:
		i := slices.IndexFunc(pic.Threads, func(t picture.Thread) bool { return t.LWP == q.LWP })
		if i < 0 {
			return s, fmt.Errorf("LWP %d: %w", q.LWP, engine.ErrNoThread)
		}
		s.lwps, s.runs = []int{q.LWP}, pic.Threads[i].Task
		for _, l := range pic.Threads[i].Levels {
			s.regions = append(s.regions, l.Region)
		}
	case q.Region != "":
		i := slices.IndexFunc(pic.Regions, func(r picture.Region) bool { return r.ID == q.Region })
		if i < 0 {
			return s, fmt.Errorf("region %s: %w", q.Region, engine.ErrNoRegion)
		}
		s.lwps, s.regions = pic.Regions[i].Threads, []picture.ID{q.Region}
	case q.Task != "" && !q.AllTasks:
		i := slices.IndexFunc(pic.Tasks, func(t picture.Task) bool { return t.ID == q.Task })
		if i < 0 {
			return s, fmt.Errorf("task %s: %w", q.Task, engine.ErrNoTask)
		}
		s.regions = []picture.ID{pic.Tasks[i].Region}
		if lwp := pic.Tasks[i].Thread; lwp != 0 {
			s.lwps = []int{lwp}
		}
	}
	return s, nil
}
