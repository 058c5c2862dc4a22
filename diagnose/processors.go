package diagnose

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// Threads that spin on the processor of a thread that they wait for.

// spinGroup is the threads that spin on one processor, and the threads that they wait for and that may run on no other.
type spinGroup struct {
	processor int
	spin      []int
	need      []int
}

// findSharedProcessors finds threads that spin while they wait for a thread that could run meanwhile, and may run on
// their processor only. Each takes time from the other, until the system preempts it.
func findSharedProcessors(d *dependencies) []picture.Verdict {
	var out []picture.Verdict
	for _, s := range findSpinGroups(d) {
		v := newVerdict(picture.VerdictSharedProcessor, picture.Certain)
		v.Threads = append(slices.Clone(s.spin), s.need...)
		v.Summary = s.summary(d.index)
		v.Explanation = "A thread that spins keeps its processor until its time slice ends. Meanwhile the thread " +
			"that it waits for is ready to run but cannot."
		v.Fix = "let waiting threads sleep: " + d.settings.sleepFix(s.atLocks(d)) + "; or give each a processor of " +
			"its own: OMP_PROC_BIND=spread OMP_PLACES=cores, fewer threads, or more processors"
		v.Evidence = append(activities(d.index, s.spin), activities(d.index, s.need)...)
		v.Evidence = append(v.Evidence, bindingEvidence(d.index, fmt.Sprint(s.processor))...)
		if policy := d.settings.waitPolicy(); policy != "" {
			v.Evidence = append(v.Evidence, "the wait policy makes them spin"+policy)
		}
		if d.settings.patience() != alwaysSpins {
			v.Severity = picture.SeverityInfo
		}
		out = append(out, v)
	}
	return out
}

// findSpinGroups finds the threads that spin, by their processor.
func findSpinGroups(d *dependencies) []*spinGroup {
	type bound struct {
		processor int
		by        *bundle
	}
	var out []*spinGroup
	by, spins, done := map[int]*spinGroup{}, map[int]bool{}, map[bound]bool{}
	needed := map[*bundle]map[int][]int{}
	for _, lwp := range d.order {
		mine := d.masks[lwp]
		if len(mine) != 1 || !d.running[lwp] {
			continue
		}
		p := mine[0]
		for _, b := range d.nodes[node{lwp: lwp}].bundles {
			if b.any {
				continue
			}
			if needed[b] == nil {
				needed[b] = runnableThreads(d.index, b)
			}
			need := needed[b][p]
			if len(need) == 0 {
				continue
			}
			if by[p] == nil {
				by[p] = &spinGroup{processor: p}
				out = append(out, by[p])
			}
			if !spins[lwp] {
				spins[lwp] = true
				by[p].spin = append(by[p].spin, lwp)
			}
			if !done[bound{p, b}] {
				done[bound{p, b}] = true
				by[p].need = append(by[p].need, need...)
			}
		}
	}
	for _, s := range out {
		s.need = distinct(s.need)
	}
	return out
}

// atLocks counts the spinning threads that wait for locks which the block time does not concern, and the others.
func (s *spinGroup) atLocks(d *dependencies) (locks, others int) {
	for _, lwp := range s.spin {
		if w := d.waits[lwp]; w != nil && d.settings.alwaysSpinsFor(w.Kind) {
			locks++
		} else {
			others++
		}
	}
	return locks, others
}

// distinct removes repeated numbers from a list.
func distinct(list []int) []int {
	had := map[int]bool{}
	return slices.DeleteFunc(list, func(n int) bool {
		twice := had[n]
		had[n] = true
		return twice
	})
}

// runnableThreads returns the threads of a bundle that do not wait and may run on one processor only, by that.
func runnableThreads(x *index, b *bundle) map[int][]int {
	out := map[int][]int{}
	for _, e := range b.edges {
		lwp := e.to.lwp
		if mask := x.masks[lwp]; e.to.isThread() && x.waits[lwp] == nil && x.running[lwp] && len(mask) == 1 {
			out[mask[0]] = append(out[mask[0]], lwp)
		}
	}
	return out
}

