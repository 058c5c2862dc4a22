package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// fewer tells of each region that has only one thread, or fewer than were asked
// for, why that is.
func fewer(d *drawer) []picture.Verdict {
	var out []picture.Verdict
	same := map[string]int{}
	for i := range d.pic.Regions {
		r := &d.pic.Regions[i]
		if r.Level == 0 {
			continue
		}
		f := d.forks[r.ID]
		if f == nil || r.TeamSize > 1 && !less(r.TeamSize, f.clause) &&
			(f.clause != 0 || !less(r.TeamSize, f.nthreads)) {
			continue
		}
		v, ok := d.whyFewer(r, f)
		if !ok {
			continue
		}
		if j, told := same[v.Summary]; told {
			out[j].Threads = append(out[j].Threads, v.Threads...)
			continue
		}
		same[v.Summary] = len(out)
		out = append(out, v)
	}
	return out
}

// less reports whether a team is smaller than a number that was asked for, if one
// is known.
func less(size, asked int) bool { return asked > 0 && size < asked }

// cause is why a region has as few threads as it has.
type cause struct {
	why, fix string
	evidence []string
	program  bool // the program itself asks for it, here
}

func (d *drawer) whyFewer(r *picture.Region, f *fork) (picture.Verdict, bool) {
	c, ok := d.causeOf(r, f)
	if !ok {
		return picture.Verdict{}, false
	}
	where := "the parallel region"
	if r.Function != nil && r.Function.Line != 0 {
		where += fmt.Sprintf(" at %s:%d", base(r.Function.File), r.Function.Line)
	}
	size := r.TeamSize
	v := picture.Verdict{
		Kind: picture.VerdictOneThread, Severity: picture.SeverityWarning, Certainty: picture.Certain,
		Threads: slices.Clone(r.Threads), TeamSize: &size, Region: r.ID, Evidence: c.evidence, Fix: c.fix,
		Summary: fmt.Sprintf("%s has %s: %s", where, threadsOf(size), c.why),
	}
	if c.program || r.Level > 1 {
		v.Severity = picture.SeverityInfo
	}
	return v, true
}

// sizeTitle is the heading of a verdict on a region of one thread: that may be what was
// requested.
func sizeTitle(v *picture.Verdict) string {
	if v.Kind == picture.VerdictOneThread && v.TeamSize != nil && *v.TeamSize == 1 {
		return "ONE THREAD"
	}
	return ""
}

func threadsOf(n int) string {
	if n == 1 {
		return "only one thread"
	}
	return fmt.Sprintf("only %d threads", n)
}

// causeOf goes through the causes in the order in which a runtime decides.
func (d *drawer) causeOf(r *picture.Region, of *fork) (cause, bool) {
	f := *of
	if f.clause == unknown && f.MaybeIf && f.nthreads == r.TeamSize {
		f.clause = 0 // the argument that stands for the clauses may as well be 0, for none
	}
	asked, by := f.clause, fmt.Sprintf("num_threads(%d)", f.clause)
	if asked == 0 {
		asked, by = f.nthreads, fmt.Sprintf("nthreads-var, which is %d", f.nthreads)
	}
	if c, ok := d.serialized(r, &f); ok {
		return c, true
	}
	switch {
	case f.clause == unknown:
		c := cause{why: "its num_threads clause requests no more", program: true,
			evidence: []string{"the code that forks it has the clause" + atFrame(f.Frame) +
				"; nothing else keeps the team small"}}
		if f.MaybeIf {
			c.why = "its num_threads clause requests no more, or its if clause was false"
			c.evidence = []string{"the code that forks it passes a number of threads" + atFrame(f.Frame) +
				"; nothing else keeps the team small"}
		}
		return c, !f.Dynamic && (f.limit == unknown || f.limit > r.TeamSize)
	case f.clause == 1 && f.MaybeIf:
		return cause{why: "its num_threads clause says 1, or its if clause was false", program: true,
			evidence: []string{"the code that forks it requests 1 thread" + atFrame(f.Frame)}}, true
	case asked == r.TeamSize && f.clause > 0:
		return cause{why: "its clause says " + by, program: true,
			evidence: []string{"the code that forks it requests " + by + atFrame(f.Frame)}}, true
	case asked == r.TeamSize && r.TeamSize == 1:
		return d.oneByDefault(of), true
	case f.limit != unknown && less(f.limit, asked):
		return cause{
			why: fmt.Sprintf("%s were requested by %s, but thread-limit-var is %d", count(asked), by, f.limit),
			evidence: []string{fmt.Sprintf("thread-limit-var: %d%s", f.limit,
				d.from("OMP_THREAD_LIMIT", "a thread_limit clause"))},
			fix: fmt.Sprintf("raise OMP_THREAD_LIMIT to %d or more", asked),
		}, true
	case f.Dynamic && less(r.TeamSize, asked):
		return cause{
			why: fmt.Sprintf("%s were requested by %s, and dyn-var lets the runtime use fewer", count(asked), by),
			evidence: []string{"dyn-var: true" + d.from("OMP_DYNAMIC", "omp_set_dynamic"),
				fmt.Sprintf("num-procs-var: %d", f.procs)},
			fix: "set OMP_DYNAMIC=false if the number must be exact",
		}, true
	}
	return cause{}, false
}

