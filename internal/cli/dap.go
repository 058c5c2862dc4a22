package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ompd-inspect/ompd-inspect/internal/front/dap"
	"github.com/ompd-inspect/ompd-inspect/session"
)

// dapVerb is a debug adapter.
func (a *app) dapVerb() *cobra.Command {
	var listen string
	var remote bool
	var f proxyFlags
	cmd := &cobra.Command{
		Use:   "dap [flags] [-- ADAPTER ARGS]",
		Short: "A debug adapter: cores and processes in VS Code, Neovim, Emacs", Args: cobra.ArbitraryArgs,
		Long: `Speaks the Debug Adapter Protocol on its standard input and output, for an editor that
starts it: cores, processes and programs that Delve holds, with threads by region and
number, stacks in the user's model, OpenMP's state as scopes and the verdict as the
reason of the stop. docs/dap.md has the configurations of editors.

With --listen, it waits on a TCP port for editors, several at a time, until SIGINT or
SIGTERM. Who connects can look at what this user can look at, and start programs: only
processes of this user on this machine may, unless --allow-remote is given.

It only looks: breakpoints and steps are a debugger's. With --proxy, it stands between an
editor and a debugger's own adapter: all that they say passes as it is, and threads, stacks,
scopes and the console show OpenMP, too: ompd-inspect dap --proxy -- gdb -i dap.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.here("dap"); err != nil {
				return err
			}
			if len(args) > 0 && !f.proxy {
				return usageError{fmt.Errorf("dap %s: an adapter behind this one takes --proxy", args[0])}
			}
			unhurried()
			if f.proxy {
				return editors{a}.proxy(cmd.Context(), f, args)
			}
			if listen != "" {
				return editors{a}.listen(cmd.Context(), listen, remote)
			}
			return dap.Serve(cmd.Context(), a.Stdin, a.Stdout, editors{a}.config())
		},
	}
	cmd.Flags().StringVar(&listen, "listen", "", "TCP address to wait on for editors: 127.0.0.1:4711; port 0 is any")
	cmd.Flags().BoolVar(&f.proxy, "proxy", false, "stand between an editor and the debug adapter that follows --")
	cmd.Flags().StringVar(&f.connect, "connect", "", "with --proxy: where a headless Delve listens")
	cmd.Flags().StringVar(&f.target, "target", "", "with --proxy: look at this core or process, not the debugger's")
	cmd.Flags().BoolVar(&f.runtimeFrames, "runtime-frames", false, "with --proxy: leave no frames of runtimes out")
	cmd.Flags().BoolVar(&remote, "allow-remote", false, "with --listen: let every user and other machines connect")
	return cmd
}

// editors is what the adapter uses of the command line.
type editors struct{ *app }

// config lends the adapter targets, verbs and programs.
func (e editors) config() dap.Config {
	log := func(text string) { fmt.Fprintf(e.Stderr, "ompd-inspect: %s\n", text) }
	return dap.Config{Open: e.attach, Verb: e.verb, Verbs: consoleVerbs, Launch: e.launch, Log: log}
}

// one is a run of the tool for one target of a client. What its configuration does not
// say, the flags do.
func (e editors) one(c dap.Attach) *app {
	one := &app{Command: e.Command, open: e.open, beyond: beyond{server: e.server}, budget: e.budget}
	if c.Exe != "" {
		one.open.exe = c.Exe
	}
	if c.Sysroot != "" {
		one.open.sysroot = c.Sysroot
	}
	if c.DebugDirs != nil {
		one.open.debugDirs = c.DebugDirs
	}
	if c.Server != "" {
		one.server.address = c.Server
	}
	return one
}

// attach opens a target for a client of the adapter.
func (e editors) attach(ctx context.Context, c dap.Attach) (*session.Target, error) {
	one := e.one(c)
	one.ctx = ctx
	return one.openTarget(ctx, string(c.Target))
}

// consoleVerbs are the verbs that an editor's console has: those that look at one target.
var consoleVerbs = []string{
	"report", "diagnose", "threads", "regions", "tasks", "stacks", "icvs", "breakpoints", "layout", "doctor",
}

// consoleWidth is how many columns a console is taken to have.
const consoleWidth = 100

// verb runs a verb on a target that is open, and returns what it prints.
func (e editors) verb(ctx context.Context, t *session.Target, words []string) string {
	var out strings.Builder
	f, done, err := fileTo(&out)
	if err != nil {
		return err.Error()
	}
	one := &app{Command: Command{Version: e.Version, Stdout: f, Stderr: f}, ctx: ctx, beyond: beyond{lent: t}}
	words = slices.Insert(slices.Clone(words), 1, fmt.Sprintf("--width=%d", consoleWidth))
	one.run(append(words, lentName))
	done()
	return out.String()
}

// lentName stands for the target that is lent on the command line of a verb.
const lentName = "lent:"

// lentTarget is a target that is open, and stays so when a verb is done with it.
type lentTarget struct{ *session.Target }

// Ask asks the target.
func (l lentTarget) Ask(ctx context.Context, q session.Question) (*session.Answer, error) {
	return l.Look(ctx, q)
}

// Close leaves the target open.
func (l lentTarget) Close() error { return nil }

// openLent opens the target that is lent.
func (a *app) openLent(_ context.Context, name string, _ session.Options) (*session.Target, error) {
	if a.lent == nil {
		return nil, nil
	}
	if name != lentName {
		return nil, usageError{fmt.Errorf("%s: the console shows the target of the session only", name)}
	}
	return session.OfAsker(lentTarget{a.lent}), nil
}
