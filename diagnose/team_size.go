package diagnose

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// teamSizes draws the verdicts on regions that have only one thread, or fewer than were requested.
type teamSizes struct{ *index }

// find returns one verdict for all regions with the same cause.
func (x *teamSizes) find() []picture.Verdict {
	var out []picture.Verdict
	same := map[string]int{}
	for i := range x.pic.Regions {
		r := &x.pic.Regions[i]
		if r.Level == 0 {
			continue
		}
		f := x.forks[r.ID]
		if f == nil || r.TeamSize > 1 && !isFewer(r.TeamSize, f.clause) &&
			(f.clause != 0 || !isFewer(r.TeamSize, f.nthreads)) {
			continue
		}
		v, ok := x.explain(r, f)
		if !ok {
			continue
		}
		if j, known := same[v.Summary]; known {
			out[j].Threads = append(out[j].Threads, v.Threads...)
			continue
		}
		same[v.Summary] = len(out)
		out = append(out, v)
	}
	return out
}

// unlimitedThreads is less than each value by which a runtime says that the number of threads has no limit.
const unlimitedThreads = 1 << 20

// isFewer reports whether a team is smaller than the requested number, if that is known.
func isFewer(size, requested int) bool { return requested > 0 && size < requested }

// cause is the cause of a small team.
type cause struct {
	reason, fix string
	evidence    []string
	program     bool // the program itself requests it, here
	left        bool // it left a region around this one
}

// explain returns the verdict on a region; not ok if the cause is unknown.
func (x *teamSizes) explain(r *picture.Region, f *fork) (picture.Verdict, bool) {
	c, ok := x.causeOf(r, f)
	if !ok {
		return picture.Verdict{}, false
	}
	x.addLeftRegion(r, &c)
	where := "the parallel region"
	if hasLine(r.Function) {
		where += " at " + codePlace(r.Function)
	}
	size := r.TeamSize
	v := newVerdict(picture.VerdictOneThread, picture.Certain)
	v.Threads, v.TeamSize, v.Region = slices.Clone(r.Threads), &size, r.ID
	v.Summary = fmt.Sprintf("%s has %s: %s", where, onlyThreads(size), c.reason)
	v.Evidence, v.Fix = c.evidence, c.fix
	if c.program || r.Level > 1 && !c.left {
		v.Severity = picture.SeverityInfo
	}
	return v, true
}

// teamSizeTitle returns the heading of a verdict on a region of one thread, which may have been requested; "" for other
// verdicts.
func teamSizeTitle(v *picture.Verdict) string {
	if v.Kind == picture.VerdictOneThread && v.TeamSize != nil && *v.TeamSize == 1 {
		return "ONE THREAD"
	}
	return ""
}

// addLeftRegion adds to a cause that a region around r was left without being ended, so that r is nested in it.
func (x *teamSizes) addLeftRegion(r *picture.Region, c *cause) {
	for p := x.regions[r.Parent]; p != nil; p = x.regions[p.Parent] {
		if !slices.Contains(p.Errors, picture.RegionLeft) {
			continue
		}
		region := fmt.Sprintf("a region of %s at level %d", threadCount(p.TeamSize), p.Level)
		if hasLine(p.Function) {
			region = "the parallel region at " + codePlace(p.Function)
		}
		c.reason += fmt.Sprintf(": the program left %s without ending it", region)
		c.evidence = append(c.evidence, region+": "+picture.RegionLeft)
		c.fix = "leave no parallel region by longjmp or by an exception: handle the error within the region, and let " +
			"each thread come to its end"
		c.program, c.left = false, true
		return
	}
}

func onlyThreads(n int) string {
	if n == 1 {
		return "only one thread"
	}
	return fmt.Sprintf("only %d threads", n)
}