// serialized is why a region was not to have a team, whatever was requested.
func (d *drawer) serialized(r *picture.Region, f *fork) (cause, bool) {
	switch {
	case f.IfFalse:
		return cause{why: "its if clause was false", program: true,
			evidence: []string{"the code that forks it took the path for one thread" + atFrame(f.Frame)}}, true
	case r.TeamSize == 1 && f.ActiveLevels > 0 && f.NestOff:
		return cause{
			why: "it is nested, and nest-var is false",
			evidence: []string{fmt.Sprintf("active regions around it: %d; nest-var: false%s", f.ActiveLevels,
				d.from("OMP_NESTED", "omp_set_nested"))},
			fix: "set OMP_NESTED=true, or call omp_set_nested, if the inner region should have a team",
		}, true
	case r.TeamSize == 1 && f.maxLevel != unknown && f.ActiveLevels >= f.maxLevel:
		return cause{
			why: fmt.Sprintf("it is nested, and max-active-levels-var allows %s", levels(f.maxLevel)),
			evidence: []string{fmt.Sprintf("active regions around it: %d; max-active-levels-var: %d%s", f.ActiveLevels,
				f.maxLevel, d.from("OMP_MAX_ACTIVE_LEVELS", "omp_set_max_active_levels"))},
			fix: fmt.Sprintf("set OMP_MAX_ACTIVE_LEVELS=%d, or call omp_set_max_active_levels, if the inner "+
				"region should have a team", f.ActiveLevels+1),
		}, true
	}
	return cause{}, false
}

// oneByDefault is a region whose size nobody gave, where the default is one.
func (d *drawer) oneByDefault(f *fork) cause {
	c := cause{evidence: []string{fmt.Sprintf("nthreads-var: 1; num-procs-var: %d", f.procs)}}
	value, set, known := d.environment("OMP_NUM_THREADS")
	switch {
	case set && first(value) == "1":
		c.why = "OMP_NUM_THREADS is 1"
		c.evidence = append(c.evidence, "the program's environment has OMP_NUM_THREADS="+value)
		c.fix = "set OMP_NUM_THREADS to the number of threads that you want, or unset it for one per processor"
	case f.procs == 1:
		c.why = "the program may use one processor only"
		c.evidence = append(c.evidence, d.oneProcessor(f)...)
		c.fix = "give the process more processors: its affinity mask or cpuset (taskset, srun --cpus-per-task, " +
			"docker --cpuset-cpus) has one"
	case set:
		c.why = fmt.Sprintf("the program called omp_set_num_threads(1), or with less, although "+
			"OMP_NUM_THREADS is %s", value)
		c.fix = "look for omp_set_num_threads in the program and its libraries"
	case known:
		c.why = "nthreads-var is 1, and OMP_NUM_THREADS is not set: the program, or a library that it uses, called " +
			"omp_set_num_threads(1), or with less"
		c.fix = "look for omp_set_num_threads in the program and its libraries"
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
func (x *index) from(name, call string) string {
	value, set, known := x.environment(name)
	switch {
	case set:
		return fmt.Sprintf(" (the environment has %s=%s)", name, value)
	case known:
		return fmt.Sprintf(" (%s is not set: the default, or by %s)", name, call)
	}
	return ""
}

func atFrame(f *picture.Frame) string {
	if f == nil || f.Line == 0 {
		return ""
	}
	return " at " + f.Place()
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
func (x *index) oneProcessor(f *fork) []string {
	r := x.regions[f.Region]
	if r == nil || len(r.Threads) == 0 {
		return nil
	}
	mine := processorList(x.masks[r.Threads[0]])
	if mine == "" {
		return nil
	}
	return append([]string{fmt.Sprintf("the affinity mask of LWP %d allows processor %s", r.Threads[0], mine)},
		x.boundBy(mine)...)
}
