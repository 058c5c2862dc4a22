package diagnose

import (
	"fmt"
	"slices"
	"time"

	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// From which shares of the threads' time waiting is told, and from which it is a warning: less
// is what any program has, and a quarter is the time of one thread of four.
const toldShare, warnedShare = 0.10, 0.25

// From how many barriers, contended acquisitions and tasks on something is told: fewer are
// what happens once, as when a program begins.
const leastBarriers, leastContended, leastTasks = 8, 16, 256

// leastWait is how long a wait that is not over has taken that is told though it be the only one.
const leastWait = time.Second

// isHistory reports whether verdicts of a kind follow from the history alone.
func isHistory(k picture.VerdictKind) bool {
	switch k {
	case picture.VerdictLockOrder, picture.VerdictImbalance, picture.VerdictContention, picture.VerdictTinyTasks:
		return true
	}
	return false
}

// systematic is the share of barriers at which one thread is the last from which the work
// is divided unevenly, and not the processors.
const systematic = 0.75

// Tasks are too small if most of them take less than it costs to create and to schedule one,
// which is 0.1 to 2 µs with the runtimes that there are, and some 50 µs where a thread must be
// woken for it. Less often than once in toldPeriod that does not matter; more often than once
// in warnedPeriod, a tenth of the time or more goes into making them.
const (
	mostTasks    = 0.75
	toldPeriod   = time.Millisecond
	warnedPeriod = 20 * time.Microsecond
)

// historyOf is what was recorded of a program that neither hangs nor died; nil else.
func historyOf(d *drawer) *picture.History {
	if d.facts.History == nil || crashed(d.index) {
		return nil
	}
	return d.facts.History
}

// window says which events something follows from.
func window(h *picture.History) string {
	return fmt.Sprintf("recorded: the newest %s of %s, which cover %v; `ompd-inspect trace stats` reads all",
		phrase.Count(h.Events, "event"), phrase.Count(h.Threads, "thread"), span(h.Nanoseconds))
}

// span leaves three digits of so many nanoseconds.
func span(ns int64) time.Duration {
	unit := int64(1)
	for v := ns; v >= 1000; v /= 10 {
		unit *= 10
	}
	return time.Duration(ns).Round(time.Duration(unit))
}

// percent is a share for people.
func percent(share float64) string { return fmt.Sprintf("%.0f %%", 100*share) }

// at is ", in solve heat.c:20", if the place is known.
func at(f *picture.Frame) string {
	if f == nil {
		return ""
	}
	return ", " + phrase.Where(*f)
}

// lockOrders tells of locks that were acquired in different orders, and did not hang yet.
func lockOrders(d *drawer) []picture.Verdict {
	h := historyOf(d)
	if h == nil {
		return nil
	}
	var out []picture.Verdict
	for _, o := range h.LockOrders {
		var names []string
		v := picture.Verdict{
			Kind: picture.VerdictLockOrder, Severity: picture.SeverityWarning, Certainty: picture.Likely,
			Explanation: "It has not happened yet: the threads did not come at the same time. No barrier, common " +
				"lock, taskwait or dependence of what was recorded keeps them from that.",
			Fix: "acquire them in the same order everywhere, such as by their addresses, or one lock around both",
		}
		for _, s := range o.Steps {
			v.Threads = append(v.Threads, s.Thread)
			names = append(names, s.First.Text)
			v.Evidence = append(v.Evidence, fmt.Sprintf("thread %d acquired %s, and, while it had it, %s", s.Thread,
				past(&s.First), past(&s.Second)))
		}
		if allStuck(d, v.Threads) {
			continue // they do wait for each other: a verdict of a hang says so
		}
		slices.Sort(names)
		v.Summary = enumerate(names) + " are acquired in different orders: the threads may wait for each other for ever"
		if o.Similar > 0 {
			more := phrase.Count(o.Similar, "more group")
			v.Evidence = append(v.Evidence, fmt.Sprintf("the same code did so with %s of locks", more))
		}
		v.Evidence = append(v.Evidence, window(h))
		out = append(out, v)
	}
	return out
}

// allStuck reports whether threads can all never proceed.
func allStuck(d *drawer, lwps []int) bool {
	return !slices.ContainsFunc(lwps, func(lwp int) bool { return !d.isStuck(lwp) })
}

// enumerate is "a, b and c".
func enumerate(names []string) string {
	out := names[0]
	for i, n := range names[1:] {
		if i == len(names)-2 {
			out += " and " + n
		} else {
			out += ", " + n
		}
	}
	return out
}

// imbalances tells of barriers at which threads wait for long for the last one.
func imbalances(d *drawer) []picture.Verdict {
	h := historyOf(d)
	if h == nil {
		return nil
	}
	var out []picture.Verdict
	for _, b := range h.Imbalances {
		share := float64(b.Waited) / float64(max(b.Nanoseconds, 1))
		if b.Count < leastBarriers || share < toldShare {
			continue
		}
		v := picture.Verdict{
			Kind: picture.VerdictImbalance, Severity: picture.SeverityInfo, Certainty: picture.Certain,
			Summary: fmt.Sprintf("threads wait %s of their time for the last one: %s%s", percent(share), b.Text,
				at(b.Frame)),
			Evidence: []string{
				fmt.Sprintf("recorded: %s in %v; a thread waited %v there on the mean",
					phrase.Count(b.Count, "barrier"), span(b.Nanoseconds), span(b.Waited)),
				fmt.Sprintf("thread %d was the last at %d of them", b.Last, b.LastCount), window(h),
			},
			Threads: []int{b.Last},
			Fix: "divide the work evenly: schedule(dynamic) or schedule(guided), smaller chunks, collapse, " +
				"or tasks",
		}
		if float64(b.LastCount) < systematic*float64(b.Count) {
			v.Explanation = "Now one thread is the last, now another: the work differs from time to time, " +
				"or the processors are busy with something else."
		} else if share >= warnedShare {
			v.Severity = picture.SeverityWarning
			v.Explanation = "One thread is the last nearly always: it has more work than the others."
		}
		out = append(out, v)
	}
	return out
}

// contentions tells of locks for which threads wait for long.
func contentions(d *drawer) []picture.Verdict {
	h := historyOf(d)
	if h == nil {
		return nil
	}
	var out []picture.Verdict
	for _, c := range h.Contentions {
		share := float64(c.Waited) / float64(max(c.Nanoseconds, 1)) / float64(max(c.Threads, 1))
		few := c.Contended < leastContended && (c.Longest < int64(leastWait) || len(d.stuck) > 0)
		if few || share < toldShare {
			continue
		}
		threads := phrase.Count(c.Threads, "thread")
		v := picture.Verdict{
			Kind: picture.VerdictContention, Severity: picture.SeverityInfo, Certainty: picture.Certain,
			Summary: fmt.Sprintf("%s spend %s of their time in a %s%s", threads, percent(share), c.Text, at(c.Frame)),
			Evidence: []string{
				fmt.Sprintf("recorded: %d of %s in %v found it held by another thread, and waited %v all together",
					c.Contended, phrase.Count(c.Count, "acquisition"), span(c.Nanoseconds), span(c.Waited)),
			},
			Fix: "hold it for shorter: only around what must be; a reduction or atomic in place of it; or one " +
				"lock for each part of the data",
		}
		if c.Waiting > 0 {
			v.Evidence = append(v.Evidence, fmt.Sprintf("recorded: %s still, the longest for %v",
				waits(c.Waiting), span(c.Longest)))
		}
		if c.Holder != nil {
			v.Evidence = append(v.Evidence, "they waited the most for who acquired it at "+phrase.Where(*c.Holder))
		}
		v.Evidence = append(v.Evidence, window(h))
		if share >= warnedShare {
			v.Severity = picture.SeverityWarning
		}
		out = append(out, v)
	}
	return out
}

// waits is "1 waits" or "3 wait".
func waits(n int) string {
	if n == 1 {
		return "1 waits"
	}
	return fmt.Sprint(n, " wait")
}

// tinyTasks tells of tasks that are shorter than it takes to schedule one.
func tinyTasks(d *drawer) []picture.Verdict {
	h := historyOf(d)
	if h == nil {
		return nil
	}
	var out []picture.Verdict
	for _, g := range h.TaskGrains {
		period := time.Duration(g.Period)
		if g.Count < leastTasks || float64(g.Short) < mostTasks*float64(g.Count) || period > toldPeriod {
			continue
		}
		v := picture.Verdict{
			Kind: picture.VerdictTinyTasks, Severity: picture.SeverityInfo, Certainty: picture.Certain,
			Summary: fmt.Sprintf("tasks take less than 2 µs, which is about what it costs to create one%s",
				at(g.Frame)),
			Evidence: []string{
				fmt.Sprintf("recorded: %d of %s took less than 2 µs; one came each %v", g.Short,
					phrase.Count(g.Count, "task"), span(g.Period)), window(h),
			},
			Fix: "make fewer and larger tasks: taskloop with grainsize, or no tasks below some size " +
				"(if or final clause)",
		}
		if period <= warnedPeriod {
			v.Severity = picture.SeverityWarning
		}
		out = append(out, v)
	}
	return out
}
