package cli

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/guard/budget"
	"github.com/ompd-inspect/ompd-inspect/internal/guard/outfile"
	"github.com/ompd-inspect/ompd-inspect/internal/image/elfx"
	"github.com/ompd-inspect/ompd-inspect/internal/image/symfile"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/readers"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
)

// symbolsVerb returns the verb symbols, which writes a symbol file for a stripped runtime.
func (a *app) symbolsVerb() *cobra.Command {
	out := ""
	cmd := &cobra.Command{
		Use: "symbols LIBRARY|CORE|PID", Short: "Write a symbol file that restores the OMPD symbols of a stripped " +
			"runtime",
		Long: `Finds the symbols that OMPD libraries and debuggers need in a stripped runtime
(ompd_dll_locations, ompd_access__…, ompd_bp_…, __kmp_threads and more), and writes an
ELF file with them. Debuggers use it as the runtime's symbol table:

  ompd-inspect symbols /usr/lib/x86_64-linux-gnu/libomp.so.5 -o /usr/lib/debug
      writes /usr/lib/debug/.build-id/xx/….debug, where debuggers find it by the
      runtime's build ID; in gdb, "set debug-file-directory DIR" sets another directory
  ompd-inspect symbols core.1234 -o libomp.debug
      in gdb: add-symbol-file libomp.debug -o ADDRESS, with the address that this prints`,
		RunE: func(_ *cobra.Command, args []string) error {
			if out == "" {
				return usageError{errors.New("symbols: which output? -o FILE, or -o DIR for a directory of debug " +
					"files")}
			}
			return symbolWriter{a, out}.symbols(args[0])
		},
	}
	cmd.Flags().StringVarP(&out, "output", "o", "", "file to write (-: the standard output), or a directory of debug "+
		"files, in which the build ID gives the file's name; a name without an extension is a directory, which is "+
		"created if it is missing")
	a.forceFlag(cmd)
	return a.targeted(cmd)
}

// symbolWriter writes symbol files.
type symbolWriter struct {
	*app
	out string // a file, or a directory of debug files
}

// symbols writes the symbol file of the runtime in the target with the given name.
func (w symbolWriter) symbols(name string) (err error) {
	if w.server.address != "" {
		return usageError{errors.New("symbols: it works on this machine only, not on a server")}
	}
	o := w.open.engineOptions()
	img, err := symfile.Load(name, budget.LedgerOf(o.Ledger()), budget.New(w.context(), w.budget))
	switch {
	case err == nil:
		defer func() { err = errors.Join(err, img.Close()) }()
		all, found := readers.RecoverSymbols(img)
		return w.writeSymbols(all, found, false)
	case errors.Is(err, budget.ErrMemory):
		return fmt.Errorf("%w; --max-memory raises the limit", err)
	case errors.Is(err, budget.ErrSpent):
		return fmt.Errorf("%w; --budget raises it", err)
	}
	t, err := w.openTarget(w.context(), name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	var all []rtl.ModuleSymbols
	var found error
	look := func(ct callbacks.Target) error {
		all, found = readers.RecoverSymbols(ct)
		return nil
	}
	if err := t.Read(w.context(), look); err != nil {
		return err
	}
	return w.writeSymbols(all, found, true)
}

// writeSymbols writes the symbol files of runtimes; err is the error of the other runtimes. running reports
// whether the runtimes are loaded in a program.
func (w symbolWriter) writeSymbols(all []rtl.ModuleSymbols, err error, running bool) error {
	if len(all) == 0 {
		return err
	}
	if err != nil {
		fmt.Fprintf(w.Stderr, "ompd-inspect: %v\n", err)
	}
	out := w.out
	if _, err := os.Stat(out); errors.Is(err, fs.ErrNotExist) && out != standardStream &&
		(strings.HasSuffix(out, "/") || filepath.Ext(out) == "") {
		// #nosec G301 -- debuggers of all users read symbols
		if err := os.MkdirAll(out, 0o755); err != nil {
			return err
		}
	}
	if len(all) > 1 && !isDirectory(out) {
		return usageError{fmt.Errorf("symbols: there are %d runtimes; -o must be a directory", len(all))}
	}
	for _, m := range all {
		for _, s := range m.Symbols {
			if s.Err != nil {
				fmt.Fprintf(w.Stderr, "ompd-inspect: %s was not found: %v\n", s.Name, s.Err)
			}
		}
		if err := w.writeModule(m, running); err != nil {
			return err
		}
	}
	return nil
}

// isDirectory reports whether name is an existing directory.
func isDirectory(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// writeFile writes a file completely, or leaves the existing one unchanged.
func writeFile(name string, content []byte, o outfile.Options) error {
	f, err := outfile.Create(name, o)
	if err != nil {
		return err
	}
	if _, err := f.Write(content); err != nil {
		return errors.Join(fmt.Errorf("%s: %w", name, err), f.Discard())
	}
	return f.Commit()
}

// writeModule writes the symbol file of one runtime and prints how to use it.
func (w symbolWriter) writeModule(m rtl.ModuleSymbols, running bool) error {
	if m.Module.Image == nil {
		return fmt.Errorf("symbols: %w", m.Module.Err)
	}
	f, err := elfx.Open(m.Module.Image)
	if err != nil {
		return fmt.Errorf("%s: %w", m.Module.Path, err)
	}
	out := w.out
	if out == standardStream {
		return w.printModule(m, f, running)
	}
	if isDirectory(out) {
		if out = symfile.Path(out, m.Module.BuildID); out == "" {
			return fmt.Errorf("%s has no build ID: -o must be a file, not a directory", m.Module.Path)
		}
		// #nosec G301 -- as above
		if err := os.MkdirAll(filepath.Dir(out), 0o755); err != nil {
			return err
		}
	}
	var content bytes.Buffer
	list := fileSymbols(m)
	if err := symfile.Write(&content, f, list); err != nil {
		return fmt.Errorf("%s: %w", m.Module.Path, err)
	}
	if err := writeFile(out, content.Bytes(),
		outfile.Options{Mode: 0o644, Force: w.force, Ours: symfile.Ours}); err != nil {
		return err
	}
	_, err = fmt.Fprintf(w.Stdout, "%s: %d symbols of %s\n", out, len(list), m.Module.Path)
	if running && err == nil {
		_, err = fmt.Fprintf(w.Stdout, "in gdb: add-symbol-file %s -o %#x\n", out, m.Module.Bias)
	}
	return err
}

// printModule writes the symbol file of one runtime to the standard output.
func (w symbolWriter) printModule(m rtl.ModuleSymbols, f *elfx.File, running bool) error {
	list := fileSymbols(m)
	if err := symfile.Write(w.Stdout, f, list); err != nil {
		return fmt.Errorf("%s: %w", m.Module.Path, err)
	}
	w.note("%d symbols of %s", len(list), m.Module.Path)
	if running {
		w.note("in gdb: add-symbol-file FILE -o %#x", m.Module.Bias)
	}
	return nil
}

// fileSymbols returns the found symbols, with the addresses of the module's file.
func fileSymbols(m rtl.ModuleSymbols) []symfile.Symbol {
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
