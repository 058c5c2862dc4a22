package inspect

import (
	"errors"
	"fmt"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// ErrNoRegion and ErrNoTask say that a target has nothing by the ID that is asked for.
var (
	ErrNoRegion = errors.New("the target has no parallel region by this ID; `ompd-inspect regions --all` shows them")
	ErrNoTask   = errors.New("the target has no task by this ID; `ompd-inspect tasks --all` shows them")
)

// limit has only that looked at which is asked for. The threads and their regions are
// listed by then, and what they do is not read yet.
func (in *Inspector) limit(o picture.Only) error {
	switch {
	case o.LWP != 0:
		in.limitToThread(in.roster.only)
	case o.Region != "":
		return in.limitToRegion(o.Region)
	case o.Task != "":
		return in.limitToTask(o.Task)
	}
	return nil
}

// limitToThread leaves of the tasks the one that a thread executes.
func (in *Inspector) limitToThread(n *native) {
	in.regionList.only = func(v *regionView) bool { return v.rt == n.rt && n.indexOf(v.h) >= 0 }
	in.tasks.one = slices.Values[[]handles.Task](nil)
	if n.rt == nil || len(n.chain) == 0 {
		return
	}
	if h, err := n.rt.CurrentTask(n.h); err == nil {
		in.tasks.only, in.tasks.one = in.regions.get(n.rt, n.chain[0]), slices.Values([]handles.Task{h})
	}
}

// limitTo leaves of the regions one, and its tasks.
func (in *Inspector) limitTo(v *regionView) {
	in.regionList.only, in.tasks.only = func(o *regionView) bool { return o == v }, v
}

func (in *Inspector) limitToRegion(id picture.ID) error {
	all := in.regions.all()
	i := slices.IndexFunc(all, func(v *regionView) bool { return regionID(v.h) == id })
	if i < 0 {
		return fmt.Errorf("region %s: %w", id, ErrNoRegion)
	}
	in.limitTo(all[i])
	in.roster.ask(in.regions.present(all[i])...)
	return nil
}

// limitToTask goes through the tasks until it comes to the one that is asked for. It reads
// nothing of the others but the lists that they are in.
func (in *Inspector) limitToTask(id picture.ID) error {
	seen := newSeenTasks()
	for _, v := range in.regions.all() {
		for h := range in.tasks.tasksOf(v, seen) {
			if taskID(h) != id {
				continue
			}
			in.limitTo(v)
			in.tasks.one = slices.Values([]handles.Task{h})
			in.roster.ask()
			if info, err := v.rt.Task(h); err == nil {
				if n := in.roster.thread(v.rt, info.Thread); n != nil {
					in.roster.ask(n)
				}
			}
			return nil
		}
	}
	return fmt.Errorf("task %s: %w", id, ErrNoTask)
}
