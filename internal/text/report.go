package text

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/inspect"
)

// maxListed is how many threads are named in one line before the rest is
// counted.
const maxListed = 16

// Report prints the whole picture, most important first.
func Report(p *Printer, pic *inspect.Picture) {
	Header(p, pic)
	Verdicts(p, pic)
	if !slices.ContainsFunc(pic.Threads, func(t inspect.Thread) bool { return t.Runtime != "" }) {
		Stacks(p, pic)
		Warnings(p, pic)
		return
	}
	summary(p, pic)
	Threads(p, pic)
	Regions(p, pic)
	Tasks(p, pic)
	Stacks(p, pic)
	Warnings(p, pic)
}

// Header says what died, where, and which runtime was found.
func Header(p *Printer, pic *inspect.Picture) {
	t := pic.Target
	what := t.Kind + " of " + cmp.Or(t.Executable, t.Command, t.Path)
	if t.PID != 0 {
		what += fmt.Sprintf(" (pid %d)", t.PID)
	}
	switch {
	case t.Pause != nil:
		p.linef("%s: %s", p.bold(what), pause(*t.Pause))
	case t.Signal != "" && t.CrashedLWP != 0:
		s := p.bad(t.Signal)
		if t.FaultAddress != nil {
			s += " at address " + t.FaultAddress.String()
		}
		p.linef("%s: %s in LWP %d", p.bold(what), s, t.CrashedLWP)
		crashPlace(p, pic)
	case t.Signal != "":
		p.linef("%s: %s", p.bold(what), t.Signal)
	case t.Kind == "process": // a process that was looked at by itself has a pause
		p.linef("%s: held by a debugger, no signal", p.bold(what))
	default:
		p.linef("%s: taken while it ran, no signal", p.bold(what))
	}
	runtimes(p, pic)
}

// runs tells whether a process runs on; if not, somebody else had stopped it already, or
// it is being held.
func runs(s inspect.Pause) bool { return s.Threads == 0 || s.Stops > 0 }

// pause says what looking at a process cost it.
func pause(s inspect.Pause) string {
	if s.Threads == 0 {
		return "running, no thread was stopped"
	}
	if !runs(s) {
		return "stopped, with " + count(s.Threads, "thread")
	}
	out := fmt.Sprintf("running, stopped %s for %.1f ms", count(s.Threads, "thread"), float64(s.Microseconds)/1000)
	if s.Stops > 1 {
		out += fmt.Sprintf(" in %d stops", s.Stops)
	}
	return out
}

func crashPlace(p *Printer, pic *inspect.Picture) {
	t := pic.Target
	if f, ok := innermostUser(t.Frames); ok {
		p.linef("  at %s", p.name(where(f)))
	}
	if t.Place == nil {
		return
	}
	for _, th := range pic.Threads {
		if th.Crashed {
			p.wrapped("  in OpenMP: ", openMPPlace(pic, th))
		}
	}
}

// openMPPlace is where a thread is in OpenMP terms, in one sentence.
func openMPPlace(pic *inspect.Picture, t inspect.Thread) string {
	switch {
	case t.Runtime == "" || t.Role == "none":
		return "not an OpenMP thread"
	case t.Role == "idle":
		return "idle worker, in no region"
	}
	s := t.Role + " thread in serial code"
	if t.Level != nil && *t.Level > 0 {
		s = fmt.Sprintf("thread %s of %s (%s) of the parallel region", opt(t.ThreadNum), opt(t.TeamSize), t.Role)
		if r := findRegion(pic, t.Region); r != nil && r.Function != nil {
			s += " " + codeName(r.Function)
		}
		if *t.Level > 1 {
			s += fmt.Sprintf(" at level %d (%s)", *t.Level, numbers(t))
		}
	}
	if t.State != nil {
		s += ", " + t.State.Name
	}
	if task := findTask(pic, t.Task); task != nil && task.Kind == "explicit" {
		s += ", in the explicit task " + codeName(task.Function)
	}
	return s
}

func findRegion(pic *inspect.Picture, id inspect.ID) *inspect.Region {
	if i := slices.IndexFunc(pic.Regions, func(r inspect.Region) bool { return r.ID == id }); i >= 0 && id != "" {
		return &pic.Regions[i]
	}
	return nil
}

func findTask(pic *inspect.Picture, id inspect.ID) *inspect.Task {
	if i := slices.IndexFunc(pic.Tasks, func(t inspect.Task) bool { return t.ID == id }); i >= 0 && id != "" {
		return &pic.Tasks[i]
	}
	return nil
}

