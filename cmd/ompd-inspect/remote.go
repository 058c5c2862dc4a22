package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"google.golang.org/grpc/codes"

	"github.com/ompd-inspect/ompd-inspect/client"
	"github.com/ompd-inspect/ompd-inspect/delve"
	"github.com/ompd-inspect/ompd-inspect/diagnose"
	"github.com/ompd-inspect/ompd-inspect/inspect"
	ompdv1 "github.com/ompd-inspect/ompd-inspect/proto/ompd/v1"
)

// wanted says what a verb wants to know of a target.
type wanted struct {
	inspect.Parts
	verdicts, layout, checks bool
	tasks                    bool // all tasks, one by one
}

// seen is what a verb got to know.
type seen struct {
	pic   *inspect.Picture
	tasks iter.Seq[inspect.Task] // all tasks, fetched while they are printed
	// complete brings the warnings of pic up to date, after the tasks. Its error
	// is also that of tasks.
	complete func() error
}

// see makes a picture of the target that name names, here or at a server, and
// shows it.
func (a *app) see(name string, want wanted, show func(*seen) error) error {
	if a.remote() {
		return a.seeRemote(name, want, show)
	}
	var pic *inspect.Picture
	ask := func(f func(*inspect.Inspector)) func(*inspect.Inspector) {
		return func(in *inspect.Inspector) {
			f(in)
			if want.tasks {
				a.touchTasks(in)
			}
		}
	}
	q := question{touch: ask(want.touch), read: ask(func(in *inspect.Inspector) { pic = want.of(in) })}
	return a.withTarget(name, q, func(in *inspect.Inspector) error {
		in.Complete(pic)
		return show(&seen{pic, in.Tasks(), func() error {
			in.Complete(pic)
			return nil
		}})
	})
}

// touch reads what the picture will need.
func (w wanted) touch(in *inspect.Inspector) { in.Touch(w.Parts, w.verdicts) }

// of makes the picture.
func (w wanted) of(in *inspect.Inspector) *inspect.Picture {
	picture := in.Picture
	if w.verdicts {
		picture = func(p inspect.Parts) *inspect.Picture { return diagnose.Picture(in, p) }
	}
	pic := picture(w.Parts)
	if w.layout {
		pic.Layout = in.Layout()
	}
	if w.checks {
		pic.Checks = in.Doctor()
	}
	return pic
}

// parts are what is wanted in the words of the API.
func (w wanted) parts() []ompdv1.PicturePart {
	out := []ompdv1.PicturePart{ompdv1.PicturePart_PICTURE_PART_HEADER}
	for _, p := range []struct {
		wanted bool
		part   ompdv1.PicturePart
	}{
		{w.Threads, ompdv1.PicturePart_PICTURE_PART_THREADS}, {w.Regions, ompdv1.PicturePart_PICTURE_PART_REGIONS},
		{w.Tasks, ompdv1.PicturePart_PICTURE_PART_TASKS}, {w.ICVs, ompdv1.PicturePart_PICTURE_PART_ICVS},
		{w.Stacks, ompdv1.PicturePart_PICTURE_PART_STACKS}, {w.Native, ompdv1.PicturePart_PICTURE_PART_NATIVE_STACKS},
		{w.verdicts, ompdv1.PicturePart_PICTURE_PART_VERDICTS}, {w.layout, ompdv1.PicturePart_PICTURE_PART_LAYOUT},
		{w.checks, ompdv1.PicturePart_PICTURE_PART_CHECKS},
	} {
		if p.wanted {
			out = append(out, p.part)
		}
	}
	return out
}

// atServer opens a target at the server and calls f with it.
func (a *app) atServer(name string, f func(context.Context, *client.Target) error) (err error) {
	ctx, cancel := context.WithCancel(a.context())
	defer cancel()
	c, done, err := a.client()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	spec, err := a.spec(name)
	if err != nil {
		return err
	}
	t, err := c.Open(ctx, spec)
	if err != nil {
		return a.unreached(err)
	}
	if a.at != nil && spec.GetDebugger() == "" { // the connection goes on
		defer func() { err = errors.Join(err, t.Close(context.WithoutCancel(ctx))) }()
	}
	return f(ctx, t)
}

// client is the connection to the server; done ends it, if it is for one verb.
func (a *app) client() (c *client.Client, done func() error, err error) {
	if a.at != nil {
		return a.at, func() error { return nil }, nil
	}
	if c, err = a.dial(); err != nil {
		return nil, nil, err
	}
	return c, c.Close, nil
}

