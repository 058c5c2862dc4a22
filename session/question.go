package session

import (
	"iter"
	"time"

	"github.com/ompd-inspect/ompd-inspect/diagnose"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// DefaultBudget is the processor time that a look may take, if nobody says another.
const DefaultBudget = 10 * time.Second

// Question says what is wanted of a target. Nothing else is read.
type Question struct {
	picture.Parts
	// Verdicts, Layout and Checks are further parts of the picture.
	Verdicts, Layout, Checks bool
	// Breakpoints asks for the locations where a debugger can stop the runtimes.
	Breakpoints bool
	// AllTasks asks for Answer.Tasks: all tasks, however many, one by one.
	AllTasks bool
	// Trace asks for what a later look can be compared with.
	Trace bool
	// Only names the one thread, region or task that is asked for. Of others, only that is
	// read which its answer needs. No verdicts are drawn of a part.
	picture.Only
	// Budget is the processor time that the look may take; 0 for any.
	Budget time.Duration
}

// Report is the question of a report: threads, regions, tasks, merged stacks, verdicts.
func Report() Question {
	return Question{Parts: picture.ReportParts(), Verdicts: true, Budget: DefaultBudget}
}

// Everything asks all that questions and routines can ask of one moment.
func Everything() Question {
	return Question{
		Parts:    picture.Parts{Threads: true, Regions: true, Tasks: true, ICVs: true, Stacks: true, Native: true},
		Verdicts: true, Layout: true, Checks: true, Breakpoints: true, Trace: true,
	}
}

// Answer is the answer to a question. What is not asked for is nil.
type Answer struct {
	Picture     *picture.Picture
	Breakpoints *picture.Breakpoints
	Trace       *picture.Trace

	tasks    iter.Seq[picture.Task]
	complete func() error
	close    func() error
	locate   func(pc picture.Hex) (picture.CodePlace, bool)
}

// Locate says where the code at an address of a stack lies in its file. It is used until the
// answer is closed.
func (a *Answer) Locate(pc picture.Hex) (at picture.CodePlace, ok bool) {
	if a.locate == nil {
		return at, false
	}
	return a.locate(pc)
}

// NewAnswer makes the answer of an Asker. tasks yields all tasks; complete brings the
// picture's warnings up to date after they were read, and has the error of tasks. Both
// may be nil.
func NewAnswer(pic *picture.Picture, tasks iter.Seq[picture.Task], complete func() error) *Answer {
	return &Answer{Picture: pic, tasks: tasks, complete: complete}
}

// Tasks yields all tasks, if they were asked for. They are read while they are yielded;
// if that fails, the tasks end, and Complete says why.
func (a *Answer) Tasks() iter.Seq[picture.Task] {
	if a.tasks == nil {
		return func(func(picture.Task) bool) {}
	}
	return a.tasks
}

// Complete brings the warnings up to date, after the tasks were read. Its error is theirs.
func (a *Answer) Complete() error {
	if a.complete == nil {
		return nil
	}
	return a.complete()
}

// Close ends the use of the answer's tasks.
func (a *Answer) Close() error {
	if a.close == nil {
		return nil
	}
	return a.close()
}

// rehearse reads what read will, as far as is known, without the cost of texts.
func (q Question) rehearse(in *inspect.Inspector) {
	in.Rehearse(q.Parts, q.Verdicts && q.All())
	if q.Layout || q.Checks || q.Breakpoints || q.Trace {
		q.read(in, func() error { return nil })
	}
	q.readTasks(in)
}

// read makes the answer. spent is the error that reads end with; nil if they do not.
func (q Question) read(in *inspect.Inspector, spent func() error) *Answer {
	a := &Answer{Picture: q.picture(in, spent)}
	if q.Layout {
		a.Picture.Layout = in.Layout()
	}
	if q.Checks {
		a.Picture.Checks = in.Doctor()
	}
	if q.Breakpoints {
		a.Breakpoints = in.Breakpoints()
	}
	if q.Trace {
		a.Trace = in.Trace(q.traceable(in, a.Picture))
	}
	return a
}

// traceable is a picture with all parts of a report: pic, if it has them.
func (q Question) traceable(in *inspect.Inspector, pic *picture.Picture) *picture.Picture {
	if q.Threads && q.Regions && q.Tasks && q.Stacks {
		return pic
	}
	return in.Picture(picture.ReportParts())
}

// picture makes the picture, the verdicts last. What is absent is absent: of facts that
// are not complete, no verdicts are drawn.
func (q Question) picture(in *inspect.Inspector, spent func() error) *picture.Picture {
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

// readTasks reads all tasks, so that the copy of a process has them.
func (q Question) readTasks(in *inspect.Inspector) {
	if q.AllTasks {
		for range in.Tasks() {
		}
	}
}
