package inspect

import "time"

const (
	// WatchInterval is the shortest time from one look at a process to the next: the
	// kernel tells processor time in steps of a tenth of it.
	WatchInterval = 100 * time.Millisecond
	// WatchSettle is how long the threads are left alone after a look before what
	// they use is counted: they come back from the stop in that time.
	WatchSettle = 20 * time.Millisecond
)

// Watch compares looks at a process. The zero value has had no look.
type Watch struct {
	start, at    time.Time
	first, track *Track
	last         *Look
	base         []ThreadUse       // when the threads had come back from the last look
	used         map[int]ThreadUse // between looks, of all
	changes      []*Change
}

// Rest notes what the threads have used since they began. It is called when they
// have come back from a look.
func (w *Watch) Rest(total []ThreadUse) { w.base = total }

// Look adds a look: picture and track of one moment, and what the threads had used
// since they began right before it.
func (w *Watch) Look(pic *Picture, track *Track, now time.Time, total []ThreadUse) *Look {
	l := &Look{Schema: WatchSchema, Number: 1, Time: now.Format(time.RFC3339Nano), Picture: pic}
	if w.last == nil {
		w.start, w.first = now, track
	} else {
		l.Number, l.Seconds = w.last.Number+1, now.Sub(w.start).Seconds()
		l.Change = track.Since(w.track, now.Sub(w.at), w.since(total))
		w.changes = append(w.changes, l.Change)
	}
	w.at, w.track, w.last = now, track, l
	return l
}

// since is what the threads used since the last rest, and adds it up.
func (w *Watch) since(total []ThreadUse) []ThreadUse {
	if w.used == nil {
		w.used = map[int]ThreadUse{}
	}
	list := UsedSince(w.base, total)
	for _, d := range list {
		sum := w.used[d.LWP]
		w.used[d.LWP] = ThreadUse{LWP: d.LWP, CPU: sum.CPU + d.CPU, Switches: sum.Switches + d.Switches}
	}
	return list
}

// UsedSince is what the threads used that were there before and are now; both lists
// count from when the threads began.
func UsedSince(before, now []ThreadUse) []ThreadUse {
	old := map[int]ThreadUse{}
	for _, u := range before {
		old[u.LWP] = u
	}
	var list []ThreadUse
	for _, u := range now {
		if b, ok := old[u.LWP]; ok {
			list = append(list, ThreadUse{LWP: u.LWP, CPU: u.CPU - b.CPU, Switches: u.Switches - b.Switches})
		}
	}
	return list
}

// Last is the last look, nil if there was none.
func (w *Watch) Last() *Look { return w.last }

// Conclude gives the last look its result: what changed since the first. It is false
// if there is nothing to compare.
func (w *Watch) Conclude() bool {
	if len(w.changes) == 0 {
		return false
	}
	var use []ThreadUse
	for _, u := range w.used {
		use = append(use, u)
	}
	r := w.track.Since(w.first, w.at.Sub(w.start), use)
	for _, c := range w.changes {
		r.Raise(c)
	}
	w.last.Result = r
	return true
}