// unreached says what may be the cause if a server cannot be talked to by TLS. It
// breaks connections whose certificate it does not take, at times before it says so.
func (a *app) unreached(err error) error {
	var e *client.Error
	if a.server.ca != "" && errors.As(err, &e) && e.Code == codes.Unavailable {
		return fmt.Errorf("%w: if the server is there, it may want another certificate than that of --server-cert", err)
	}
	return err
}

// remote tells whether verbs look at targets of a server.
func (a *app) remote() bool { return a.at != nil || a.server.address != "" }

// context ends when the run of the tool is to end.
func (a *app) context() context.Context {
	if a.ctx == nil {
		return context.Background()
	}
	return a.ctx
}

// seeRemote is see at a server.
func (a *app) seeRemote(name string, want wanted, show func(*seen) error) error {
	return a.atServer(name, func(ctx context.Context, t *client.Target) error {
		pic, err := t.Picture(ctx, want.parts()...)
		if err != nil {
			return err
		}
		s := &seen{pic: pic}
		var taskErr error
		s.tasks = func(yield func(inspect.Task) bool) {
			for task, err := range t.Tasks(ctx, nil) {
				if err != nil {
					taskErr = err
					return
				}
				if !yield(task) {
					return
				}
			}
		}
		s.complete = func() error {
			after, err := t.Picture(ctx, ompdv1.PicturePart_PICTURE_PART_HEADER)
			if err == nil && taskErr == nil {
				pic.Target.Pause, pic.Warnings = after.Target.Pause, after.Warnings
			}
			return errors.Join(taskErr, err)
		}
		return show(s)
	})
}

// seeBreakpoints shows the breakpoint locations of a target, here or at a server.
func (a *app) seeBreakpoints(name string, show func(*inspect.Breakpoints) error) error {
	if !a.remote() {
		var list *inspect.Breakpoints
		return a.withTarget(name, question{read: func(in *inspect.Inspector) { list = in.Breakpoints() }}, func(in *inspect.Inspector) error {
			list.Target.Pause, list.Warnings = in.Picture(inspect.Parts{}).Target.Pause, in.Warnings()
			return show(list)
		})
	}
	return a.atServer(name, func(ctx context.Context, t *client.Target) error {
		list := &inspect.Breakpoints{Schema: inspect.BreakpointSchema, Locations: []inspect.Breakpoint{}}
		for b, err := range t.Breakpoints(ctx) {
			if err != nil {
				return err
			}
			list.Locations = append(list.Locations, b)
		}
		pic, err := t.Picture(ctx, ompdv1.PicturePart_PICTURE_PART_HEADER)
		if err != nil {
			return err
		}
		list.Target, list.Runtimes, list.Warnings = pic.Target, pic.Runtimes, pic.Warnings
		return show(list)
	})
}

// serverOptions are the flags that say how to reach a server.
type serverOptions struct {
	address, tokenFile, ca, cert, key string
}

// dial prepares the connection to the server.
func (a *app) dial() (*client.Client, error) {
	token, err := readToken(a.server.tokenFile)
	if err != nil {
		return nil, err
	}
	config, err := clientTLS(a.server)
	if err != nil {
		return nil, err
	}
	return client.Dial(a.server.address, client.Options{Token: token, TLS: config})
}

// lentPrefix begins the name of a target that a debugger lends to the server, on
// the command line.
const lentPrefix = "debugger:"

// spec says to a server what name and the flags mean on this command line.
func (a *app) spec(name string) (*ompdv1.TargetSpec, error) {
	if strings.HasPrefix(name, delve.Scheme) {
		return nil, usageError{fmt.Errorf("%s: a server connects to no Delve: leave --server out", name)}
	}
	dir, err := os.Getwd()
	if err != nil {
		return nil, fmt.Errorf("which directory is %s in: %w", name, err)
	}
	spec := &ompdv1.TargetSpec{
		Directory: dir, Exe: a.open.exe, Sysroot: a.open.sysroot, NoDebuginfod: a.open.noDebuginfod, NoStop: a.open.noStop,
		Sources: a.open.sources, FullLayout: a.open.fullLayout, Label: name,
	}
	for _, d := range a.open.debugDirs {
		if abs, err := filepath.Abs(d); err == nil {
			d = abs
		}
		spec.DebugDirs = append(spec.DebugDirs, d)
	}
	if lent, ok := strings.CutPrefix(name, lentPrefix); ok {
		spec.Source = &ompdv1.TargetSpec_Debugger{Debugger: lent}
	} else if pid, err := strconv.Atoi(name); err == nil && pid > 0 {
		spec.Source = &ompdv1.TargetSpec_Pid{Pid: int64(pid)}
	} else {
		spec.Source = &ompdv1.TargetSpec_Core{Core: name}
	}
	return spec, nil
}
