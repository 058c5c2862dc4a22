package report

import "github.com/ompd-inspect/ompd-inspect/job"

// JobPrinter is a Printer that prints jobs of many ranks, too.
type JobPrinter interface {
	// Job prints a job. The next command begins with next, for people.
	Job(r *job.Report, next string) error
}

// Job implements JobPrinter.
func (j jsonPrinter) Job(r *job.Report, _ string) error { return WriteJSON(j.w, r) }

// Job implements JobPrinter: a page.
func (t textPrinter) Job(r *job.Report, next string) error {
	t.Printer.Job(r, next)
	return t.Err()
}
