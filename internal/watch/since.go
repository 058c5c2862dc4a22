package watch

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

const (
	// tick is the kernel's unit of CPU time.
	tick = 10 * time.Millisecond
	// ownSwitches is the number of context switches that a look itself causes at most in an idle thread.
	ownSwitches = 3
	// busyShare is the share of CPU time that a thread outside of OpenMP must use to count if all others wait:
	// less is a watchdog's.
	busyShare = 0.1
)

// threadChange is a change of a thread, with the facts that only the verdict on all threads needs.
type threadChange struct {
	picture.ThreadChange
	starved  bool // it had work, and got no processor
	computes bool // it ran in the program's own code, and is not proven to wait there
	unseen   bool // it ran, and was not stopped where it ran
	outside  bool // it waits for input, a signal, another process or a time
}

// Since returns the changes between two looks, in elapsed time, with the kernel's counts for that time.
func Since(before, now *picture.Trace, elapsed time.Duration, use []picture.Use) *picture.Change {
	c := &picture.Change{
		Seconds: elapsed.Seconds(), Threads: []picture.ThreadChange{},
		Regions: turnover(before.Regions, now.Regions), Tasks: turnover(before.Tasks, now.Tasks),
	}
	used := map[int]picture.Use{}
	for _, u := range use {
		used[u.LWP] = u
	}
	waiting := allWait(now)
	var list []threadChange
	for lwp, at := range now.Threads {
		old, had := before.Threads[lwp]
		if !had {
			list = append(list, threadChange{ThreadChange: picture.ThreadChange{
				LWP: lwp, Activity: picture.ActivityNew, Ignored: aside(&at)}})
			continue
		}
		d := threadSince(&old, &at, used[lwp], elapsed)
		d.LWP = lwp
		d.outside = d.outside || now.Handled && at.Spins != nil && !at.Inside // a signal handler may end that
		watchdog := waiting && at.Role == picture.RoleNone && !at.Hidden && d.CPU < busyShare*c.Seconds
		d.Ignored = aside(&at) && aside(&old) || watchdog
		list = append(list, d)
	}
	for lwp, old := range before.Threads {
		if _, there := now.Threads[lwp]; !there {
			list = append(list, threadChange{ThreadChange: picture.ThreadChange{
				LWP: lwp, Activity: picture.ActivityEnded, Ignored: aside(&old)}})
		}
	}
	slices.SortFunc(list, func(a, b threadChange) int { return a.LWP - b.LWP })
	for i := range list {
		c.Threads = append(c.Threads, list[i].ThreadChange)
	}
	judge(c, list)
	return c
}

// aside reports whether a thread in this place is irrelevant to the program's progress.
func aside(t *picture.ThreadTrace) bool { return t.Role == picture.RoleIdle || t.Hidden }

// allWait reports whether every thread of a team waits inside of a runtime. It returns false without such
// threads.
func allWait(now *picture.Trace) bool {
	n := 0
	for _, p := range now.Threads {
		if p.Role == picture.RoleNone || aside(&p) {
			continue
		}
		if !p.Inside || !p.State.Waits() {
			return false
		}
		n++
	}
	return n > 0
}

// threadSince returns the activity of a thread between two traces.
func threadSince(old, now *picture.ThreadTrace, use picture.Use, elapsed time.Duration) threadChange {
	d := threadChange{ThreadChange: picture.ThreadChange{
		CPU: use.CPU.Seconds(), Activity: picture.ActivityStill, Changed: movedSince(old, now)}}
	if use.GotOn {
		d.Changed = append(d.Changed, "events")
	}
	polls := now.Timed && old.Timed && use.CPU.Seconds() < busyShare*elapsed.Seconds() // it polls now and then
	ran := !polls && (use.CPU >= tick || use.Switches > ownSwitches)
	spins := !polls && now.Spins != nil && old.Spins != nil // at each place of the loop, even without a processor
	d.outside = now.Outside || now.Timed && now.Spins == nil
	switch {
	case len(d.Changed) > 0:
		d.Activity = picture.ActivityMoved
	case spins, ran && counted(old) && counted(now):
		d.Activity = picture.ActivitySpun
	case ran:
		seen := now.Known && old.Known
		d.Activity, d.computes, d.unseen = picture.ActivityRan, seen && !now.Blocked && !waits(now), !seen
	default:
		d.starved = !Rests(now) || use.Runnable && !polls
	}
	return d
}

