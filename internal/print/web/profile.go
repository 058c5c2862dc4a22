package web

import (
	"fmt"
	"io"
	"math"

	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/internal/profile"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// maxProfileRows bounds the rows of each table of the page of a profile.
const maxProfileRows = 200

// profilePage is the data of the template of a profile.
type profilePage struct {
	assets
	Title    string
	What     string
	Made     string
	Findings []profileFinding
	Facts    []fact
	Icicle   *icicle
	Ranks    []profileRank
	MoreRank int // ranks that are not listed
	Places   []profilePlace
	More     int // places that are not listed
	Barriers []profileBarrier
	Warnings []string
}

// profileFinding is a finding in the form of the page.
type profileFinding struct {
	picture.ProfileFinding
	Heading, Share string
	Severity       picture.Severity // color
}

// profileRank is a row of the ranks of a job.
type profileRank struct {
	Rank            int
	Work, Wait, MPI string
	Samples         int
	Host            string
}

// profilePlace is a row of the places.
type profilePlace struct {
	Work, Wait, Region, At string
	Waits                  []string
}

// profileBarrier is a row of the barriers.
type profileBarrier struct{ Wait, Name, At, Last string }

// WriteProfile draws a profile. made is the time, the host and the version of the tool.
func WriteProfile(w io.Writer, pr *picture.Profile, made string) error {
	a, err := newAssets(false)
	if err != nil {
		return err
	}
	p := &profilePage{
		assets: a, Made: made,
		Title: "profile of " + title(&picture.Picture{Target: pr.Target}), Facts: profileFacts(pr),
		What: fmt.Sprintf("%s in %.1f s; ended as %s", phrase.Count(pr.Samples, "sample"), pr.Seconds,
			profile.EndText(pr.End)),
		Icicle: profileIcicle(pr), Warnings: pr.Warnings,
	}
	for _, f := range pr.Findings {
		one := profileFinding{f, profile.Title(f.Kind), profile.ShareText(f.Seconds, pr), picture.SeverityWarning}
		if f.Kind == picture.FindingWork {
			one.Severity = picture.SeverityInfo
		}
		p.Findings = append(p.Findings, one)
	}
	p.Ranks, p.MoreRank = profileRanks(pr)
	for i := range pr.Places {
		if i == maxProfileRows {
			p.More = len(pr.Places) - i
			break
		}
		p.Places = append(p.Places, newProfilePlace(&pr.Places[i], pr))
	}
	for i := range pr.Barriers[:min(len(pr.Barriers), maxProfileRows)] {
		b := &pr.Barriers[i]
		row := profileBarrier{timeText(b.Seconds, pr), profile.BarrierName(b), "", profile.LastText(b)}
		if b.Frame != nil {
			row.At = phrase.Where(*b.Frame)
		}
		p.Barriers = append(p.Barriers, row)
	}
	return draw(w, "profile.tmpl", p)
}

// profileRanks returns the rows of the ranks, those with the largest share of Work first, and the number of those left
// out.
func profileRanks(pr *picture.Profile) (rows []profileRank, more int) {
	list := profile.RanksByWork(pr)
	for _, r := range list[:min(len(list), maxProfileRows)] {
		rows = append(rows, profileRank{
			Rank: r.Rank, Work: profile.RankShare(r.Work, &r), Wait: profile.RankShare(r.Wait, &r),
			MPI: profile.RankShare(r.MPI, &r), Samples: r.Samples, Host: r.Host,
		})
	}
	return rows, len(list) - len(rows)
}

// newProfilePlace returns a row of the places.
func newProfilePlace(at *picture.ProfilePlace, pr *picture.Profile) profilePlace {
	row := profilePlace{
		Work: timeText(at.Work, pr), Wait: timeText(at.Wait, pr), Region: profile.RegionText(at.Region), At: "(idle)",
	}
	if at.Frame != nil {
		row.At = phrase.Where(*at.Frame)
	}
	for _, w := range at.Waits {
		row.Waits = append(row.Waits, profile.WaitText(w)+" "+profile.ShareText(w.Seconds, pr))
	}
	return row
}

// timeText returns a time in seconds and per cent; "" for none.
func timeText(seconds float64, pr *picture.Profile) string {
	if seconds <= 0 {
		return ""
	}
	return fmt.Sprintf("%.2f s, %s", seconds, profile.ShareText(seconds, pr))
}

// profileFacts returns the facts on the profile as a whole.
func profileFacts(pr *picture.Profile) []fact {
	out := []fact{
		{"time of threads", fmt.Sprintf("%.1f s of %s", pr.ThreadSeconds, phrase.Count(pr.Threads, "thread"))},
		{"Work", timeText(pr.Work, pr)}, {"Wait", timeText(pr.Wait, pr)},
	}
	if pr.Unknown > 0 {
		out = append(out, fact{"unknown", timeText(pr.Unknown, pr)})
	}
	if all := pr.Seconds + pr.Stopped; all > 0 {
		out = append(out, fact{"cost", fmt.Sprintf("%.1f samples a second; stopped for %.2f %% of the time",
			float64(pr.Samples)/all, 100*pr.Stopped/all)})
	}
	for _, r := range pr.Runtimes {
		out = append(out, fact{"runtime", r.Name + " " + r.Version + ", " + r.Path})
	}
	return out
}

// profileIcicle draws the stacks of a profile; nil without any. The unit of its sizes is a millisecond.
func profileIcicle(pr *picture.Profile) *icicle {
	root := &call{at: map[string]*call{}}
	deeper, deep := 0, 0
	for _, s := range pr.Stacks {
		root.insert(s.Frames, int(math.Round(min(max(s.Seconds, 0), maxStackSeconds)*1e3)), nil, stackClass(&s))
		if below := len(s.Frames) - maxDepth; below > 0 {
			deeper, deep = deeper+below, deep+1
		}
	}
	if root.count == 0 {
		return nil
	}
	out := &icicle{Width: icicleWidth, describe: func(c *call) string {
		return timeText(float64(c.count)/1e3, pr)
	}}
	if deeper > 0 {
		out.Deeper = phrase.Count(deeper, "inner frame") + " of " + phrase.Count(deep, "stack")
	}
	used := map[string]bool{}
	out.draw(root, 0, 0, icicleWidth, used)
	out.addLegend(used)
	return out
}

// maxStackSeconds bounds the time of a stack in a drawing, so that sums fit an integer; it is 12 days of 100 threads.
const maxStackSeconds = 1e8

// stackClass returns the color of a stack.
func stackClass(s *picture.ProfileStack) string {
	kind := picture.WaitKind(s.Kind)
	switch {
	case s.Class == picture.ProfileWork:
		return classWork
	case s.Class != picture.ProfileWaits:
		return classUnknown
	case kind == picture.WaitBarrier:
		return classBarrier
	case kind == picture.WaitTaskwait, kind == picture.WaitTaskgroup:
		return classTask
	case s.Kind == "idle":
		return classIdle
	case s.Kind != "overhead" && kind.OfLock():
		return classLock
	}
	return classWait
}