func runtimes(p *Printer, pic *inspect.Picture) {
	if len(pic.Runtimes) == 0 {
		hint := ""
		if pic.Target.Signal == "" || pic.Target.Path != "" { // it is still there to be asked
			hint = fmt.Sprintf("; `ompd-inspect doctor %s` says why", pic.Target.Name())
		}
		p.linef("%s none known in this %s%s", p.bold("runtime"), pic.Target.Kind, hint)
	}
	for _, r := range pic.Runtimes {
		if strings.HasPrefix(r.Layout, "none") {
			p.wrapped(p.bold("runtime")+" ", fmt.Sprintf("%s, %s: %s", r.Name, r.Path, strings.TrimPrefix(r.Layout, "none: ")))
			continue
		}
		name := r.Name
		if r.Version != "" {
			name += " " + r.Version
		}
		tracking := "states inferred"
		if r.Tracking {
			tracking = "states tracked"
		}
		p.wrapped(p.bold("runtime")+" ", fmt.Sprintf("%s, %s; %s; layout: %s", name, r.Path, tracking, r.Layout))
	}
}

// summary says in a few lines what the threads do, the largest group first.
func summary(p *Printer, pic *inspect.Picture) {
	type group struct {
		what string
		ids  []int
	}
	var groups []*group
	for _, t := range pic.Threads {
		if t.Runtime == "" || t.State == nil || t.State.Name == "idle" || t.Hidden && t.Task == "" {
			continue
		}
		what := t.State.Name
		if f, ok := innermostUser(t.UserStack); ok {
			what += " in " + where(f)
		}
		i := slices.IndexFunc(groups, func(g *group) bool { return g.what == what })
		if i < 0 {
			groups = append(groups, &group{what: what})
			i = len(groups) - 1
		}
		groups[i].ids = append(groups[i].ids, t.LWP)
	}
	slices.SortStableFunc(groups, func(a, b *group) int { return cmp.Compare(len(b.ids), len(a.ids)) })
	const most = 5
	for i, g := range groups {
		if i == most {
			p.linef("  … and %s more, see below", count(len(groups)-most, "group"))
			break
		}
		p.linef("  %s %s", p.bold(count(len(g.ids), "thread")), g.what)
	}
}

// Warnings prints what could not be read, and why.
func Warnings(p *Printer, pic *inspect.Picture) {
	if len(pic.Warnings) == 0 {
		return
	}
	p.heading("WARNINGS", "")
	for _, w := range pic.Warnings {
		p.wrapped("  "+p.note("!")+" ", w)
	}
}

// nameColumn is where the names of threads stand, if regions have numbers.
const nameColumn = 2

// threadNumber names a thread by its innermost region and its number there.
func threadNumber(pic *inspect.Picture, t inspect.Thread) string {
	if n := regionNumber(pic, t.Region); n >= 0 && t.ThreadNum != nil {
		return fmt.Sprintf("%d.%d", n, *t.ThreadNum)
	}
	return ""
}

// regionNumber is the place of a region in the picture, -1 if it has none.
func regionNumber(pic *inspect.Picture, id inspect.ID) int {
	if id == "" {
		return -1
	}
	return slices.IndexFunc(pic.Regions, func(r inspect.Region) bool { return r.ID == id })
}

// Threads prints the table of threads.
func Threads(p *Printer, pic *inspect.Picture) {
	p.heading("THREADS", roles(pic.Threads))
	t := &table{head: []string{"", "LWP", "ROLE", "NUM/TEAM", "GOROUTINE", "STATE", "WAITS ON", "WHERE"}}
	if p.numbers {
		t.head = slices.Insert(t.head, nameColumn, "NAME")
	}
	for _, th := range pic.Threads {
		mark, state := "", ""
		if th.Crashed {
			mark = p.bad("*")
		}
		if th.State != nil {
			state = th.State.Name
			if th.State.Source == "tracked" {
				state += " (tracked)"
			}
		}
		at := ""
		if f, ok := innermostUser(th.UserStack); ok {
			at = where(f)
		}
		lwp := fmt.Sprint(th.LWP)
		if th.LWP == 0 {
			lwp = "gone"
		}
		cells := []string{mark, lwp, roleName(th), numbers(th), goroutine(th.Goroutine), state, waitsOn(th), at}
		if p.numbers {
			cells = slices.Insert(cells, nameColumn, threadNumber(pic, th))
		}
		t.add(cells...)
	}
	p.table(t)
	for _, th := range pic.Threads {
		for _, e := range th.Errors {
			p.wrapped(fmt.Sprintf("  %s %s: ", p.note("!"), threadName(th)), e)
		}
	}
	loops(p, pic)
}

// roles counts threads by role.
func roles(ts []inspect.Thread) string {
	n := map[string]int{}
	var order []string
	for _, t := range ts {
		r := roleName(t)
		if n[r] == 0 {
			order = append(order, r)
		}
		n[r]++
	}
	var parts []string
	for _, r := range order {
		parts = append(parts, fmt.Sprintf("%d %s", n[r], r))
	}
	return fmt.Sprintf("%d: %s", len(ts), strings.Join(parts, ", "))
}
