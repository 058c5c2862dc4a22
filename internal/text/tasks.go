package text

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/inspect"
)

// maxTaskRows bounds the rows that are held to lay out one table of tasks; what
// comes after them is laid out as the next table.
const maxTaskRows = 10000

// Tasks prints the tasks of a picture; explicit tasks that are alike are shown
// once with their number.
func Tasks(p *Printer, pic *inspect.Picture) {
	g := newTaskGroups(false)
	for _, t := range pic.Tasks {
		g.add(t)
	}
	p.heading("TASKS", g.counts())
	g.print(p)
}

// TaskStream prints tasks as they come. Tasks that are alike are shown once with
// their number, unless all is set.
func TaskStream(p *Printer, tasks iter.Seq[inspect.Task], all bool) {
	g := newTaskGroups(all)
	for t := range tasks {
		g.add(t)
		if all && len(g.rows) == maxTaskRows {
			g.print(p)
		}
	}
	g.print(p)
	p.line("")
	p.line(p.bold("TASKS") + " " + g.counts())
}

// taskRow is a number of tasks that differ in nothing that people look for.
type taskRow struct {
	inspect.Task
	n int
}

// taskGroups collects tasks in rows. It remembers of a task that has been
// printed no more than the name that its children show for it.
type taskGroups struct {
	all           bool
	rows          []taskRow
	at            map[string]int
	names         map[inspect.ID]string // of tasks that have children
	kinds, states map[string]int
	total         int
}

func newTaskGroups(all bool) *taskGroups {
	return &taskGroups{all: all, at: map[string]int{}, names: map[inspect.ID]string{}, kinds: map[string]int{}, states: map[string]int{}}
}

func (g *taskGroups) add(t inspect.Task) {
	g.total++
	g.kinds[t.Kind]++
	if t.Kind == "explicit" {
		g.states[t.State]++
	}
	switch {
	case t.Kind != "explicit":
		g.names[t.ID] = taskKind(t)
	case children(t) > 0:
		g.names[t.ID] = "task " + cmp.Or(codeName(t.Function), string(t.ID))
	}
	if g.all || t.Kind != "explicit" || t.Thread != 0 || len(t.Errors) > 0 {
		g.rows = append(g.rows, taskRow{t, 1})
		return
	}
	key := fmt.Sprint(t.State, t.Parent, t.Region, codeName(t.Function), len(t.WaitsFor), t.Predecessors, children(t), t.Flags)
	if i, ok := g.at[key]; ok {
		g.rows[i].n++
		return
	}
	g.at[key] = len(g.rows)
	g.rows = append(g.rows, taskRow{t, 1})
}

func children(t inspect.Task) int {
	if t.IncompleteChildren == nil {
		return 0
	}
	return *t.IncompleteChildren
}

// print prints the collected rows and forgets them.
func (g *taskGroups) print(p *Printer) {
	if len(g.rows) == 0 {
		return
	}
	t := &table{head: []string{"", "KIND", "STATE", "LWP", "CHILDREN", "CONSTRUCT", "PARENT", "NOTES"}}
	for _, r := range g.rows {
		n, lwp, kids := "", "", ""
		if r.n > 1 {
			n = fmt.Sprintf("%d×", r.n)
		}
		if r.Thread != 0 {
			lwp = fmt.Sprint(r.Thread)
		}
		if children(r.Task) > 0 {
			kids = fmt.Sprintf("%d unfinished", children(r.Task))
		}
		t.add(n, taskKind(r.Task), taskState(p, r.Task), lwp, kids, codeName(r.Function), g.parent(r.Task), taskNotes(r.Task))
	}
	p.table(t)
	for _, r := range g.rows {
		for _, e := range r.Errors {
			p.wrapped(fmt.Sprintf("  %s task %s: ", p.note("!"), r.ID), e)
		}
	}
	g.rows = g.rows[:0]
	clear(g.at)
}

// parent names the task that generated t.
func (g *taskGroups) parent(t inspect.Task) string {
	if t.Kind != "explicit" && t.Kind != "target" {
		return ""
	}
	return cmp.Or(g.names[t.Parent], string(t.Parent))
}

func taskKind(t inspect.Task) string {
	if t.Kind == "implicit" && t.ThreadNum != nil {
		return fmt.Sprintf("implicit %d", *t.ThreadNum)
	}
	return t.Kind
}

func taskState(p *Printer, t inspect.Task) string {
	if t.State == "blocked" {
		return p.note(t.State)
	}
	return t.State
}

func taskNotes(t inspect.Task) string {
	var parts []string
	if len(t.WaitsFor) > 0 {
		parts = append(parts, "waits for "+count(len(t.WaitsFor), "task"))
	} else if t.Predecessors > 0 {
		parts = append(parts, count(t.Predecessors, "unfinished predecessor"))
	}
	parts = append(parts, slices.DeleteFunc(slices.Clone(t.Flags), func(f string) bool { return f == "tied" })...)
	return strings.Join(parts, ", ")
}

func (g *taskGroups) counts() string {
	s := fmt.Sprintf("%d: %s", g.total, counted(g.kinds, []string{"initial", "implicit", "explicit", "target"}))
	if g.kinds["explicit"] > 0 {
		s += " (" + counted(g.states, []string{"running", "waiting", "queued", "blocked", "created", "completed"}) + ")"
	}
	return s
}

func counted(n map[string]int, order []string) string {
	var parts []string
	for _, k := range order {
		if n[k] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n[k], k))
		}
	}
	return strings.Join(parts, ", ")
}