// movedSince lists the differences between two traces that prove progress of a thread.
func movedSince(old, now *picture.ThreadTrace) (list []string) {
	moved := func(what string, is bool) {
		if is {
			list = append(list, what)
		}
	}
	known := now.Known && old.Known
	spins := now.Spins != nil && old.Spins != nil
	differ := func(old, now string) bool { return old != "" && now != "" && old != now }
	moved("role", now.Hidden != old.Hidden || !now.Hidden && now.Role != old.Role)
	moved("region", now.Region != old.Region)
	moved("task", now.Task != old.Task)
	moved("state", now.State != old.State)
	moved("stack", known && now.Stack != old.Stack)
	for _, c := range now.Counters {
		before := slices.IndexFunc(old.Counters, func(o picture.Counter) bool { return o.Name == c.Name })
		moved(c.Name, before >= 0 && old.Counters[before] != c)
	}
	// Otherwise it was seen at two places of one loop.
	alike := known && now.Inside == old.Inside && now.Timed == old.Timed
	moved("registers", alike && (now.Timed || now.Spins == nil && old.Spins == nil) &&
		differ(old.Registers, now.Registers))
	moved("memory", alike && (differ(old.Frames, now.Frames) || differ(old.Written, now.Written)))
	moved("lock", differ(old.Lock, now.Lock))
	// The runtime's own loops search for tasks, and change their own words: only its counters show progress.
	moved("awaited words", spins && !now.Inside && !now.Spins.Same(old.Spins))
	return list
}

// waits reports whether the runtime itself reports that the thread waits or is idle.
func waits(t *picture.ThreadTrace) bool { return aside(t) || t.State.Waits() }

// counted reports whether the thread waits in the runtime at a place where the runtime counts waits: the
// counters are compared.
func counted(t *picture.ThreadTrace) bool {
	return aside(t) || t.State.Counted() && (t.Inside || !t.Known)
}

// Rests reports whether a thread is known to wait, or to be idle. Another one that did not run got no processor.
func Rests(t *picture.ThreadTrace) bool {
	return !t.Known || aside(t) || !t.Woken && (t.Blocked || t.Timed || t.Spins != nil || counted(t))
}

// judge sets the verdict on c from the activities of its threads.
func judge(c *picture.Change, list []threadChange) {
	count, starved, computing, unseen, outside := map[string]int{}, 0, 0, 0, 0
	for _, t := range list {
		if t.Ignored {
			continue
		}
		count[t.Activity]++
		starved += one(t.starved)
		computing += one(t.computes)
		unseen += one(t.unseen)
		outside += one(t.outside)
	}
	moved := count[picture.ActivityMoved] + count[picture.ActivityNew] + count[picture.ActivityEnded]
	tasks := c.Tasks.New + c.Tasks.Ended + c.Regions.New + c.Regions.Ended
	switch {
	case moved+tasks > 0:
		c.Verdict, c.Reason = picture.WatchProgress, progress(c, count)
	case computing > 0:
		c.Verdict = picture.WatchUnknown
		c.Reason = fmt.Sprintf("%s ran in the program's code, and nothing shows that it only waits",
			threads(computing))
	case unseen > 0:
		c.Verdict = picture.WatchUnknown
		c.Reason = fmt.Sprintf("%s ran, but what was done could not be seen without stopping them", threads(unseen))
	case count[picture.ActivityRan] > 0:
		c.Verdict = picture.WatchUnknown
		c.Reason = fmt.Sprintf("%s ran, and what was done is not known", threads(count[picture.ActivityRan]))
	case starved > 0: // on a busy machine, that is no hang
		c.Verdict, c.Reason = picture.WatchUnknown, fmt.Sprintf("%s had something to do, and got no processor for it",
			threads(starved))
	case outside > 0:
		c.Verdict = picture.WatchStuck
		c.Reason = fmt.Sprintf("no thread made progress: %s for input, a signal, another process or a time",
			verbWait(outside))
		if n := count[picture.ActivitySpun]; n > 0 {
			c.Reason += fmt.Sprintf("; %s used processors meanwhile", threads(n))
		}
	case count[picture.ActivitySpun] > 0:
		c.Verdict = picture.WatchSpinning
		c.Reason = threads(count[picture.ActivitySpun]) + " used processors without progress"
		if n := count[picture.ActivityStill]; n > 0 {
			c.Reason += fmt.Sprintf(", %d did not run", n)
		}
	default:
		c.Verdict, c.Reason = picture.WatchStuck, "no thread made progress or ran"
	}
}

