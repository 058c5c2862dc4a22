package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ompd-inspect/ompd-inspect/internal/engine"
	"github.com/ompd-inspect/ompd-inspect/internal/front/dap"
)

// dapVerb returns the verb dap, a debug adapter.
func (a *app) dapVerb() *cobra.Command {
	var l listenFlags
	var f proxyFlags
	cmd := &cobra.Command{
		Use:   "dap [flags] [-- ADAPTER ARGS]",
		Short: "Run a debug adapter: inspect cores and processes in VS Code, Neovim, Emacs", Args: cobra.ArbitraryArgs,
		Long: `Speaks the Debug Adapter Protocol (DAP) on its standard input and output, for an editor
that starts it. It opens cores, processes and programs under Delve. The editor shows the
threads by region and number, stacks in the user's model, OpenMP's state as scopes, and the
verdict as the reason of the stop. docs/guide/dap.md contains configurations for editors.

With --listen, it waits for editors until SIGINT or SIGTERM, and serves several at a time. A
client can inspect all that this user can inspect, and can start programs. Only this user can
connect to a unix socket (--listen PATH). On a TCP port, a client must send a secret as
"secret" in its configuration: that of --secret-file, or the printed one.

The adapter sets no breakpoints and makes no steps. With --proxy, it relays between an editor
and the debug adapter of another debugger, and adds OpenMP to threads, stacks, scopes and the
console: ompd-inspect dap --proxy -- gdb -i dap.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.refuseRemote("dap"); err != nil {
				return err
			}
			if len(args) > 0 && !f.proxy {
				return usageError{fmt.Errorf("dap %s: to use another debug adapter, add --proxy", args[0])}
			}
			restoreGC()
			if f.proxy {
				return editors{a}.proxy(cmd.Context(), f, args)
			}
			if l.address != "" {
				return editors{a}.listen(cmd.Context(), l)
			}
			return dap.Serve(cmd.Context(), a.Stdin, a.Stdout, editors{a}.config())
		},
	}
	cmd.Flags().StringVar(&l.address, "listen", "", "path of a unix socket, or TCP address, to listen on for "+
		"editors; port 0 picks a free one")
	cmd.Flags().StringVar(&l.secretFile, "secret-file", "", "with --listen HOST:PORT: file with the secret that "+
		"editors must send (default: a random one, which is printed)")
	cmd.Flags().BoolVar(&f.proxy, "proxy", false, "relay between the editor and the debug adapter that follows --")
	cmd.Flags().StringVar(&f.connect, "connect", "", "with --proxy: address of a headless Delve")
	cmd.Flags().StringVar(&f.target, "target", "", "with --proxy: inspect this core or process instead of the "+
		"debugger's")
	cmd.Flags().BoolVar(&f.runtimeFrames, "runtime-frames", false, "with --proxy: also show the frames of the runtime")
	cmd.Flags().BoolVar(&l.remote, "allow-remote", false, "with --listen HOST:PORT: listen on any address; the "+
		"connection is not encrypted, and others on the network can read the secret")
	return cmd
}

// editors provides the command line's targets, verbs and programs to the adapter.
type editors struct{ *app }

// config returns the configuration of the adapter.
func (e editors) config() dap.Config {
	log := func(text string) { fmt.Fprintf(e.Stderr, "ompd-inspect: %s\n", text) }
	return dap.Config{Open: e.attach, Verb: e.runVerb, Verbs: consoleVerbs, Launch: e.launch, Log: log}
}

// runFor returns a run of the tool for one target of a client. The flags are the defaults of its configuration.
func (e editors) runFor(c dap.Attach) *app {
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
func (e editors) attach(ctx context.Context, c dap.Attach) (*engine.Target, error) {
	one := e.runFor(c)
	one.ctx = ctx
	return one.openTarget(ctx, string(c.Target))
}

// consoleVerbs lists the verbs that the editor's console accepts: those that inspect one target.
var consoleVerbs = []string{
	"report", "diagnose", "threads", "regions", "tasks", "stacks", "icvs", "devices", "breakpoints", "layout",
	"doctor", "profile",
}

// consoleWidth is the assumed width of a console, in columns.
const consoleWidth = 100

// runVerb runs a verb on an open target and returns its output, or its error.
func (e editors) runVerb(ctx context.Context, t *engine.Target, words []string) (string, error) {
	var out strings.Builder
	f, done, err := fileTo(&out)
	if err != nil {
		return "", err
	}
	one := &app{Command: Command{Version: e.Version, Stdout: f, Stderr: f}, ctx: ctx, beyond: beyond{lent: t}}
	words = slices.Insert(slices.Clone(words), 1, fmt.Sprintf("--width=%d", consoleWidth))
	status := one.run(append(words, lentName))
	done()
	text, failed := strings.CutPrefix(out.String(), "ompd-inspect: ")
	if failed && (status == ExitUsage || status == ExitError) {
		return "", fmt.Errorf("omp %s: %s", words[0], strings.TrimSpace(text))
	}
	return out.String(), nil
}

// lentName is the name of the open target on the command line of a verb.
const lentName = "lent:"

// lentTarget is an open target that stays open when a verb closes it.
type lentTarget struct{ *engine.Target }

// Ask implements session.Source.
func (l lentTarget) Ask(ctx context.Context, q engine.Query) (*engine.Result, error) {
	return l.Look(ctx, q)
}

// Close leaves the target open.
func (l lentTarget) Close() error { return nil }

// openLent opens the lent target.
func (a *app) openLent(_ context.Context, name string, _ engine.Options) (*engine.Target, error) {
	if a.lent == nil {
		return nil, nil
	}
	if name != lentName {
		return nil, usageError{fmt.Errorf("%s: the console can only inspect the target of this debug session", name)}
	}
	return engine.NewAskerTarget(lentTarget{a.lent}), nil
}
