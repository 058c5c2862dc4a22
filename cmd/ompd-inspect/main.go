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

// gcPercent lets the heap of this short-lived process grow to 40 MiB before memory
// is collected for the first time, which few targets need, but not beyond
// memoryLimit bytes if that can be helped: a program may have a million tasks.
const (
	gcPercent   = 1000
	memoryLimit = 96 << 20
)

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
