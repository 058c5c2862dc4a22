package profile

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/diagnose"
	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// Limits of findings. A share of the thread time is reported from leastShare on, also if it is smaller by its doubt:
// any program waits for less, and a random sample must not accuse it. Fewer samples than leastSamples show nothing.
const (
	leastShare   = 0.05
	leastSamples = 20
	maxFindings  = 5
)

// systematic is the share of the time at a barrier in which the same thread had not come, from which on its work is
// larger than that of the others.
const systematic = 0.75

// starved is the share of the time of Work below which the process's CPU time shows that its threads wait for
// processors.
const starved = 0.75

// busy is the share of Work from which on a program waits for little.
const busy = 0.85

// conclude returns the findings, the largest first, and where the work is at the end. still means that no thread was
// seen to move.
func conclude(p *picture.Profile, still bool) []picture.ProfileFinding {
	if p.Samples < leastSamples || p.ThreadSeconds <= 0 {
		return []picture.ProfileFinding{{
			Kind: picture.FindingTooFew,
			Text: fmt.Sprintf("a conclusion needs at least %d samples, and there are %d", leastSamples, p.Samples),
			Fix:  "profile for longer, or while the machine is less busy",
		}}
	}
	if still {
		return []picture.ProfileFinding{noProgress(p)}
	}
	c := conclusions{p: p}
	c.findRanks()
	c.findContention()
	c.findBarriers()
	c.findIdle()
	c.findOthers()
	c.findUnread()
	slices.SortStableFunc(c.list, func(a, b picture.ProfileFinding) int { return cmp.Compare(b.Seconds, a.Seconds) })
	c.list = c.list[:min(len(c.list), maxFindings)]
	c.findStarved()
	c.findWork()
	return c.list
}

// noProgress is the finding about a process whose threads all wait, at the same places in all samples. It may be
// deadlocked, so that the fixes for slow programs are no help.
func noProgress(p *picture.Profile) picture.ProfileFinding {
	f := picture.ProfileFinding{Kind: picture.FindingNoProgress, Seconds: p.Wait, Share: p.Wait / p.ThreadSeconds}
	f.Text = fmt.Sprintf("in each of %d samples, all threads waited at the same places: they wait for one another, or "+
		"for something outside of the process", p.Samples)
	var words []string
	for _, w := range p.Waits[:min(len(p.Waits), maxPlaces)] {
		words = append(words, fmt.Sprintf("%s of the time for %s", percent(w.Seconds/p.ThreadSeconds), WaitText(w)))
	}
	f.Details = []string{"they wait " + strings.Join(words, ", ")}
	pid := "PID"
	if p.Target.PID != 0 {
		pid = strconv.Itoa(p.Target.PID)
	}
	f.Fix = fmt.Sprintf("`ompd-inspect %s` finds deadlocks and shows which thread waits for which", pid)
	return f
}

// conclusions collects findings.
type conclusions struct {
	p    *picture.Profile
	list []picture.ProfileFinding
}

// add adds a finding if its share is large enough for certain. It returns nil otherwise.
func (c *conclusions) add(kind picture.ProfileFindingKind, seconds float64) *picture.ProfileFinding {
	share := seconds / c.p.ThreadSeconds
	if share-Doubt(share, c.p.Samples) < leastShare {
		return nil
	}
	c.list = append(c.list, picture.ProfileFinding{Kind: kind, Seconds: seconds, Share: share})
	return &c.list[len(c.list)-1]
}

// percent formats a share.
func percent(share float64) string { return fmt.Sprintf("%.0f %%", 100*share) }

// fixOf returns the fix of a kind of verdict.
func fixOf(kind picture.VerdictKind) string {
	for _, k := range diagnose.Kinds() {
		if k.Name == kind {
			return k.Fix
		}
	}
	return ""
}

