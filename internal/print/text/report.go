package text

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// Report prints the whole picture, most important first.
func Report(p *Printer, pic *picture.Picture) {
	Header(p, pic)
	Verdicts(p, pic)
	crashPlace(p, pic)
	if !slices.ContainsFunc(pic.Threads, func(t picture.Thread) bool { return t.Runtime != "" }) {
		Stacks(p, pic)
		Warnings(p, pic)
		return
	}
	summary(p, pic)
	threadTable(p, pic)
	Regions(p, pic)
	Tasks(p, pic)
	Stacks(p, pic)
	Warnings(p, pic)
}

// Part prints what is of one thread, region or task. No verdicts are drawn of a part.
func Part(p *Printer, pic *picture.Picture) {
	Header(p, pic)
	if len(pic.Threads) > 0 {
		threadTable(p, pic)
	}
	if len(pic.Regions) > 0 {
		Regions(p, pic)
	}
	if len(pic.Tasks) > 0 {
		Tasks(p, pic)
	}
	if len(pic.Stacks) > 0 {
		Stacks(p, pic)
	}
	Warnings(p, pic)
}

// Header says what died, where, and which runtime was found.
func Header(p *Printer, pic *picture.Picture) {
	t := pic.Target
	what := string(t.Kind) + " of " + cmp.Or(t.Executable, t.Command, t.Path)
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
	case t.Signal != "":
		p.linef("%s: %s", p.bold(what), t.Signal)
	case t.Kind == picture.TargetProcess: // a process that was looked at by itself has a pause
		p.linef("%s: held by a debugger, no signal", p.bold(what))
	default:
		p.linef("%s: taken while it ran, no signal", p.bold(what))
	}
	if t.Pause != nil {
		standstill(p, t.Pause.Standstill)
	}
	runtimes(p, pic)
	printRank(p, pic)
}

// standstill says why the report was written, if it was because nothing moved, and which
// threads used processors meanwhile.
func standstill(p *Printer, s *picture.Standstill) {
	if s == nil {
		return
	}
	text := fmt.Sprintf("for %.1f s, which is why this report was written: ", s.Seconds)
	if len(s.Spinning) == 0 {
		text += "no thread ran"
	} else {
		var lwps []int
		used := 0.0
		for _, t := range s.Spinning {
			lwps, used = append(lwps, t.LWP), used+t.CPUSeconds
		}
		text += fmt.Sprintf("%s used %.1f s of processor time and came nowhere (LWP %s)",
			phrase.Count(len(lwps), "thread"), used, p.lwps(lwps))
	}
	if s.WaitsOutside {
		text += "; it waits for another process, or for input"
	}
	p.wrapped(p.bad("no progress")+" ", text)
}

// runs reports whether a process runs on; if not, somebody else had stopped it already, or
// it is being held.
func runs(s picture.Pause) bool { return s.Threads == 0 || s.Stops > 0 }

// pause says what looking at a process cost it.
func pause(s picture.Pause) string {
	if s.Threads == 0 {
		return "running, no thread was stopped"
	}
	if !runs(s) {
		return "stopped, with " + phrase.Count(s.Threads, "thread")
	}
	out := fmt.Sprintf("running, stopped %s for %.1f ms", phrase.Count(s.Threads, "thread"),
		float64(s.Microseconds)/1000)
	if s.Stops > 1 {
		out += fmt.Sprintf(" in %d stops", s.Stops)
	}
	return out
}

// crashPlace says where the crashed thread was, in the source and in OpenMP terms. The
// verdicts come before: they say why.
func crashPlace(p *Printer, pic *picture.Picture) {
	t := pic.Target
	if t.Signal == "" || t.CrashedLWP == 0 {
		return
	}
	var parts []string
	if f, ok := phrase.InnermostUser(t.Frames); ok {
		parts = append(parts, "at "+p.name(phrase.Where(f)))
	}
	for _, th := range pic.Threads {
		if th.Crashed && t.Place != nil && len(pic.Runtimes) > 0 {
			parts = append(parts, "in OpenMP: "+openMPPlace(pic, th))
		}
	}
	if len(parts) > 0 {
		p.line("")
		p.wrapped(fmt.Sprintf("  %s in LWP %d ", t.Signal, t.CrashedLWP), strings.Join(parts, "; "))
	}
}

