package cli

import (
	"github.com/spf13/cobra"

	"github.com/ompd-inspect/ompd-inspect/internal/front/clib"
)

// libompdVerb returns the hidden verb libompd. It serves the C library libompd.so, which starts it with one
// socket as its standard input, for both directions.
func (a *app) libompdVerb() *cobra.Command {
	return &cobra.Command{
		Use: "libompd", Short: "Serve libompd.so, which starts this command itself", Args: cobra.NoArgs, Hidden: true,
		RunE: func(*cobra.Command, []string) error { return clib.Serve(a.Stdin, "ompd-inspect "+a.Version) },
	}
}
