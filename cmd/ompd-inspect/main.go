// Command ompd-inspect shows what an OpenMP program is doing, from the outside:
// which threads, in which regions and tasks, waiting for what.
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime/debug"

	"github.com/ompd-inspect/ompd-inspect/internal/cli"
)

// gcPercent lets the heap of this short-lived process grow to 40 MiB before the first
// collection, as few looks need more.
const gcPercent = 1000

// memoryLimit, in bytes, makes collections start earlier where a look needs much more, as for a
// program with a million tasks.
const memoryLimit = 96 << 20

func main() {
	debug.SetGCPercent(gcPercent)
	debug.SetMemoryLimit(memoryLimit)
	c := cli.Command{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Alone: true}
	if info, ok := debug.ReadBuildInfo(); ok {
		c.Version, c.Commit = versionOf(release, info)
	}
	os.Exit(c.Run(interruptible(), os.Args[1:]))
}

// interruptible is a context that Ctrl-C ends; a second one ends the process. A signal that
// the shell has ignored stays ignored.
func interruptible() context.Context {
	ctx := context.Background()
	if signal.Ignored(os.Interrupt) {
		return ctx
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	context.AfterFunc(ctx, stop)
	return ctx
}
