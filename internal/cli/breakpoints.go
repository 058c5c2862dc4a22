package cli

import (
	"github.com/spf13/cobra"

	"github.com/ompd-inspect/ompd-inspect/internal/engine"
)

// breakpointsVerb returns the verb breakpoints.
func (a *app) breakpointsVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use: "breakpoints CORE|PID", Short: "List the standard's breakpoint locations in the runtime",
		Long: `Lists the breakpoint locations that OpenMP's standard defines, such as
ompd_bp_parallel_begin, each with its address and the source of that address: the
symbol, the code of a stripped runtime, or an equivalent location that every such
event passes.

Runtimes reach most of these locations only in programs that were started with
OMP_DEBUG=enabled. --sites adds the places in the runtime where it checks that
setting; every event passes them.`,
		RunE: func(_ *cobra.Command, args []string) error {
			return a.ask(args[0], engine.Query{Breakpoints: true}, func(answer *engine.Result) error {
				p, err := a.printer(a.Stdout)
				if err != nil {
					return err
				}
				return p.Breakpoints(answer.Breakpoints)
			})
		},
	}
	cmd.Flags().BoolVar(&a.sites, "sites", false, "also list the places where the runtime decides whether to reach "+
		"each location")
	return a.targeted(cmd)
}
