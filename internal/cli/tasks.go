package cli

import (
	"iter"

	"github.com/spf13/cobra"

	"github.com/ompd-inspect/ompd-inspect/internal/engine"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// tasksVerb returns the verb tasks, which lists all tasks. Unlike report, it does not keep them in memory: a
// program may have a million queued tasks.
func (a *app) tasksVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use: "tasks CORE|PID", Short: "List the tasks: running, waiting, queued, blocked on a dependence",
		RunE: func(_ *cobra.Command, args []string) error {
			if err := checkOnly(a.only); err != nil {
				return err
			}
			return a.ask(args[0], engine.Query{AllTasks: true, Only: a.only}, func(answer *engine.Result) error {
				p, err := a.printer(a.Stdout)
				if err != nil {
					return err
				}
				return p.Tasks(answer.Picture, a.countTasks(answer.Tasks()), answer.Complete)
			})
		},
	}
	onlyFlags(cmd, &a.only)
	return a.targeted(cmd)
}

// countTasks yields the tasks and reports their number on the standard error if the listing takes long.
func (a *app) countTasks(tasks iter.Seq[picture.Task]) iter.Seq[picture.Task] {
	return func(yield func(picture.Task) bool) {
		n, tell := int64(0), a.progress("reading tasks", "tasks", 1)
		for t := range tasks {
			if n++; n%progressStride == 0 {
				tell(n, 0)
			}
			if !yield(t) {
				return
			}
		}
	}
}

// progressStride is the number of tasks between two checks of the clock.
const progressStride = 4096