// activities returns the activities of threads, and the processors on which they may run.
func activities(x *index, lwps []int) []string {
	var out []string
	for _, lwp := range lwps[:min(len(lwps), maxNamed)] {
		activity := "is in no system call, and ready to run"
		if w, ok := x.waits[lwp]; ok {
			activity = "spins, waiting for " + phrase.Awaited(x.waitTarget(w))
		}
		out = append(out, fmt.Sprintf("%s: %s; its affinity mask allows processor %s", x.threadName(lwp), activity,
			processorList(x.masks[lwp])))
	}
	if n := len(lwps) - maxNamed; n > 0 {
		out = append(out, fmt.Sprintf("%s more: the same", threadCount(n)))
	}
	return out
}

// summary returns "thread 1 (LWP 5) spins on processor 0, where thread 0 (LWP 4) must run, for which it waits".
func (s *spinGroup) summary(x *index) string {
	spin, wait, need := threadCount(len(s.spin))+" spin", "they wait", threadCount(len(s.need))
	if len(s.spin) == 1 {
		spin, wait = x.threadName(s.spin[0])+" spins", "it waits"
	}
	if len(s.need) == 1 {
		need = x.threadName(s.need[0])
	}
	return fmt.Sprintf("%s on processor %d, where %s must run, for which %s", spin, s.processor, need, wait)
}

// More threads than processors.

// processors draws the verdict on more busy threads than processors.
type processors struct {
	*dependencies
	sharing map[int]bool // threads that have a verdict on a shared processor
}

// busyThread is a thread of a parallel region that uses a processor.
type busyThread struct {
	lwp     int
	spins   bool  // it waits
	own     bool  // in a loop of the program's own
	yields  bool  // that loop gives up the processor
	library bool  // it spins for a spin lock of the C library
	atLock  bool  // it spins for a lock, which the block time does not end
	allowed []int // processors that it may run on; nil if they are unknown
}

// limit is a limit on the processors of some busy threads.
type limit struct {
	threads    []busyThread
	processors float64
	name       string // of the processors
	evidence   []string
	fix        string
	narrow     bool // it is narrower than num-procs-var, by which the runtime chose the number of threads
}

// spinning counts the threads that wait.
func (l *limit) spinning() int {
	return count(l.threads, func(t busyThread) bool { return t.spins })
}

// spinningAtLocks counts the threads that spin for locks all the time.
func (l *limit) spinningAtLocks() int {
	return count(l.threads, func(t busyThread) bool { return t.atLock })
}

// spinningInLibrary counts the threads that wait for spin locks of the C library.
func (l *limit) spinningInLibrary() int {
	return count(l.threads, func(t busyThread) bool { return t.library })
}

// yielding counts the threads that wait in loops of the program's own that give up the processor.
func (l *limit) yielding() int {
	return count(l.threads, func(t busyThread) bool { return t.own && t.yields })
}

// spinningItself counts the threads that wait in loops of the program's own.
func (l *limit) spinningItself() int {
	return count(l.threads, func(t busyThread) bool { return t.own })
}

