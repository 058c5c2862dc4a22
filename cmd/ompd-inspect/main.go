// Command ompd-inspect shows what an OpenMP program is doing, from the outside:
// which threads, in which regions and tasks, waiting for what.
package main

import (
	"os"
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
	interrupts, ctx := cli.CatchInterrupts()
	c.Interrupts = interrupts
	os.Exit(c.Run(ctx, os.Args[1:]))
}
