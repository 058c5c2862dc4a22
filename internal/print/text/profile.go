package text

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/internal/profile"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// profileRows bounds the rows of each table of a profile, unless all are requested.
const profileRows = 20

// profilePage prints a profile.
type profilePage struct {
	*Printer
	profile *picture.Profile
}

// Profile prints a profile: what costs most, then the tables.
func Profile(p *Printer, pr *picture.Profile) {
	page := profilePage{p, pr}
	page.printCost()
	page.printFindings()
	page.printSums()
	page.printRanks()
	page.printPlaces()
	page.printWaits()
	page.printBarriers()
	Warnings(p, &picture.Picture{Warnings: pr.Warnings})
}

// printCost prints the process, the rate of the samples and their cost.
func (p profilePage) printCost() {
	r := p.profile
	t := r.Target
	what := "profile of " + cmp.Or(t.Executable, t.Command, "the process")
	switch {
	case t.PID != 0:
		what += fmt.Sprintf(" (pid %d)", t.PID)
	case len(r.Ranks) > 0:
		what += fmt.Sprintf(" (%s)", phrase.Count(len(r.Ranks), "rank"))
	}
	text := fmt.Sprintf("%s in %s", phrase.Count(r.Samples, "sample"), secondsText(r.Seconds))
	if r.Seconds > 0 {
		text += fmt.Sprintf(", %.1f a second", float64(r.Samples)/r.Seconds)
	}
	p.printWrapped("", p.bold(what)+": "+text+"; ended as "+profile.EndText(r.End))
	if all := r.Seconds + r.Stopped; all > 0 {
		p.printWrapped(p.bold("cost")+" ", fmt.Sprintf("stopped for %.2f %% of the time, at most %v at once; the "+
			"samples took %.1f %% of one processor", 100*r.Stopped/all, secondsDuration(r.Longest), 100*r.Own/all))
	}
	for _, rt := range r.Runtimes {
		p.printWrapped(p.bold("runtime")+" ", strings.TrimSpace(rt.Name+" "+rt.Version)+pathText(rt.Path))
	}
}

// pathText returns ", PATH".
func pathText(path string) string {
	if path == "" {
		return ""
	}
	return ", " + filepath.Base(path)
}

// secondsText formats a time.
func secondsText(seconds float64) string { return fmt.Sprintf("%.1f s", seconds) }

// secondsDuration returns a time with three digits.
func secondsDuration(seconds float64) time.Duration {
	return roundDuration(time.Duration(seconds * float64(time.Second)))
}

// printFindings prints the conclusions.
func (p profilePage) printFindings() {
	for _, f := range p.profile.Findings {
		p.printLine("")
		title := profile.Title(f.Kind)
		switch f.Kind {
		case picture.FindingWork:
			title = p.bold(title)
		default:
			title = p.amber(title)
		}
		p.printWrapped(title+"  ", f.Text)
		for _, d := range f.Details {
			p.printWrapped("  ", d)
		}
		if f.Fix != "" {
			p.printWrapped("  fix: ", f.Fix)
		}
	}
}

// share formats a part of the thread time.
func (p profilePage) share(seconds float64) string { return profile.ShareText(seconds, p.profile) }

// timeCells returns the cells of a time: seconds and per cent; empty for none.
func (p profilePage) timeCells(seconds float64) (string, string) {
	if seconds <= 0 {
		return "", ""
	}
	return fmt.Sprintf("%.2f s", seconds), p.share(seconds)
}

// printSums prints the sums of Work and Wait.
func (p profilePage) printSums() {
	r := p.profile
	text := fmt.Sprintf("%s of %s: Work %s (%s), Wait %s (%s)", secondsText(r.ThreadSeconds),
		phrase.Count(r.Threads, "thread"), secondsText(r.Work), p.share(r.Work), secondsText(r.Wait), p.share(r.Wait))
	if r.Unknown > 0 {
		text += fmt.Sprintf(", unknown %s (%s)", secondsText(r.Unknown), p.share(r.Unknown))
	}
	if r.Samples > 0 {
		text += fmt.Sprintf("; a share is exact to %.0f %% at worst", 100*profile.Doubt(1./2, r.Samples))
	}
	if r.CPU > 0 {
		text += fmt.Sprintf("; the process used %s of CPU time", secondsText(r.CPU))
	}
	p.printHeading("TIME", text)
	if o := r.Outside; o != nil {
		p.printWrapped("  ", fmt.Sprintf("threads that OpenMP does not know, which do not count here: Work %s, Wait %s",
			secondsText(o.Work), secondsText(o.Wait)))
	}
}