// WaitText names an awaited thing in a sentence.
func WaitText(w picture.ProfileWait) string {
	switch w.Kind {
	case kindIdle:
		return "work, in the runtime's pool (idle)"
	case kindOverhead:
		return "the runtime's own work (overhead)"
	}
	t := picture.WaitTarget{Kind: picture.WaitKind(w.Kind), Name: w.Name}
	if at, err := strconv.ParseUint(w.Name, 0, 64); err == nil && strings.HasPrefix(w.Name, "0x") {
		a := picture.Hex(at)
		t.Name, t.Address = "", &a
	}
	return phrase.Awaited(t)
}

// placeClause returns " at PLACE"; "" if it is unknown.
func placeClause(f *picture.Frame) string {
	if f == nil {
		return ""
	}
	return " at " + phrase.Where(*f)
}

// findContention finds locks and similar objects that threads wait for: one that costs much, or all of a kind.
func (c *conclusions) findContention() {
	byKind := map[string][]picture.ProfileWait{}
	sum := map[string]float64{}
	var kinds []string
	for _, w := range c.p.Waits {
		if !picture.WaitKind(w.Kind).OfLock() || w.Kind == kindIdle || w.Kind == kindOverhead {
			continue
		}
		if byKind[w.Kind] == nil {
			kinds = append(kinds, w.Kind)
		}
		byKind[w.Kind] = append(byKind[w.Kind], w)
		sum[w.Kind] += w.Seconds
	}
	for _, kind := range kinds {
		single := false
		for _, w := range byKind[kind] {
			if f := c.add(picture.FindingContention, w.Seconds); f != nil {
				single = true
				f.Text = fmt.Sprintf("threads spend %s of their time waiting for %s", percent(f.Share), WaitText(w))
				f.Details = c.waitPlaces(w.Kind, w.Name)
				f.Fix = contentionFix(kind)
			}
		}
		if single || len(byKind[kind]) < 2 {
			continue
		}
		if f := c.add(picture.FindingContention, sum[kind]); f != nil {
			f.Text = fmt.Sprintf("threads spend %s of their time waiting for %d objects of kind %s; the wait for each "+
				"is short", percent(f.Share), len(byKind[kind]), kind)
			f.Details = c.waitPlaces(kind, "")
			f.Fix = contentionFix(kind)
		}
	}
}

// contentionFix returns the usual fix of waits of a kind.
func contentionFix(kind string) string {
	if picture.WaitKind(kind) == picture.WaitOrdered {
		return "do less in the ordered part, and as late as possible in the iteration; schedule(static, 1) lets the " +
			"turns follow each other"
	}
	return fixOf(picture.VerdictContention)
}

// maxPlaces bounds the places in a finding.
const maxPlaces = 3

// waitPlaces returns a sentence with the places at which threads wait for something, those of the largest times. An
// empty name stands for all objects of the kind.
func (c *conclusions) waitPlaces(kind, name string) []string {
	type sum struct {
		text    string
		seconds float64
	}
	var list []sum
	all := 0.0
	for _, place := range c.p.Places {
		one := sum{}
		for _, w := range place.Waits {
			if w.Kind == kind && (name == "" || w.Name == name) {
				one.seconds += w.Seconds
			}
		}
		if all += one.seconds; one.seconds > 0 && place.Frame != nil {
			one.text = phrase.Where(*place.Frame)
			list = append(list, one)
		}
	}
	slices.SortStableFunc(list, func(a, b sum) int { return cmp.Compare(b.seconds, a.seconds) })
	var words []string
	for _, one := range list[:min(len(list), maxPlaces)] {
		text := one.text
		if len(list) > 1 {
			text += " (" + percent(one.seconds/all) + " of it)"
		}
		words = append(words, text)
	}
	if len(words) == 0 {
		return nil
	}
	return []string{"at " + strings.Join(words, ", ")}
}

