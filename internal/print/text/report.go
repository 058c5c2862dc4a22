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

// Report prints the whole picture, the most important part first.
func Report(p *Printer, pic *picture.Picture) {
	Header(p, pic)
	Verdicts(p, pic)
	printCrashPlace(p, pic)
	if !slices.ContainsFunc(pic.Threads, func(t picture.Thread) bool { return t.Runtime != "" }) {
		Stacks(p, pic)
		Warnings(p, pic)
		return
	}
	table := newThreadTable(p, pic)
	if p.all || len(table.groups) > maxSummarized && !slices.ContainsFunc(pic.Verdicts, isSevere) {
		printSummary(p, pic)
	}
	table.print()
	Regions(p, pic)
	if p.all || picture.NoRuntime(pic.Runtimes) != "" || slices.ContainsFunc(pic.Tasks, hasParent) {
		Tasks(p, pic)
	} else {
		g := newTaskGroups(false)
		for _, t := range pic.Tasks {
			g.add(t)
		}
		p.printHeading("TASKS", g.counts())
	}
	if len(pic.Devices) > 0 {
		printDevices(p, pic)
	}
	printStacks(p, pic, threadsInCycles(p, pic))
	Warnings(p, pic)
}

// maxSummarized is the number of rows in the table of threads up to which no summary of their states precedes it.
const maxSummarized = 4

// isSevere reports whether a verdict explains a hang or a crash.
func isSevere(v picture.Verdict) bool { return v.Severity.Rank() <= picture.SeverityHang.Rank() }

// Part prints the picture of one thread, region or task, which has no verdicts.
func Part(p *Printer, pic *picture.Picture) {
	Header(p, pic)
	if len(pic.Threads) > 0 {
		newThreadTable(p, pic).print()
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

// printCrashPlace prints the place of the crashed thread in the source and in OpenMP terms.
func printCrashPlace(p *Printer, pic *picture.Picture) {
	t := pic.Target
	if t.Signal == "" || t.CrashedLWP == 0 {
		return
	}
	var parts []string
	if f, ok := phrase.InnermostUser(t.Frames); ok {
		parts = append(parts, "at "+p.cyan(phrase.Where(f)))
	}
	for _, th := range pic.Threads {
		if th.Crashed && t.Place != nil && len(pic.Runtimes) > 0 {
			parts = append(parts, "in OpenMP: "+openMPPlace(pic, th))
		}
	}
	if len(parts) > 0 {
		p.printLine("")
		p.printWrapped(fmt.Sprintf("  %s in LWP %d ", t.Signal, t.CrashedLWP), strings.Join(parts, "; "))
	}
}

// openMPPlace returns the place of a thread in OpenMP terms, in one sentence.
func openMPPlace(pic *picture.Picture, t picture.Thread) string {
	switch {
	case t.Role == picture.RoleUnknown && t.Runtime == "":
		return "unknown"
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

// printSummary prints the states of the threads in a few lines, the largest group first.
func printSummary(p *Printer, pic *picture.Picture) {
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
			p.printLine("")
		}
		if i == most {
			p.printf("  … and %s more, see below", phrase.Count(len(groups)-most, "group"))
			break
		}
		what := string(g.threads[0].State.Name)
		if at := groupPlace(g.threads); at != "" {
			what += " in " + at
		}
		p.printf("  %s %s", p.bold(phrase.Count(len(g.threads), "thread")), what)
	}
}

// Warnings prints the warnings of a picture.
func Warnings(p *Printer, pic *picture.Picture) {
	if len(pic.Warnings) == 0 {
		return
	}
	p.printHeading("WARNINGS", "")
	for _, w := range pic.Warnings {
		p.printWrapped("  "+p.amber("!")+" ", w)
	}
}

// regionNumber returns the position of a region in the picture, or -1.
func regionNumber(pic *picture.Picture, id picture.ID) int {
	if id == "" {
		return -1
	}
	return slices.IndexFunc(pic.Regions, func(r picture.Region) bool { return r.ID == id })
}