// printRanks prints the table of the ranks of a job, those with the most Work first.
func (p profilePage) printRanks() {
	if len(p.profile.Ranks) == 0 {
		return
	}
	p.printHeading("RANKS", "of the job, by their shares of Work")
	list := profile.RanksByWork(p.profile)
	t := &table{head: []string{"RANK", "WORK", "WAIT", "IN MPI", "SAMPLES", "ON"}}
	for i, r := range list {
		if i == profileRows && !p.all {
			break
		}
		t.add(strconv.Itoa(r.Rank), profile.RankShare(r.Work, &r), profile.RankShare(r.Wait, &r),
			profile.RankShare(r.MPI, &r), strconv.Itoa(r.Samples), r.Host)
	}
	p.printTable(t)
	p.printOmitted(len(list)-profileRows, "more rank")
}

// printPlaces prints the table of the places.
func (p profilePage) printPlaces() {
	if len(p.profile.Places) == 0 {
		return
	}
	p.printHeading("PLACES", "of the program, by parallel region")
	t := &table{
		head:   []string{"WORK", "", "WAIT", "", "REGION", "AT", "WAITS FOR"},
		breaks: []lineBreak{{6, "waits for"}, {5, "at"}},
	}
	for i := range p.profile.Places {
		if i == profileRows && !p.all {
			break
		}
		at := &p.profile.Places[i]
		region, place := profile.RegionText(at.Region), "(idle)"
		if at.Frame != nil {
			place = phrase.Where(*at.Frame)
		}
		var waits []string
		for _, w := range at.Waits {
			text := profile.WaitText(w)
			if len(at.Waits) > 1 {
				text += " " + p.share(w.Seconds)
			}
			waits = append(waits, text)
		}
		work, workShare := p.timeCells(at.Work)
		wait, waitShare := p.timeCells(at.Wait)
		if at.Unknown > 0 {
			waits = append(waits, "unknown state "+p.share(at.Unknown))
		}
		t.add(work, workShare, wait, waitShare, region, place, phrase.Some(waits, maxWaitsShown, len(waits)))
	}
	p.printTable(t)
	p.printOmitted(len(p.profile.Places)-profileRows, "more place")
}

// maxWaitsShown bounds the awaited things in one row.
const maxWaitsShown = 2

// printWaits prints the table of the awaited things.
func (p profilePage) printWaits() {
	if len(p.profile.Waits) == 0 {
		return
	}
	p.printHeading("WAITS", "of all threads")
	t := &table{head: []string{"TIME", "", "FOR"}}
	for i, w := range p.profile.Waits {
		if i == profileRows && !p.all {
			break
		}
		seconds, share := p.timeCells(w.Seconds)
		t.add(seconds, share, profile.WaitText(w))
	}
	p.printTable(t)
	p.printOmitted(len(p.profile.Waits)-profileRows, "more")
}

// printBarriers prints the table of the barriers, with the threads that come last.
func (p profilePage) printBarriers() {
	if len(p.profile.Barriers) == 0 {
		return
	}
	p.printHeading("BARRIERS", "with the threads that had not come while others waited")
	t := &table{
		head:   []string{"WAIT", "", "BARRIER", "AT", "REGION", "LAST"},
		breaks: []lineBreak{{5, "last:"}, {4, "region"}, {3, "at"}},
	}
	for i := range p.profile.Barriers {
		if i == profileRows && !p.all {
			break
		}
		b := &p.profile.Barriers[i]
		place := ""
		if b.Frame != nil {
			place = phrase.Where(*b.Frame)
		}
		seconds, share := p.timeCells(b.Seconds)
		t.add(seconds, share, profile.BarrierName(b), place, profile.RegionText(b.Region), profile.LastText(b))
	}
	p.printTable(t)
	p.printOmitted(len(p.profile.Barriers)-profileRows, "more barrier")
}
