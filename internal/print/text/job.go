package text

import (
	"fmt"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/internal/jobs/job"
	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// Bounds of the page of a job, in lines but for maxWho: people see all of it at once, and
// --json has the rest.
const (
	maxPage        = 50
	maxJobClasses  = 12
	maxJobVerdicts = 3
	maxJobMissing  = 4
	maxReasonRows  = 2 // of why somebody did not answer
	maxVerdictRows = 9 // of one verdict
	maxWho         = 6 // ranges of ranks
	maxWhereNames  = 4 // calls of a stack
)

// Job prints the page of a job. next is the command line that the next command is made of:
// what asked for the page, without the name of the tool's verb.
func (p *Printer) Job(r *job.Report, next string) {
	lines := p.jobHead(r)
	for i, v := range r.Verdicts {
		if i == maxJobVerdicts {
			lines = append(lines, fmt.Sprintf("… %d more verdicts (--json)", len(r.Verdicts)-i))
			break
		}
		if i > 0 || len(r.Missing) == 0 { // the first one is in sight, whoever did not answer
			lines = append(lines, "")
		}
		lines = append(lines, p.jobVerdict(r, v)...)
	}
	if len(r.Verdicts) == 0 {
		lines = append(lines, "",
			"no sign of a hang in what was seen"+map[bool]string{true: ", which is not all of it"}[r.Partial ||
				len(r.Missing) > 0])
	}
	if len(r.Shown) > 0 {
		lines = append(lines, fmt.Sprintf("  next: ompd-inspect job %s --rank %d", next, p.firstRank(r)))
	}
	tail := p.jobTail(r)
	if room := maxPage - len(lines) - len(tail) - 3; len(r.Classes) > 0 && room > 0 {
		lines = append(lines, p.jobClasses(r, min(room, maxJobClasses))...)
	}
	for _, l := range append(lines, tail...) {
		p.line(l)
	}
}

// firstRank is the rank to look at first.
func (p *Printer) firstRank(r *job.Report) int {
	if len(r.Verdicts) > 0 && r.Verdicts[0].Ranks.Len() > 0 {
		return r.Verdicts[0].Ranks.First()
	}
	return r.Shown[0].Rank
}

// jobHead says what was asked, and who answered.
func (p *Printer) jobHead(r *job.Report) []string {
	answered := r.Answered.Len()
	s := fmt.Sprintf("%s  %s on %s, %s; ", p.bold("job "+r.Job), phrase.Count(r.Ranks, "rank"),
		phrase.Count(r.Hosts, "host"),
		phrase.Count(r.Threads, "thread"))
	who := "all answered"
	if answered < r.Ranks {
		who = fmt.Sprintf("%d answered", answered)
	}
	s += fmt.Sprintf("%s in %.1f s", who, r.Seconds)
	if r.Partial {
		s += p.note(" (so far)")
	}
	out := p.folded("", s)
	return append(out, p.jobMissing(r.Missing)...)
}

// jobMissing says who did not answer, those together of which the reason is the same.
func (p *Printer) jobMissing(list []job.Lost) (out []string) {
	ranks, hosts, whys := map[string]job.Set{}, map[string][]string{}, []string{}
	for _, m := range list {
		if len(hosts[m.Reason]) == 0 {
			whys = append(whys, m.Reason)
		}
		ranks[m.Reason], hosts[m.Reason] = ranks[m.Reason].Or(m.Ranks), append(hosts[m.Reason], m.Host)
	}
	for i, why := range whys {
		if i == maxJobMissing {
			return append(out, fmt.Sprintf("no answer: for %d more reasons (--json)", len(whys)-i))
		}
		what := hosts[why][0]
		if n := len(hosts[why]) - 1; n > 0 {
			what += fmt.Sprintf(" and %d more", n)
		}
		if s := ranks[why]; s.Len() > 0 {
			what = strings.TrimSpace(fmt.Sprintf("%s (%s)", what, ranksOf(s)))
		}
		lines := p.folded("", p.note("no answer: ")+what+": "+why)
		out = append(out, lines[:min(len(lines), maxReasonRows)]...)
	}
	return out
}

func ranksOf(s job.Set) string {
	if s.Len() == 1 {
		return fmt.Sprintf("rank %d", s.First())
	}
	return "ranks " + s.Ranges(maxWho)
}

// jobVerdict is a verdict over ranks and its evidence.
func (p *Printer) jobVerdict(r *job.Report, v job.Verdict) []string {
	title := map[picture.Severity]string{
		picture.SeverityCrash: "CRASH", picture.SeverityHang: "HANG", picture.SeverityWarning: "WAITS",
		picture.SeverityInfo: "NOTE",
	}[v.Severity]
	if v.Severity == picture.SeverityHang && v.Certainty == picture.Possible {
		title = "MAYBE A HANG"
	}
	head := p.bad(title)
	if v.Severity.Rank() > picture.SeverityHang.Rank() {
		head = p.note(title)
	}
	out := p.folded(head+"  ", fmt.Sprintf("%s (%s)", v.Summary, v.Certainty))
	for _, e := range v.Evidence {
		out = append(out, p.folded("  ", e)...)
	}
	for _, w := range r.Shown {
		if v.Ranks.Has(w.Rank) && len(w.Verdicts) > 0 {
			out = append(out, p.jobRank(w)...)
			break
		}
	}
	if len(out) > maxVerdictRows {
		out = append(out[:maxVerdictRows-1], "  … (--json has all)")
	}
	return out
}

// jobRank is what a look in detail found of a rank.
func (p *Printer) jobRank(w job.Where) (out []string) {
	where := []string{}
	if w.Host != "" {
		where = append(where, w.Host)
	}
	switch {
	case w.Path != "":
		where = append(where, w.Path)
	case w.PID != 0:
		where = append(where, fmt.Sprintf("pid %d", w.PID))
	}
	head := fmt.Sprintf("  rank %d (%s): ", w.Rank, strings.Join(where, ", "))
	for i, line := range w.Verdicts {
		if i > 0 {
			head = "    "
		}
		out = append(out, p.folded(head, line)...)
	}
	return out
}

// jobClasses are the classes of threads.
func (p *Printer) jobClasses(r *job.Report, most int) []string {
	out := []string{"", p.bold("CLASSES") + fmt.Sprintf("  %d, fewest ranks first", len(r.Classes))}
	t := &table{head: []string{"RANKS", "THREADS", "STATE", "WHERE", "WHO"}}
	list, left := r.Classes, []job.Class(nil)
	if over := len(list) - most + 1; over > 1 && most > 1 { // the largest one is shown always
		left = list[most-2 : len(list)-1]
		list = append(list[:most-2:most-2], list[len(list)-1])
	}
	for _, c := range list {
		who := c.Ranks.Ranges(maxWho)
		if c.Ranks.Equal(r.Answered) && c.Ranks.Len() > 1 {
			who = "all"
		}
		t.add(fmt.Sprint(c.Ranks.Len()), fmt.Sprint(c.Threads), c.State, p.jobWhere(c), who)
	}
	out = append(out, p.tableLines(t)...)
	if n := len(left); n > 0 {
		out = append(out, fmt.Sprintf("  … %d more classes of %d to %d ranks (--json)", n, left[0].Ranks.Len(),
			left[n-1].Ranks.Len()))
	}
	return out
}

// jobWhere is the place of a class: its innermost calls, the last with its line.
func (p *Printer) jobWhere(c job.Class) string {
	var parts []string
	names := c.Where
	if len(names) > maxWhereNames {
		parts, names = append(parts, "…"), names[len(names)-maxWhereNames:]
	}
	for i, n := range names {
		if last := i == len(names)-1; last || i == len(names)-2 && names[i+1].Line == 0 {
			parts = append(parts, n.String())
		} else {
			parts = append(parts, n.Function)
		}
	}
	if c.Call != nil && len(parts) > 0 {
		parts[len(parts)-1] = c.Call.String()
	}
	return strings.Join(parts, " > ")
}

// jobTail says what is not in the classes.
func (p *Printer) jobTail(r *job.Report) (out []string) {
	if r.Moved.Len()+r.Still.Len() > 0 {
		out = append(out, progressLine(r))
	}
	if r.Others > 0 {
		out = append(out, fmt.Sprintf("NOT OPENMP  %s of libraries, left out", phrase.Count(r.Others, "thread")))
	}
	return out
}

// progressLine says how many ranks made progress.
func progressLine(r *job.Report) string {
	s := fmt.Sprintf("PROGRESS  two looks: %s made progress, %d did not", phrase.Count(r.Moved.Len(), "rank"),
		r.Still.Len())
	if rest := r.Answered.Len() - r.Moved.Len() - r.Still.Len(); rest > 0 {
		s += fmt.Sprintf(", of %d it is not known", rest)
	}
	return s
}

// folded is text as wrapped prints it, in lines.
func (p *Printer) folded(head, words string) []string {
	var b strings.Builder
	q := &Printer{w: &b, color: p.color, width: p.width}
	q.wrapped(head, words)
	return strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
}

// tableLines is a table, in lines.
func (p *Printer) tableLines(t *table) []string {
	var b strings.Builder
	q := &Printer{w: &b, color: p.color, width: p.width}
	q.table(t)
	return strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
}
