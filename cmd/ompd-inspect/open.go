package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/inspect"
	"github.com/ompd-inspect/ompd-inspect/ompd"
	"github.com/ompd-inspect/ompd-inspect/rtl"
	"github.com/ompd-inspect/ompd-inspect/symbolize"
	"github.com/ompd-inspect/ompd-inspect/unwind"
)

// openOptions are the flags that say how a target is opened.
type openOptions struct {
	exe, sysroot string
	debugDirs    []string
	noDebuginfod bool
	sources      []string
	noStop       bool
	fullLayout   bool // every source is asked for every field
}

// debuginfodTimeout bounds one question to a debuginfod server.
const debuginfodTimeout = 10 * time.Second

// question is what an inspector is asked about one moment of a target.
type question struct {
	// touch reads at least most of what read will, if that is cheaper to do; nil
	// stands for read.
	touch func(*inspect.Inspector)
	// read asks all that is needed. If it is called several times, the last call
	// counts.
	read func(*inspect.Inspector)
}

// withTarget opens the target that name names and looks at it; show prints the
// answer.
func (a *app) withTarget(name string, q question, show func(*inspect.Inspector) error) (err error) {
	t, err := a.openTarget(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	in, done, err := a.lookAt(context.Background(), t, q)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	return show(in)
}

// lookAt looks at t once and asks q of the inspector that it returns. done ends the
// use of the inspector.
func (a *app) lookAt(ctx context.Context, t target, q question) (in *inspect.Inspector, done func() error, err error) {
	var known known
	ask := func(read func(*inspect.Inspector)) func(callbacks.Target) error {
		return func(ct callbacks.Target) (err error) {
			if in, err = a.inspector(ct, &known); err != nil {
				return err
			}
			in.Describe(t.about())
			read(in)
			return nil
		}
	}
	if q.touch == nil {
		q.touch = q.read
	}
	if err = t.look(ctx, ask(q.touch), ask(q.read)); err != nil {
		return nil, nil, errors.Join(err, known.Close())
	}
	in.Describe(t.about(), t.warnings()...) // with what the look cost
	return in, known.Close, nil
}

// known keeps what stays true from one question of a look to the next, as long as
// the modules are the same: what was read of their files and what their code told.
type known struct {
	mods []*callbacks.Module
	sym  *symbolize.Symbolizer
	code ompd.Kept

	functions inspect.Functions
}

// symbolizer returns the symbolizer of mods.
func (k *known) symbolizer(mods []*callbacks.Module, o symbolize.Options) (*symbolize.Symbolizer, error) {
	if k.sym != nil && slices.Equal(k.mods, mods) {
		return k.sym, nil
	}
	if err := k.Close(); err != nil {
		return nil, err
	}
	k.mods, k.sym, k.functions = slices.Clone(mods), symbolize.New(mods, o), inspect.Functions{}
	return k.sym, nil
}

// Close ends the use of the symbolizer.
func (k *known) Close() error {
	if k.sym == nil {
		return nil
	}
	err := k.sym.Close()
	k.sym = nil
	return err
}

// lookable is what a target must be able to do to be inspected.
type lookable interface {
	callbacks.Target
	callbacks.ModuleLister
}

// inspector joins what is needed to look at t.
func (a *app) inspector(t callbacks.Target, known *known) (*inspect.Inspector, error) {
	lt, ok := t.(lookable)
	if !ok {
		return nil, errors.New("this kind of target does not list its modules")
	}
	mods, modErr := lt.Modules()
	sym, err := known.symbolizer(mods, a.symbolizeOptions())
	if err != nil {
		return nil, err
	}
	procs, rtErr := ompd.Open(t, ompd.Options{Sources: a.open.sources, Full: a.open.fullLayout, Kept: &known.code})
	cfg := inspect.Config{
		Target:     t,
		Symbolizer: sym,
		Unwinder:   unwind.New(t, t.Arch(), mods),
		Functions:  &known.functions,
	}
	for _, p := range procs {
		cfg.Runtimes = append(cfg.Runtimes, rtl.Runtime(p))
	}
	cfg.Warnings, cfg.Dormant = sortErrors(modErr, rtErr)
	return inspect.New(cfg)
}

// sortErrors tells runtimes that the program has not used yet from what else is
// worth a warning.
func sortErrors(errs ...error) (warnings []error, dormant []*rtl.Dormant) {
	for _, err := range flat(errors.Join(errs...)) {
		var d *rtl.Dormant
		switch {
		case errors.As(err, &d):
			dormant = append(dormant, d)
		case errors.Is(err, ompd.ErrNoRuntime): // the header says so
		default:
			warnings = append(warnings, err)
		}
	}
	return warnings, dormant
}

// flat takes joined errors apart.
func flat(err error) []error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		if err == nil {
			return nil
		}
		return []error{err}
	}
	var out []error
	for _, e := range joined.Unwrap() {
		out = append(out, flat(e)...)
	}
	return out
}

func (a *app) symbolizeOptions() symbolize.Options {
	o := symbolize.Options{DebugDirs: a.open.debugDirs, Sysroot: a.open.sysroot}
	o.Debuginfod.URLs = strings.Fields(os.Getenv("DEBUGINFOD_URLS"))
	o.Debuginfod.Timeout = debuginfodTimeout
	o.Debuginfod.Disabled = a.open.noDebuginfod
	return o
}

// progress returns a function that tells on the standard error how far a long
// step is, once a second from its second second on: done counts steps of which
// per make a unit.
func (a *app) progress(what, unit string, per int64) func(done int64) {
	start, last := time.Now(), time.Time{}
	return func(done int64) {
		now := time.Now()
		if now.Sub(start) < time.Second || now.Sub(last) < time.Second {
			return
		}
		last = now
		fmt.Fprintf(a.stderr, "ompd-inspect: %s: %d %s\n", what, done/per, unit)
	}
}
