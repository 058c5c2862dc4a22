package report

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/internal/print/export"
	"github.com/ompd-inspect/ompd-inspect/internal/print/web"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// drawing is a format that can only show pictures with its subject.
type drawing struct {
	draw  func(io.Writer, *picture.Picture, Options) error
	views []View // views that contain its subject
	use   string // the verb that prints it
}

// drawings are the formats that are drawings.
var drawings = map[Format]drawing{
	HTML:       {page, []View{Whole}, "report"},
	Dot:        {plain(export.Dot), []View{Whole}, "report"},
	Folded:     {plain(export.Folded), []View{Whole, Stacks}, "stacks"},
	Speedscope: {plain(export.Speedscope), []View{Whole, Stacks}, "stacks"},
	Pprof:      {nil, nil, "profile PID"},
}

// profiles are the formats of profiles other than text and JSON.
var profiles = map[Format]func(io.Writer, *picture.Profile, Options) error{
	HTML:       func(w io.Writer, p *picture.Profile, o Options) error { return web.WriteProfile(w, p, o.Made) },
	Folded:     plainProfile(export.ProfileFolded),
	Speedscope: plainProfile(export.ProfileSpeedscope),
	Pprof:      plainProfile(export.ProfilePprof),
}

// plainProfile returns a format of profiles without options.
func plainProfile(draw func(io.Writer, *picture.Profile) error) func(io.Writer, *picture.Profile, Options) error {
	return func(w io.Writer, p *picture.Profile, _ Options) error { return draw(w, p) }
}

// plain returns a format without options.
func plain(draw func(io.Writer, *picture.Picture) error) func(io.Writer, *picture.Picture, Options) error {
	return func(w io.Writer, pic *picture.Picture, _ Options) error { return draw(w, pic) }
}

// Unshown returns the warnings of a picture that a format has no place for.
func Unshown(f Format, pic *picture.Picture) (out []string) {
	if f == Dot || f == Folded || f == Speedscope {
		for _, w := range pic.Warnings {
			out = append(out, phrase.Printable(w))
		}
	}
	return out
}

// ErrFormat is the error of a format that cannot show an answer.
var ErrFormat = errors.New("the format does not show this")

// Check returns an error if the format f cannot show the view v.
func Check(f Format, v View) error {
	if _, ok := profiles[f]; ok && v == Profile {
		return nil
	}
	if d, ok := drawings[f]; ok && !slices.Contains(d.views, v) {
		return fmt.Errorf("--format %s: %w: `ompd-inspect %s --format %s` works", f, ErrFormat, d.use, f)
	}
	return nil
}

// drawingPrinter prints pictures as a drawing, and no other answers.
type drawingPrinter struct {
	w      io.Writer
	format Format
	o      Options
}

// Picture implements Printer.
func (d drawingPrinter) Picture(pic *picture.Picture, v View) error {
	if err := Check(d.format, v); err != nil {
		return err
	}
	return drawings[d.format].draw(d.w, pic, d.o)
}

// Tasks implements Printer; drawings cannot show tasks.
func (d drawingPrinter) Tasks(*picture.Picture, iter.Seq[picture.Task], func() error) error {
	return d.only()
}

// Breakpoints implements Printer; drawings cannot show breakpoints.
func (d drawingPrinter) Breakpoints(*picture.Breakpoints) error { return d.only() }

// Processes implements Printer; drawings cannot show processes.
func (d drawingPrinter) Processes(*picture.Processes) error { return d.only() }

// Look implements Printer; a drawing shows one snapshot only.
func (d drawingPrinter) Look(*picture.Look) error { return d.only() }

// Profile implements Printer.
func (d drawingPrinter) Profile(p *picture.Profile) error {
	if err := Check(d.format, Profile); err != nil {
		return err
	}
	return profiles[d.format](d.w, p, d.o)
}

func (d drawingPrinter) only() error { return Check(d.format, none) }

// starts are the first bytes of files in the formats that name their producer.
var starts = []string{
	"{\n  \"schema\": \"" + picture.SchemaName, "// ompd-inspect:", web.Start,
	"{\n  \"schema\": \"" + picture.ProfileName, export.PprofStart,
	`{"$schema":"` + export.SpeedscopeSchema + `","exporter":"ompd-inspect"`,
}

// Ours reports whether a file starts like one that this package printed. Text and folded stacks do not name their
// producer.
func Ours(f io.ReaderAt) bool {
	head := make([]byte, 512)
	n, _ := f.ReadAt(head, 0)
	return slices.ContainsFunc(starts, func(s string) bool { return strings.HasPrefix(string(head[:n]), s) })
}
