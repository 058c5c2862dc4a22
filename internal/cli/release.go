package cli

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/ompd-inspect/ompd-inspect/live"
)

// releaseVerb returns the verb release.
func (a *app) releaseVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use: "release PID", Short: "Make run or record detach from a process, so that a debugger can attach",
		Long: `Asks the ` + "`ompd-inspect run` or `record`" + ` that holds a process to detach from its program and
all processes that the program has started, and waits until it has. gdb, strace or another
debugger can attach then. Only the user of run, and root, can ask.

run does not end. It still passes signals on, ends with the program's status, and reports
processes that make no progress for the time of --hang-after: it attaches for the moment of
a look, and skips a process while a debugger holds it. It no longer reports crashes, and
record no longer writes the events of a process that ends. It never holds the program again.

Exit status: 0 nothing of run or record holds the process now, 1 a debugger of another
project holds it, or run cannot be asked.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usageError{errors.New("release: which process? `ompd-inspect release PID`")}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.refuseRemote("release"); err != nil {
				return err
			}
			pid, err := strconv.Atoi(args[0])
			if err != nil || pid <= 0 {
				return usageError{fmt.Errorf("release %s: it is not the number of a process", args[0])}
			}
			holder, err := live.Release(cmd.Context(), pid)
			if err != nil {
				return err
			}
			text := fmt.Sprintf("%s, has detached from process %d", holder, pid)
			if holder == "" {
				text = fmt.Sprintf("no debugger holds process %d", pid)
			}
			_, err = fmt.Fprintln(a.Stdout, text)
			return err
		},
	}
	cmd.ValidArgsFunction = completePID
	return cmd
}

// handleRelease reports that the program and its processes are not held any more.
func (r *runner) handleRelease() {
	text := "released: a debugger can attach to the program. Crashes are not reported any more"
	if r.save != "" {
		r.lost = true // the reason is printed here
		text += fmt.Sprintf(", and no events are written when a process ends: `ompd-inspect trace %d` shows them "+
			"while it runs", r.program.PID())
	}
	r.note("%s", text)
	r.pulse.reset()
}
