package diagnose

import (
	"fmt"
	"slices"
	"time"

	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// The shares of the threads' time from which waiting is reported, and from which it is a warning: any program waits for
// less, and a quarter is the time of one thread of four.
const infoShare, warningShare = 0.10, 0.25

// The numbers of barriers, contended acquisitions and tasks from which a verdict is reported: fewer happen once,
// such as at the start of a program.
const leastBarriers, leastContended, leastTasks = 8, 16, 256

// leastWait is the duration from which a single wait that is not over is reported.
const leastWait = time.Second

// systematic is the share of barriers with the same last thread from which the work is divided unevenly, and not the
// processors' time.
const systematic = 0.75

// Tasks are too small if most of them take less time than to create and to schedule one, which takes 0.1 to 2 µs in the
// known runtimes, and about 50 µs if a thread must be woken. At more than infoPeriod between tasks that does not
// matter; at less than warningPeriod, a tenth of the time or more is spent on creating them.
const (
	mostTasks     = 0.75
	infoPeriod    = time.Millisecond
	warningPeriod = 20 * time.Microsecond
)

// findInHistory returns the verdicts on the events that a recorder kept, for a program that has not crashed.
func findInHistory(d *dependencies) []picture.Verdict {
	h := d.facts.History
	if h == nil || d.hasCrashed() {
		return nil
	}
	return slices.Concat(findLockOrders(d, h), findContention(d, h), findImbalance(d, h), findTinyTasks(h))
}

// recordedSpan names the events that a verdict follows from.
func recordedSpan(h *picture.History) string {
	return fmt.Sprintf("recorded: the newest %s of %s, which cover %v; `ompd-inspect trace stats` reads all",
		phrase.Count(h.Events, "event"), phrase.Count(h.Threads, "thread"), roundNanoseconds(h.Nanoseconds))
}

// roundNanoseconds returns a duration, rounded to three digits.
func roundNanoseconds(ns int64) time.Duration {
	unit := int64(1)
	for v := ns; v >= 1000; v /= 10 {
		unit *= 10
	}
	return time.Duration(ns).Round(time.Duration(unit))
}

// percent formats a share.
func percent(share float64) string { return fmt.Sprintf("%.0f %%", 100*share) }

// commaPlace returns ", in solve heat.c:20", if the place is known.
func commaPlace(f *picture.Frame) string {
	if f == nil {
		return ""
	}
	return ", " + phrase.Where(*f)
}

// findLockOrders finds locks that were acquired in different orders, in a program that does not hang yet.
func findLockOrders(d *dependencies, h *picture.History) []picture.Verdict {
	var out []picture.Verdict
	for _, o := range h.LockOrders {
		var names []string
		v := newVerdict(picture.VerdictLockOrder, picture.Likely)
		v.Explanation = "It has not happened yet: the threads did not come at the same time. No barrier, common " +
			"lock, taskwait or dependence of what was recorded keeps them from that."
		for _, s := range o.Steps {
			v.Threads = append(v.Threads, s.Thread)
			names = append(names, s.First.Text)
			v.Evidence = append(v.Evidence, fmt.Sprintf("%s acquired %s, and, while it had it, %s",
				d.threadName(s.Thread), pastEvent(&s.First), pastEvent(&s.Second)))
		}
		if !slices.ContainsFunc(v.Threads, func(lwp int) bool { return !d.isStuck(lwp) }) {
			continue // they do wait for each other, and another verdict explains that
		}
		slices.Sort(names)
		v.Summary = enumerate(names) + " are acquired in different orders: the threads may wait for each other for ever"
		if o.Similar > 0 {
			more := phrase.Count(o.Similar, "more group")
			v.Evidence = append(v.Evidence, fmt.Sprintf("the same code did so with %s of locks", more))
		}
		v.Evidence = append(v.Evidence, recordedSpan(h))
		out = append(out, v)
	}
	return out
}

// findImbalance finds barriers at which threads wait long for the last one.
func findImbalance(d *dependencies, h *picture.History) []picture.Verdict {
	var out []picture.Verdict
	for _, b := range h.Imbalances {
		share := float64(b.Waited) / float64(max(b.Nanoseconds, 1))
		if b.Count < leastBarriers || share < infoShare {
			continue
		}
		v := newVerdict(picture.VerdictImbalance, picture.Certain)
		v.Severity, v.Threads = picture.SeverityInfo, []int{b.Last}
		v.Summary = fmt.Sprintf("threads wait %s of their time for the last one: %s%s", percent(share), b.Text,
			commaPlace(b.Frame))
		v.Evidence = []string{
			fmt.Sprintf("recorded: %s in %v; a thread waited %v there on the mean",
				phrase.Count(b.Count, "barrier"), roundNanoseconds(b.Nanoseconds), roundNanoseconds(b.Waited)),
			fmt.Sprintf("%s was the last at %d of them", d.threadName(b.Last), b.LastCount), recordedSpan(h),
		}
		if float64(b.LastCount) < systematic*float64(b.Count) {
			v.Explanation = "Now one thread is the last, now another: the work differs from time to time, " +
				"or the processors are busy with something else."
		} else if share >= warningShare {
			v.Severity = picture.SeverityWarning
			v.Explanation = "One thread is the last nearly always: it has more work than the others."
		}
		out = append(out, v)
	}
	return out
}

// findContention finds locks that threads wait long for.
func findContention(d *dependencies, h *picture.History) []picture.Verdict {
	var out []picture.Verdict
	for _, c := range h.Contentions {
		share := float64(c.Waited) / float64(max(c.Nanoseconds, 1)) / float64(max(c.Threads, 1))
		few := c.Contended < leastContended && (c.Longest < int64(leastWait) || len(d.stuck) > 0)
		if few || share < infoShare {
			continue
		}
		threads := phrase.Count(c.Threads, "thread")
		v := newVerdict(picture.VerdictContention, picture.Certain)
		v.Severity = picture.SeverityInfo
		v.Summary = fmt.Sprintf("%s spend %s of their time in a %s%s", threads, percent(share), c.Text,
			commaPlace(c.Frame))
		v.Evidence = []string{fmt.Sprintf("recorded: %d of %s in %v found it held by another thread, and waited %v "+
			"in total", c.Contended, phrase.Count(c.Count, "acquisition"), roundNanoseconds(c.Nanoseconds),
			roundNanoseconds(c.Waited))}
		if c.Waiting > 0 {
			v.Evidence = append(v.Evidence, fmt.Sprintf("recorded: %s still, the longest for %v",
				stillWait(c.Waiting), roundNanoseconds(c.Longest)))
		}
		if c.Holder != nil {
			v.Evidence = append(v.Evidence,
				"the longest waits were for the thread that acquired it at "+phrase.Where(*c.Holder))
		}
		v.Evidence = append(v.Evidence, recordedSpan(h))
		if share >= warningShare {
			v.Severity = picture.SeverityWarning
		}
		out = append(out, v)
	}
	return out
}

// stillWait returns "1 waits" or "3 wait".
func stillWait(n int) string {
	if n == 1 {
		return "1 waits"
	}
	return fmt.Sprint(n, " wait")
}

// findTinyTasks finds tasks that take less time than to schedule one.
func findTinyTasks(h *picture.History) []picture.Verdict {
	var out []picture.Verdict
	for _, g := range h.TaskGrains {
		period := time.Duration(g.Period)
		if g.Count < leastTasks || float64(g.Short) < mostTasks*float64(g.Count) || period > infoPeriod {
			continue
		}
		v := newVerdict(picture.VerdictTinyTasks, picture.Certain)
		v.Severity = picture.SeverityInfo
		v.Summary = "tasks take less than 2 µs, which is about what it costs to create one" + commaPlace(g.Frame)
		v.Evidence = []string{
			fmt.Sprintf("recorded: %d of %s took less than 2 µs; one came each %v", g.Short,
				phrase.Count(g.Count, "task"), roundNanoseconds(g.Period)), recordedSpan(h),
		}
		if period <= warningPeriod {
			v.Severity = picture.SeverityWarning
		}
		out = append(out, v)
	}
	return out
}

// maxRecorded bounds the threads of a verdict for which recorded events are added.
const maxRecorded = 8

// addRecorded adds to a verdict the recorded events of its threads: the locks that they acquired, when and where, and
// the last event of each.
func (x *index) addRecorded(v *picture.Verdict, list []picture.Recorded) {
	if len(list) == 0 || kindOf(v.Kind).Recorded {
		return
	}
	for i := range v.Cycle {
		addRecordedHolder(&v.Cycle[i], list)
	}
	lwps := slices.Clone(v.Threads)
	for _, m := range v.Missing {
		lwps = append(lwps, m.Thread)
	}
	slices.Sort(lwps)
	lwps = slices.Compact(lwps)
	for _, lwp := range lwps[:min(maxRecorded, len(lwps))] {
		r := recordedOf(list, lwp)
		if r == nil {
			continue
		}
		for _, h := range r.Held {
			held := fmt.Sprintf("recorded: %s %s, and has not released it", x.threadName(lwp), pastEvent(&h))
			v.Evidence = append(v.Evidence, held)
		}
		if r.Last != nil {
			last := fmt.Sprintf("recorded: the last that %s did: it %s", x.threadName(lwp), pastEvent(r.Last))
			v.Evidence = append(v.Evidence, last)
		}
	}
}

// recordedOf returns the recorded events of a thread, or nil.
func recordedOf(list []picture.Recorded, lwp int) *picture.Recorded {
	i := slices.IndexFunc(list, func(r picture.Recorded) bool { return r.Thread == lwp })
	if i < 0 {
		return nil
	}
	return &list[i]
}

// addRecordedHolder adds when and where the holder of a step of a deadlock acquired the lock.
func addRecordedHolder(step *picture.CycleStep, list []picture.Recorded) {
	r := recordedOf(list, step.HeldBy)
	if r == nil {
		return
	}
	for _, h := range r.Held {
		if h.Lock != nil && step.WaitsFor.Address != nil && *h.Lock == *step.WaitsFor.Address {
			step.HeldEvidence = fmt.Sprintf("recorded: it %s, and has not released it", pastEvent(&h))
			step.HeldAt = h.Frame
		}
	}
}

// past is "acquired lock a 3.2s ago, transfer hang.c:12", with the place if it is known.
func pastEvent(e *picture.PastEvent) string {
	s := e.Text + " " + e.When
	if e.Frame != nil {
		s += ", " + phrase.Where(*e.Frame)
	}
	return s
}