// findBarriers finds barriers at which threads wait long, and the threads that come last.
func (c *conclusions) findBarriers() {
	for i := range c.p.Barriers {
		b := &c.p.Barriers[i]
		f := c.add(picture.FindingBarrier, b.Seconds)
		if f == nil {
			continue
		}
		f.Text = fmt.Sprintf("threads spend %s of their time at the %s%s", percent(f.Share), BarrierName(b),
			placeClause(b.Frame))
		last := lastOf(b)
		if len(last) == 0 {
			f.Details = []string{"now one thread comes last, now another: the work differs from time to time, or the " +
				"processors are busy with something else"}
			f.Fix = "do more between two barriers; nowait, where no thread needs the results of the others; " +
				fixOf(picture.VerdictImbalance)
			continue
		}
		f.Kind, f.Fix = picture.FindingImbalance, fixOf(picture.VerdictImbalance)
		for _, l := range last[:min(len(last), maxPlaces)] {
			f.Details = append(f.Details, lateText(b, l))
		}
		if more := len(last) - maxPlaces; more > 0 {
			f.Details = append(f.Details, phrase.Count(more, "more thread")+" came as late")
		}
		if l := last[0]; l.Work < l.Seconds/2 {
			f.Fix = "shorten what the late threads wait for, or do it outside of the region"
		}
	}
}

// lateText describes a thread that comes last at a barrier.
func lateText(b *picture.ProfileBarrier, l picture.ProfileLate) string {
	text := fmt.Sprintf("in %s of that time, thread %d had not come", percent(l.Seconds/b.Span), l.ThreadNum)
	if l.Seconds > 0 {
		text += fmt.Sprintf(": %s at work", percent(l.Work/l.Seconds))
	}
	if l.Frame != nil {
		text += fmt.Sprintf(", most (%s) in %s", percent(l.Share), phrase.Where(*l.Frame))
	}
	return text
}

// lastOf returns the threads that come last at a barrier as a rule; none if now one is the last, now another.
func lastOf(b *picture.ProfileBarrier) (out []picture.ProfileLate) {
	for _, l := range b.Late {
		if b.Span > 0 && l.Seconds >= systematic*b.Span {
			out = append(out, l)
		}
	}
	return out
}

// BarrierName returns the kind of a barrier in words.
func BarrierName(b *picture.ProfileBarrier) string {
	switch b.State {
	case picture.StateBarrierExplicit:
		return "barrier"
	case picture.StateBarrierParallel:
		return "end of the parallel region"
	case picture.StateBarrierWorkshare:
		return "barrier after a worksharing construct"
	case picture.StateBarrierImplementation:
		return "barrier of the runtime"
	case picture.StateBarrierTeams:
		return "end of the teams construct"
	}
	return "implicit barrier"
}

// findIdle finds the time in which threads are idle because one works alone, or a small team does.
func (c *conclusions) findIdle() {
	for _, serial := range []bool{true, false} {
		sum := 0.0
		var list []picture.ProfileAlone
		for _, a := range c.p.Alone {
			if a.Serial == serial {
				sum += a.Seconds
				list = append(list, a)
			}
		}
		kind := picture.FindingFewThreads
		if serial {
			kind = picture.FindingSerial
		}
		f := c.add(kind, sum)
		if f == nil {
			continue
		}
		var places []string
		for _, a := range list[:min(len(list), maxPlaces)] {
			if a.Frame != nil {
				places = append(places, fmt.Sprintf("%s (%s of it)", phrase.Where(*a.Frame), percent(a.Seconds/sum)))
			}
		}
		if len(places) > 0 {
			f.Details = []string{"meanwhile the initial thread is at " + strings.Join(places, ", ")}
		}
		if serial {
			f.Text = fmt.Sprintf("threads are idle for %s of their time, while the initial thread works alone outside "+
				"of parallel regions", percent(f.Share))
			f.Fix = "make that part parallel, or let it overlap with other work (tasks); by Amdahl's law it bounds " +
				"the gain of more threads"
		} else {
			f.Text = fmt.Sprintf("threads are idle for %s of their time, while a team of fewer threads works",
				percent(f.Share))
			f.Fix = "let that region have more threads (num_threads, collapse, more tasks), or fewer for the program"
		}
	}
}

