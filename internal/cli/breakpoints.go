package cli

import (
	"github.com/spf13/cobra"

	"github.com/ompd-inspect/ompd-inspect/session"
)

// breakpointsVerb lists the standard's breakpoint locations.
func (a *app) breakpointsVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use: "breakpoints CORE|PID", Short: "Where a debugger can stop the runtime, by the standard's names",
		Long: `The breakpoint locations of the runtime by the standard's names, such as
ompd_bp_parallel_begin, with the address and how it was found: by its symbol, by
the code of a stripped runtime, or an equivalent that all such events pass.

Runtimes reach most of them only in programs that were started with
OMP_DEBUG=enabled. The sites, where they decide whether to do that, are passed at
every event.`,
		RunE: func(_ *cobra.Command, args []string) error {
			return a.see(args[0], session.Question{Breakpoints: true}, func(answer *session.Answer) error {
				p, err := a.printer(a.Stdout)
				if err != nil {
					return err
				}
				return p.Breakpoints(answer.Breakpoints)
			})
		},
	}
	cmd.Flags().BoolVar(&a.sites, "sites", false, "also where the runtime decides whether to reach each location")
	return a.targeted(cmd)
}
