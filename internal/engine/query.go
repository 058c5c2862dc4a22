package engine

import (
	"iter"
	"time"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// DefaultBudget is the default limit of the CPU time of a look.
const DefaultBudget = 10 * time.Second

// Query names the wanted parts of a target. Other parts are not read.
type Query struct {
	picture.Parts
	// Verdicts, Layout and Checks are further parts of the picture.
	Verdicts, Layout, Checks bool
	// Breakpoints adds the locations where a debugger can stop the runtimes.
	Breakpoints bool
	// AllTasks adds Result.Tasks, which yields all tasks one by one.
	AllTasks bool
	// Trace adds the data with which a later look can be compared.
	Trace bool
	// Only selects one thread, region or task. The others are read only as far as the result needs them. No verdicts
	// are drawn from a selection.
	picture.Only
	// Budget limits the CPU time of the look; 0 means no limit.
	Budget time.Duration
}

// Report returns the query of a report: threads, regions, tasks, merged stacks, verdicts.
func Report() Query {
	return Query{Parts: picture.ReportParts(), Verdicts: true, Budget: DefaultBudget}
}

// Everything returns the query of all parts.
func Everything() Query {
	return Query{
		Parts: picture.Parts{
			Threads: true, Regions: true, Tasks: true, ICVs: true, Devices: true, Stacks: true, Native: true,
		},
		Verdicts: true, Layout: true, Checks: true, Breakpoints: true, Trace: true,
	}
}

// Result is the result of a query. Parts that were not queried are nil.
type Result struct {
	Picture     *picture.Picture
	Breakpoints *picture.Breakpoints
	Trace       *picture.Trace

	tasks    iter.Seq[picture.Task]
	complete func() error
	close    func() error
	locate   func(pc picture.Hex) (picture.CodePlace, bool)
}

// Locate returns the place in its file of the code at an address of a stack. It works until the result is closed.
func (r *Result) Locate(pc picture.Hex) (at picture.CodePlace, ok bool) {
	if r.locate == nil {
		return at, false
	}
	return r.locate(pc)
}

// NewResult returns the result of an Asker. tasks yields all tasks; complete, called after they were read, updates
// the picture's warnings and returns the error of tasks. Both may be nil.
func NewResult(pic *picture.Picture, tasks iter.Seq[picture.Task], complete func() error) *Result {
	return &Result{Picture: pic, tasks: tasks, complete: complete}
}

// Tasks yields all tasks, if they were queried. They are read while they are yielded. After an error it stops, and
// Complete returns the error.
func (r *Result) Tasks() iter.Seq[picture.Task] {
	if r.tasks == nil {
		return func(func(picture.Task) bool) {}
	}
	return r.tasks
}

// Complete updates the picture's warnings after the tasks were read. It returns the error of the tasks.
func (r *Result) Complete() error {
	if r.complete == nil {
		return nil
	}
	return r.complete()
}

// Close frees the result's tasks.
func (r *Result) Close() error {
	if r.close == nil {
		return nil
	}
	return r.close()
}
