// Command ompd-inspect shows what an OpenMP program is doing, from the outside:
// which threads, in which regions and tasks, waiting for what.
package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

// Exit statuses. They are documented in the README and in the help text.
const (
	exitOK    = 0
	exitError = 1 // the target could not be read
	exitUsage = 2 // the command line is wrong
)

// gcPercent lets the heap of this short-lived process grow to 64 MiB before memory
// is collected for the first time, which few targets need, but not beyond
// memoryLimit bytes if that can be helped: a program may have a million tasks.
const (
	gcPercent   = 1600
	memoryLimit = 96 << 20
)

// usageError is an error of the command line.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

func main() {
	debug.SetGCPercent(gcPercent)
	debug.SetMemoryLimit(memoryLimit)
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// run executes one command line and returns the exit status.
func run(args []string, stdout, stderr *os.File) int {
	return (&app{stdout: stdout, stderr: stderr}).run(args)
}

// run executes one command line and returns the exit status.
func (a *app) run(args []string) int {
	root := a.command()
	root.SetArgs(withDefaultVerb(root, args))
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	checkCompletion(root)
	if a.ctx == nil {
		a.ctx = context.Background()
	}
	err := mapped(func() error { return root.ExecuteContext(a.ctx) })
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errFound):
		return exitFound
	}
	if status := statusError(0); errors.As(err, &status) {
		return int(status)
	}
	if !errors.Is(err, errReported) {
		fmt.Fprintf(a.stderr, "ompd-inspect: %v\n", err)
	}
	var usage usageError
	wrong := errors.As(err, &usage) || strings.HasPrefix(err.Error(), "unknown ")
	if wrong || errors.Is(err, fs.ErrNotExist) { // a verb that is spelled wrongly looks like a core that is not there
		fmt.Fprintln(a.stderr, "`ompd-inspect --help` shows the verbs and flags")
	}
	if wrong {
		return exitUsage
	}
	return exitError
}

// mapped runs f, in which it is an error that a file is cut short while it is mapped, as
// by a linker that writes an executable anew.
func mapped(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		switch p := recover().(type) {
		case nil:
		case interface{ Addr() uintptr }: // a fault (debug.SetPanicOnFault)
			err = errors.New("a file was cut short while it was read: is the program being built anew? Type the command again when that is done")
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
var builtin = []*cobra.Command{{Use: "help"}, {Use: "completion"}, {Use: cobra.ShellCompRequestCmd}, {Use: cobra.ShellCompNoDescRequestCmd}}
