// Package cli is the command line of ompd-inspect: its verbs, their flags and the exit
// status. It only parses, asks and prints.
package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/grpc/codes"

	"github.com/ompd-inspect/ompd-inspect/client"
	"github.com/ompd-inspect/ompd-inspect/internal/contain"
)

// Command is the tool as it was started: its version, the commit that was built, and its three files.
type Command struct {
	Version, Commit       string
	Stdin, Stdout, Stderr *os.File
	// Alone says that the process ends with the command, so that it may give up rights.
	Alone bool
}

// usageError is an error of the command line.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

// Run executes one command line and returns the exit status. It ends early when ctx does.
func (c Command) Run(ctx context.Context, args []string) int {
	return (&app{Command: c, ctx: ctx}).run(args)
}

// run executes one command line and returns the exit status.
func (a *app) run(args []string) int {
	root := a.command()
	root.SetArgs(withDefaultVerb(root, args))
	help := &remembering{Writer: a.Stdout}
	root.SetOut(help)
	root.SetErr(a.Stderr)
	checkCompletion(root)
	if a.ctx == nil {
		a.ctx = context.Background()
	}
	if err := a.checkAddressSpace(); err != nil {
		fmt.Fprintf(a.Stderr, "ompd-inspect: %v\n", err)
		return ExitError
	}
	err := mapped(func() error { return root.ExecuteContext(a.ctx) })
	if err == nil {
		err = help.err
	}
	switch {
	case err == nil:
		return ExitOK
	case errors.Is(err, errFound):
		return ExitFound
	}
	if status := statusError(0); errors.As(err, &status) {
		return int(status)
	}
	if a.ctx.Err() != nil && canceled(err) {
		fmt.Fprintln(a.Stderr, "ompd-inspect: interrupted")
		return ExitInterrupted
	}
	if cause := outputError(err, a.Stdout); cause != nil {
		fmt.Fprintf(a.Stderr, "ompd-inspect: the standard output cannot be written: %v\n", cause)
		return ExitOutput
	}
	var usage usageError
	wrong := errors.As(err, &usage) || strings.HasPrefix(err.Error(), "unknown ")
	if !errors.Is(err, errReported) {
		fmt.Fprintf(a.Stderr, "ompd-inspect: %v\n", err)
	}
	if wrong || errors.Is(err, fs.ErrNotExist) { // a verb that is spelled wrongly looks like a core that is not there
		fmt.Fprintln(a.Stderr, "`ompd-inspect --help` shows the verbs and flags")
	}
	if wrong {
		return ExitUsage
	}
	return ExitError
}

// canceled reports whether a look ended because its context did, here or at a server.
func canceled(err error) bool {
	var e *client.Error
	return errors.Is(err, context.Canceled) || errors.As(err, &e) && e.Code == codes.Canceled
}

// remembering is a writer that remembers an error: who prints the help does not.
type remembering struct {
	io.Writer
	err error
}

// Write implements io.Writer.
func (r *remembering) Write(p []byte) (int, error) {
	n, err := r.Writer.Write(p)
	r.err = cmp.Or(r.err, err)
	return n, err
}

// outputError is why writing to a file failed, nil if that is not what err says. A pipe
// that nobody reads ends the process by SIGPIPE, as it does with other tools.
func outputError(err error, out *os.File) error {
	var e *fs.PathError
	if errors.As(err, &e) && e.Op == "write" && e.Path == out.Name() {
		return e.Err
	}
	return nil
}

// mapped runs f, in which it is an error that a file is cut short while it is mapped, as
// by a linker that writes an executable anew.
func mapped(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		switch p := recover(); {
		case p == nil:
		case contain.Fault(p):
			err = contain.ErrCutShort
		default:
			panic(p)
		}
	}()
	return f()
}

// checkCompletion makes an error of a shell that is missing, or that there is no
// completion for.
func checkCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() != "completion" {
			continue
		}
		var shells []string
		for _, shell := range c.Commands() {
			shells = append(shells, shell.Name())
		}
		c.RunE = func(*cobra.Command, []string) error {
			return usageError{fmt.Errorf("completion: for which shell? It is there for %s", strings.Join(shells, ", "))}
		}
	}
}

// withDefaultVerb makes `ompd-inspect core.1234` mean `ompd-inspect report
// core.1234`.
func withDefaultVerb(root *cobra.Command, args []string) []string {
	for i, arg := range args {
		if arg == "--" {
			return append([]string{"report"}, args...)
		}
		if strings.HasPrefix(arg, "-") {
			if f := root.PersistentFlags().Lookup(strings.TrimLeft(arg, "-")); f != nil && f.Value.Type() != "bool" {
				// the flag's value is the next word: it is not a verb
				if i+2 < len(args) {
					return append(args[:i+2:i+2], withDefaultVerb(root, args[i+2:])...)
				}
				return args
			}
			continue
		}
		for _, c := range append(root.Commands(), builtin...) {
			if c.Name() == arg || c.HasAlias(arg) {
				return args
			}
		}
		return append([]string{"report"}, args...)
	}
	return args
}

// builtin are the verbs that cobra adds when it executes.
var builtin = []*cobra.Command{{Use: "help"}, {Use: "completion"}, {Use: cobra.ShellCompRequestCmd},
	{Use: cobra.ShellCompNoDescRequestCmd}}