// causeOf returns the first cause that applies, in the order in which a runtime decides.
func (x *teamSizes) causeOf(r *picture.Region, forked *fork) (cause, bool) {
	f := *forked
	if f.clause == unknown && f.MaybeIf && f.nthreads == r.TeamSize {
		f.clause = 0 // the argument that stands for the clauses may as well be 0, without a clause
	}
	requested, by := f.clause, fmt.Sprintf("num_threads(%d)", f.clause)
	if requested == 0 {
		requested, by = f.nthreads, fmt.Sprintf("nthreads-var, which is %d", f.nthreads)
	}
	if c, ok := x.serialized(r, &f); ok {
		return c, true
	}
	bound := r.TeamSize == 1 && f.procs > 1 && len(r.Threads) > 0 && len(x.masks[r.Threads[0]]) == 1
	switch {
	case f.clause == unknown:
		c := cause{reason: "its num_threads clause requests no more", program: true,
			evidence: []string{"the code that forks it has the clause" + lineAfter(" at ", f.Frame) +
				"; nothing else keeps the team small"}}
		if f.MaybeIf {
			c.evidence = []string{"the code that forks it passes a number of threads" + lineAfter(" at ", f.Frame) +
				"; nothing else keeps the team small"}
		}
		switch {
		case bound:
			x.addCounted(&c, forked)
		case f.MaybeIf:
			c.reason += ", or its if clause was false"
		}
		return c, !f.Dynamic && (f.limit == unknown || f.limit > r.TeamSize) &&
			(r.League == 0 || !x.settings.areOfLLVM())
	case f.clause == 1 && bound:
		c := cause{reason: "its clause says " + by,
			evidence: []string{"the code that forks it requests " + by + lineAfter(" at ", f.Frame)}}
		c.program = f.MaybeIf // perhaps, so it is no warning
		x.addCounted(&c, forked)
		return c, true
	case f.clause == 1 && f.MaybeIf:
		return cause{reason: "its num_threads clause says 1, or its if clause was false", program: true,
			evidence: []string{"the code that forks it requests 1 thread" + lineAfter(" at ", f.Frame)}}, true
	case requested == r.TeamSize && f.clause > 0:
		return cause{reason: "its clause says " + by, program: true,
			evidence: []string{"the code that forks it requests " + by + lineAfter(" at ", f.Frame)}}, true
	case requested == r.TeamSize && r.TeamSize == 1:
		return x.oneByDefault(forked), true
	case f.limit != unknown && isFewer(f.limit, requested):
		return cause{
			reason: fmt.Sprintf("%s were requested by %s, but thread-limit-var is %d", threadCount(requested), by,
				f.limit),
			evidence: []string{fmt.Sprintf("thread-limit-var: %d%s", f.limit,
				x.settings.origin("OMP_THREAD_LIMIT", "a thread_limit clause"))},
			fix: fmt.Sprintf("raise %s to %d or more", x.threadLimit(), requested),
		}, true
	case f.Dynamic && isFewer(r.TeamSize, requested):
		return cause{
			reason: fmt.Sprintf("%s were requested by %s, and dyn-var lets the runtime use fewer",
				threadCount(requested), by),
			evidence: []string{"dyn-var: true" + x.settings.origin("OMP_DYNAMIC", "omp_set_dynamic"),
				fmt.Sprintf("num-procs-var: %d", f.procs)},
			fix: x.settings.dynamicFix(),
		}, true
	case r.League > 0 && f.clause > 0 || r.TeamSize == 1:
		return x.leagueLimit(r, &f)
	}
	return cause{}, false
}

// threadLimit returns the setting that limits the threads of a team: the clause of a teams construct, if the
// environment has no limit.
func (x *teamSizes) threadLimit() string {
	const variable = "OMP_THREAD_LIMIT"
	if _, set, known := x.settings.environment(variable); known && !set {
		return "the thread_limit clause of the teams construct (or OMP_TEAMS_THREAD_LIMIT)"
	}
	return variable
}