func count(list []busyThread, is func(busyThread) bool) int {
	n := 0
	for _, t := range list {
		if is(t) {
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

// load returns the number of threads for each processor.
func (l *limit) load() float64 { return float64(len(l.threads)) / l.processors }

// findOversubscription returns the verdict on the limit with the highest load. Threads that all spin while they wait
// take a processor from no other thread, unless they spin at a barrier for all of the time: some of those may be free
// to proceed.
func (d *processors) findOversubscription() []picture.Verdict {
	if d.hasCrashed() {
		return nil
	}
	var worst *limit
	for _, l := range d.limits() {
		if len(l.threads) > 1 && l.load() > 1 && (l.spinning() < len(l.threads) || d.areIdleSpinners(l.threads)) &&
			(worst == nil || l.load() > worst.load()) && !d.allShare(l.lwps()) {
			worst = &l
		}
	}
	if worst == nil {
		return nil
	}
	v := newVerdict(picture.VerdictOversubscribed, picture.Certain)
	v.Severity, v.Threads = picture.SeverityInfo, worst.lwps()
	v.Summary = fmt.Sprintf("%s of parallel regions compete for %s", threadCount(len(worst.threads)), worst.name)
	v.Evidence, v.Fix = worst.evidence, worst.fix
	if worst.narrow {
		v.Severity = picture.SeverityWarning
		v.Explanation = "The program has fewer processors than its runtime assumes: threads wait for others that " +
			"are not being run."
	}
	if worst.spinning() > 0 {
		v.Severity = picture.SeverityWarning
		v.Explanation = "Threads that spin take processor time from the threads that they wait for."
		d.explainSpinners(&v, worst)
	}
	return []picture.Verdict{v}
}

// allShare reports whether all of some threads have a verdict on a processor that they share with a thread that they
// wait for, or that waits for them.
func (d *processors) allShare(lwps []int) bool {
	return !slices.ContainsFunc(lwps, func(lwp int) bool { return !d.sharing[lwp] })
}

// areIdleSpinners reports whether all of some busy threads wait at barriers, awake by their settings, and no
// thread is stuck: then the threads that could proceed wait for a processor, which the others use.
func (d *processors) areIdleSpinners(threads []busyThread) bool {
	return d.settings.patience() == alwaysSpins && !slices.ContainsFunc(threads, func(t busyThread) bool {
		w := d.waits[t.lwp]
		return d.isStuck(t.lwp) || w != nil && w.Kind != picture.WaitBarrier
	})
}

// explainSpinners adds whether threads spin in the runtime, which has a setting for it, in the C library, or in the
// program's code.
func (d *processors) explainSpinners(v *picture.Verdict, l *limit) {
	own, library := l.spinningItself(), l.spinningInLibrary()
	if n := l.spinning() - own - library; n > 0 {
		atLocks := l.spinningAtLocks()
		v.Evidence = append(v.Evidence, ofThem(n, "spins while it waits", "spin while they wait")+
			d.settings.waitPolicy())
		v.Fix += ", or let them sleep: " + d.settings.sleepFix(atLocks, n-atLocks)
	}
	if library > 0 {
		v.Evidence = append(v.Evidence, ofThem(library, "spins", "spin")+" for a spin lock of the C library")
		v.Fix += ", or use a mutex in place of the spin lock: threads that wait for it sleep"
	}
	if own > 0 {
		where := ofThem(own, "spins in a loop", "spin in loops") + " of the program's own"
		switch yielding := l.yielding(); {
		case yielding < own:
			v.Fix += ", or let these loops give up the processor (sched_yield)"
		case own == 1:
			where += ", which calls sched_yield: it is run again as soon as no other thread is due"
		default:
			where += ", which call sched_yield: they are run again as soon as no other thread is due"
		}
		v.Evidence = append(v.Evidence, where)
	}
}

// ofThem returns a clause on n of several threads.
func ofThem(n int, one, more string) string {
	if n == 1 {
		more = one
	}
	return fmt.Sprintf("%d of them %s", n, more)
}

// limits returns the known limits on the processors of busy threads: the runtime's count, the quota of the program, and
// the threads' affinity masks.
func (d *processors) limits() []limit {
	busy, procs := d.busyThreads(), d.numProcs()
	var out []limit
	if procs > 0 {
		l := limit{threads: busy, processors: float64(procs), name: phrase.Count(procs, "processor"),
			evidence: []string{fmt.Sprintf("num-procs-var: %d", procs)}}
		l.fix = "use no more threads than processors" + d.threadsFix(busy, procs)
		out = append(out, l)
	}
	if p := d.facts.Processors; p != nil && p.Quota != nil && p.Quota.Processors > 0 {
		n := p.Quota.Processors
		out = append(out, limit{
			threads: busy, processors: n, name: fmt.Sprintf("%.4g processors' worth of time, a quota", n),
			narrow:   n < float64(procs),
			evidence: []string{p.Quota.Source, fmt.Sprintf("num-procs-var, which ignores quotas: %d", procs)},
			fix: fmt.Sprintf("use no more threads than the quota allows%s, or raise the "+
				"quota (docker --cpus, the limits of a pod)", d.threadsFix(busy, max(1, int(n)))),
		})
	}
	return append(out, d.maskLimits(busy, procs)...)
}

// threadsFix returns the setting for n threads: a clause of the program overrules the environment.
func (d *processors) threadsFix(busy []busyThread, n int) string {
	for _, t := range busy {
		if th := d.threads[t.lwp]; th != nil {
			if f := d.forks[th.Region]; f != nil && f.clause > n {
				return fmt.Sprintf(": num_threads(%d)%s requests more", f.clause, lineAfter(" at ", f.Frame))
			}
		}
	}
	return d.settings.threadsFix(n)
}

// maskLimits returns the limits by affinity masks: within a mask run all threads that are bound to a part of it.
func (d *processors) maskLimits(busy []busyThread, procs int) []limit {
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
				func(t busyThread) bool { return t.allowed == nil || !isSubset(t.allowed, mask) })
		}
		l.name = fmt.Sprintf("%s, all that their affinity masks allow: %s", phrase.Count(len(mask), "processor"), list)
		l.evidence = append([]string{fmt.Sprintf("num-procs-var: %d", procs)}, bindingEvidence(d.index, list)...)
		l.fix = d.settings.ownProcessorFix()
		out = append(out, l)
	}
	return out
}

