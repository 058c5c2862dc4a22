package report

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// writeBuffer is the size of the buffer for tasks that are written one by one, in bytes.
const writeBuffer = 1 << 16

// WriteJSON prints v in the tool's form of JSON: indented, and without escaping <, > and &.
func WriteJSON(w io.Writer, v any) error {
	enc := NewJSON(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// NewJSON returns an encoder that also escapes characters without a glyph. Those that change the direction of text
// would make a terminal show another text than the file contains.
func NewJSON(w io.Writer) *json.Encoder { return json.NewEncoder(escaper{w}) }

// escaper escapes characters without a glyph in JSON. A character must not be split between two writes, and the
// encoder of encoding/json writes whole values.
type escaper struct{ w io.Writer }

// Write implements io.Writer.
func (e escaper) Write(b []byte) (int, error) {
	if _, err := e.w.Write(escapeInvisible(b)); err != nil {
		return 0, err
	}
	return len(b), nil
}

// escapeInvisible escapes characters without a glyph in valid JSON, where they occur in strings only.
func escapeInvisible(b []byte) []byte {
	invisible := func(r rune) bool { return r >= utf8.RuneSelf && !unicode.IsPrint(r) && r != utf8.RuneError }
	if bytes.IndexFunc(b, invisible) < 0 {
		return b
	}
	var out []byte
	for _, r := range string(b) {
		if !invisible(r) {
			out = utf8.AppendRune(out, r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			out = fmt.Appendf(out, `\u%04x`, unit)
		}
	}
	return out
}

// jsonPrinter prints the plain structs; proto/*.schema.json describes them.
type jsonPrinter struct{ w io.Writer }

// Picture implements Printer.
func (j jsonPrinter) Picture(pic *picture.Picture, _ View) error { return WriteJSON(j.w, pic) }

// Breakpoints implements Printer.
func (j jsonPrinter) Breakpoints(b *picture.Breakpoints) error { return WriteJSON(j.w, b) }

// Processes implements Printer.
func (j jsonPrinter) Processes(list *picture.Processes) error { return WriteJSON(j.w, list) }

// Profile implements Printer.
func (j jsonPrinter) Profile(p *picture.Profile) error { return WriteJSON(j.w, p) }

// Look implements Printer: each look is a line.
func (j jsonPrinter) Look(l *picture.Look) error { return NewJSON(j.w).Encode(l) }

// Tasks implements Printer: the picture with its tasks one by one, a line each.
func (j jsonPrinter) Tasks(pic *picture.Picture, tasks iter.Seq[picture.Task], complete func() error) error {
	w := bufio.NewWriterSize(j.w, writeBuffer)
	fields := []field{{"schema", pic.Schema}, {"target", pic.Target}}
	if len(pic.Runtimes) > 0 {
		fields = append(fields, field{"runtimes", pic.Runtimes})
	}
	sep := "{\n"
	for _, f := range fields {
		if err := f.write(w, sep); err != nil {
			return err
		}
		sep = ",\n"
	}
	if _, err := w.WriteString(",\n  \"tasks\": ["); err != nil {
		return err
	}
	sep = "\n    "
	for t := range tasks {
		b, err := json.Marshal(t)
		if err != nil {
			return err
		}
		if _, err := w.WriteString(sep); err != nil {
			return err
		}
		if _, err := w.Write(escapeInvisible(b)); err != nil {
			return err
		}
		sep = ",\n    "
	}
	if err := complete(); err != nil {
		return err
	}
	if err := (field{"warnings", append([]string{}, pic.Warnings...)}).write(w, "\n  ],\n"); err != nil {
		return err
	}
	if _, err := w.WriteString("\n}\n"); err != nil {
		return err
	}
	return w.Flush()
}

// field is a key of the outermost object and its value.
type field struct {
	name  string
	value any
}

// write prints the field after a separator.
func (f field) write(w io.Writer, sep string) error {
	b, err := json.MarshalIndent(f.value, "  ", "  ")
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, sep+"  \""+f.name+"\": "+string(escapeInvisible(b)))
	return err
}
