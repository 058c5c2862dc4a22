package dap

import (
	"context"
	"encoding/hex"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	godap "github.com/google/go-dap"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/engine"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// modules returns the executable and the libraries of the target.
func (a *adapter) modules(
	ctx context.Context, args godap.ModulesArguments,
) (body godap.ModulesResponseBody, err error) {
	all := []godap.Module{}
	err = a.withTarget(ctx, func(t callbacks.Target) error {
		l, ok := t.(callbacks.ModuleLister)
		if !ok {
			return engine.ErrNoMemory
		}
		mods, err := l.Modules()
		all = all[:0]
		for _, m := range mods {
			all = append(all, a.view.module(m))
		}
		if len(all) > 0 {
			return nil
		}
		return err
	})
	if errors.Is(err, engine.ErrNoMemory) {
		all, err = a.view.runtimes(), nil
	}
	from := min(max(args.StartModule, 0), len(all))
	to := len(all)
	if args.ModuleCount > 0 {
		to = min(from+args.ModuleCount, to)
	}
	return godap.ModulesResponseBody{Modules: all[from:to], TotalModules: len(all)}, err
}

// module returns a module in the protocol's form. Frames name modules by their base names.
func (v *view) module(m *callbacks.Module) godap.Module {
	out := godap.Module{
		Id: filepath.Base(m.Path), Name: filepath.Base(m.Path), Path: m.Path, IsUserCode: m.Main,
		AddressRange: m.Low.String() + "-" + m.High.String(), SymbolStatus: "file found",
	}
	if len(m.BuildID) > 0 {
		out.Version = "build ID " + hex.EncodeToString(m.BuildID)
	}
	if m.File != "" && m.File != m.Path {
		out.SymbolFilePath = m.File
	}
	if m.Err != nil {
		out.SymbolStatus = m.Err.Error()
	}
	for _, r := range v.pic.Runtimes {
		if r.Path == m.Path && r.Path != "" {
			out.Version = strings.TrimSpace(r.Name + " " + r.Version)
		}
	}
	return out
}

// runtimes returns the modules of the picture, for a target that a server or a debugger reads.
func (v *view) runtimes() []godap.Module {
	out := []godap.Module{}
	for _, r := range v.pic.Runtimes {
		name := filepath.Base(r.Path)
		out = append(out, godap.Module{Id: name, Name: name, Path: r.Path, Version: r.Name + " " + r.Version})
	}
	return out
}

// loadedSources returns the source files of all frames.
func (v *view) loadedSources(context.Context, nothing) (godap.LoadedSourcesResponseBody, error) {
	var files []string
	note := func(fs []picture.Frame) {
		for _, f := range fs {
			if f.File != "" {
				files = append(files, f.File)
			}
		}
	}
	for i := range v.pic.Threads {
		note(v.pic.Threads[i].Stack)
		note(v.pic.Threads[i].UserStack)
	}
	slices.Sort(files)
	body := godap.LoadedSourcesResponseBody{Sources: []godap.Source{}}
	for _, f := range slices.Compact(files) {
		body.Sources = append(body.Sources, *v.source(f))
	}
	return body, nil
}
