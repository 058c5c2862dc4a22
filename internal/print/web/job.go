package web

import (
	"fmt"
	"io"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/internal/jobs/job"
	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// Bounds of the page of a job.
const (
	maxJobRows   = 500 // classes, and missing answers
	maxJobRanges = 24
)

// jobPage is the data of the template of a job.
type jobPage struct {
	assets
	Title    string
	What     string
	Made     string
	Next     string
	Partial  bool
	Verdicts []jobVerdict
	Shown    []jobRank
	Classes  []jobClass
	More     int // classes that are not listed
	Missing  []jobMissing
	Unseen   int // missing answers that are not listed
	Facts    []fact
}

// jobVerdict is a verdict over ranks.
type jobVerdict struct {
	job.Verdict
	Heading      string
	Who, Waiting string
}

// jobRank is a rank that was inspected in detail.
type jobRank struct {
	Rank     int
	Place    string
	Verdicts []string
	Command  string
}

// jobClass is a row of the classes of threads.
type jobClass struct {
	Class          string // color
	Ranks, Threads int
	State, Who     string
	Where          []string
	Progress       string
	Share          int // of the ranks, of jobBar
}

// jobBar is the width of the bar of all ranks.
const jobBar = 120

// jobMissing is a missing answer and its reason.
type jobMissing struct{ Who, Why string }

// WriteJob draws a job of many ranks. next is the arguments of `ompd-inspect job` that repeat the question, made the
// time, the host and the version of the tool.
func WriteJob(w io.Writer, r *job.Report, next, made string) error {
	a, err := newAssets(false)
	if err != nil {
		return err
	}
	p := &jobPage{
		assets: a,
		Title:  "job " + r.Job, Next: next, Made: made, Partial: r.Partial, What: jobWhat(r), Facts: jobFacts(r),
	}
	for _, v := range r.Verdicts {
		p.Verdicts = append(p.Verdicts, jobVerdict{
			v, jobHeading(v), v.Ranks.Ranges(maxJobRanges), v.Waiting.Ranges(maxJobRanges),
		})
	}
	for _, s := range r.Shown {
		p.Shown = append(p.Shown, newJobRank(s, next))
	}
	for i, c := range r.Classes {
		if i == maxJobRows {
			p.More = len(r.Classes) - i
			break
		}
		p.Classes = append(p.Classes, newJobClass(r, c))
	}
	for i, m := range r.Missing {
		if i == maxJobRows {
			p.Unseen = len(r.Missing) - i
			break
		}
		p.Missing = append(p.Missing, newJobMissing(m))
	}
	return draw(w, "job.tmpl", p)
}

// jobWhat returns the size of the job and its answers.
func jobWhat(r *job.Report) string {
	return fmt.Sprintf("%s on %s, %s; %d answered in %.1f s", phrase.Count(r.Ranks, "rank"),
		phrase.Count(r.Hosts, "host"), phrase.Count(r.Threads, "thread"), r.Answered.Len(), r.Seconds)
}

// jobFacts returns the facts on the job as a whole.
func jobFacts(r *job.Report) (out []fact) {
	if name := r.SingleProgram(); name != "" {
		out = append(out, fact{"program", name})
	} else {
		for _, e := range r.Programs[:min(len(r.Programs), maxJobRows)] {
			out = append(out, fact{"ranks of " + e.Name, e.Ranks.Ranges(maxJobRanges)})
		}
	}
	if r.Moved.Len()+r.Still.Len() > 0 {
		out = append(out, fact{"progress between two looks", phrase.Count(r.Moved.Len(), "rank")},
			fact{"no progress", phrase.Count(r.Still.Len(), "rank")})
	}
	if r.Others > 0 {
		out = append(out, fact{"threads of libraries", fmt.Sprintf("%d, left out", r.Others)})
	}
	return out
}

// jobHeading returns the title of a verdict over ranks.
func jobHeading(v job.Verdict) string {
	switch v.Severity {
	case picture.SeverityCrash:
		return "CRASH"
	case picture.SeverityHang:
		if v.Certainty == picture.Possible {
			return "MAYBE A HANG"
		}
		return "HANG"
	case picture.SeverityWarning:
		return "WAITS"
	}
	return "NOTE"
}

func newJobRank(s job.Where, next string) jobRank {
	var place []string
	for _, w := range []string{s.Host, s.Path} {
		if w != "" {
			place = append(place, w)
		}
	}
	if s.PID != 0 {
		place = append(place, fmt.Sprintf("pid %d", s.PID))
	}
	return jobRank{
		Rank: s.Rank, Place: strings.Join(place, ", "), Verdicts: s.Verdicts,
		Command: fmt.Sprintf("ompd-inspect job %s --rank %d", next, s.Rank),
	}
}

func newJobClass(r *job.Report, c job.Class) jobClass {
	out := jobClass{
		Class: jobColor(c.State), Ranks: c.Ranks.Len(), Threads: c.Threads, State: c.State,
		Who: c.Ranks.Ranges(maxJobRanges), Progress: string(c.Movement),
	}
	if n := r.Answered.Len(); n > 0 {
		out.Share = max(1, jobBar*out.Ranks/n)
	}
	if c.Ranks.Equal(r.Answered) && out.Ranks > 1 {
		out.Who = "all"
	}
	for _, n := range c.Where {
		out.Where = append(out.Where, n.String())
	}
	if c.Call != nil && len(out.Where) > 0 {
		out.Where[len(out.Where)-1] = c.Call.String()
	}
	return out
}

// jobColor returns the color of a state.
func jobColor(state string) string {
	return class(&picture.Thread{State: &picture.State{Name: picture.StateName(state)}})
}

func newJobMissing(m job.Lost) jobMissing {
	who := m.Host
	switch n := m.Ranks.Len(); {
	case n == 1:
		who = strings.TrimSpace(fmt.Sprintf("%s rank %d", who, m.Ranks.First()))
	case n > 1:
		who = strings.TrimSpace(who + " ranks " + m.Ranks.Ranges(maxJobRanges))
	}
	return jobMissing{who, m.Reason}
}
