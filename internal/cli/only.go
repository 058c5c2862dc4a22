package cli

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/ompd-inspect/ompd-inspect/internal/inspect"
	"github.com/ompd-inspect/ompd-inspect/session"
)

// onlyFlags adds the flags that name one thread, one region or one task.
func onlyFlags(cmd *cobra.Command, o *inspect.Only) {
	f := cmd.Flags()
	f.IntVar(&o.LWP, "lwp", 0, "show only this thread, and read only what that needs")
	f.StringVar((*string)(&o.Region), "region", "", "show only the region by this ID (regions --all shows them), its "+
		"threads and tasks")
	f.StringVar((*string)(&o.Task), "task", "", "show only the task by this ID (tasks --all shows them), its region "+
		"and the thread that executes it")
}

// errTwoParts says that two parts of a target were named.
var errTwoParts = errors.New("one of --lwp, --region and --task at a time")

// checkOnly checks that one part of a target is named at most.
func checkOnly(o inspect.Only) error {
	if o != (inspect.Only{LWP: o.LWP}) && o != (inspect.Only{Region: o.Region}) && o != (inspect.Only{Task: o.Task}) {
		return usageError{errTwoParts}
	}
	return nil
}

// ofOne makes of a question that for what o names. Regions are asked for with the threads
// only if they are shown too: they name all threads of their teams.
func ofOne(q session.Question, o inspect.Only, regions bool) (session.Question, error) {
	if q.Only = o; !o.All() && q.Threads && !regions {
		q.Regions = false
	}
	return q, checkOnly(o)
}
