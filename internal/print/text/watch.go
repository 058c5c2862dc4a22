package text

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// Look prints one of several looks at a process: for the first one the target, for the others the changes.
func Look(p *Printer, l *picture.Look) {
	if l.Change == nil {
		Header(p, l.Picture)
		return
	}
	p.printf("%s  %s", p.bold(fmt.Sprintf("+%.1f s", l.Seconds)), outcomeText(p, l.Change.Verdict)+": "+l.Change.Reason)
	if r := l.Change.Recorded; r != nil {
		p.printLine("      " + recordRate(l.Picture, l.Change))
	}
	printChanges(p, l.Picture, l.Change)
}

// recordRate returns the number of records that the threads of a recorded program write.
func recordRate(pic *picture.Picture, c *picture.Change) string {
	text := fmt.Sprintf("recorded: %.0f records a second", c.Recorded.PerSecond)
	var most *picture.ThreadChange
	for i := range c.Threads {
		if t := &c.Threads[i]; t.Records > 0 && (most == nil || t.Records > most.Records) {
			most = t
		}
	}
	if most != nil && most.Records < c.Recorded.Records {
		who := threadsOf(threadsByLWP(pic), []int{most.LWP})
		text += fmt.Sprintf(", most by %s: %.0f", phrase.Threads(who, false), float64(most.Records)/c.Seconds)
	}
	return text
}

// Result prints the verdict on all looks, and the cause of a standstill.
func Result(p *Printer, l *picture.Look) {
	if l.Result == nil {
		return
	}
	p.printLine("")
	p.printWrapped(outcomeText(p, l.Result.Verdict)+" ",
		fmt.Sprintf("in %.1f s: %s", l.Result.Seconds, l.Result.Reason))
	Warnings(p, l.Picture)
	if l.Result.Verdict != picture.WatchProgress {
		printStandstillCause(p, l.Picture)
	}
}

// outcomeText returns a verdict of watch in its colour.
func outcomeText(p *Printer, v string) string {
	if v == picture.WatchProgress {
		return p.bold(v)
	}
	return p.red(v)
}

// changeGroup is threads with the same activity in the same place.
type changeGroup struct {
	did, where string
	moved      []string
	lwps       []int
	cpu        float64
	records    int64
	aside      bool
}

// printChanges prints the activities of the threads, the largest group first, and ignored threads last.
func printChanges(p *Printer, pic *picture.Picture, c *picture.Change) {
	var groups []*changeGroup
	for _, t := range c.Threads {
		at := threadPlace(pic, t.LWP)
		i := slices.IndexFunc(groups, func(g *changeGroup) bool {
			return g.did == t.Activity && g.where == at &&
				g.aside == t.Ignored
		})
		if i < 0 {
			groups = append(groups, &changeGroup{did: t.Activity, where: at, aside: t.Ignored})
			i = len(groups) - 1
		}
		g := groups[i]
		g.lwps, g.cpu, g.records = append(g.lwps, t.LWP), g.cpu+t.CPU, g.records+t.Records
		for _, m := range t.Changed {
			if !slices.Contains(g.moved, m) {
				g.moved = append(g.moved, m)
			}
		}
	}
	slices.SortStableFunc(groups, func(a, b *changeGroup) int {
		if a.aside != b.aside {
			return strings.Compare(fmt.Sprint(a.aside), fmt.Sprint(b.aside))
		}
		return cmp.Compare(len(b.lwps), len(a.lwps))
	})
	t := &table{head: []string{"", "DID", "CPU", "RECORDS/S", "WHERE", "DIFFERENT", "THREADS"}}
	threads := threadsByLWP(pic)
	for _, g := range groups {
		share := ""
		if c.Seconds > 0 {
			share = percentOf(g.cpu / c.Seconds)
		}
		rate := ""
		if c.Recorded != nil && c.Seconds > 0 {
			rate = fmt.Sprintf("%.0f", float64(g.records)/c.Seconds)
		}
		t.add(fmt.Sprintf("%d×", len(g.lwps)), g.did, share, rate, g.where, strings.Join(g.moved, ", "),
			p.namesOf(threads, g.lwps))
	}
	p.printTable(t)
}

// threadPlace returns the state of a thread and its place, in one phrase.
func threadPlace(pic *picture.Picture, lwp int) string {
	i := slices.IndexFunc(pic.Threads, func(t picture.Thread) bool { return t.LWP == lwp })
	if i < 0 {
		return ""
	}
	t := pic.Threads[i]
	s := phrase.RoleName(t)
	if t.State != nil {
		s = string(t.State.Name)
	}
	if f, ok := phrase.InnermostUser(t.UserStack); ok {
		s += " in " + phrase.Where(f)
	}
	return s
}

// percentOf formats a share of a processor's time; a share above 0 is not printed as 0.
func percentOf(share float64) string {
	if share > 0 && share < 0.005 {
		return "<1%"
	}
	return fmt.Sprintf("%.0f%%", 100*share)
}
