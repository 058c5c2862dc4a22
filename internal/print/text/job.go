package text

import (
	"fmt"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/internal/jobs/job"
	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// Bounds of the page of a job, in lines unless noted: it fits on a screen, and --json contains the rest.
const (
	maxPage        = 50
	maxJobClasses  = 12
	maxJobVerdicts = 3
	maxJobMissing  = 4
	maxJobPrograms = 4
	maxReasonRows  = 2 // of one reason for a missing answer
	maxVerdictRows = 9 // of one verdict
	maxWho         = 6 // ranges of ranks
	maxWhereNames  = 4 // calls of a stack
)

// jobPage prints the report of a job.
type jobPage struct {
	*Printer
	r *job.Report
}

// Job prints the page of a job. next is the arguments of the command that requested the page, without the name of its
// verb, for the next command.
func Job(p *Printer, r *job.Report, next string) { jobPage{p, r}.print(next) }

func (p jobPage) print(next string) {
	r := p.r
	lines := p.head()
	for i, v := range r.Verdicts {
		if i == maxJobVerdicts {
			lines = append(lines, fmt.Sprintf("… %d more verdicts (--json)", len(r.Verdicts)-i))
			break
		}
		if i > 0 || len(r.Missing) == 0 { // the first one is always kept
			lines = append(lines, "")
		}
		lines = append(lines, p.verdict(v)...)
	}
	if len(r.Verdicts) == 0 {
		lines = append(lines, "",
			"no sign of a hang in what was seen"+map[bool]string{true: ", which is not all of it"}[r.Partial ||
				len(r.Missing) > 0])
	}
	if len(r.Shown) > 0 {
		lines = append(lines, fmt.Sprintf("  next: ompd-inspect job %s --rank %d", next, p.firstRank()))
	}
	tail := p.tail()
	if room := maxPage - len(lines) - len(tail) - 3; len(r.Classes) > 0 && room > 0 {
		lines = append(lines, p.classes(min(room, maxJobClasses))...)
	}
	for _, l := range append(lines, tail...) {
		p.printLine(l)
	}
}

// firstRank returns the rank to inspect first.
func (p jobPage) firstRank() int {
	r := p.r
	if len(r.Verdicts) > 0 && r.Verdicts[0].Ranks.Len() > 0 {
		return r.Verdicts[0].Ranks.First()
	}
	return r.Shown[0].Rank
}

// head returns the lines on the size of the job and its answers.
func (p jobPage) head() []string {
	r := p.r
	answered := r.Answered.Len()
	s := fmt.Sprintf("%s  %s on %s, %s", p.bold("job "+r.Job), phrase.Count(r.Ranks, "rank"),
		phrase.Count(r.Hosts, "host"),
		phrase.Count(r.Threads, "thread"))
	if name := r.SingleProgram(); name != "" {
		s += ", program " + name
	}
	who := "all answered"
	if answered < r.Ranks {
		who = fmt.Sprintf("%d answered", answered)
	}
	s += fmt.Sprintf("; %s in %.1f s", who, r.Seconds)
	if r.Partial {
		s += p.amber(" (so far)")
	}
	out := p.folded("", s)
	if r.SingleProgram() == "" && len(r.Programs) > 0 {
		out = append(out, p.folded("", p.programs())...)
	}
	if p.made != "" {
		out = append(out, p.folded("", p.bold("report")+" "+p.made)...)
	}
	return append(out, p.missing()...)
}

// programs returns the line on the programs of the ranks, if they differ.
func (p jobPage) programs() string {
	var parts []string
	for i, e := range p.r.Programs {
		if i == maxJobPrograms {
			parts = append(parts, fmt.Sprintf("%d more (--json)", len(p.r.Programs)-i))
			break
		}
		parts = append(parts, fmt.Sprintf("%s (%s)", e.Name, rankText(e.Ranks)))
	}
	return "programs: " + strings.Join(parts, ", ")
}

// missing returns the lines on missing answers, one for each reason.
func (p jobPage) missing() (out []string) {
	ranks, hosts, whys := map[string]job.Set{}, map[string][]string{}, []string{}
	for _, m := range p.r.Missing {
		if len(hosts[m.Reason]) == 0 {
			whys = append(whys, m.Reason)
		}
		ranks[m.Reason], hosts[m.Reason] = ranks[m.Reason].Union(m.Ranks), append(hosts[m.Reason], m.Host)
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
			what = strings.TrimSpace(fmt.Sprintf("%s (%s)", what, rankText(s)))
		}
		lines := p.folded("", p.amber("no answer: ")+what+": "+why)
		out = append(out, lines[:min(len(lines), maxReasonRows)]...)
	}
	return out
}

// rankText returns "rank 3" or "ranks 1-4".
func rankText(s job.Set) string {
	if s.Len() == 1 {
		return fmt.Sprintf("rank %d", s.First())
	}
	return "ranks " + s.Ranges(maxWho)
}

// verdict returns the lines of a verdict on ranks, with its evidence.
func (p jobPage) verdict(v job.Verdict) []string {
	title := map[picture.Severity]string{
		picture.SeverityCrash: "CRASH", picture.SeverityHang: "HANG", picture.SeverityWarning: "WAITS",
		picture.SeverityInfo: "NOTE",
	}[v.Severity]
	if v.Severity == picture.SeverityHang && v.Certainty == picture.Possible {
		title = "MAYBE A HANG"
	}
	head := p.red(title)
	if v.Severity.Rank() > picture.SeverityHang.Rank() {
		head = p.amber(title)
	}
	out := p.folded(head+"  ", fmt.Sprintf("%s (%s)", v.Summary, v.Certainty))
	for _, e := range v.Evidence {
		out = append(out, p.folded("  ", e)...)
	}
	for _, w := range p.r.Shown {
		if v.Ranks.Contains(w.Rank) && len(w.Verdicts) > 0 {
			out = append(out, p.rank(w)...)
			break
		}
	}
	if len(out) > maxVerdictRows {
		out = append(out[:maxVerdictRows-1], "  … (--json has all)")
	}
	return out
}

