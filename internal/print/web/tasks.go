package web

import (
	"fmt"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// tasks is the tree of tasks: similar ones with similar parents are one.
type tasks struct {
	Total int
	Roots []*taskGroup
	More  int // groups that are not shown
	// Legend explains the colors of the states that occur.
	Legend []taskState
}

// taskGroup is tasks of one kind and function with parents of one group.
type taskGroup struct {
	Name   string
	Count  int
	States []taskState
	Needs  []string // dependences that they wait for
	Who    string   // threads that execute them
	Inner  []*taskGroup

	lwps  []int
	needs map[string]int
	of    map[picture.TaskState]int
}

// taskState is a part of the bar of a group.
type taskState struct {
	Class string
	Name  string
	X, W  int
}

// Bounds of the tree, and the width of a bar.
const (
	maxTaskGroups = 400
	maxTaskDepth  = 24
	maxNeeds      = 12
	taskBar       = 160
)

// newTasks returns the tree of tasks.
func newTasks(pic *picture.Picture, n *names) tasks {
	t := &taskTree{
		list: pic.Tasks, byID: map[picture.ID]int{},
		groups: map[taskKey]*taskGroup{}, of: map[picture.ID]*taskGroup{},
	}
	for i := range pic.Tasks {
		t.byID[pic.Tasks[i].ID] = i
	}
	for i := range pic.Tasks {
		t.group(&pic.Tasks[i], 0)
	}
	for i := range pic.Tasks {
		t.need(&pic.Tasks[i])
	}
	for _, g := range t.all {
		g.finish(n)
	}
	out := tasks{Total: len(pic.Tasks), Roots: t.roots, More: t.more}
	for _, s := range taskStates {
		if slices.ContainsFunc(t.all, func(g *taskGroup) bool { return g.of[s.state] > 0 }) {
			out.Legend = append(out.Legend, taskState{Class: s.class, Name: s.legend})
		}
	}
	return out
}

// taskTree is a tree in construction.
type taskTree struct {
	list   []picture.Task
	byID   map[picture.ID]int
	groups map[taskKey]*taskGroup
	of     map[picture.ID]*taskGroup
	all    []*taskGroup
	roots  []*taskGroup
	more   int
}

type taskKey struct {
	parent *taskGroup
	name   string
}

// group returns the group of a task; nil if there are too many, or if tasks generate each other in a cycle.
func (t *taskTree) group(task *picture.Task, depth int) *taskGroup {
	if g, ok := t.of[task.ID]; ok {
		return g
	}
	t.of[task.ID] = nil
	var parent *taskGroup
	if i, ok := t.byID[task.Parent]; ok && task.Parent != task.ID && depth < maxTaskDepth {
		parent = t.group(&t.list[i], depth+1)
	}
	key := taskKey{parent, taskName(task)}
	g := t.groups[key]
	if g == nil {
		if len(t.all) == maxTaskGroups {
			t.more++
			return nil
		}
		g = &taskGroup{Name: key.name, needs: map[string]int{}, of: map[picture.TaskState]int{}}
		t.groups[key], t.all = g, append(t.all, g)
		if parent != nil {
			parent.Inner = append(parent.Inner, g)
		} else {
			t.roots = append(t.roots, g)
		}
	}
	g.Count++
	g.of[task.State]++
	if task.Thread != 0 {
		g.lwps = append(g.lwps, task.Thread)
	}
	t.of[task.ID] = g
	return g
}

// need counts the dependences that a task waits for.
func (t *taskTree) need(task *picture.Task) {
	g := t.of[task.ID]
	if g == nil {
		return
	}
	for _, id := range task.WaitsFor {
		name := "a task that is not listed"
		if i, ok := t.byID[id]; ok {
			name = taskName(&t.list[i])
		}
		g.needs[name]++
	}
	if len(task.WaitsFor) == 0 && task.Predecessors > 0 {
		g.needs["unfinished predecessors"] += task.Predecessors
	}
}

// taskName returns the name of a task, with the number of similar ones.
func taskName(t *picture.Task) string {
	s := string(t.Kind) + " task"
	if at := phrase.CodeName(t.Function); at != "" {
		s += "  " + at
	}
	if slices.Contains(t.Flags, picture.FlagDetachable) {
		s += ", detachable"
	}
	return s
}

// taskStates are the states of tasks, with the class of their color, in the order of a bar.
var taskStates = []struct {
	state         picture.TaskState
	class, legend string
}{
	{picture.TaskRunning, classWork, "running"}, {picture.TaskWaiting, classTask, "waiting"},
	{picture.TaskQueued, classBarrier, "queued"}, {picture.TaskBlocked, classLock, "blocked by a dependence"},
	{picture.TaskCreated, classUnknown, "created"}, {picture.TaskCompleted, classIdle, "completed"},
}

// finish draws the bar of a group.
func (g *taskGroup) finish(threads *names) {
	done := 0
	for _, s := range taskStates {
		n := g.of[s.state]
		if n == 0 {
			continue
		}
		x := taskBar * done / g.Count
		done += n
		w := max(taskBar*done/g.Count-x, 2)
		g.States = append(g.States, taskState{Class: s.class, Name: fmt.Sprintf("%d %s", n, s.state), X: x, W: w})
	}
	slices.Sort(g.lwps)
	g.Who = threads.list(slices.Compact(g.lwps))
	for name, n := range g.needs {
		g.Needs = append(g.Needs, fmt.Sprintf("%d × %s", n, name))
	}
	slices.Sort(g.Needs)
	if more := len(g.Needs) - maxNeeds; more > 0 {
		g.Needs = append(g.Needs[:maxNeeds], fmt.Sprintf("… and %d more", more))
	}
	g.lwps, g.needs = nil, nil
}
