package text

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// maxTaskRows bounds the rows that are kept to lay out one table of tasks; later rows start the next table.
const maxTaskRows = 10000

// Tasks prints the tasks of a picture; explicit tasks that are alike are one row with their number.
func Tasks(p *Printer, pic *picture.Picture) {
	if PrintUnread(p, "TASKS", pic.Runtimes) {
		return
	}
	g := newTaskGroups(false)
	g.members = newTeamNumbers(pic.Threads)
	for _, t := range pic.Tasks {
		g.add(t)
	}
	p.printHeading("TASKS", g.counts())
	g.print(p)
}

// TaskStream prints tasks as they arrive. Tasks that are alike are one row with their number, unless all is set.
func TaskStream(p *Printer, tasks iter.Seq[picture.Task], all bool) {
	g := newTaskGroups(all)
	for t := range tasks {
		g.add(t)
		if all && len(g.rows) == maxTaskRows {
			g.print(p)
		}
	}
	g.print(p)
	p.printLine("")
	p.printLine(p.bold("TASKS") + " " + g.counts())
}

// taskRow is a row of tasks that are alike.
type taskRow struct {
	picture.Task
	n       int
	lwps    []int                   // of the threads that execute them
	threads extent                  // numbers of these threads
	team    int                     // size of their teams; 0: unknown, or of several sizes
	unnamed bool                    // the number of such a thread is unknown
	numbers extent                  // thread numbers of implicit tasks
	kids    extent                  // unfinished children of each, if any
	parents map[picture.ID]struct{} // without a known name
	within  extent                  // thread numbers of parents that are implicit tasks
}

// maxParents bounds the parents that a row remembers, to count them.
const maxParents = 1000

// add adds a task, and the number of the thread that executes it; nil if that is unknown.
func (r *taskRow) add(t picture.Task, member *teamNumber) {
	r.n++
	if t.Thread != 0 && (len(r.lwps) == 0 || r.lwps[len(r.lwps)-1] != t.Thread) {
		r.lwps = append(r.lwps, t.Thread)
	}
	if t.Kind == picture.TaskImplicit && t.ThreadNum != nil {
		r.numbers.add(*t.ThreadNum)
	}
	if t.Thread != 0 {
		r.addThread(member)
	}
	if n := unfinishedChildren(t); n > 0 {
		r.kids.add(n)
	}
}

// addThread adds a thread that executes a task of the row.
func (r *taskRow) addThread(n *teamNumber) {
	if n == nil {
		r.unnamed = true
		return
	}
	if r.threads.n == 0 {
		r.team = n.size
	} else if r.team != n.size {
		r.team = 0
	}
	r.threads.add(n.num)
}

// threadText returns the numbers of the threads that execute the tasks of a row: "0-3 of 8"; "" if one is unknown.
func (r *taskRow) threadText() string {
	s := r.threads.String()
	if r.unnamed || s == "" {
		return ""
	}
	if r.team > 0 {
		s += fmt.Sprintf(" of %d", r.team)
	}
	return s
}

// addParent adds the parent of a task to its row.
func (g *taskGroups) addParent(r *taskRow, id picture.ID) {
	name, named := g.names[id]
	switch {
	case named && name.number >= 0:
		r.within.add(name.number)
	case !named && id != "" && len(r.parents) < maxParents:
		if r.parents == nil {
			r.parents = map[picture.ID]struct{}{}
		}
		r.parents[id] = struct{}{}
	}
}

// taskGroups collects tasks in rows. After printing it keeps only the names of tasks that have children.
type taskGroups struct {
	all    bool
	rows   []*taskRow
	at     map[taskKey]*taskRow
	names  map[picture.ID]taskName // of tasks with children
	kinds  map[picture.TaskKind]int
	states map[picture.TaskState]int
	total  int
	// members has the numbers of threads. Implicit tasks add theirs.
	members teamNumbers
}

func newTaskGroups(all bool) *taskGroups {
	return &taskGroups{all: all, at: map[taskKey]*taskRow{}, names: map[picture.ID]taskName{},
		kinds: map[picture.TaskKind]int{}, states: map[picture.TaskState]int{}, members: teamNumbers{}}
}

func (g *taskGroups) add(t picture.Task) {
	g.total++
	g.kinds[t.Kind]++
	if t.Kind == picture.TaskExplicit {
		g.states[t.State]++
	}
	g.remember(t)
	key := g.key(t)
	row := g.at[key]
	if row == nil || g.all || len(t.Errors) > 0 {
		row = &taskRow{Task: t}
		g.rows = append(g.rows, row)
		g.at[key] = row
	}
	row.add(t, g.member(t))
	if hasParent(t) {
		g.addParent(row, t.Parent)
	}
}

// member returns the number of the thread that executes a task in the region of the task; nil if it is unknown.
func (g *taskGroups) member(t picture.Task) *teamNumber {
	key := teamMember{t.Region, t.Thread}
	n, known := g.members[key]
	if !known && t.Kind == picture.TaskImplicit && t.ThreadNum != nil {
		n, known = teamNumber{num: *t.ThreadNum}, true
		g.members[key] = n
	}
	if !known || t.Kind == picture.TaskInitial {
		return nil
	}
	return &n
}

// taskName is the name of a task as a parent of others.
type taskName struct {
	name   string
	number int // of an implicit task, else -1
}

// remember keeps the name of a task for its children.
func (g *taskGroups) remember(t picture.Task) {
	switch {
	case t.Kind == picture.TaskImplicit && t.ThreadNum != nil:
		g.names[t.ID] = taskName{string(t.Kind), *t.ThreadNum}
	case t.Kind != picture.TaskExplicit:
		g.names[t.ID] = taskName{string(t.Kind), -1}
	case unfinishedChildren(t) > 0:
		g.names[t.ID] = taskName{"task " + cmp.Or(phrase.CodeName(t.Function), string(t.ID)), -1}
	}
}