// rank returns the lines of the verdicts on one rank, which a look in detail found.
func (p jobPage) rank(w job.Where) (out []string) {
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

// jobBreaks are the columns at which a row of a job's tables continues on the next line: the ranks, and the place.
var jobBreaks = []lineBreak{{4, "ranks"}, {3, "at"}}

// classes returns the table of the classes of threads.
func (p jobPage) classes(most int) []string {
	r := p.r
	out := []string{"", p.bold("CLASSES") + fmt.Sprintf("  %d, fewest ranks first", len(r.Classes))}
	t := &table{head: []string{"RANKS", "THREADS", "STATE", "WHERE", "WHO"}, breaks: jobBreaks}
	list, left := r.Classes, []job.Class(nil)
	if over := len(list) - most + 1; over > 1 && most > 1 { // the largest one is always printed
		left = list[most-2 : len(list)-1]
		list = append(list[:most-2:most-2], list[len(list)-1])
	}
	for _, c := range list {
		who := c.Ranks.Ranges(maxWho)
		if c.Ranks.Equal(r.Answered) && c.Ranks.Len() > 1 {
			who = "all"
		}
		t.add(fmt.Sprint(c.Ranks.Len()), fmt.Sprint(c.Threads), c.State, classPlace(c), who)
	}
	out = append(out, p.tableLines(t)...)
	if n := len(left); n > 0 {
		out = append(out, fmt.Sprintf("  … %d more classes of %d to %d ranks (--json)", n, left[0].Ranks.Len(),
			left[n-1].Ranks.Len()))
	}
	return out
}

// classPlace returns the place of a class: its innermost calls, the last one with its line.
func classPlace(c job.Class) string {
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

// tail returns the lines on threads outside of the classes, and on progress.
func (p jobPage) tail() (out []string) {
	r := p.r
	if r.Moved.Len()+r.Still.Len() > 0 {
		out = append(out, progressLine(r))
	}
	if r.Others > 0 {
		out = append(out, fmt.Sprintf("NOT OPENMP  %s of libraries, left out", phrase.Count(r.Others, "thread")))
	}
	return out
}

// progressLine returns the line on the number of ranks that made progress.
func progressLine(r *job.Report) string {
	s := fmt.Sprintf("PROGRESS  two looks: %s made progress, %d did not", phrase.Count(r.Moved.Len(), "rank"),
		r.Still.Len())
	if rest := r.Answered.Len() - r.Moved.Len() - r.Still.Len(); rest > 0 {
		s += fmt.Sprintf(", of %d it is not known", rest)
	}
	return s
}

// folded returns text in lines, as printWrapped prints it.
func (p jobPage) folded(head, words string) []string {
	return p.captureLines(func(q *Printer) { q.printWrapped(head, words) })
}

// tableLines returns a table in lines.
func (p jobPage) tableLines(t *table) []string {
	return p.captureLines(func(q *Printer) { q.printTable(t) })
}

// maxProgressRows bounds the classes of ranks that made progress, and of those that did not.
const maxProgressRows = 12

// JobProgress prints the ranks of a job that made progress between two looks, and their places. next is as for Job.
func JobProgress(p *Printer, r *job.Report, next string) { jobPage{p, r}.printProgress(next) }

func (p jobPage) printProgress(next string) {
	r := p.r
	for _, l := range p.head() {
		p.printLine(l)
	}
	p.printLine("")
	p.printLine(p.bold("PROGRESS") + strings.TrimPrefix(progressLine(r), "PROGRESS"))
	t := &table{head: []string{"PROGRESS", "RANKS", "STATE", "WHERE", "WHO"}, breaks: jobBreaks}
	rest := r.Answered.Subtract(r.Moved).Subtract(r.Still)
	for _, part := range []struct {
		word  string
		ranks job.Set
	}{{"yes", r.Moved}, {"no", r.Still}, {"not known", rest}} {
		p.addProgressRows(t, part.word, part.ranks)
	}
	for _, l := range p.tableLines(t) {
		p.printLine(l)
	}
	if r.Still.Len() > 0 {
		p.printf("  next: ompd-inspect job %s", next)
	}
}

// addProgressRows adds the classes of some ranks, without threads that wait for work, which all ranks have.
func (p jobPage) addProgressRows(t *table, word string, ranks job.Set) {
	rows, left := 0, job.Set{}
	for _, c := range p.r.Classes {
		both := c.Ranks.Intersect(ranks)
		if both.Len() == 0 || c.State == string(picture.StateIdle) {
			continue
		}
		if rows++; rows > maxProgressRows {
			left = left.Union(both)
			continue
		}
		t.add(word, fmt.Sprint(both.Len()), c.State, classPlace(c), both.Ranges(maxWho))
	}
	if rows > maxProgressRows {
		t.add(word, fmt.Sprint(left.Len()), "…", fmt.Sprintf("%d more places (--json)", rows-maxProgressRows),
			left.Ranges(maxWho))
	}
}
