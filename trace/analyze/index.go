package analyze

import "github.com/ompd-inspect/ompd-inspect/trace"

// index is what events of one thread tell of spans of another.
type index struct {
	// joined has the times at which regions ended, by their ids: runtimes hold the end of a
	// worker's barrier back until the next fork.
	joined  map[uint64]uint64
	forked  map[uint64]uint64 // the code that forked regions, by their ids; none where ids come again
	created *creations
	fork    uint64 // when the process was forked, 0 if it was not
}

// indexMax bounds the regions and the tasks of an index.
const indexMax = 1 << 20

func newIndex(rec *trace.Recording, since uint64) index {
	x := index{
		joined: map[uint64]uint64{}, forked: map[uint64]uint64{},
		created: &creations{rings: map[uint64]*ringCreations{}, others: map[uint64]created{}},
	}
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
			case e.Code == trace.ParallelBegin:
				if rec.IDs == ownIDs && len(x.forked) < indexMax {
					x.forked[e.Region] = e.PC
				}
			case len(x.joined) < indexMax:
				x.joined[e.Region] = e.Time
			}
		}
	}
	return x
}

// indexed are the events of which an index is made.
var indexed = trace.CodesOf(trace.ParallelBegin, trace.ParallelEnd, trace.TaskCreate)

var forks = trace.CodesOf(trace.NewFork)

// ownIDs is RECORDER_IDS_OURS: no id comes again.
const ownIDs = 1

// created is the code that created a task, and whether it went on meanwhile.
type created struct {
	pc       uint64
	deferred bool
}

// creations are the creations of tasks by their ids. The tasks of a ring have ids that count
// up, so that they are a list; ids that are addresses are not.
type creations struct {
	rings  map[uint64]*ringCreations // by the upper bits of ids
	last   *ringCreations
	others map[uint64]created
	count  int
}

// ringCreations are those of the tasks from first on; the zero value is unknown.
type ringCreations struct {
	ring, first uint64
	tasks       []created
}

const (
	idShift = 48 // RECORDER_ID_SHIFT
	// gapMax bounds the ids in a row that are not of tasks: threads and operations of devices
	// have some.
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

// of is the creation of a task, the zero value if that is not known.
func (c *creations) of(id uint64) created {
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
