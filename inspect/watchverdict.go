package inspect

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ompd-inspect/ompd-inspect/rtl"
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
func (t *Track) Since(before *Track, elapsed time.Duration, use []ThreadUse) *Change {
	c := &Change{
		Seconds: elapsed.Seconds(), Threads: []ThreadChange{},
		Regions: turnover(before.regions, t.regions), Tasks: turnover(before.tasks, t.tasks),
	}
	used := map[int]ThreadUse{}
	for _, u := range use {
		used[u.LWP] = u
	}
	waiting := t.allWait()
	for lwp, now := range t.places {
		old, had := before.places[lwp]
		if !had {
			c.Threads = append(c.Threads, ThreadChange{LWP: lwp, Did: ThreadNew, Aside: now.aside()})
			continue
		}
		d := now.since(old, used[lwp])
		d.LWP, d.Aside = lwp, now.aside() && old.aside() || waiting && now.role == string(rtl.RoleNone) && d.CPU < busyShare*c.Seconds
		c.Threads = append(c.Threads, d)
	}
	for lwp, old := range before.places {
		if _, there := t.places[lwp]; !there {
			c.Threads = append(c.Threads, ThreadChange{LWP: lwp, Did: ThreadEnded, Aside: old.aside()})
		}
	}
	slices.SortFunc(c.Threads, func(a, b ThreadChange) int { return a.LWP - b.LWP })
	c.judge()
	return c
}

// aside tells whether a thread in this place has nothing to do with whether the
// program gets on.
func (p *place) aside() bool { return p.role == string(rtl.RoleIdle) || p.role == "helper" }

// allWait tells whether every thread of a team waits inside of a runtime. It is
// false if there is none.
func (t *Track) allWait() bool {
	n := 0
	for _, p := range t.places {
		if p.role == string(rtl.RoleNone) || p.aside() {
			continue
		}
		if !p.inside || !strings.HasPrefix(p.state, "wait") {
			return false
		}
		n++
	}
	return n > 0
}

// since tells what a thread did between two places.
func (p *place) since(old place, use ThreadUse) ThreadChange {
	d := ThreadChange{CPU: use.CPU.Seconds(), Did: ThreadStill}
	moved := func(what string, is bool) {
		if is {
			d.Moved = append(d.Moved, what)
		}
	}
	moved("role", p.role != old.role)
	moved("region", p.region != old.region)
	moved("task", p.task != old.task)
	moved("state", p.state != old.state)
	moved("stack", p.known && old.known && p.stack != old.stack)
	for _, c := range p.counters {
		before := slices.IndexFunc(old.counters, func(o rtl.Counter) bool { return o.Name == c.Name })
		moved(c.Name, before >= 0 && old.counters[before] != c)
	}
	ran := use.CPU >= tick || use.Switches > ownSwitches
	moved("registers", p.known && old.known && !p.inside && !old.inside && p.regs != old.regs)
	switch {
	case len(d.Moved) > 0:
		d.Did = ThreadMoved
	case ran && !(p.known && old.known || p.waits()):
		d.Did = ThreadRan
	case ran:
		d.Did = ThreadSpun
	}
	return d
}

// waits tells whether the runtime itself says that the thread waits or is idle.
func (p *place) waits() bool { return p.aside() || strings.HasPrefix(p.state, "wait") }

// judge gives the verdict.
func (c *Change) judge() {
	count := map[string]int{}
	for _, t := range c.Threads {
		if !t.Aside {
			count[t.Did]++
		}
	}
	moved := count[ThreadMoved] + count[ThreadNew] + count[ThreadEnded]
	tasks := c.Tasks.New + c.Tasks.Ended + c.Regions.New + c.Regions.Ended
	switch {
	case moved+tasks > 0:
		c.Verdict, c.Reason = WatchProgress, c.progress(count)
	case count[ThreadRan] > 0:
		c.Verdict = WatchUnknown
		c.Reason = fmt.Sprintf("%s ran, where could not be seen without a stop", threads(count[ThreadRan]))
	case count[ThreadSpun] > 0:
		c.Verdict = WatchSpinning
		c.Reason = fmt.Sprintf("%s used processors and came nowhere, %d did not run", threads(count[ThreadSpun]), count[ThreadStill])
	default:
		c.Verdict, c.Reason = WatchStuck, "no thread got on or ran"
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
	for _, m := range []string{"barriers", "tasks", "loops", "taskwaits", "unfinished children", "region", "task", "stack", "registers"} {
		if what[m] > 0 {
			parts = append(parts, fmt.Sprintf("%s of %d", m, what[m]))
		}
	}
	text := threads(count[ThreadMoved]) + " got on"
	if len(parts) > 0 {
		text += ": " + strings.Join(parts, ", ")
	}
	for _, did := range []string{ThreadNew, ThreadEnded} {
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
	rank := []string{WatchStuck, WatchSpinning, WatchUnknown, WatchProgress}
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
			if did := []string{ThreadStill, ThreadSpun, ThreadRan, ThreadMoved}; slices.Index(did, p.Did) > slices.Index(did, t.Did) && slices.Contains(did, t.Did) {
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
