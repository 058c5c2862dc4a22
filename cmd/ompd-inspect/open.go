package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/ompd-inspect/ompd-inspect/corefile"
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
	fullLayout   *cobra.Command // the verb for which every source is asked for every field
}

// debuginfodTimeout bounds one question to a debuginfod server.
const debuginfodTimeout = 10 * time.Second

// withTarget opens the core, gives f an inspector of it, and closes it.
func (a *app) withTarget(path string, f func(*inspect.Inspector) error) (err error) {
	core, err := corefile.Open(path, corefile.Options{
		Exe: a.open.exe, Sysroot: a.open.sysroot, DebugDirs: a.open.debugDirs, Progress: a.progress("unpacking " + path),
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, core.Close()) }()
	in, err := a.inspector(core, path)
	if err != nil {
		return err
	}
	return f(in)
}

// inspector joins what is needed to look at core.
func (a *app) inspector(core *corefile.Core, path string) (*inspect.Inspector, error) {
	mods, modErr := core.Modules()
	procs, rtErr := ompd.Open(core, ompd.Options{Sources: a.open.sources})
	cfg := inspect.Config{
		About:      about(core, path),
		Target:     core,
		Symbolizer: symbolize.New(mods, a.symbolizeOptions()),
		Unwinder:   unwind.New(core, core.Arch(), mods),
	}
	for _, p := range procs {
		cfg.Runtimes = append(cfg.Runtimes, rtl.Runtime(p))
	}
	cfg.Warnings, cfg.Dormant = sortErrors(core, modErr, rtErr)
	return inspect.New(cfg)
}

// sortErrors tells runtimes that the program has not used yet from what else is
// worth a warning.
func sortErrors(core *corefile.Core, errs ...error) (warnings []error, dormant []*rtl.Dormant) {
	for _, w := range core.Info().Warnings {
		warnings = append(warnings, errors.New(w))
	}
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

// about describes a core.
func about(core *corefile.Core, path string) inspect.Target {
	info := core.Info()
	t := inspect.Target{
		Kind: "core", Path: path, PID: info.PID, Executable: info.Executable, Arch: core.Arch().String(),
		CrashedLWP: int(info.CrashedLWP), Producer: info.Producer, Command: info.Args,
	}
	if info.Signal != 0 {
		t.Signal = cmp.Or(unix.SignalName(unix.Signal(info.Signal)), fmt.Sprintf("signal %d", info.Signal))
	}
	if info.HasFault {
		h := inspect.Hex(info.FaultAddress.Offset)
		t.FaultAddress = &h
	}
	return t
}

// progress returns a function that tells on the standard error how far a long
// step is, from its second second on, or nil if nobody would see it.
func (a *app) progress(what string) func(int64) {
	start, last := time.Now(), time.Time{}
	return func(done int64) {
		now := time.Now()
		if now.Sub(start) < time.Second || now.Sub(last) < time.Second {
			return
		}
		last = now
		fmt.Fprintf(a.stderr, "ompd-inspect: %s: %d MiB\n", what, done>>20)
	}
}
