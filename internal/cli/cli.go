// Package cli implements the command line of ompd-inspect: its verbs, their flags and the exit status. It
// parses the command line, asks a target, and prints the answer.
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
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"google.golang.org/grpc/codes"

	"github.com/ompd-inspect/ompd-inspect/client"
	"github.com/ompd-inspect/ompd-inspect/internal/guard/contain"
	_ "github.com/ompd-inspect/ompd-inspect/internal/guard/descriptors" // checks the number of open files
)

// Command is one start of the tool: its version, the commit it was built from, and its standard files.
type Command struct {
	Version, Commit       string
	Stdin, Stdout, Stderr *os.File
	// Alone reports whether the process ends with the command, so that it may give up rights.
	Alone bool
	// Interrupts cancels the context of Run at Ctrl-C; nil if something else does.
	Interrupts *Interrupts
	// Now returns the time in the header of a report; nil: time.Now.
	Now func() time.Time
}

// usageError is an error of the command line.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

// Run executes one command line and returns the exit status. It ends early when ctx is canceled.
func (c Command) Run(ctx context.Context, args []string) int {
	return (&app{Command: c, ctx: ctx}).run(args)
}

// run executes one command line and returns the exit status.
func (a *app) run(args []string) int {
	root := a.command()
	if isCompletion(args) {
		args = a.prepareCompletion(root, args)
	}
	root.SetArgs(withDefaultVerb(root, args))
	help := &errorWriter{Writer: a.Stdout}
	root.SetOut(help)
	root.SetErr(a.Stderr)
	checkCompletion(root)
	checkHelp(root)
	if a.ctx == nil {
		a.ctx = context.Background()
	}
	if err := a.checkAddressSpace(); err != nil {
		fmt.Fprintf(a.Stderr, "ompd-inspect: %v\n", err)
		return ExitError
	}
	err := recoverMapped(func() error { return root.ExecuteContext(a.ctx) })
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
	if wrong || errors.Is(err, fs.ErrNotExist) { // a misspelled verb is read as a missing core
		fmt.Fprintln(a.Stderr, "`ompd-inspect --help` shows the verbs and flags")
	}
	if wrong {
		return ExitUsage
	}
	return ExitError
}

// canceled reports whether an operation ended because its context was canceled, here or on a server.
func canceled(err error) bool {
	var e *client.Error
	return errors.Is(err, context.Canceled) || errors.As(err, &e) && e.Code == codes.Canceled
}

// errorWriter is a writer that keeps the first error, because cobra ignores errors when it prints the help.
type errorWriter struct {
	io.Writer
	err error
}

// Write implements io.Writer.
func (r *errorWriter) Write(p []byte) (int, error) {
	n, err := r.Writer.Write(p)
	r.err = cmp.Or(r.err, err)
	return n, err
}

// outputError returns the cause of a failed write to out. It returns nil if err is another error. A closed pipe
// ends the process by SIGPIPE, as with other tools.
func outputError(err error, out *os.File) error {
	var e *fs.PathError
	if errors.As(err, &e) && e.Op == "write" && e.Path == out.Name() {
		return e.Err
	}
	return nil
}

// recoverMapped runs f. It returns an error if a mapped file is truncated while f reads it, for example by a
// linker that overwrites an executable.
func recoverMapped(f func() error) (err error) {
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

// checkCompletion makes `completion` without a shell, or with an unknown one, a usage error.
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
			return usageError{fmt.Errorf("completion: which shell? It supports %s", strings.Join(shells, ", "))}
		}
	}
}

// checkHelp makes help for a verb that does not exist a usage error: cobra would print the help of root, as
// root accepts any arguments.
func checkHelp(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	for _, c := range root.Commands() {
		if c.Name() != "help" {
			continue
		}
		c.Args = func(_ *cobra.Command, args []string) error {
			verb, rest, err := root.Find(args)
			if err != nil {
				return usageError{err}
			}
			if len(rest) > 0 {
				return usageError{fmt.Errorf("help: %s has no verb %s%s", verb.CommandPath(), rest[0],
					didYouMean(verb, rest[0]))}
			}
			return nil
		}
	}
}

// words describes the start of a command line: whether it names a verb or a target.
type words struct {
	verb   bool // it has a verb
	target bool // it has no verb, but a word or a flag that names a target
	others bool // it has no verb, but a flag that root does not have
}

// parseWords reads a command line up to its first verb or target.
func parseWords(root *cobra.Command, args []string) (w words) {
	for i := 0; i < len(args); i++ {
		arg := args[i]
		if !strings.HasPrefix(arg, "-") || arg == standardStream {
			w.verb = isVerb(root, arg)
			w.target = !w.verb
			return w
		}
		if arg == "--" {
			w.target = true
			return w
		}
		f, apart := flagOf(root, arg)
		switch {
		case f == nil:
			w.others = true
		case f.Name == pidFlag:
			w.target = true
		}
		if apart {
			i++ // the next word is the flag's value, not a verb
		}
	}
	return w
}

// isVerb reports whether a word is one of root's verbs.
func isVerb(root *cobra.Command, word string) bool {
	return slices.ContainsFunc(append(root.Commands(), builtin...), func(c *cobra.Command) bool {
		return c.Name() == word || c.HasAlias(word)
	})
}

// flagOf returns the flag of root that a word names, or nil. apart reports whether the flag's value is the next
// word.
func flagOf(root *cobra.Command, word string) (f *pflag.Flag, apart bool) {
	name, long := strings.CutPrefix(word, "--")
	name, _, given := strings.Cut(strings.TrimLeft(name, "-"), "=")
	if !long && len(name) > 1 {
		name, given = name[:1], true
	}
	for _, set := range []*pflag.FlagSet{root.Flags(), root.PersistentFlags()} {
		if long {
			f = set.Lookup(name)
		} else if name != "" {
			f = set.ShorthandLookup(name)
		}
		if f != nil {
			return f, !given && f.Value.Type() != "bool"
		}
	}
	return nil, false
}

// withDefaultVerb adds the verb report to a command line that has a target and no verb, such as `ompd-inspect
// core.1234`.
func withDefaultVerb(root *cobra.Command, args []string) []string {
	if w := parseWords(root, args); !w.verb && w.target {
		return append([]string{"report"}, args...)
	}
	return args
}

// builtin lists the verbs that cobra adds when it executes.
var builtin = []*cobra.Command{{Use: "help"}, {Use: "completion"}, {Use: cobra.ShellCompRequestCmd},
	{Use: cobra.ShellCompNoDescRequestCmd}}
