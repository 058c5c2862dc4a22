package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/ompd-inspect/ompd-inspect/internal/engine"
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
	answer, err := t.Look(ctx, q)
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
		pic, err := readSaved(name, q)
		if err != nil {
			return err
		}
		return show(pic)
	}
	return a.ask(name, q, func(answer *engine.Result) error { return show(answer.Picture) })
}

// progress returns a function that reports the progress of a long step on the standard error, once per second
// from the second second on. done is the number of finished steps; per steps are one unit.
func (c Command) progress(what, unit string, per int64) func(done int64) {
	start, last := time.Now(), time.Time{}
	return func(done int64) {
		now := time.Now()
		if now.Sub(start) < time.Second || now.Sub(last) < time.Second {
			return
		}
		last = now
		fmt.Fprintf(c.Stderr, "ompd-inspect: %s: %d %s\n", what, done/per, unit)
	}
}