// openMPPlace is where a thread is in OpenMP terms, in one sentence.
func openMPPlace(pic *picture.Picture, t picture.Thread) string {
	switch {
	case t.Runtime == "" || t.Role == picture.RoleNone:
		return "not an OpenMP thread"
	case t.Role == picture.RoleIdle:
		return "idle worker, in no region"
	}
	s := string(t.Role) + " thread in serial code"
	if t.Level != nil && *t.Level > 0 {
		s = fmt.Sprintf("thread %s of %s (%s) of the parallel region", phrase.Number(t.ThreadNum),
			phrase.Number(t.TeamSize), t.Role)
		if r := findRegion(pic, t.Region); r != nil && r.Function != nil {
			s += " " + phrase.CodeName(r.Function)
		}
		if *t.Level > 1 {
			s += fmt.Sprintf(" at level %d (%s)", *t.Level, phrase.Numbers(t))
		}
	}
	if t.State != nil {
		s += ", " + string(t.State.Name)
	}
	if task := findTask(pic, t.Task); task != nil && task.Kind == picture.TaskExplicit {
		s += ", in the explicit task " + phrase.CodeName(task.Function)
	}
	return s
}

func findRegion(pic *picture.Picture, id picture.ID) *picture.Region {
	if i := slices.IndexFunc(pic.Regions, func(r picture.Region) bool { return r.ID == id }); i >= 0 && id != "" {
		return &pic.Regions[i]
	}
	return nil
}

func findTask(pic *picture.Picture, id picture.ID) *picture.Task {
	if i := slices.IndexFunc(pic.Tasks, func(t picture.Task) bool { return t.ID == id }); i >= 0 && id != "" {
		return &pic.Tasks[i]
	}
	return nil
}

func runtimes(p *Printer, pic *picture.Picture) {
	if len(pic.Runtimes) == 0 {
		hint := ""
		if pic.Target.Signal == "" || pic.Target.Path != "" { // it is still there to be asked
			hint = fmt.Sprintf("; `ompd-inspect doctor %s` says why", pic.Target.Name())
		}
		if name := launcher(pic); name != "" {
			hint = fmt.Sprintf("; %s starts ranks: `ompd-inspect job --mpirun %d` inspects them", name, pic.Target.PID)
		}
		p.linef("%s none known in this %s%s", p.bold("runtime"), pic.Target.Kind, hint)
	}
	for _, r := range pic.Runtimes {
		if strings.HasPrefix(r.Layout, "none") {
			p.wrapped(p.bold("runtime")+" ",
				fmt.Sprintf("%s, %s: %s", r.Name, r.Path, strings.TrimPrefix(r.Layout, "none: ")))
			continue
		}
		name := r.Name
		if r.Version != "" {
			name += " " + r.Version
		}
		line := name + ", " + r.Path
		if r.Tracking {
			line += "; states tracked"
		}
		if !counts(r.Layout) {
			line += "; layout: " + r.Layout
		}
		p.wrapped(p.bold("runtime")+" ", line)
	}
}

// counts reports whether a line on a layout is only how many fields each source gave,
// which is for doctor to say.
func counts(layout string) bool {
	return layout == "" || layout[0] >= '0' && layout[0] <= '9'
}

// summary says in a few lines what the threads do, the largest group first.
func summary(p *Printer, pic *picture.Picture) {
	type group struct {
		key     string
		threads []picture.Thread
	}
	var groups []*group
	for _, t := range pic.Threads {
		if t.Runtime == "" || t.State == nil || t.State.Name == picture.StateIdle || t.Hidden && t.Task == "" {
			continue
		}
		key := string(t.State.Name)
		if f, ok := phrase.InnermostUser(t.UserStack); ok {
			key += "|" + frameKey(f) + "|" + strconv.Itoa(f.Line)
		}
		i := slices.IndexFunc(groups, func(g *group) bool { return g.key == key })
		if i < 0 {
			groups = append(groups, &group{key: key})
			i = len(groups) - 1
		}
		groups[i].threads = append(groups[i].threads, t)
	}
	slices.SortStableFunc(groups, func(a, b *group) int { return cmp.Compare(len(b.threads), len(a.threads)) })
	const most = 5
	for i, g := range groups {
		if i == 0 {
			p.line("")
		}
		if i == most {
			p.linef("  … and %s more, see below", phrase.Count(len(groups)-most, "group"))
			break
		}
		what := string(g.threads[0].State.Name)
		if at := groupPlace(g.threads); at != "" {
			what += " in " + at
		}
		p.linef("  %s %s", p.bold(phrase.Count(len(g.threads), "thread")), what)
	}
}

// Warnings prints what could not be read, and why.
func Warnings(p *Printer, pic *picture.Picture) {
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

// regionNumber is the place of a region in the picture, -1 if it has none.
func regionNumber(pic *picture.Picture, id picture.ID) int {
	if id == "" {
		return -1
	}
	return slices.IndexFunc(pic.Regions, func(r picture.Region) bool { return r.ID == id })
}
