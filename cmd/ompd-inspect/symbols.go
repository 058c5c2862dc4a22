package main

import (
	"bytes"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/elfx"
	"github.com/ompd-inspect/ompd-inspect/internal/symfile"
	"github.com/ompd-inspect/ompd-inspect/ompd"
	"github.com/ompd-inspect/ompd-inspect/rtl"
)

// symbolsVerb writes a symbol file for a stripped runtime.
func (a *app) symbolsVerb() *cobra.Command {
	out := ""
	cmd := &cobra.Command{
		Use: "symbols LIBRARY|CORE|PID", Short: "Write a symbol file that gives a stripped runtime its OMPD symbols back", Args: oneTarget,
		Long: `Finds the symbols that OMPD libraries and debuggers ask for in a stripped runtime
(ompd_dll_locations, ompd_access__…, ompd_bp_…, __kmp_threads and more) and writes
an ELF file with them, which debuggers take for the runtime's symbol table:

  ompd-inspect symbols /usr/lib/x86_64-linux-gnu/libomp.so.5 -o /usr/lib/debug
      writes /usr/lib/debug/.build-id/xx/….debug, where debuggers find it by the
      runtime's build ID; in gdb, "set debug-file-directory DIR" names other places
  ompd-inspect symbols core.1234 -o libomp.debug
      in gdb: add-symbol-file libomp.debug -o ADDRESS, the one that this prints`,
		RunE: func(_ *cobra.Command, args []string) error {
			if out == "" {
				return usageError{errors.New("symbols: where to? -o FILE, or -o DIR for a directory of debug files")}
			}
			return a.symbols(args[0], out)
		},
	}
	cmd.Flags().StringVarP(&out, "output", "o", "", "file to write, or directory of debug files in which the build ID gives the name")
	return cmd
}

// symbols writes the symbol file of the runtime in the target that name names.
func (a *app) symbols(name, out string) (err error) {
	if a.server.address != "" {
		return usageError{errors.New("symbols: it runs here only, not at a server")}
	}
	if img, err := symfile.Load(name); err == nil {
		defer func() { err = errors.Join(err, img.Close()) }()
		all, found := ompd.RecoverSymbols(img)
		return a.writeSymbols(all, found, out, false)
	}
	t, err := a.openTarget(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	var all []ompd.ModuleSymbols
	var found error
	look := func(ct callbacks.Target) error {
		all, found = ompd.RecoverSymbols(ct)
		return nil
	}
	if err := t.look(context.Background(), look, look); err != nil {
		return err
	}
	return a.writeSymbols(all, found, out, true)
}

// writeSymbols writes the symbol files of runtimes; err is what was wrong with
// others. running tells whether they are somewhere in the memory of a program.
func (a *app) writeSymbols(all []ompd.ModuleSymbols, err error, out string, running bool) error {
	if len(all) == 0 {
		return err
	}
	if err != nil {
		fmt.Fprintf(a.stderr, "ompd-inspect: %v\n", err)
	}
	if info, err := os.Stat(out); len(all) > 1 && (err != nil || !info.IsDir()) {
		return usageError{fmt.Errorf("symbols: there are %d runtimes; -o must be a directory", len(all))}
	}
	for _, m := range all {
		for _, s := range m.Symbols {
			if s.Err != nil {
				fmt.Fprintf(a.stderr, "ompd-inspect: %s was not found: %v\n", s.Name, s.Err)
			}
		}
		if err := a.writeModule(m, out, running); err != nil {
			return err
		}
	}
	return nil
}

// writeModule writes the symbol file of one runtime, and says what to do with it.
func (a *app) writeModule(m ompd.ModuleSymbols, out string, running bool) error {
	if m.Module.Image == nil {
		return fmt.Errorf("symbols: %w", m.Module.Err)
	}
	f, err := elfx.Open(m.Module.Image)
	if err != nil {
		return fmt.Errorf("%s: %w", m.Module.Path, err)
	}
	if info, err := os.Stat(out); err == nil && info.IsDir() {
		if out = symfile.Path(out, m.Module.BuildID); out == "" {
			return fmt.Errorf("%s has no build ID: -o must be a file, not a directory", m.Module.Path)
		}
		if err := os.MkdirAll(filepath.Dir(out), 0o755); err != nil {
			return err
		}
	}
	var content bytes.Buffer
	list := fileSymbols(m)
	if err := symfile.Write(&content, f, list); err != nil {
		return fmt.Errorf("%s: %w", m.Module.Path, err)
	}
	if err := os.WriteFile(out, content.Bytes(), 0o644); err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.stdout, "%s: %d symbols of %s\n", out, len(list), m.Module.Path)
	if running && err == nil {
		_, err = fmt.Fprintf(a.stdout, "in gdb: add-symbol-file %s -o %#x\n", out, m.Module.Bias)
	}
	return err
}

// fileSymbols are the symbols that were found, at the addresses of the module's
// file.
func fileSymbols(m ompd.ModuleSymbols) []symfile.Symbol {
	list := make([]symfile.Symbol, 0, len(m.Symbols))
	for _, s := range m.Symbols {
		if s.Err != nil {
			continue
		}
		one := symfile.Symbol{Name: s.Name, Value: s.Address.Offset - m.Module.Bias, Size: s.Size, Type: elf.STT_OBJECT}
		switch s.Kind {
		case rtl.SymbolFunction:
			one.Type = elf.STT_FUNC
		case rtl.SymbolThread:
			one.Type, one.Value = elf.STT_TLS, s.Address.Offset
		}
		list = append(list, one)
	}
	return list
}