// leagueLimit returns the cause of a small team in a league of LLVM's runtime: it divides the processors among the
// teams; KMP_TEAMS_THREAD_LIMIT replaces their number. nthreads-var is a limit, too.
func (x *teamSizes) leagueLimit(r *picture.Region, f *fork) (cause, bool) {
	requested, by := f.clause, fmt.Sprintf("num_threads(%d)", f.clause)
	if requested == 0 {
		requested, by = f.nthreads, fmt.Sprintf("nthreads-var, which is %d", f.nthreads)
	}
	if !x.settings.areOfLLVM() || r.League == 0 || r.Level != 1 || f.procs == unknown ||
		requested != unknown && requested <= r.TeamSize || f.limit != unknown && f.limit <= r.TeamSize {
		return cause{}, false
	}
	c := cause{
		reason: fmt.Sprintf("the runtime divides the %s among the %s of the league",
			phrase.Count(f.procs, "processor"), phrase.Count(r.League, "team")),
		evidence: []string{fmt.Sprintf("num-procs-var: %d; nthreads-var: %d; teams of the league: %d", f.procs,
			f.nthreads, r.League)},
		program: f.clause == 0, // without a request, the runtime may choose
	}
	switch share := max(1, f.procs/r.League); {
	case share == r.TeamSize:
	case f.nthreads == r.TeamSize:
		c.reason = fmt.Sprintf("nthreads-var, which is %d, limits the teams of a league", f.nthreads)
		c.fix = "set OMP_NUM_THREADS to the number of threads that a team needs"
	default:
		c.reason += ", or as many as KMP_TEAMS_THREAD_LIMIT says"
	}
	if requested != unknown {
		c.reason = fmt.Sprintf("%s were requested by %s, but %s", threadCount(requested), by, c.reason)
	}
	if c.fix == "" {
		c.fix = leagueFix(r, f, requested)
	}
	return c, true
}

// leagueFix returns the settings by which each team of a league has the requested threads. They are limits, each of
// them: a clause replaces OMP_TEAMS_THREAD_LIMIT alone.
func leagueFix(r *picture.Region, f *fork, requested int) string {
	if requested == unknown {
		return "set KMP_TEAMS_THREAD_LIMIT to the number of threads that all teams of the league need together, and " +
			"OMP_TEAMS_THREAD_LIMIT to that of one team; or have fewer teams (num_teams)"
	}
	settings := []string{fmt.Sprintf("KMP_TEAMS_THREAD_LIMIT=%d", requested*r.League)}
	if f.limit == unknown || f.limit >= unlimitedThreads {
		settings = append(settings, fmt.Sprintf("OMP_TEAMS_THREAD_LIMIT=%d", requested))
	}
	if f.nthreads != unknown && f.nthreads < requested {
		settings = append(settings, fmt.Sprintf("OMP_NUM_THREADS=%d", requested))
	}
	return fmt.Sprintf("set %s (%s for each of %s), or have fewer teams (num_teams)", strings.Join(settings, " and "),
		threadCount(requested), phrase.Count(r.League, "team"))
}

// serialized returns the cause of a region that must not have a team, whatever was requested.
func (x *teamSizes) serialized(r *picture.Region, f *fork) (cause, bool) {
	switch {
	case f.IfFalse:
		return cause{reason: "its if clause was false", program: true,
			evidence: []string{"the code that forks it took the path for one thread" +
				lineAfter(" at ", f.Frame)}}, true
	case r.TeamSize == 1 && f.ActiveLevels > 0 && f.NestOff:
		return cause{
			reason: "it is nested, and nest-var is false",
			evidence: []string{fmt.Sprintf("active regions around it: %d; nest-var: false%s", f.ActiveLevels,
				x.settings.origin("OMP_NESTED", "omp_set_nested"))},
			fix: "set OMP_NESTED=true, or call omp_set_nested, if the inner region should have a team",
		}, true
	case r.TeamSize == 1 && f.maxLevel != unknown && f.ActiveLevels >= f.maxLevel:
		return cause{
			reason: fmt.Sprintf("it is nested, and max-active-levels-var allows %s", activeLevels(f.maxLevel)),
			evidence: []string{fmt.Sprintf("active regions around it: %d; max-active-levels-var: %d%s", f.ActiveLevels,
				f.maxLevel, x.settings.origin("OMP_MAX_ACTIVE_LEVELS", "omp_set_max_active_levels"))},
			fix: fmt.Sprintf("set OMP_MAX_ACTIVE_LEVELS=%d, or call omp_set_max_active_levels, if the inner "+
				"region should have a team", f.ActiveLevels+1),
		}, true
	}
	return cause{}, false
}

// addCounted adds to the cause of a team of one thread, which a clause requests, that the program may have counted the
// processors of a thread that the runtime had bound to one.
func (x *teamSizes) addCounted(c *cause, f *fork) {
	c.reason += ", and its thread may use one processor only: the program may have counted the processors of that " +
		"thread"
	if f.MaybeIf {
		c.reason += "; or its if clause was false"
	}
	c.evidence = append(c.evidence, x.oneProcessorEvidence(f)...)
	c.fix = "count processors before the first parallel region, or by omp_get_num_procs: the runtime has bound " +
		"the initial thread to one (OMP_PROC_BIND, OMP_PLACES); or do not bind threads"
}

