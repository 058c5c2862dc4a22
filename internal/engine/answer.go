package engine

import (
	"github.com/ompd-inspect/ompd-inspect/diagnose"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// rehearse reads the memory that read will read, as far as that is known beforehand, but makes no texts.
func (q Query) rehearse(in *inspect.Inspector) {
	in.Rehearse(q.Parts, q.Verdicts && q.All())
	if q.Layout || q.Checks || q.Breakpoints || q.Trace {
		q.read(in, func() error { return nil })
	}
	if q.AllTasks {
		in.RehearseTasks()
	}
}

// read makes the result. spent returns the error that ended the reads; nil if they can continue.
func (q Query) read(in *inspect.Inspector, spent func() error) *Result {
	r := &Result{Picture: q.picture(in, spent)}
	if q.Layout {
		r.Picture.Layout = in.Layout()
	}
	if q.Checks {
		r.Picture.Checks = in.Doctor()
	}
	if q.Breakpoints {
		r.Breakpoints = in.Breakpoints()
	}
	if q.Trace {
		r.Trace = in.Trace(q.traceable(in, r.Picture))
	}
	return r
}

// traceable returns a picture with all parts of a report: pic, if it has them.
func (q Query) traceable(in *inspect.Inspector, pic *picture.Picture) *picture.Picture {
	if q.Threads && q.Regions && q.Tasks && q.Stacks {
		return pic
	}
	return in.Picture(picture.ReportParts())
}

// picture makes the picture, the verdicts last. It draws no verdicts if the facts are incomplete, because a missing
// fact looks like an absent one.
func (q Query) picture(in *inspect.Inspector, spent func() error) *picture.Picture {
	if !q.Verdicts || !q.All() {
		return in.Picture(q.Parts)
	}
	return in.Diagnosed(q.Parts, func(pic *picture.Picture) []picture.Verdict {
		if spent() != nil {
			in.LeaveOut("verdicts")
			pic.Facts = nil
			return nil
		}
		return diagnose.Run(pic)
	})
}

// readTasks reads all tasks, so that the copy of a process contains them.
func (q Query) readTasks(in *inspect.Inspector) {
	if q.AllTasks {
		for range in.Tasks() {
		}
	}
}
