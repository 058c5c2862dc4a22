package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/inspect"
)

// fewer tells of each region that has only one thread, or fewer than were asked
// for, why that is.
func fewer(g *graph) []inspect.Verdict {
	var out []inspect.Verdict
	for i := range g.pic.Regions {
		r := &g.pic.Regions[i]
		if r.Level == 0 {
			continue
		}
		f, ok := g.in.Fork(r.ID)
		if !ok || r.TeamSize > 1 && !less(r.TeamSize, f.Clause) && (f.Clause != 0 || !less(r.TeamSize, f.NThreads)) {
			continue
		}
		v, ok := g.whyFewer(r, f)
		if !ok {
			continue
		}
		if j := slices.IndexFunc(out, func(o inspect.Verdict) bool { return o.Summary == v.Summary }); j >= 0 {
			out[j].Threads = append(out[j].Threads, v.Threads...)
			continue
		}
		out = append(out, v)
	}
	return out
}

// less tells whether a team is smaller than a number that was asked for, if one
// is known.
func less(size, asked int) bool { return asked > 0 && size < asked }

// cause is why a region has as few threads as it has.
type cause struct {
	why, cure string
	evidence  []string
	program   bool // the program itself asks for it, here
}

func (g *graph) whyFewer(r *inspect.Region, f inspect.Fork) (inspect.Verdict, bool) {
	c, ok := g.causeOf(r, f)
	if !ok {
		return inspect.Verdict{}, false
	}
	where := "the parallel region"
	if r.Function != nil && r.Function.Line != 0 {
		where += fmt.Sprintf(" at %s:%d", base(r.Function.File), r.Function.Line)
	}
	size := r.TeamSize
	v := inspect.Verdict{
		Kind: inspect.VerdictOneThread, Severity: inspect.SeverityWarning, Certainty: inspect.Certain,
		Threads: slices.Clone(r.Threads), TeamSize: &size, Region: r.ID, Evidence: c.evidence, Cure: c.cure,
		Summary: fmt.Sprintf("%s has %s: %s", where, threadsOf(size), c.why),
	}
	if c.program || r.Level > 1 {
		v.Severity = inspect.SeverityInfo
	}
	return v, true
}

func threadsOf(n int) string {
	if n == 1 {
		return "only one thread"
	}
	return fmt.Sprintf("only %d threads", n)
}

// causeOf goes through the causes in the order in which a runtime decides.
func (g *graph) causeOf(r *inspect.Region, f inspect.Fork) (cause, bool) {
	if f.Clause == inspect.Unknown && f.OrIf && f.NThreads == r.TeamSize {
		f.Clause = 0 // the argument that stands for the clauses may as well be 0, for none
	}
	asked, by := f.Clause, fmt.Sprintf("num_threads(%d)", f.Clause)
	if asked == 0 {
		asked, by = f.NThreads, fmt.Sprintf("nthreads-var, which is %d", f.NThreads)
	}
	switch {
	case f.IfFalse:
		return cause{why: "its if clause was false", program: true, evidence: []string{"the code that forks it took the way for one thread" + atFrame(f.At)}}, true
	case r.TeamSize == 1 && f.Active > 0 && f.NestOff:
		return cause{
			why:      "it is nested, and nest-var is false",
			evidence: []string{fmt.Sprintf("active regions around it: %d; nest-var: false%s", f.Active, g.from("OMP_NESTED", "omp_set_nested"))},
			cure:     "set OMP_NESTED=true, or call omp_set_nested, if the inner region shall have a team",
		}, true
	case r.TeamSize == 1 && f.MaxLevel != inspect.Unknown && f.Active >= f.MaxLevel:
		return cause{
			why:      fmt.Sprintf("it is nested, and max-active-levels-var allows %s", levels(f.MaxLevel)),
			evidence: []string{fmt.Sprintf("active regions around it: %d; max-active-levels-var: %d%s", f.Active, f.MaxLevel, g.from("OMP_MAX_ACTIVE_LEVELS", "omp_set_max_active_levels"))},
			cure:     fmt.Sprintf("set OMP_MAX_ACTIVE_LEVELS=%d, or call omp_set_max_active_levels, if the inner region shall have a team", f.Active+1),
		}, true
	case f.Clause == inspect.Unknown:
		c := cause{why: "its num_threads clause asks for no more", program: true, evidence: []string{"the code that forks it has the clause" + atFrame(f.At) + "; nothing else keeps the team small"}}
		if f.OrIf {
			c.why = "its num_threads clause asks for no more, or its if clause was false"
			c.evidence = []string{"the code that forks it gives a number of threads" + atFrame(f.At) + "; nothing else keeps the team small"}
		}
		return c, !f.Dynamic && (f.Limit == inspect.Unknown || f.Limit > r.TeamSize)
	case f.Clause == 1 && f.OrIf:
		return cause{why: "its num_threads clause says 1, or its if clause was false", program: true, evidence: []string{"the code that forks it asks for 1 thread" + atFrame(f.At)}}, true
	case asked == r.TeamSize && f.Clause > 0:
		return cause{why: "its clause says " + by, program: true, evidence: []string{"the code that forks it asks for " + by + atFrame(f.At)}}, true
	case asked == r.TeamSize && r.TeamSize == 1:
		return g.oneByDefault(f), true
	case f.Limit != inspect.Unknown && less(f.Limit, asked):
		return cause{
			why:      fmt.Sprintf("%s were asked for by %s, but thread-limit-var is %d", count(asked), by, f.Limit),
			evidence: []string{fmt.Sprintf("thread-limit-var: %d%s", f.Limit, g.from("OMP_THREAD_LIMIT", "a thread_limit clause"))},
			cure:     fmt.Sprintf("raise OMP_THREAD_LIMIT to %d or more", asked),
		}, true
	case f.Dynamic && less(r.TeamSize, asked):
		return cause{
			why:      fmt.Sprintf("%s were asked for by %s, and dyn-var lets the runtime take fewer", count(asked), by),
			evidence: []string{"dyn-var: true" + g.from("OMP_DYNAMIC", "omp_set_dynamic"), fmt.Sprintf("num-procs-var: %d", f.Procs)},
			cure:     "set OMP_DYNAMIC=false if the number shall be exact",
		}, true
	}
	return cause{}, false
}

