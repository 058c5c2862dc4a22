package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/ompd-inspect/ompd-inspect/corefile"
	"github.com/ompd-inspect/ompd-inspect/internal/engine"
	"github.com/ompd-inspect/ompd-inspect/internal/guard/budget"
	"github.com/ompd-inspect/ompd-inspect/live"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// openOptions contains the flags that control how a target is opened.
type openOptions struct {
	exe, sysroot string
	debugDirs    []string
	noDebuginfod bool
	sources      []string
	noStop       bool
	maxMemory    sizeValue
}

// engineOptions returns the flags as options of package engine.
func (o openOptions) engineOptions() engine.Options {
	out := engine.Options{
		Exe: o.exe, Sysroot: o.sysroot, DebugDirs: o.debugDirs, NoStop: o.noStop, Sources: o.sources,
		MaxMemory: o.maxMemory.boundBy(addressSpace()),
	}
	if !o.noDebuginfod {
		out.Debuginfod = strings.Fields(os.Getenv("DEBUGINFOD_URLS"))
	}
	return out
}

// context returns a context that is canceled when the tool should end.
func (a *app) context() context.Context {
	if a.ctx == nil {
		return context.Background()
	}
	return a.ctx
}

// openTarget opens the target on the command line: a process by its number, a program under Delve by its
// address, a core by its path; or any of these on a server.
func (a *app) openTarget(ctx context.Context, name string) (*engine.Target, error) {
	o := a.open.engineOptions()
	o.Work = a.budget
	o.Unpacking = a.progress("unpacking "+name, "MiB", 1<<20)
	o.Openers = []engine.Opener{a.openInput, a.openLent, a.openRemote, a.openDelve}
	t, err := engine.Open(ctx, name, o)
	if err == nil && a.Alone {
		t.BeforeStop(collect)
	}
	return t, err
}

// maxInput bounds a core that is read from the standard input, in bytes. It exceeds the memory of all but the
// largest machines; a larger core can be given as a file.
const maxInput = 256 << 30

// openInput opens the core on the standard input if name is "-".
func (a *app) openInput(ctx context.Context, name string, o engine.Options) (*engine.Target, error) {
	switch {
	case name != standardStream:
		return nil, nil
	case a.remote():
		return nil, usageError{errors.New("-: a server does not read the standard input of this command: " +
			"write the core to a file, and give its name")}
	case a.Stdin == nil || !a.readsInput:
		return nil, usageError{errors.New("-: no core is read from the standard input here: write it to a file, " +
			"and give its name")}
	case term.IsTerminal(int(a.Stdin.Fd())):
		return nil, usageError{errors.New("-: the standard input is a terminal: " +
			"`coredumpctl dump PID | ompd-inspect -` reads a core from a pipe")}
	}
	core, err := corefile.OpenStream(a.Stdin, "standard input", corefile.Options{
		Exe: o.Exe, Sysroot: o.Sysroot, DebugDirs: o.DebugDirs, Progress: o.Unpacking, Canceled: ctx.Err,
		Memory: o.Ledger(), Work: o.Work, MaxUnpacked: maxInput,
	})
	if err != nil {
		return nil, err
	}
	return engine.NewTarget(engine.NewCoreSource(core, name, o), o), nil
}

// ask asks a question about a target, here or on a server, and shows the answer.
func (a *app) ask(name string, q engine.Query, show func(*engine.Result) error) (err error) {
	ctx, cancel := context.WithCancel(a.context())
	defer cancel()
	if err := a.enterSandbox(name); err != nil {
		return err
	}
	if a.Alone {
		live.Quiet() // it starts no program
		// A snapshot is made by one goroutine. Collections on other processors, and threads that search for
		// goroutines, take more time than they save.
		runtime.GOMAXPROCS(1)
	}
	t, err := a.openTarget(ctx, name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	q.Budget = a.budget
	stop := a.inspecting(name)
	answer, err := t.Look(ctx, q)
	stop()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, answer.Close()) }()
	if q.Checks && a.locked != nil {
		answer.Picture.Checks = append(answer.Picture.Checks, sandboxCheck(*a.locked))
	}
	return show(answer)
}

// askPicture asks like ask, for verbs that only show the picture.
func (a *app) askPicture(name string, q engine.Query, show func(*picture.Picture) error) error {
	if isSaved(name) && q.Verdicts && !a.remote() {
		o := a.open.engineOptions()
		pic, err := readSaved(name, q, budget.LedgerOf(o.Ledger()))
		if err != nil {
			return err
		}
		return show(pic)
	}
	return a.ask(name, q, func(answer *engine.Result) error {
		if q.Verdicts && !a.remote() {
			a.addHungChildren(answer.Picture)
		}
		return show(answer.Picture)
	})
}

// note prints a note on the standard error, unless --quiet is set.
func (a *app) note(format string, args ...any) {
	if !a.quiet {
		fmt.Fprintf(a.Stderr, "ompd-inspect: "+format+"\n", args...)
	}
}

// progress returns a function that reports the progress of a long step, if the standard error is a terminal.
func (a *app) progress(what, unit string, per int64) func(done int64, part float64) {
	if a.quiet || !term.IsTerminal(int(a.Stderr.Fd())) {
		return func(int64, float64) {}
	}
	return printProgress(a.Stderr, what, unit, per)
}

// inspecting reports that a target is being inspected, if the standard error is a terminal, until stop is called.
func (a *app) inspecting(name string) (stop func()) {
	if a.quiet || !term.IsTerminal(int(a.Stderr.Fd())) {
		return func() {}
	}
	limit := a.budget
	if a.remote() {
		limit = 0 // the server has its own
	}
	return printElapsed(a.Stderr, "inspecting "+name, limit)
}

// printElapsed prints the time of a step each second, with its limit of CPU time (0: none), until stop is called.
func printElapsed(w io.Writer, what string, limit time.Duration) (stop func()) {
	ended, done := make(chan struct{}), make(chan struct{})
	start := time.Now()
	go func() {
		defer close(done)
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-ended:
				return
			case now := <-tick.C:
				of := ""
				if limit > 0 {
					of = fmt.Sprintf(" of at most %v of CPU time", limit)
				}
				fmt.Fprintf(w, "ompd-inspect: %s: %v%s\n", what, now.Sub(start).Truncate(time.Second), of)
			}
		}
	}()
	return func() {
		close(ended)
		<-done
	}
}

// leastPart is the finished part of a step from which on its remaining time is estimated.
const leastPart = 0.02

// printProgress returns a function that prints the progress of a long step, once per second from the second
// second on. done is the number of finished units; per of them are one printed unit. part is the finished part
// of the step, from 0 to 1, or 0 if it is unknown. The time left is estimated from it.
func printProgress(w io.Writer, what, unit string, per int64) func(done int64, part float64) {
	start, last := time.Now(), time.Time{}
	return func(done int64, part float64) {
		now := time.Now()
		if now.Sub(start) < time.Second || now.Sub(last) < time.Second {
			return
		}
		last = now
		left := ""
		if part >= leastPart && part < 1 {
			rest := time.Duration(float64(now.Sub(start)) * (1 - part) / part)
			left = fmt.Sprintf(", about %v left", (rest + time.Second/2).Truncate(time.Second))
		}
		fmt.Fprintf(w, "ompd-inspect: %s: %d %s%s\n", what, done/per, unit, left)
	}
}
