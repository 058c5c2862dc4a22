package main

import (
	"github.com/spf13/cobra"

	"github.com/ompd-inspect/ompd-inspect/inspect"
	"github.com/ompd-inspect/ompd-inspect/internal/text"
)

// breakpointsVerb lists the standard's breakpoint locations.
func (a *app) breakpointsVerb() *cobra.Command {
	sites := false
	cmd := &cobra.Command{
		Use: "breakpoints CORE|PID", Short: "Where a debugger can stop the runtime, by the standard's names", Args: oneTarget,
		Long: `The breakpoint locations of the runtime by the standard's names, such as
ompd_bp_parallel_begin, with the address and how it was found: by its symbol, by
the code of a stripped runtime, or an equivalent that all such events pass.

Runtimes come to most of them only in programs that were started with
OMP_DEBUG=enabled. The sites, where they decide whether to do that, are passed at
every event.`,
		RunE: func(_ *cobra.Command, args []string) error {
			return a.seeBreakpoints(args[0], func(list *inspect.Breakpoints) error {
				if a.json {
					return a.printJSON(list)
				}
				p, err := a.printer()
				if err != nil {
					return err
				}
				text.Breakpoints(p, list, sites)
				return p.Err()
			})
		},
	}
	cmd.Flags().BoolVar(&sites, "sites", false, "also where the runtime decides to come to each location")
	return cmd
}