// findOthers finds the waits of other kinds.
func (c *conclusions) findOthers() {
	for _, w := range c.p.Waits {
		kind, fix := picture.FindingOther, ""
		switch {
		case picture.WaitKind(w.Kind) == picture.WaitBarrier, w.Kind == kindIdle:
			continue
		case w.Kind == kindOverhead:
			kind, fix = picture.FindingOverhead, "give the threads larger pieces: fewer regions, tasks and chunks"
		case picture.WaitKind(w.Kind).OfLock():
			continue
		case picture.WaitKind(w.Kind) == picture.WaitTaskwait, picture.WaitKind(w.Kind) == picture.WaitTaskgroup:
			kind = picture.FindingTasks
			fix = "more, smaller tasks if few run at a time; otherwise larger ones (grainsize, final), as a waiting " +
				"thread executes tasks if there are any"
		case picture.WaitKind(w.Kind) == picture.WaitMPI:
			fix = "profile the ranks that it waits for; overlap communication with work"
		case picture.WaitKind(w.Kind) == picture.WaitCall, picture.WaitKind(w.Kind) == picture.WaitSleep:
			fix = "wait for files, devices and time outside of the parallel region, or in a task of its own"
		}
		if f := c.add(kind, w.Seconds); f != nil {
			f.Text = fmt.Sprintf("threads spend %s of their time waiting for %s", percent(f.Share), WaitText(w))
			f.Details = c.waitPlaces(w.Kind, w.Name)
			f.Fix = fix
		}
	}
}

// findUnread reports the time of threads whose state could not be read.
func (c *conclusions) findUnread() {
	if f := c.add(picture.FindingUnknown, c.p.Unknown); f != nil {
		f.Text = fmt.Sprintf("%s of the thread time is neither: the states of threads could not be read",
			percent(f.Share))
		f.Fix = "`ompd-inspect doctor PID` shows the reason"
	}
}

// findStarved reports that threads at work got too little CPU time. The time that waiting threads spin counts against
// it, so that the share is at most that large.
func (c *conclusions) findStarved() {
	p := c.p
	if p.CPU <= 0 || p.Work < leastShare*p.ThreadSeconds || p.CPU > starved*p.Work {
		return
	}
	f := c.add(picture.FindingStarved, p.Work-p.CPU)
	if f == nil {
		return
	}
	f.Text = fmt.Sprintf("threads at work had a processor for at most %s of that time", percent(p.CPU/p.Work))
	f.Fix = "use no more threads than processors (OMP_NUM_THREADS), look for a quota or an affinity mask, and for " +
		"other programs"
}

// findWork reports how much of the time is Work, and where.
func (c *conclusions) findWork() {
	p := c.p
	f := picture.ProfileFinding{Kind: picture.FindingWork, Seconds: p.Work, Share: p.Work / p.ThreadSeconds}
	f.Text = percent(f.Share) + " of the thread time is Work"
	if f.Share >= busy {
		f.Text = "threads wait for little: " + f.Text
	}
	places := slices.Clone(p.Places)
	slices.SortStableFunc(places, func(a, b picture.ProfilePlace) int { return cmp.Compare(b.Work, a.Work) })
	var words []string
	for _, place := range places[:min(len(places), maxPlaces)] {
		if place.Work > 0 && place.Frame != nil {
			share := percent(place.Work / p.ThreadSeconds)
			words = append(words, fmt.Sprintf("%s (%s)", phrase.Where(*place.Frame), share))
		}
	}
	if len(words) > 0 {
		f.Details = []string{"most in " + strings.Join(words, ", ")}
	}
	c.list = append(c.list, f)
}
