package report

import (
	"github.com/ompd-inspect/ompd-inspect/internal/web"
	"github.com/ompd-inspect/ompd-inspect/job"
)

// JobPrinter is a Printer that prints jobs of many ranks, too.
type JobPrinter interface {
	// Job prints a job. The next command begins with next, for people.
	Job(r *job.Report, next string) error
	// Progress prints which ranks of a job made progress.
	Progress(r *job.Report, next string) error
}

// Job implements JobPrinter.
func (j jsonPrinter) Job(r *job.Report, _ string) error { return WriteJSON(j.w, r) }

// Progress implements JobPrinter: the report has it.
func (j jsonPrinter) Progress(r *job.Report, _ string) error { return WriteJSON(j.w, r) }

// Job implements JobPrinter: a page.
func (t textPrinter) Job(r *job.Report, next string) error {
	t.Printer.Job(r, next)
	return t.Err()
}

// Progress implements JobPrinter.
func (t textPrinter) Progress(r *job.Report, next string) error {
	t.JobProgress(r, next)
	return t.Err()
}

// Job implements JobPrinter, as HTML only.
func (d drawingPrinter) Job(r *job.Report, next string) error {
	if d.format != HTML {
		return d.only()
	}
	return web.WriteJob(d.w, r, next)
}

// Progress implements JobPrinter: the page of the job has it.
func (d drawingPrinter) Progress(r *job.Report, next string) error { return d.Job(r, next) }
