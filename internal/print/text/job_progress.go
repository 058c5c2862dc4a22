package text

import (
	"fmt"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/internal/jobs/job"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// maxProgressRows bounds the classes of those that made progress, and of those that did not.
const maxProgressRows = 12

// JobProgress prints which ranks of a job made progress between two looks, and where they are.
// next is as for Job.
func (p *Printer) JobProgress(r *job.Report, next string) {
	for _, l := range p.jobHead(r) {
		p.line(l)
	}
	p.line("")
	p.line(p.bold("PROGRESS") + strings.TrimPrefix(progressLine(r), "PROGRESS"))
	t := &table{head: []string{"PROGRESS", "RANKS", "STATE", "WHERE", "WHO"}}
	rest := r.Answered.Without(r.Moved).Without(r.Still)
	for _, part := range []struct {
		word  string
		ranks job.Set
	}{{"yes", r.Moved}, {"no", r.Still}, {"not known", rest}} {
		p.progressRows(t, r, part.word, part.ranks)
	}
	for _, l := range p.tableLines(t) {
		p.line(l)
	}
	if r.Still.Len() > 0 {
		p.linef("  next: ompd-inspect job %s", next)
	}
}

// progressRows adds where some ranks are. Threads that wait for work are everywhere.
func (p *Printer) progressRows(t *table, r *job.Report, word string, ranks job.Set) {
	rows, left := 0, job.Set{}
	for _, c := range r.Classes {
		both := c.Ranks.And(ranks)
		if both.Len() == 0 || c.State == string(picture.StateIdle) {
			continue
		}
		if rows++; rows > maxProgressRows {
			left = left.Or(both)
			continue
		}
		t.add(word, fmt.Sprint(both.Len()), c.State, p.jobWhere(c), both.Ranges(maxWho))
	}
	if rows > maxProgressRows {
		t.add(word, fmt.Sprint(left.Len()), "…", fmt.Sprintf("%d more places (--json)", rows-maxProgressRows),
			left.Ranges(maxWho))
	}
}
