package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// upgrades reports whether a thread that has a read-write lock waits for it for writing, and nobody writes: it
// has it for reading.
func upgrades(w *picture.Wait, l *picture.Lock) bool {
	return w.Kind == picture.WaitReadWrite && l.Owner == 0 && strings.HasSuffix(w.Call, "wrlock")
}

// tellUpgrade says of a thread that has a read-write lock for reading that it waits for itself to release it.
func tellUpgrade(d *drawer, v *picture.Verdict, what string) {
	step := &v.Cycle[0]
	v.Summary = fmt.Sprintf("%s waits for %s for writing, which it has for reading itself", d.who(step.Thread), what)
	v.Explanation = fmt.Sprintf("%s acquired %s for reading%s, has not released it, and now waits to acquire it for "+
		"writing%s: nobody writes before all who read have released it, this thread too.", d.who(step.Thread), what,
		heldIn(step, " in "), inPlace(d.index, step.Thread))
	v.Fix = upgradeFix
}

// heldIn is the place where what a step waits for was acquired, behind how it is told; empty if that is not known.
func heldIn(step *picture.CycleStep, how string) string {
	if at := step.HeldAt; at != nil && at.Line != 0 {
		return how + place(*at)
	}
	return ""
}

// upgradeFix says what to do instead of acquiring a lock for writing that one has for reading.
const upgradeFix = "release it for reading first (unlock, or end the shared_lock's scope), acquire it for writing, " +
	"and test again what was read: another thread may have written in between; or acquire it for writing at once"

// joinUpgrades makes one verdict of those on threads that wait in this way for the same lock at the same places.
func joinUpgrades(d *drawer, all []picture.Verdict) []picture.Verdict {
	same := func(a, b *picture.CycleStep) bool {
		at, bt := a.HeldAt, b.HeldAt
		return at != nil && bt != nil && at.Line == bt.Line && at.File == bt.File && at.Function == bt.Function &&
			inPlace(d.index, a.Thread) == inPlace(d.index, b.Thread) &&
			targetOf(d.waits[a.Thread]) == targetOf(d.waits[b.Thread])
	}
	var out []picture.Verdict
	for i := range all {
		v := &all[i]
		k := slices.IndexFunc(out, func(o picture.Verdict) bool {
			return v.Fix == upgradeFix && o.Fix == upgradeFix && same(&o.Cycle[0], &v.Cycle[0])
		})
		if k < 0 {
			out = append(out, *v)
			continue
		}
		o := &out[k]
		o.Threads, o.Certainty = append(o.Threads, v.Threads...), o.Certainty.Weaker(v.Certainty)
	}
	for i := range out {
		o := &out[i]
		if len(o.Threads) < 2 {
			continue
		}
		o.Summary = fmt.Sprintf("%d threads wait for %s for writing, which each of them has for reading itself",
			len(o.Threads), phrase.Awaited(o.Cycle[0].WaitsFor))
		o.Waiting = slices.DeleteFunc(o.Waiting, func(lwp int) bool { return slices.Contains(o.Threads, lwp) })
	}
	return out
}
