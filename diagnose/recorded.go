package diagnose

import (
	"fmt"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// recordedShown bounds the threads of a verdict of which it is told what was recorded.
const recordedShown = 8

// withRecorded adds to a verdict what a recorder has of its threads: which locks they acquired,
// when and where, and what those did last that others wait for.
func withRecorded(v *picture.Verdict, list []picture.Recorded) {
	if len(list) == 0 {
		return
	}
	for i := range v.Cycle {
		recordedHolder(&v.Cycle[i], list)
	}
	lwps := slices.Clone(v.Threads)
	for _, m := range v.Missing {
		lwps = append(lwps, m.Thread)
	}
	slices.Sort(lwps)
	for _, lwp := range fewest(slices.Compact(lwps)) {
		r := recordedOf(list, lwp)
		if r == nil {
			continue
		}
		for _, h := range r.Held {
			held := fmt.Sprintf("recorded: thread %d %s, and has not released it", lwp, past(&h))
			v.Evidence = append(v.Evidence, held)
		}
		if r.Last != nil {
			last := fmt.Sprintf("recorded: the last that thread %d did: it %s", lwp, past(r.Last))
			v.Evidence = append(v.Evidence, last)
		}
	}
}

// fewest are the first of a list, as many as are shown.
func fewest(list []int) []int { return list[:min(recordedShown, len(list))] }

// recordedOf is what was recorded of a thread, nil without.
func recordedOf(list []picture.Recorded, lwp int) *picture.Recorded {
	i := slices.IndexFunc(list, func(r picture.Recorded) bool { return r.Thread == lwp })
	if i < 0 {
		return nil
	}
	return &list[i]
}

// recordedHolder says when and where the holder of a step of a deadlock acquired the lock.
func recordedHolder(step *picture.CycleStep, list []picture.Recorded) {
	r := recordedOf(list, step.HeldBy)
	if r == nil {
		return
	}
	for _, h := range r.Held {
		if h.Lock != nil && step.WaitsFor.Address != nil && *h.Lock == *step.WaitsFor.Address {
			step.HeldEvidence = fmt.Sprintf("recorded: it %s, and has not released it", past(&h))
			step.HeldAt = h.Frame
		}
	}
}

// past is "acquired lock a 3.2s ago, transfer hang.c:12", with the place if it is known.
func past(e *picture.PastEvent) string {
	s := e.Text + " " + e.When
	if e.Frame != nil {
		s += ", " + phrase.Where(*e.Frame)
	}
	return s
}
