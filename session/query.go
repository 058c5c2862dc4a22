package session

import (
	"iter"
	"time"

	"github.com/ompd-inspect/ompd-inspect/internal/engine"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// DefaultBudget is the limit of CPU time of the query that Report returns.
const DefaultBudget = engine.DefaultBudget

// Query names the wanted parts of a target. Other parts are not read.
type Query struct {
	picture.Parts
	// Verdicts, Layout and Checks are further parts of the picture.
	Verdicts, Layout, Checks bool
	// Breakpoints adds the locations where a debugger can stop the runtimes.
	Breakpoints bool
	// AllTasks adds Result.Tasks, which yields all tasks one by one.
	AllTasks bool
	// Only selects one thread, region or task. The others are read only as far as the result needs them. No verdicts
	// are drawn from a selection.
	picture.Only
	// Budget limits the CPU time of the query; 0 means no limit.
	Budget time.Duration

	trace bool // adds the data with which a later snapshot can be compared, for package server
}

// Report returns the query of a report: threads, regions, tasks, merged stacks and verdicts, within DefaultBudget.
func Report() Query { return queryOf(engine.Report()) }

// Everything returns the query of all parts, without a limit. It suits a snapshot for queries that are not known yet.
func Everything() Query { return queryOf(engine.Everything()) }

func queryOf(q engine.Query) Query {
	return Query{
		Parts: q.Parts, Verdicts: q.Verdicts, Layout: q.Layout, Checks: q.Checks, Breakpoints: q.Breakpoints,
		AllTasks: q.AllTasks, Only: q.Only, Budget: q.Budget, trace: q.Trace,
	}
}

// inner returns the query as package engine has it.
func (q Query) inner() engine.Query {
	return engine.Query{
		Parts: q.Parts, Verdicts: q.Verdicts, Layout: q.Layout, Checks: q.Checks, Breakpoints: q.Breakpoints,
		AllTasks: q.AllTasks, Only: q.Only, Budget: q.Budget, Trace: q.trace,
	}
}

// Result is the result of a query. Parts that were not queried are nil.
type Result struct {
	Picture     *picture.Picture
	Breakpoints *picture.Breakpoints

	result *engine.Result
}

func newResult(r *engine.Result) *Result {
	return &Result{Picture: r.Picture, Breakpoints: r.Breakpoints, result: r}
}

// Tasks yields all tasks, if they were queried (Query.AllTasks). They are read while they are yielded. After the last,
// the picture's warnings include the tasks that could not be read.
func (r *Result) Tasks() iter.Seq[picture.Task] {
	return func(yield func(picture.Task) bool) {
		for task := range r.result.Tasks() {
			if !yield(task) {
				break
			}
		}
		_ = r.result.Complete() // fails only for targets of an engine.Asker
	}
}

// Close frees the result's tasks.
func (r *Result) Close() error { return r.result.Close() }
