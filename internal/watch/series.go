package watch

import (
	"time"

	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

const (
	// Interval is the minimal time between two looks at a process, ten times the kernel's unit of CPU time.
	Interval = 100 * time.Millisecond
	// Settle is the time after a look in which the threads resume from the stop; their CPU use is measured
	// after it.
	Settle = 20 * time.Millisecond
)

// Series compares looks at a process. The zero value contains no look.
type Series struct {
	start, at    time.Time
	first, trace *picture.Trace
	begun, wrote map[int]int64 // records of each thread at the first and the last look
	last         *picture.Look
	suspended    bool                // a signal had stopped the process before each look
	base         []picture.Use       // after the threads had resumed from the last look
	used         map[int]picture.Use // sum of the uses between looks
	changes      []*picture.Change
}

// Rest records the CPU use of the threads since their start. Call it after they have resumed from a look.
func (s *Series) Rest(total []picture.Use) { s.base = total }

// Look adds a look: picture and trace of one snapshot, and the CPU use of the threads since their start,
// measured right before it.
func (s *Series) Look(pic *picture.Picture, trace *picture.Trace, now time.Time, total []picture.Use) *picture.Look {
	l := &picture.Look{Schema: picture.WatchSchema, Number: 1, Time: now.Format(time.RFC3339Nano), Picture: pic}
	wrote := records(total)
	s.suspended = isSuspended(pic) && (s.last == nil || s.suspended)
	if s.last == nil {
		s.start, s.first, s.begun = now, trace, wrote
	} else {
		l.Number, l.Seconds = s.last.Number+1, now.Sub(s.start).Seconds()
		l.Change = Since(s.trace, trace, now.Sub(s.at), s.usedSince(total))
		if isSuspended(s.last.Picture) && isSuspended(pic) {
			explainSuspended(l.Change, pic)
		}
		addRecorded(l.Change, s.wrote, wrote)
		s.changes = append(s.changes, l.Change)
	}
	s.at, s.trace, s.wrote, s.last = now, trace, wrote, l
	return l
}

// isSuspended reports whether a signal had stopped the process of a picture before the look.
func isSuspended(pic *picture.Picture) bool {
	return pic.Target.Pause != nil && pic.Target.Pause.Suspended
}

// explainSuspended sets the verdict on a process that was stopped by a signal at both looks, unless it made progress in
// between: its threads could not run, whatever they do.
func explainSuspended(c *picture.Change, pic *picture.Picture) {
	if c.Verdict != picture.WatchProgress {
		c.Verdict, c.Reason = picture.WatchStuck, phrase.Suspended(pic.Target.PID)
	}
}

// usedSince returns the CPU use of the threads since the last Rest, and adds it to the total.
func (s *Series) usedSince(total []picture.Use) []picture.Use {
	if s.used == nil {
		s.used = map[int]picture.Use{}
	}
	list := UsedSince(s.base, total)
	for _, d := range list {
		sum := s.used[d.LWP]
		s.used[d.LWP] = picture.Use{LWP: d.LWP, CPU: sum.CPU + d.CPU, Switches: sum.Switches + d.Switches,
			Runnable: d.Runnable, GotOn: sum.GotOn || d.GotOn}
	}
	return list
}

// UsedSince returns the CPU use between two measurements of the threads in both of them; each measurement is
// since the threads' start.
func UsedSince(before, now []picture.Use) []picture.Use {
	old := map[int]picture.Use{}
	for _, u := range before {
		old[u.LWP] = u
	}
	var list []picture.Use
	for _, u := range now {
		if b, ok := old[u.LWP]; ok {
			list = append(list, picture.Use{LWP: u.LWP, CPU: u.CPU - b.CPU, Switches: u.Switches - b.Switches,
				Runnable: u.Runnable, GotOn: u.Step > b.Step})
		}
	}
	return list
}

// Last returns the last look, or nil.
func (s *Series) Last() *picture.Look { return s.last }

// Conclude sets the result of the last look: the changes since the first. It returns false for a single look.
func (s *Series) Conclude() bool {
	if len(s.changes) == 0 {
		return false
	}
	var use []picture.Use
	for _, u := range s.used {
		use = append(use, u)
	}
	r := Since(s.first, s.trace, s.at.Sub(s.start), use)
	addRecorded(r, s.begun, s.wrote)
	if s.suspended {
		explainSuspended(r, s.last.Picture)
	}
	for _, c := range s.changes {
		raise(r, c)
	}
	s.last.Result = r
	return true
}
