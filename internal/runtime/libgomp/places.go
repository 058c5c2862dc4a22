package libgomp

import (
	"errors"
	"fmt"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
)

// maxTaskDepth bounds the length of a chain of tasks and their parents, and the number of cached places. Each
// task has a frame of some hundred bytes on a stack: a stack of 8 MiB has room for 17,000, one of 100 MiB for
// this many.
const maxTaskDepth = 1 << 18

// place is the region of a task, or the reason why it is unknown.
type place struct {
	region *region
	num    int // thread number of the implicit task at the end of the chain of parents; -1 if the chain ends earlier
	err    error
}

// locateTask finds the region of the gomp_task at a: by its address for an implicit task, by its parents for an
// explicit one. If a parent is finished, the thread that executes the task decides, or the task's queue.
func (ts *tasks) locateTask(a callbacks.Address) (found, error) {
	t, err := ts.records.readTask(a)
	if err != nil {
		return found{}, errors.Join(err, callbacks.StaleHandle)
	}
	p := ts.placeOf(t)
	if p.err != nil {
		return found{}, fmt.Errorf("task at %v: %w", a, errors.Join(p.err, callbacks.StaleHandle))
	}
	return found{t, p.region, numberOf(t, p.num)}, nil
}

// placeOf follows the parents of t up to one with a known place, and caches the place for all of them: a chain
// is walked once for all tasks. The place of t itself is not cached, so that a million queued tasks without
// children take no memory.
func (ts *tasks) placeOf(t *task) (p place) {
	var passed []callbacks.Address
	var loop rtl.Loop
	for at := t; ; {
		known, ok := ts.places.Get(at.addr.Offset)
		if !ok {
			known, ok = ts.placeAt(at)
		}
		if ok {
			p = known
			break
		}
		err := loop.Visit(at.addr)
		if err == nil && len(passed) == maxTaskDepth {
			err = fmt.Errorf("more than %d tasks around it: %w", maxTaskDepth, callbacks.Incomplete)
		}
		passed = append(passed, at.addr)
		if err == nil {
			at, err = ts.records.readTask(at.parent)
		}
		if err != nil {
			p.err = err
			break
		}
	}
	for _, a := range passed {
		if a != t.addr {
			ts.places.Put(a.Offset, p, maxTaskDepth)
		}
	}
	return p
}

// placeAt returns the place of a task that does not depend on its parents; false for other tasks.
func (ts *tasks) placeAt(t *task) (place, bool) {
	w := ts.threads.world()
	if zero := w.initial[t.addr.Offset]; zero != nil {
		return place{region: zero}, true
	}
	if !t.explicit() {
		if r := w.holdingRegion(t.addr); r != nil {
			if n, ok := ts.records.implicitNumber(r.team, t.addr); ok {
				return place{region: r, num: n}, true
			}
		}
		return place{err: fmt.Errorf("the implicit task at %v is of no region that is alive", t.addr)}, true
	}
	if r := w.executingRegion(t.addr); r != nil {
		return place{region: r, num: -1}, true
	}
	if !t.parent.IsNull() {
		return place{}, false
	}
	for _, r := range slices.Concat(w.order, w.serial) {
		if ts.orphansOf(r)[t.addr.Offset] {
			return place{region: r, num: -1}, true
		}
	}
	return place{err: errors.New("it is of no region that is alive")}, true
}