// taskKey is equal for tasks in one row, also for tasks that are nested in tasks of the same construct.
type taskKey struct {
	kind         picture.TaskKind
	state        picture.TaskState
	parent       string
	construct    picture.Code // without its address, if it has a name
	address      picture.Hex
	waitsFor     int
	predecessors int
	children     bool
	flags        string
}

func (g *taskGroups) key(t picture.Task) taskKey {
	k := taskKey{
		kind: t.Kind, state: t.State, parent: g.names[t.Parent].name, waitsFor: len(t.WaitsFor),
		predecessors: t.Predecessors,
		children:     unfinishedChildren(t) > 0, flags: strings.Join(t.Flags, " "),
	}
	if c := t.Function; c != nil {
		k.construct = *c
		k.construct.Address = nil
		if c.Name == "" && c.Address != nil {
			k.address = *c.Address
		}
	}
	return k
}

func unfinishedChildren(t picture.Task) int {
	if t.IncompleteChildren == nil {
		return 0
	}
	return *t.IncompleteChildren
}

// Columns of the table of tasks.
const (
	taskKind      = 1
	taskLWP       = 4
	taskConstruct = 6
	taskParent    = 7
	taskNote      = 8
	taskID        = 9
)

// print prints the collected rows and removes them.
func (g *taskGroups) print(p *Printer) {
	if len(g.rows) == 0 {
		return
	}
	t := &table{head: []string{"", "KIND", "STATE", "THREAD", "LWP", "CHILDREN", "CONSTRUCT", "PARENT", "NOTES", "ID"},
		breaks: []lineBreak{{taskID, "ID"}, {taskNote, ""}, {taskParent, "generated in"},
			{taskConstruct, "at"}}}
	for _, r := range g.rows {
		n, id := "", ""
		if g.all {
			id = string(r.ID)
		}
		if r.n > 1 {
			n = fmt.Sprintf("%d×", r.n)
		}
		t.add(n, r.kind(), taskState(p, r.Task), r.threadText(), phrase.Ranges(r.lwps, maxInCell), r.children(),
			phrase.CodeName(r.Function),
			g.parents(r), taskNotes(r.Task), id)
	}
	p.narrow(t, func() {
		for i, r := range g.rows {
			if at, _, ok := strings.Cut(t.rows[i][taskConstruct], "  "); ok && r.Function.Line != 0 {
				t.rows[i][taskConstruct] = at
			}
		}
	}, func() {
		for i, r := range g.rows {
			if r.threadText() != "" {
				t.rows[i][taskLWP] = phrase.Ranges(r.lwps, 1)
				t.rows[i][taskKind] = string(r.Kind)
			}
		}
	})
	p.printTable(t)
	for _, r := range g.rows {
		for _, e := range r.Errors {
			p.printWrapped(fmt.Sprintf("  %s task %s: ", p.amber("!"), r.ID), e)
		}
	}
	g.rows = g.rows[:0]
	clear(g.at)
}

// kind returns the kind of the tasks of a row: "explicit", "implicit 0-7".
func (r *taskRow) kind() string {
	return strings.TrimSpace(string(r.Kind) + " " + r.numbers.String())
}

// children returns the number of unfinished children of the tasks of a row: "4 unfinished", "1-9 unfinished each".
func (r *taskRow) children() string {
	switch {
	case r.kids.n == 0:
		return ""
	case r.n > 1:
		return r.kids.String() + " unfinished each"
	}
	return r.kids.String() + " unfinished"
}

// hasParent reports whether the task that generated t is printed.
func hasParent(t picture.Task) bool {
	return t.Kind == picture.TaskExplicit || t.Kind == picture.TaskTarget
}

// parents names the tasks that generated those of a row.
func (g *taskGroups) parents(r *taskRow) string {
	switch n := len(r.parents); {
	case !hasParent(r.Task):
		return ""
	case n >= maxParents:
		return fmt.Sprintf("%d tasks or more", maxParents)
	case n > 1:
		return phrase.Count(n, "task")
	}
	name := cmp.Or(g.names[r.Parent].name, string(r.Parent))
	return strings.TrimSpace(name + " " + r.within.String())
}

func taskState(p *Printer, t picture.Task) string {
	if t.State == picture.TaskBlocked {
		return p.amber(string(t.State))
	}
	return string(t.State)
}

func taskNotes(t picture.Task) string {
	var parts []string
	if len(t.WaitsFor) > 0 {
		parts = append(parts, "waits for "+phrase.Count(len(t.WaitsFor), "task"))
	} else if t.Predecessors > 0 {
		parts = append(parts, phrase.Count(t.Predecessors, "unfinished predecessor"))
	}
	parts = append(parts, slices.DeleteFunc(slices.Clone(t.Flags), func(f string) bool { return f == "tied" })...)
	return strings.Join(parts, ", ")
}

func (g *taskGroups) counts() string {
	s := fmt.Sprintf("%d: %s", g.total, countText(g.kinds, []picture.TaskKind{picture.TaskInitial, picture.TaskImplicit,
		picture.TaskExplicit, picture.TaskTarget}))
	if g.kinds[picture.TaskExplicit] > 0 {
		s += " (" + countText(g.states, []picture.TaskState{
			picture.TaskRunning, picture.TaskWaiting, picture.TaskQueued, picture.TaskBlocked, picture.TaskCreated,
			picture.TaskCompleted,
		}) + ")"
	}
	return s
}

func countText[K ~string](n map[K]int, order []K) string {
	var parts []string
	for _, k := range order {
		if n[k] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n[k], k))
		}
	}
	return strings.Join(parts, ", ")
}
