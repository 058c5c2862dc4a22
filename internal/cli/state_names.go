package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ompd-inspect/ompd-inspect/internal/print/report"
	"github.com/ompd-inspect/ompd-inspect/internal/trace/legacy"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// stateNamesFlag adds --names to a verb that prints states.
func (a *app) stateNamesFlag(cmd *cobra.Command) {
	var names legacy.Document
	cmd.Flags().Var(document{&names}, "names", "show states by the names of OMPT in 2013, 2016 or 5.1")
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if cmd.Flags().Changed("names") {
			if f, err := a.format(); err == nil && f != report.Text {
				return usageError{errors.New("--names changes the text only: leave it out for other formats")}
			}
			a.stateNames = &names
		}
		return run(cmd, args)
	}
}

// renameStates replaces the names of states by those of the chosen document. A state without a name there has its name
// in parentheses.
func (a *app) renameStates(pic *picture.Picture) {
	name := func(old picture.StateName) picture.StateName {
		if old == "" {
			return ""
		}
		if s := a.stateNames.StateNamed(string(old)); s != "" {
			return picture.StateName(s)
		}
		return picture.StateName(fmt.Sprintf("(%s)", old))
	}
	for i := range pic.Threads {
		t := &pic.Threads[i]
		if t.State == nil {
			continue
		}
		state := *t.State
		state.Name, state.Recorded = name(state.Name), name(state.Recorded)
		t.State = &state
	}
}
