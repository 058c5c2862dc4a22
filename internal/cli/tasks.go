package cli

import (
	"iter"

	"github.com/spf13/cobra"

	"github.com/ompd-inspect/ompd-inspect/picture"
	"github.com/ompd-inspect/ompd-inspect/session"
)

// tasksVerb lists all tasks. Unlike the report it does not hold them: a program
// may have queued a million.
func (a *app) tasksVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use: "tasks CORE|PID", Short: "The tasks: running, waiting, queued, blocked on a dependence",
		RunE: func(_ *cobra.Command, args []string) error {
			if err := checkOnly(a.only); err != nil {
				return err
			}
			return a.see(args[0], session.Question{AllTasks: true, Only: a.only}, func(answer *session.Answer) error {
				p, err := a.printer(a.Stdout)
				if err != nil {
					return err
				}
				return p.Tasks(answer.Picture, a.counted(answer.Tasks()), answer.Complete)
			})
		},
	}
	onlyFlags(cmd, &a.only)
	cmd.Flags().BoolVar(&a.all, "all", false, "one line a task, also where many are alike")
	return a.targeted(cmd)
}

// counted passes tasks on and tells how many there were, if it takes long.
func (a *app) counted(tasks iter.Seq[picture.Task]) iter.Seq[picture.Task] {
	return func(yield func(picture.Task) bool) {
		n, tell := int64(0), a.progress("reading tasks", "tasks", 1)
		for t := range tasks {
			if n++; n%progressStride == 0 {
				tell(n)
			}
			if !yield(t) {
				return
			}
		}
	}
}

// progressStride is how many tasks are read between two looks at the clock.
const progressStride = 4096