// oneByDefault returns the cause of a default of one thread.
func (x *teamSizes) oneByDefault(f *fork) cause {
	c := cause{evidence: []string{fmt.Sprintf("nthreads-var: 1; num-procs-var: %d", f.procs)}}
	value, set, known := x.settings.environment("OMP_NUM_THREADS")
	switch {
	case set && firstOfList(value) == "1":
		c.reason = "OMP_NUM_THREADS is 1"
		c.evidence = append(c.evidence, "the program's environment has OMP_NUM_THREADS="+value)
		c.fix = "set OMP_NUM_THREADS to the number of threads that you want, or unset it for one per processor"
	case f.procs == 1:
		c.reason = "the program may use one processor only"
		c.evidence = append(c.evidence, x.oneProcessorEvidence(f)...)
		c.fix = "give the process more processors: its affinity mask or cpuset (taskset, srun --cpus-per-task, " +
			"docker --cpuset-cpus) has one"
	case set:
		c.reason = fmt.Sprintf("the program called omp_set_num_threads(1), or with less, although "+
			"OMP_NUM_THREADS is %s", value)
		c.fix = "look for omp_set_num_threads in the program and its libraries"
	case known:
		c.reason = "nthreads-var is 1, and OMP_NUM_THREADS is not set: the program, or a library that it uses, " +
			"called omp_set_num_threads(1), or with less"
		c.fix = "look for omp_set_num_threads in the program and its libraries"
	default:
		c.reason = "nthreads-var is 1, by OMP_NUM_THREADS or omp_set_num_threads"
	}
	return c
}

func firstOfList(list string) string {
	list, _, _ = strings.Cut(list, ",")
	return strings.TrimSpace(list)
}

func activeLevels(n int) string {
	if n == 1 {
		return "1 active level"
	}
	return fmt.Sprintf("%d active levels", n)
}

// oneProcessorEvidence returns the evidence for the thread that forked a region having a single processor.
func (x *teamSizes) oneProcessorEvidence(f *fork) []string {
	r := x.regions[f.Region]
	if r == nil || len(r.Threads) == 0 {
		return nil
	}
	mine := processorList(x.masks[r.Threads[0]])
	if mine == "" {
		return nil
	}
	return append([]string{fmt.Sprintf("the affinity mask of LWP %d allows processor %s", r.Threads[0], mine)},
		bindingEvidence(x.index, mine)...)
}

// findTwoRuntimes returns the verdict on two or more OpenMP runtimes in one process.
func findTwoRuntimes(pic *picture.Picture) []picture.Verdict {
	runtimes := slices.DeleteFunc(slices.Clone(pic.Runtimes), func(r picture.Runtime) bool { return r.Unread() })
	if len(runtimes) < 2 {
		return nil
	}
	owned := map[string]int{}
	for _, t := range pic.Threads {
		if t.Runtime != "" {
			owned[t.Runtime]++
		}
	}
	var evidence, names []string
	used := 0
	for _, r := range runtimes {
		n := owned[r.ID]
		state := fmt.Sprintf("%s is in it", threadCount(n))
		switch {
		case strings.HasPrefix(r.Layout, "none"):
			state = "loaded, not used yet"
		case n != 1:
			state = fmt.Sprintf("%s are in it", threadCount(n))
		}
		if n > 0 {
			used++
		}
		evidence = append(evidence, fmt.Sprintf("%s %s, %s: %s", r.Name, r.Version, r.Path, state))
		names = append(names, filepath.Base(r.Path))
	}
	v := newVerdict(picture.VerdictTwoRuntimes, picture.Certain)
	v.Evidence = evidence
	v.Summary = fmt.Sprintf("%d OpenMP runtimes are loaded in this process: %s", len(names), strings.Join(names, ", "))
	v.Explanation = "Each has its own threads, locks and critical sections: a critical section in code built for " +
		"one does not exclude code built for the other, and together they start more threads than there are " +
		"processors."
	if used < 2 {
		v.Severity = picture.SeverityInfo
	}
	return []picture.Verdict{v}
}