// busyThreads lists the threads of parallel regions that use a processor, by LWP. A waiting thread is at work if it
// may take a queued task, and about to sleep if its settings do not let it spin. A thread in an unknown state is not
// listed: it may sleep.
func (d *processors) busyThreads() []busyThread {
	var out []busyThread
	sleep := d.settings.patience() == neverSpins
	queued := slices.ContainsFunc(d.pic.Tasks, func(t picture.Task) bool { return t.Unbegun() })
	for _, t := range d.pic.Threads {
		if t.LWP == 0 || t.Level == nil || *t.Level == 0 || t.State == nil || t.StateUnknown() || t.Hidden ||
			!d.running[t.LWP] {
			continue
		}
		w := d.waits[t.LWP]
		takes := w != nil && queued && takesTasks(w.Kind)
		own, atLock := w != nil && isLoop(w.Kind), w != nil && d.settings.alwaysSpinsFor(w.Kind)
		if w != nil && sleep && !takes && !own && !atLock {
			continue
		}
		yields := own && w.Awaited != nil && w.Awaited.Yields
		l := d.locks[t.LWP]
		library := w != nil && w.Kind == picture.WaitMutex && l != nil && l.Implementation == "spin"
		out = append(out, busyThread{t.LWP, w != nil && !takes, own, yields, library, atLock, d.masks[t.LWP]})
	}
	slices.SortFunc(out, func(a, b busyThread) int { return a.lwp - b.lwp })
	return out
}

// takesTasks reports whether threads execute queued tasks during a kind of wait.
func takesTasks(kind picture.WaitKind) bool {
	return kind == picture.WaitBarrier || kind == picture.WaitTaskwait || kind == picture.WaitTaskgroup
}

// numProcs returns num-procs-var.
func (d *processors) numProcs() int {
	for _, r := range d.pic.Regions {
		if f := d.forks[r.ID]; f != nil && f.procs > 0 {
			return f.procs
		}
	}
	return unknown
}

// bindingEvidence returns the evidence for what may have bound threads to some processors.
func bindingEvidence(x *index, list string) []string {
	var out []string
	if set, _ := x.settings.variables(picture.PurposeBind); len(set) > 0 {
		out = append(out, "the program's environment has "+strings.Join(set, " "))
	}
	p := x.facts.Processors
	switch {
	case p == nil || p.Cpuset == nil || p.Cpuset.Source == "":
	case p.Cpuset.Processors == list:
		out = append(out, "they are those of its cpuset: "+p.Cpuset.Source)
	default:
		out = append(out, p.Cpuset.Source+": they are not bound by the cpuset but by the runtime, taskset, a batch "+
			"system or the program itself")
	}
	return out
}

// processorList formats ascending processors as "0-3,8".
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

// isSubset reports whether all processors of a are among those of b. Both ascend.
func isSubset(a, b []int) bool {
	return !slices.ContainsFunc(a, func(p int) bool {
		_, found := slices.BinarySearch(b, p)
		return !found
	})
}
