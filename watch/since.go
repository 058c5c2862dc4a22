package watch

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

const (
	// tick is the unit in which the kernel tells processor time.
	tick = 10 * time.Millisecond
	// ownSwitches is how often a thread that does nothing may leave a
	// processor, since it was stopped and went on for a look.
	ownSwitches = 3
	// busyShare is the part of the time that a thread of no runtime must use
	// to count where all others wait: less is a watchdog's.
	busyShare = 0.1
)

// Since tells what changed between two looks, in elapsed time, with what the
// kernel counted in between.
func Since(before, now *picture.Trace, elapsed time.Duration, use []Use) *Change {
	c := &Change{
		Seconds: elapsed.Seconds(), Threads: []ThreadChange{},
		Regions: turnover(before.Regions, now.Regions), Tasks: turnover(before.Tasks, now.Tasks),
	}
	used := map[int]Use{}
	for _, u := range use {
		used[u.LWP] = u
	}
	waiting := allWait(now)
	for lwp, at := range now.Threads {
		old, had := before.Threads[lwp]
		if !had {
			c.Threads = append(c.Threads, ThreadChange{LWP: lwp, Did: New, Aside: aside(&at)})
			continue
		}
		d := threadSince(&old, &at, used[lwp], elapsed)
		d.LWP = lwp
		watchdog := waiting && at.Role == picture.RoleNone && !at.Hidden && d.CPU < busyShare*c.Seconds
		d.Aside = aside(&at) && aside(&old) || watchdog
		c.Threads = append(c.Threads, d)
	}
	for lwp, old := range before.Threads {
		if _, there := now.Threads[lwp]; !there {
			c.Threads = append(c.Threads, ThreadChange{LWP: lwp, Did: Ended, Aside: aside(&old)})
		}
	}
	slices.SortFunc(c.Threads, func(a, b ThreadChange) int { return a.LWP - b.LWP })
	c.judge()
	return c
}

// aside reports whether a thread in this place has nothing to do with whether the
// program gets on.
func aside(t *picture.ThreadTrace) bool { return t.Role == picture.RoleIdle || t.Hidden }

// allWait reports whether every thread of a team waits inside of a runtime. It is
// false if there is none.
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

// threadSince tells what a thread did between two places.
func threadSince(old, now *picture.ThreadTrace, use Use, elapsed time.Duration) ThreadChange {
	d := ThreadChange{CPU: use.CPU.Seconds(), Did: Still}
	moved := func(what string, is bool) {
		if is {
			d.Moved = append(d.Moved, what)
		}
	}
	moved("role", now.Hidden != old.Hidden || !now.Hidden && now.Role != old.Role)
	moved("region", now.Region != old.Region)
	moved("task", now.Task != old.Task)
	moved("state", now.State != old.State)
	moved("stack", now.Known && old.Known && now.Stack != old.Stack)
	for _, c := range now.Counters {
		before := slices.IndexFunc(old.Counters, func(o picture.Counter) bool { return o.Name == c.Name })
		moved(c.Name, before >= 0 && old.Counters[before] != c)
	}
	moved("events", use.GotOn)
	ran := use.CPU >= tick || use.Switches > ownSwitches
	moved("registers", now.Known && old.Known && !now.Inside && !old.Inside && now.Registers != old.Registers &&
		now.Timed == old.Timed) // else it was seen at two places of one loop
	polls := now.Timed && old.Timed
	if polls && use.CPU.Seconds() < busyShare*elapsed.Seconds() {
		ran = false // it only looked whether it may go on
	}
	switch {
	case len(d.Moved) > 0:
		d.Did = Moved
	case ran && !(now.Known && old.Known || waits(now)):
		d.Did = Ran
	case ran:
		d.Did = Spun
	default:
		d.starved = use.Runnable && !(now.Inside && waits(now)) && !polls
	}
	return d
}

// waits reports whether the runtime itself says that the thread waits or is idle.
func waits(t *picture.ThreadTrace) bool { return aside(t) || t.State.Waits() }

// judge gives the verdict.
func (c *Change) judge() {
	count, starved := map[string]int{}, 0
	for _, t := range c.Threads {
		if t.Aside {
			continue
		}
		count[t.Did]++
		if t.starved {
			starved++
		}
	}
	moved := count[Moved] + count[New] + count[Ended]
	tasks := c.Tasks.New + c.Tasks.Ended + c.Regions.New + c.Regions.Ended
	switch {
	case moved+tasks > 0:
		c.Verdict, c.Reason = Progress, c.progress(count)
	case count[Ran] > 0:
		c.Verdict = Unknown
		c.Reason = fmt.Sprintf("%s ran, but where could not be seen without stopping them", threads(count[Ran]))
	case starved > 0: // on a busy machine, that is no hang
		c.Verdict, c.Reason = Unknown, fmt.Sprintf("%s had something to do, and got no processor for it",
			threads(starved))
	case count[Spun] > 0:
		c.Verdict = Spinning
		c.Reason = threads(count[Spun]) + " used processors without progress"
		if n := count[Still]; n > 0 {
			c.Reason += fmt.Sprintf(", %d did not run", n)
		}
	default:
		c.Verdict, c.Reason = Stuck, "no thread made progress or ran"
	}
}

// progress says what was done.
func (c *Change) progress(count map[string]int) string {
	what := map[string]int{}
	for _, t := range c.Threads {
		for _, m := range t.Moved {
			if !t.Aside {
				what[m]++
			}
		}
	}
	var parts []string
	for _, m := range []string{"barriers", "tasks", "loops", "taskwaits", "unfinished children", "region", "task",
		"stack", "registers", "events"} {
		if what[m] > 0 {
			parts = append(parts, fmt.Sprintf("%s of %d", m, what[m]))
		}
	}
	text := threads(count[Moved]) + " made progress"
	if len(parts) > 0 {
		text += ": " + strings.Join(parts, ", ")
	}
	for _, did := range []string{New, Ended} {
		if count[did] > 0 {
			text += fmt.Sprintf("; %s %s", threads(count[did]), did)
		}
	}
	for _, t := range []struct {
		name string
		Turnover
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

// Raise makes the verdict on a longer time no more quiet than that on a part of
// it: what moved and came back has moved.
func (c *Change) Raise(part *Change) {
	rank := []string{Stuck, Spinning, Unknown, Progress}
	if slices.Index(rank, part.Verdict) > slices.Index(rank, c.Verdict) {
		c.Verdict, c.Reason = part.Verdict, part.Reason
	}
	for i := range c.Threads {
		t := &c.Threads[i]
		for _, p := range part.Threads {
			if p.LWP != t.LWP {
				continue
			}
			for _, m := range p.Moved {
				if !slices.Contains(t.Moved, m) {
					t.Moved = append(t.Moved, m)
				}
			}
			if did := []string{Still, Spun, Ran, Moved}; slices.Index(did, p.Did) > slices.Index(did, t.Did) &&
				slices.Contains(did, t.Did) {
				t.Did = p.Did
			}
			t.Aside = t.Aside && p.Aside
		}
	}
}

func turnover[K comparable](before, now map[K]bool) (t Turnover) {
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
