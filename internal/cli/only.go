package cli

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/ompd-inspect/ompd-inspect/internal/engine"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// onlyFlags adds the flags that name one thread, one region or one task.
func onlyFlags(cmd *cobra.Command, o *picture.Only) {
	f := cmd.Flags()
	f.IntVar(&o.LWP, "lwp", 0, "show only this thread (fast: reads only its data)")
	f.StringVar((*string)(&o.Region), "region", "", "show only the region with this ID, its threads and tasks "+
		"(regions --all lists the IDs)")
	f.StringVar((*string)(&o.Task), "task", "", "show only the task with this ID, its region and the thread that "+
		"executes it (tasks --all lists the IDs)")
}

// errTwoParts is the error of a command line that names two parts of a target.
var errTwoParts = errors.New("one of --lwp, --region and --task at a time")

// checkOnly checks that at most one part of a target is named.
func checkOnly(o picture.Only) error {
	if o != (picture.Only{LWP: o.LWP}) && o != (picture.Only{Region: o.Region}) && o != (picture.Only{Task: o.Task}) {
		return usageError{errTwoParts}
	}
	return nil
}

// restrict restricts a question to the part that o names. With regions unset, the regions of a thread are not
// asked for, because they name all threads of their teams.
func restrict(q engine.Query, o picture.Only, regions bool) (engine.Query, error) {
	if q.Only = o; !o.All() && q.Threads && !regions {
		q.Regions = false
	}
	return q, checkOnly(o)
}
