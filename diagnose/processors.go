package diagnose

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/inspect"
)

// busyThread is a thread of a parallel region that uses a processor.
type busyThread struct {
	lwp     int
	spins   bool  // it waits
	allowed []int // processors that it may run on; nil if they are not known
}

// limit is on how many processors some busy threads can run.
type limit struct {
	threads    []busyThread
	processors float64
	on         string // these processors, for people
	evidence   []string
	cure       string
	narrow     bool // it is narrower than num-procs-var, by which the runtime chose the number of threads
}

func (l *limit) spinning() int {
	n := 0
	for _, t := range l.threads {
		if t.spins {
			n++
		}
	}
	return n
}

func (l *limit) lwps() []int {
	var out []int
	for _, t := range l.threads {
		out = append(out, t.lwp)
	}
	return out
}

// load is how many threads a processor has to run.
func (l *limit) load() float64 { return float64(len(l.threads)) / l.processors }

// oversubscribed tells of more threads at work than processors. Threads that all
// spin while they wait take a processor from nobody.
func oversubscribed(g *graph) []inspect.Verdict {
	var worst *limit
	for _, l := range g.limits() {
		if len(l.threads) > 1 && l.load() > 1 && l.spinning() < len(l.threads) && (worst == nil || l.load() > worst.load()) && !g.shares(l.lwps()) {
			worst = &l
		}
	}
	if worst == nil {
		return nil
	}
	v := inspect.Verdict{
		Kind: inspect.VerdictOversubscribed, Severity: inspect.SeverityInfo, Certainty: inspect.Certain, Threads: worst.lwps(),
		Summary:  fmt.Sprintf("%s of parallel regions are busy on %s", count(len(worst.threads)), worst.on),
		Evidence: worst.evidence, Cure: worst.cure,
	}
	if worst.narrow {
		v.Severity = inspect.SeverityWarning
		v.Explanation = "The program has fewer processors than its runtime counts on. What one thread does, the others wait for."
	}
	if n := worst.spinning(); n > 0 {
		v.Severity = inspect.SeverityWarning
		v.Evidence = append(v.Evidence, fmt.Sprintf("%d of them only spin while they wait%s", n, g.waitPolicy()))
		v.Explanation = "Threads that wait for others by spinning take processors from those that they wait for."
		v.Cure += ", or let them sleep: OMP_WAIT_POLICY=passive"
	}
	return []inspect.Verdict{v}
}

// limits are what bounds the processors of busy threads, as far as it is known: what
// the runtime counts, the quota of the program, and the threads' affinity masks.
func (g *graph) limits() []limit {
	busy, procs := g.busy(), g.processors()
	var out []limit
	if procs > 0 {
		l := limit{threads: busy, processors: float64(procs), on: cpus(procs), evidence: []string{fmt.Sprintf("num-procs-var: %d", procs)}}
		l.cure = "use no more threads than processors: OMP_NUM_THREADS=" + strconv.Itoa(procs)
		out = append(out, l)
	}
	if n, source, ok := g.in.Quota(); ok && n > 0 {
		out = append(out, limit{
			threads: busy, processors: n, on: fmt.Sprintf("the time of %.4g processors, by a quota", n), narrow: n < float64(procs),
			evidence: []string{source, fmt.Sprintf("num-procs-var, which knows nothing of quotas: %d", procs)},
			cure:     fmt.Sprintf("use no more threads than the quota has processors: OMP_NUM_THREADS=%d, or raise the quota (docker --cpus, the limits of a pod)", max(1, int(n))),
		})
	}
	return append(out, g.maskLimits(busy, procs)...)
}

// maskLimits are the limits by affinity masks: what may run within one mask only is
// all that is bound to a part of it.
func (g *graph) maskLimits(busy []busyThread, procs int) []limit {
	var out []limit
	seen := map[string]bool{}
	for _, of := range busy {
		list := inspect.ProcessorList(of.allowed)
		if list == "" || seen[list] {
			continue
		}
		seen[list] = true
		l := limit{processors: float64(len(of.allowed)), narrow: len(of.allowed) < procs}
		for _, t := range busy {
			if t.allowed != nil && inspect.Within(t.allowed, of.allowed) {
				l.threads = append(l.threads, t)
			}
		}
		l.on = fmt.Sprintf("%s, which their affinity masks allow: %s", cpus(len(of.allowed)), list)
		l.evidence = append([]string{fmt.Sprintf("num-procs-var: %d", procs)}, g.boundBy(list)...)
		l.cure = "give each thread a processor of its own: OMP_PROC_BIND=spread OMP_PLACES=cores, or nothing that binds them"
		out = append(out, l)
	}
	return out
}

// boundBy tells what may have bound threads to some processors.
func (g *graph) boundBy(list string) []string {
	var out []string
	if set := g.in.Binding(); len(set) > 0 {
		out = append(out, "the program's environment has "+strings.Join(set, " "))
	}
	processors, source := g.in.Cpuset()
	switch {
	case source == "":
	case processors == list:
		out = append(out, "they are those of its cpuset: "+source)
	default:
		out = append(out, source+": not the cpuset binds them, but the runtime, taskset, a batch system or the program itself")
	}
	return out
}

// processors is num-procs-var.
func (g *graph) processors() int {
	for _, r := range g.pic.Regions {
		if f, ok := g.in.Fork(r.ID); ok && f.Procs > 0 {
			return f.Procs
		}
	}
	return inspect.Unknown
}

// busy lists the threads of parallel regions that use a processor, by LWP.
func (g *graph) busy() []busyThread {
	var out []busyThread
	for _, t := range g.pic.Threads {
		if t.LWP == 0 || t.Level == nil || *t.Level == 0 || t.State == nil || t.Hidden || g.in.Asleep(t.LWP) {
			continue
		}
		_, waits := g.waits[t.LWP]
		out = append(out, busyThread{t.LWP, waits, g.in.Allowed(t.LWP)})
	}
	slices.SortFunc(out, func(a, b busyThread) int { return a.lwp - b.lwp })
	return out
}

// waitPolicy tells for how long threads spin, as far as the runtime keeps it, or the
// environment has it.
func (g *graph) waitPolicy() string {
	var parts []string
	for _, name := range []string{"wait-policy-var", "kmp-blocktime-var"} {
		if v, ok := g.in.Setting(name); ok {
			parts = append(parts, name+": "+v)
		}
	}
	set, _ := g.in.SpinSettings()
	if parts = append(parts, set...); len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

// spinsAlways tells whether threads were told to spin for all of the time that they
// wait.
func (g *graph) spinsAlways() bool {
	policy, _ := g.in.Setting("wait-policy-var")
	_, always := g.in.SpinSettings()
	return always || policy == "active"
}

func cpus(n int) string {
	if n == 1 {
		return "1 processor"
	}
	return fmt.Sprintf("%d processors", n)
}
