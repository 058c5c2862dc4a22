//go:build !lean

package cli

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/grpc/codes"

	"github.com/ompd-inspect/ompd-inspect/client"
	"github.com/ompd-inspect/ompd-inspect/delve"
	"github.com/ompd-inspect/ompd-inspect/session"
)

// beyond are the targets that are not looked at by this process itself.
type beyond struct {
	server serverOptions
	at     *client.Client  // a connection that is there already; nil without
	lent   *session.Target // a target that is open already, the only one then; nil without
}

// flags adds the flags that say where targets are.
func (b *beyond) flags(root *cobra.Command) { b.server.flags(root) }

// remote reports whether verbs look at targets of a server.
func (b *beyond) remote() bool { return b.at != nil || b.server.address != "" }

// has reports whether a target is one of them.
func (b *beyond) has(name string) bool { return b.remote() || strings.HasPrefix(name, delve.Scheme) }

// openers open what this process does not look at itself.
func openers(a *app) []session.Opener {
	return []session.Opener{a.openLent, a.openRemote, a.openDelve}
}

// answers reports whether this build has the verb that a command line asks for: it has all.
func answers([]string) bool { return true }

// withoutTarget is what the tool does if nothing is named.
func withoutTarget(ctx context.Context, a *app) error { return a.ps(ctx, defaultSample) }

// withOthers are the verbs of one look (as verbs has them) and all others (otherVerbs).
func withOthers(a *app, looks []*cobra.Command) []*cobra.Command {
	return append(looks, dlvVerb(a), a.psVerb(), a.watchVerb(), a.runVerb(), a.recordVerb(), traceVerb(a),
		a.symbolsVerb(), a.serveVerb(), jobVerb(a), jobNodeVerb(a), a.dapVerb(), viewVerb(a), a.libompdVerb())
}

// canceled reports whether a look ended because its context did, here or at a server.
func canceled(err error) bool {
	var e *client.Error
	return errors.Is(err, context.Canceled) || errors.As(err, &e) && e.Code == codes.Canceled
}
