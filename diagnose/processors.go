package diagnose

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// busyThread is a thread of a parallel region that uses a processor.
type busyThread struct {
	lwp     int
	spins   bool  // it waits
	own     bool  // in a loop of the program's own
	allowed []int // processors that it may run on; nil if they are not known
}

// limit is on how many processors some busy threads can run.
type limit struct {
	threads    []busyThread
	processors float64
	on         string // these processors, for people
	evidence   []string
	fix        string
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

// spinningItself is how many threads wait in loops of the program's own.
func spinningItself(l *limit) int {
	n := 0
	for _, t := range l.threads {
		if t.own {
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
// spin while they wait take a processor from nobody, unless they spin for all of the time at a
// barrier: of those some may be free to go on.
func oversubscribed(d *drawer) []picture.Verdict {
	if crashed(d.index) {
		return nil
	}
	var worst *limit
	for _, l := range d.limits() {
		if len(l.threads) > 1 && l.load() > 1 && (l.spinning() < len(l.threads) || idleSpinners(d, l.threads)) &&
			(worst == nil || l.load() > worst.load()) && !d.shares(l.lwps()) {
			worst = &l
		}
	}
	if worst == nil {
		return nil
	}
	v := picture.Verdict{
		Kind: picture.VerdictOversubscribed, Severity: picture.SeverityInfo, Certainty: picture.Certain,
		Threads:  worst.lwps(),
		Summary:  fmt.Sprintf("%s of parallel regions compete for %s", count(len(worst.threads)), worst.on),
		Evidence: worst.evidence, Fix: worst.fix,
	}
	if worst.narrow {
		v.Severity = picture.SeverityWarning
		v.Explanation = "The program has fewer processors than its runtime assumes: threads wait for others that " +
			"are not being run."
	}
	if worst.spinning() > 0 {
		v.Severity = picture.SeverityWarning
		v.Explanation = "Threads that spin take processor time from the threads that they wait for."
		tellSpinners(d, &v, worst)
	}
	return []picture.Verdict{v}
}

// tellSpinners says of threads that spin who makes them: the runtime, which can be told not to, or
// the program.
func tellSpinners(d *drawer, v *picture.Verdict, l *limit) {
	own := spinningItself(l)
	if n := l.spinning() - own; n > 0 {
		v.Evidence = append(v.Evidence, fmt.Sprintf("%d of them spin while they wait%s", n, d.waitPolicy()))
		v.Fix += ", or let them sleep: " + letSleep(d.index)
	}
	if own > 0 {
		v.Evidence = append(v.Evidence, fmt.Sprintf("%d of them spin in loops of the program's own", own))
		v.Fix += ", or let these loops give up the processor (sched_yield)"
	}
}

// limits are what bounds the processors of busy threads, as far as it is known: what
// the runtime counts, the quota of the program, and the threads' affinity masks.
func (d *drawer) limits() []limit {
	busy, procs := d.busy(), d.processors()
	var out []limit
	if procs > 0 {
		l := limit{threads: busy, processors: float64(procs), on: cpus(procs),
			evidence: []string{fmt.Sprintf("num-procs-var: %d", procs)}}
		l.fix = "use no more threads than processors" + threadsFix(d.index, procs)
		out = append(out, l)
	}
	if q := d.quota(); q.Processors > 0 {
		n := q.Processors
		out = append(out, limit{
			threads: busy, processors: n, on: fmt.Sprintf("%.4g processors' worth of time, a quota", n),
			narrow:   n < float64(procs),
			evidence: []string{q.Source, fmt.Sprintf("num-procs-var, which ignores quotas: %d", procs)},
			fix: fmt.Sprintf("use no more threads than the quota allows%s, or raise the "+
				"quota (docker --cpus, the limits of a pod)", threadsFix(d.index, max(1, int(n)))),
		})
	}
	return append(out, d.maskLimits(busy, procs)...)
}

// threadsFix says how to have n threads: by the environment, unless it says so already.
func threadsFix(x *index, n int) string {
	if v, _, _ := x.environment("OMP_NUM_THREADS"); v == strconv.Itoa(n) {
		return ": the program asks for more than OMP_NUM_THREADS=" + v +
			", by num_threads, nested regions or several threads that fork"
	}
	return ": OMP_NUM_THREADS=" + strconv.Itoa(n)
}

// maskLimits are the limits by affinity masks: what may run within one mask only is
// all that is bound to a part of it.
func (d *drawer) maskLimits(busy []busyThread, procs int) []limit {
	var out []limit
	var order []string
	groups := map[string][]busyThread{}
	for _, t := range busy {
		list := processorList(t.allowed)
		if list != "" && groups[list] == nil {
			order = append(order, list)
		}
		groups[list] = append(groups[list], t)
	}
	for _, list := range order {
		mask := groups[list][0].allowed
		l := limit{processors: float64(len(mask)), narrow: len(mask) < procs, threads: groups[list]}
		if len(mask) > 1 {
			l.threads = slices.DeleteFunc(slices.Clone(busy),
				func(t busyThread) bool { return t.allowed == nil || !within(t.allowed, mask) })
		}
		l.on = fmt.Sprintf("%s, all that their affinity masks allow: %s", cpus(len(mask)), list)
		l.evidence = append([]string{fmt.Sprintf("num-procs-var: %d", procs)}, d.boundBy(list)...)
		l.fix = ownProcessor(d.index)
		out = append(out, l)
	}
	return out
}

// boundBy tells what may have bound threads to some processors.
func (x *index) boundBy(list string) []string {
	var out []string
	if set, _ := x.variables(picture.PurposeBind); len(set) > 0 {
		out = append(out, "the program's environment has "+strings.Join(set, " "))
	}
	c := x.cpuset()
	switch {
	case c.Source == "":
	case c.Processors == list:
		out = append(out, "they are those of its cpuset: "+c.Source)
	default:
		out = append(out, c.Source+": they are not bound by the cpuset but by the runtime, taskset, a batch system "+
			"or the program itself")
	}
	return out
}

// processors is num-procs-var.
func (x *index) processors() int {
	for _, r := range x.pic.Regions {
		if f := x.forks[r.ID]; f != nil && f.procs > 0 {
			return f.procs
		}
	}
	return unknown
}

// ownProcessor says how to give each thread a processor of its own.
func ownProcessor(x *index) string {
	if bind, _, _ := x.environment("OMP_PROC_BIND"); strings.EqualFold(bind, "spread") {
		return "give the program more processors, or remove the binding"
	}
	return "give each thread a processor of its own: OMP_PROC_BIND=spread OMP_PLACES=cores, or remove the binding"
}

// busy lists the threads of parallel regions that use a processor, by LWP. One that waits is at
// work if it may take a queued task, and about to sleep if it was told not to spin.
func (x *index) busy() []busyThread {
	var out []busyThread
	sleep := patienceOf(x) == notAll
	queued := slices.ContainsFunc(x.pic.Tasks, func(t picture.Task) bool { return t.Unbegun() })
	for _, t := range x.pic.Threads {
		if t.LWP == 0 || t.Level == nil || *t.Level == 0 || t.State == nil || t.Hidden || !x.running[t.LWP] {
			continue
		}
		w := x.waits[t.LWP]
		takes := w != nil && queued && takesTasks(w.Kind)
		own := w != nil && (w.Kind == picture.WaitFlag || w.Kind == picture.WaitNothing)
		if w != nil && sleep && !takes && !own {
			continue
		}
		out = append(out, busyThread{t.LWP, w != nil && !takes, own, x.masks[t.LWP]})
	}
	slices.SortFunc(out, func(a, b busyThread) int { return a.lwp - b.lwp })
	return out
}

// takesTasks reports whether threads that wait in this way take queued tasks meanwhile.
func takesTasks(kind picture.WaitKind) bool {
	return kind == picture.WaitBarrier || kind == picture.WaitTaskwait || kind == picture.WaitTaskgroup
}

// waitPolicy tells for how long threads spin, as far as the runtime keeps it, or the
// environment has it.
func (x *index) waitPolicy() string {
	var parts []string
	for _, name := range []string{"wait-policy-var", "kmp-blocktime-var"} {
		if v := x.setting(name); v != "" {
			parts = append(parts, name+": "+v)
		}
	}
	set, _ := x.variables(picture.PurposeSpin)
	if parts = append(parts, set...); len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

func cpus(n int) string {
	if n == 1 {
		return "1 processor"
	}
	return fmt.Sprintf("%d processors", n)
}

// quota is that of the program, with 0 processors if there is none or if it is not known.
func (x *index) quota() picture.Quota {
	if p := x.facts.Processors; p != nil && p.Quota != nil {
		return *p.Quota
	}
	return picture.Quota{}
}

// cpuset is that of the program, without a source if it is not known.
func (x *index) cpuset() picture.Cpuset {
	if p := x.facts.Processors; p != nil && p.Cpuset != nil {
		return *p.Cpuset
	}
	return picture.Cpuset{}
}

// processorList writes processors as people do, such as "0-3,8". They ascend.
func processorList(list []int) string {
	var parts []string
	for len(list) > 0 {
		n := 1
		for n < len(list) && list[n] == list[0]+n {
			n++
		}
		text := strconv.Itoa(list[0])
		if n > 1 {
			text += "-" + strconv.Itoa(list[n-1])
		}
		parts, list = append(parts, text), list[n:]
	}
	return strings.Join(parts, ",")
}

// within reports whether all processors of a are among those of b. They ascend.
func within(a, b []int) bool {
	return !slices.ContainsFunc(a, func(p int) bool {
		_, found := slices.BinarySearch(b, p)
		return !found
	})
}