// oneByDefault is a region whose size nobody gave, where the default is one.
func (g *graph) oneByDefault(f inspect.Fork) cause {
	c := cause{evidence: []string{fmt.Sprintf("nthreads-var: 1; num-procs-var: %d", f.Procs)}}
	value, set, known := g.in.Environment("OMP_NUM_THREADS")
	switch {
	case set && first(value) == "1":
		c.why = "OMP_NUM_THREADS is 1"
		c.evidence = append(c.evidence, "the program's environment has OMP_NUM_THREADS="+value)
		c.cure = "set OMP_NUM_THREADS to the number of threads that you want, or unset it for one on each processor"
	case f.Procs == 1:
		c.why = "the program may use one processor only"
		c.evidence = append(c.evidence, g.oneProcessor(f)...)
		c.cure = "give the process more processors: its affinity mask or cpuset (taskset, srun --cpus-per-task, docker --cpuset-cpus) has one"
	case set:
		c.why = fmt.Sprintf("the program called omp_set_num_threads(1), although OMP_NUM_THREADS is %s", value)
		c.cure = "look for omp_set_num_threads in the program and its libraries"
	case known:
		c.why = "nthreads-var is 1, and OMP_NUM_THREADS is not set: the program, or a library that it uses, called omp_set_num_threads(1)"
		c.cure = "look for omp_set_num_threads in the program and its libraries"
	default:
		c.why = "nthreads-var is 1, by OMP_NUM_THREADS or omp_set_num_threads"
	}
	return c
}

func first(list string) string {
	list, _, _ = strings.Cut(list, ",")
	return strings.TrimSpace(list)
}

// from tells where a value comes from: the environment, or a call of the API if
// that does not have it.
func (g *graph) from(name, call string) string {
	value, set, known := g.in.Environment(name)
	switch {
	case set:
		return fmt.Sprintf(" (the environment has %s=%s)", name, value)
	case known:
		return fmt.Sprintf(" (%s is not set: the default, or by %s)", name, call)
	}
	return ""
}

func atFrame(f *inspect.Frame) string {
	if f == nil || f.Line == 0 {
		return ""
	}
	return fmt.Sprintf(" at %s:%d", base(f.File), f.Line)
}

func levels(n int) string {
	if n == 1 {
		return "1 active level"
	}
	return fmt.Sprintf("%d active levels", n)
}

func count(n int) string {
	if n == 1 {
		return "1 thread"
	}
	return fmt.Sprintf("%d threads", n)
}

// oneProcessor tells what leaves the thread that forked a region one processor.
func (g *graph) oneProcessor(f inspect.Fork) []string {
	r := g.regions[f.Region]
	if r == nil || len(r.Threads) == 0 {
		return nil
	}
	mine := inspect.ProcessorList(g.in.Allowed(r.Threads[0]))
	if mine == "" {
		return nil
	}
	return append([]string{fmt.Sprintf("the affinity mask of LWP %d allows processor %s", r.Threads[0], mine)}, g.boundBy(mine)...)
}
