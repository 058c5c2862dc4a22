package report

import (
	"io"
	"iter"

	"github.com/ompd-inspect/ompd-inspect/internal/print/text"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// textPrinter prints text.
type textPrinter struct {
	*text.Printer
	o Options
}

func newText(w io.Writer, o Options) textPrinter {
	p := text.New(w, o.Color, o.Width)
	p.SetMade(o.Made)
	if o.Numbers {
		p.NumberRegions()
	}
	if o.All {
		p.FoldNothing()
	}
	return textPrinter{p, o}
}

// Picture implements Printer.
func (t textPrinter) Picture(pic *picture.Picture, v View) error {
	p := t.Printer
	switch v {
	case Part:
		text.Part(p, pic)
	case Whole:
		text.Report(p, pic)
		if t.o.Native {
			text.NativeStacks(p, pic)
		}
		return p.Err() // warnings are in the report
	case Verdicts:
		text.Header(p, pic)
		text.Verdicts(p, pic)
	case Threads:
		text.Threads(p, pic)
	case Regions:
		text.Regions(p, pic)
	case Stacks:
		t.stacks(pic)
	case ICVs:
		text.ICVs(p, pic)
	case Devices:
		text.Devices(p, pic)
	case Layout:
		text.Layout(p, pic)
	case Doctor:
		text.Doctor(p, pic)
	}
	text.Warnings(p, pic)
	return p.Err()
}

func (t textPrinter) stacks(pic *picture.Picture) {
	if t.o.Native {
		text.NativeStacks(t.Printer, pic)
		return
	}
	text.Stacks(t.Printer, pic)
}

// Tasks implements Printer.
func (t textPrinter) Tasks(pic *picture.Picture, tasks iter.Seq[picture.Task], complete func() error) error {
	if !text.PrintUnread(t.Printer, "TASKS", pic.Runtimes) {
		text.TaskStream(t.Printer, tasks, t.o.All)
	}
	if err := complete(); err != nil {
		return err
	}
	text.Warnings(t.Printer, pic)
	return t.Err()
}

// Breakpoints implements Printer.
func (t textPrinter) Breakpoints(b *picture.Breakpoints) error {
	text.Breakpoints(t.Printer, b, t.o.Sites)
	return t.Err()
}

// Processes implements Printer.
func (t textPrinter) Processes(list *picture.Processes) error {
	text.Processes(t.Printer, list)
	return t.Err()
}

// Look implements Printer.
func (t textPrinter) Look(l *picture.Look) error {
	text.Look(t.Printer, l)
	text.Result(t.Printer, l)
	return t.Err()
}

// Profile implements Printer.
func (t textPrinter) Profile(p *picture.Profile) error {
	text.Profile(t.Printer, p)
	return t.Err()
}