func one(is bool) int {
	if is {
		return 1
	}
	return 0
}

func verbWait(n int) string {
	if n == 1 {
		return "1 thread waits"
	}
	return fmt.Sprintf("%d threads wait", n)
}

// progress describes the progress in words.
func progress(c *picture.Change, count map[string]int) string {
	what := map[string]int{}
	for _, t := range c.Threads {
		for _, m := range t.Changed {
			if !t.Ignored {
				what[m]++
			}
		}
	}
	var parts []string
	for _, m := range []string{"barriers", "tasks", "loops", "iterations left", "iterations", "taskwaits",
		"unfinished children", "region", "task", "stack", "registers", "memory", "lock", "awaited words", "events"} {
		if what[m] > 0 {
			parts = append(parts, fmt.Sprintf("%s of %d", m, what[m]))
		}
	}
	text := threads(count[picture.ActivityMoved]) + " made progress"
	if len(parts) > 0 {
		text += ": " + strings.Join(parts, ", ")
	}
	for _, did := range []string{picture.ActivityNew, picture.ActivityEnded} {
		if count[did] > 0 {
			text += fmt.Sprintf("; %s %s", threads(count[did]), did)
		}
	}
	for _, t := range []struct {
		name string
		picture.Turnover
	}{{"regions", c.Regions}, {"tasks", c.Tasks}} {
		if t.New+t.Ended > 0 {
			text += fmt.Sprintf("; %s: %d ended, %d new", t.name, t.Ended, t.New)
		}
	}
	return text
}

func threads(n int) string {
	if n == 1 {
		return "1 thread"
	}
	return fmt.Sprintf("%d threads", n)
}

// raise makes the verdict on a longer time include that on a part of it: a value that changed and changed back
// has changed.
func raise(c, part *picture.Change) {
	rank := []string{picture.WatchStuck, picture.WatchSpinning, picture.WatchUnknown, picture.WatchProgress}
	if slices.Index(rank, part.Verdict) > slices.Index(rank, c.Verdict) {
		c.Verdict, c.Reason = part.Verdict, part.Reason
	}
	for i := range c.Threads {
		t := &c.Threads[i]
		for _, p := range part.Threads {
			if p.LWP != t.LWP {
				continue
			}
			for _, m := range p.Changed {
				if !slices.Contains(t.Changed, m) {
					t.Changed = append(t.Changed, m)
				}
			}
			did := []string{
				picture.ActivityStill, picture.ActivitySpun, picture.ActivityRan, picture.ActivityMoved,
			}
			if own := slices.Index(did, t.Activity); own >= 0 && slices.Index(did, p.Activity) > own {
				t.Activity = p.Activity
			}
			t.Ignored = t.Ignored && p.Ignored
		}
	}
}

func turnover[K comparable](before, now map[K]bool) (t picture.Turnover) {
	for k := range before {
		if now[k] {
			t.Same++
		} else {
			t.Ended++
		}
	}
	t.New = len(now) - t.Same
	return t
}
