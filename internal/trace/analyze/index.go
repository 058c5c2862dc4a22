package analyze

import (
	"cmp"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/trace"
)

// index contains the events of one thread that concern spans of other threads.
type index struct {
	// joined contains the times at which regions ended, by their IDs: runtimes delay the end of a worker's
	// barrier until the next fork.
	joined  map[uint64]uint64
	forked  map[uint64]uint64 // the code that forked regions, by their IDs
	again   map[uint64]*lives // both, for IDs that are reused
	created *creations
	fork    uint64 // time at which the process was forked, 0 if it was not
}

// lives contains the regions that had one ID, one after the other.
type lives struct {
	forks []fork
	joins []uint64
}

// fork is the start of a region, and the code that forked it.
type fork struct{ at, pc uint64 }

// indexMax bounds the regions and the tasks of an index.
const indexMax = 1 << 20

func newIndex(rec *trace.Recording, since uint64) index {
	x := index{
		joined: map[uint64]uint64{}, forked: map[uint64]uint64{}, again: map[uint64]*lives{},
		created: &creations{rings: map[uint64]*ringCreations{}, others: map[uint64]created{}},
	}
	left := indexMax
	for _, t := range rec.Threads {
		r := t.Rare.Since(since)
		for e := (trace.Event{}); r.NextOf(&e, forks); {
			x.fork = max(x.fork, e.Time)
		}
		c := t.Main.Since(since)
		for e := (trace.Event{}); c.NextOf(&e, indexed); {
			switch {
			case e.Code == trace.TaskCreate:
				x.created.add(e.Task(), created{e.PC, !trace.TaskFlags(e.Value).Undeferred()})
			case rec.IDs != ownIDs:
				if left--; left > 0 {
					x.addLife(&e)
				}
			case e.Code == trace.ParallelBegin:
				if len(x.forked) < indexMax {
					x.forked[e.Region] = e.PC
				}
			case len(x.joined) < indexMax:
				x.joined[e.Region] = e.Time
			}
		}
	}
	for _, l := range x.again { // of several threads
		slices.SortFunc(l.forks, func(a, b fork) int { return cmp.Compare(a.at, b.at) })
		slices.Sort(l.joins)
	}
	return x
}

// addLife adds the fork or the end of a region whose ID is reused.
func (x *index) addLife(e *trace.Event) {
	l := x.again[e.Region]
	if l == nil {
		l = &lives{}
		x.again[e.Region] = l
	}
	if e.Code == trace.ParallelBegin {
		l.forks = append(l.forks, fork{e.Time, e.PC})
	} else {
		l.joins = append(l.joins, e.Time)
	}
}

// forkOf returns the code that forked the region with an ID at a time, 0 if it is not known.
func (x *index) forkOf(id, at uint64) uint64 {
	if l := x.again[id]; l != nil {
		i, _ := slices.BinarySearchFunc(l.forks, at, func(f fork, at uint64) int { return cmp.Compare(f.at, at+1) })
		if i == 0 {
			return 0
		}
		return l.forks[i-1].pc
	}
	return x.forked[id]
}

// joinOf returns the time at which the region with an ID at a time ended. ok is false if it did not end.
func (x *index) joinOf(id, at uint64) (uint64, bool) {
	if l := x.again[id]; l != nil {
		if i, _ := slices.BinarySearch(l.joins, at); i < len(l.joins) {
			return l.joins[i], true
		}
		return 0, false
	}
	join, ok := x.joined[id]
	return join, ok
}

// indexed lists the events of an index.
var indexed = trace.CodesOf(trace.ParallelBegin, trace.ParallelEnd, trace.TaskCreate)

var forks = trace.CodesOf(trace.NewFork)

// ownIDs is RECORDER_IDS_OURS: no ID is reused.
const ownIDs = 1

// created is the code that created a task, and whether the creator continued meanwhile.
type created struct {
	pc       uint64
	deferred bool
}

// creations contains the creations of tasks by their IDs. The IDs of the tasks of a ring ascend, so they are
// kept in lists; IDs that are addresses are kept in a map.
type creations struct {
	rings  map[uint64]*ringCreations // by the upper bits of IDs
	last   *ringCreations
	others map[uint64]created
	count  int
}

// ringCreations contains the creations of the tasks from first on; the zero value means unknown.
type ringCreations struct {
	ring, first uint64
	tasks       []created
}

const (
	idShift = 48 // RECORDER_ID_SHIFT
	// gapMax bounds consecutive IDs that do not belong to tasks: threads and operations of devices also have
	// IDs.
	gapMax = 64
)

func (c *creations) add(id uint64, by created) {
	if c.count++; c.count > indexMax {
		return
	}
	r := c.ring(id)
	if r == nil {
		r = &ringCreations{ring: id >> idShift, first: id}
		c.rings[r.ring], c.last = r, r
	}
	at := id - r.first
	if id < r.first || at > uint64(len(r.tasks))+gapMax {
		c.others[id] = by
		return
	}
	for uint64(len(r.tasks)) <= at {
		r.tasks = append(r.tasks, created{})
	}
	r.tasks[at] = by
}

// find returns the creation of a task; the zero value if it is not known.
func (c *creations) find(id uint64) created {
	if r := c.ring(id); r != nil && id >= r.first && id-r.first < uint64(len(r.tasks)) {
		if by := r.tasks[id-r.first]; by != (created{}) {
			return by
		}
	}
	return c.others[id]
}

func (c *creations) ring(id uint64) *ringCreations {
	if c.last == nil || c.last.ring != id>>idShift {
		c.last = c.rings[id>>idShift]
	}
	return c.last
}
