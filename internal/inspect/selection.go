package inspect

import (
	"errors"
	"fmt"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/internal/inspect/teams"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// Errors of a question about a thread, a region or a task that the target does not have.
var (
	ErrNoThread = teams.ErrNoThread
	ErrNoRegion = errors.New("the target has no parallel region by this ID; `ompd-inspect regions --all` shows them")
	ErrNoTask   = errors.New("the target has no task by this ID; `ompd-inspect tasks --all` shows them")
)

// limit restricts the Inspector to the thread, region or task of a question. It runs after the threads and their
// regions are listed, and before their states are read.
func (in *Inspector) limit(o picture.Only) error {
	switch {
	case o.LWP != 0:
		in.limitToThread(in.roster.Only)
	case o.Region != "":
		return in.limitToRegion(o.Region)
	case o.Task != "":
		return in.limitToTask(o.Task)
	}
	return nil
}

// limitToThread selects the regions of a thread, and the task that it executes.
func (in *Inspector) limitToThread(n *teams.Thread) {
	in.regionList.Limit(func(v *teams.Region) bool { return v.Runtime == n.Runtime && n.RegionIndex(v.Handle) >= 0 })
	if n.Runtime != nil && len(n.Chain) > 0 {
		if h, err := n.Runtime.CurrentTask(n.Handle); err == nil {
			in.tasks.LimitToTasks(in.regions.Get(n.Runtime, n.Chain[0]), h)
			return
		}
	}
	in.tasks.LimitToTasks(nil)
}

// limitToOne selects one region and its tasks.
func (in *Inspector) limitToOne(v *teams.Region) {
	in.regionList.Limit(func(o *teams.Region) bool { return o == v })
	in.tasks.LimitToRegion(v)
}

func (in *Inspector) limitToRegion(id picture.ID) error {
	all := in.regions.All()
	i := slices.IndexFunc(all, func(v *teams.Region) bool { return teams.RegionID(v.Handle) == id })
	if i < 0 {
		return fmt.Errorf("region %s: %w", id, ErrNoRegion)
	}
	in.limitToOne(all[i])
	in.roster.Select(in.regions.Members(all[i])...)
	return nil
}

func (in *Inspector) limitToTask(id picture.ID) error {
	v, h, ok := in.tasks.Find(id)
	if !ok {
		return fmt.Errorf("task %s: %w", id, ErrNoTask)
	}
	in.limitToOne(v)
	in.tasks.LimitToTasks(v, h)
	in.roster.Select()
	if info, err := v.Runtime.Task(h); err == nil {
		if n := in.roster.Find(v.Runtime, info.Thread); n != nil {
			in.roster.Select(n)
		}
	}
	return nil
}
