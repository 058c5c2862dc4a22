package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/ompd-inspect/ompd-inspect/live"
	"github.com/ompd-inspect/ompd-inspect/picture"
	"github.com/ompd-inspect/ompd-inspect/session"
)

// openOptions are the flags that say how a target is opened.
type openOptions struct {
	exe, sysroot string
	debugDirs    []string
	noDebuginfod bool
	sources      []string
	noStop       bool
	maxMemory    sizeValue
}

// session are the flags as package session has them.
func (o openOptions) session() session.Options {
	out := session.Options{
		Exe: o.exe, Sysroot: o.sysroot, DebugDirs: o.debugDirs, NoStop: o.noStop, Sources: o.sources,
		MaxMemory: o.maxMemory.within(addressSpace()),
	}
	if !o.noDebuginfod {
		out.Debuginfod = strings.Fields(os.Getenv("DEBUGINFOD_URLS"))
	}
	return out
}

// context ends when the run of the tool is to end.
func (a *app) context() context.Context {
	if a.ctx == nil {
		return context.Background()
	}
	return a.ctx
}

// openTarget opens what the command line names: a process by its number, a program
// that Delve holds by Delve's address, a core by its path; or any of a server.
func (a *app) openTarget(ctx context.Context, name string) (*session.Target, error) {
	o := a.open.session()
	o.Work = a.budget
	o.Unpacking = a.progress("unpacking "+name, "MiB", 1<<20)
	o.Openers = []session.Opener{a.openInput, a.openLent, a.openRemote, a.openDelve}
	t, err := session.Open(ctx, name, o)
	if err == nil && a.Alone {
		t.BeforeStop(collect)
	}
	return t, err
}

// see asks a question about the target that name names, here or at a server, and shows
// the answer.
func (a *app) see(name string, q session.Question, show func(*session.Answer) error) (err error) {
	ctx, cancel := context.WithCancel(a.context())
	defer cancel()
	if err := a.enterSandbox(name); err != nil {
		return err
	}
	if a.Alone {
		live.Quiet() // it starts no program
		// A look is one goroutine: collections on other processors, and threads that search for
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

// seePicture is see for verbs that only show the picture.
func (a *app) seePicture(name string, q session.Question, show func(*picture.Picture) error) error {
	if isSaved(name) && q.Verdicts && !a.remote() {
		pic, err := readSaved(name, q)
		if err != nil {
			return err
		}
		return show(pic)
	}
	return a.see(name, q, func(answer *session.Answer) error { return show(answer.Picture) })
}

// progress returns a function that tells on the standard error how far a long
// step is, once a second from its second second on: done counts steps of which
// per make a unit.
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
