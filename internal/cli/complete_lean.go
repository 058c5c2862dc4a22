//go:build lean

package cli

import "github.com/spf13/cobra"

// Completions are made by the whole program.

func isCompletion([]string) bool { return false }

func (a *app) completing(_ *cobra.Command, args []string) []string { return args }

func (a *app) completeTarget(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveDefault
}
