package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/internal/guard/outfile"
	"github.com/ompd-inspect/ompd-inspect/internal/trace/export"
	"github.com/ompd-inspect/ompd-inspect/internal/trace/history"
	"github.com/ompd-inspect/ompd-inspect/trace"
)

// write writes a file.
func (t *tracing) write(h *history.History) error {
	write, err := t.writer()
	if err != nil {
		return err
	}
	rec, err := h.Read()
	if err != nil {
		return err
	}
	return t.save(func(w io.Writer) error { return write(w, rec, t.exportOptions(h, rec)) })
}

// writer returns the writer for the format of -o.
func (t *tracing) writer() (func(io.Writer, *trace.Recording, export.Options) error, error) {
	write, err := export.Writer(t.exportName())
	if err != nil && t.out == standardStream {
		return nil, fmt.Errorf("-o -: in which format? --format %s", strings.Join(export.Formats(), ", "))
	}
	return write, err
}

// exportName returns a file name with the format of -o as its extension.
func (t *tracing) exportName() string {
	if t.out == standardStream {
		return "." + t.form
	}
	return t.out
}

// save creates the file of -o from the output of write, completely or not at all. For -o - it writes to the
// standard output.
func (t *tracing) save(write func(io.Writer) error) error {
	if !t.toFile() {
		return write(t.Stdout)
	}
	f, err := outfile.Create(t.out, outfile.Options{Mode: 0o644, Force: t.force})
	if err != nil {
		return err
	}
	if err := write(f.File); err != nil {
		return errors.Join(fmt.Errorf("%s: %w", t.out, err), f.Discard())
	}
	return f.Commit()
}
