package report

import (
	"github.com/ompd-inspect/ompd-inspect/internal/jobs/job"
	"github.com/ompd-inspect/ompd-inspect/internal/print/text"
	"github.com/ompd-inspect/ompd-inspect/internal/print/web"
)

// Job implements Printer.
func (j jsonPrinter) Job(r *job.Report, _ string) error { return WriteJSON(j.w, r) }

// Progress implements Printer; the report contains it.
func (j jsonPrinter) Progress(r *job.Report, _ string) error { return WriteJSON(j.w, r) }

// Job implements Printer: a page.
func (t textPrinter) Job(r *job.Report, next string) error {
	text.Job(t.Printer, r, next)
	return t.Err()
}

// Progress implements Printer.
func (t textPrinter) Progress(r *job.Report, next string) error {
	text.JobProgress(t.Printer, r, next)
	return t.Err()
}

// Job implements Printer, as HTML only.
func (d drawingPrinter) Job(r *job.Report, next string) error {
	if d.format != HTML {
		return d.only()
	}
	return web.WriteJob(d.w, r, next, d.o.Made)
}

// Progress implements Printer; the page of the job contains it.
func (d drawingPrinter) Progress(r *job.Report, next string) error { return d.Job(r, next) }
