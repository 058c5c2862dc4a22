package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/ompd-inspect/ompd-inspect/internal/guard/files"
	"github.com/ompd-inspect/ompd-inspect/internal/guard/outfile"
	"github.com/ompd-inspect/ompd-inspect/internal/print/report"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// ownWidth is the value of --width that means the terminal's width.
const ownWidth = -1

// style contains the flags that select the form of the output.
type style struct {
	json    bool
	form    string // name of the format; empty for text
	out     string // path of the output file; empty for the standard output
	force   bool   // files of other programs may be replaced
	refresh int    // seconds after which a served page asks for a new snapshot
	color   string
	tool    string // version of this tool
	now     func() time.Time
	written time.Time // of the core that is printed; zero if unknown
	quiet   bool      // print no progress and no notes
	width   int
	native  bool
	numbers bool
	all     bool
	sites   bool
}

// outputFlags adds the flags of a verb that can write its output to a file.
func (a *app) outputFlags(cmd *cobra.Command) {
	const usage = "output file, in place of the standard output (-); it is written completely or not at all"
	cmd.Flags().StringVarP(&a.out, "output", "o", "", usage)
	a.forceFlag(cmd)
}

// forceFlag adds --force to a verb that writes files.
func (a *app) forceFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&a.force, "force", false, "also replace files that ompd-inspect did not write")
}

// htmlFlag adds the flag that writes a page.
func (s *style) htmlFlag(cmd *cobra.Command) {
	page := cmd.Flags().String("html", "", "write one HTML page to this file (-: the standard output); same as "+
		"--format html --output FILE")
	cmd.Flags().IntVar(&s.refresh, "refresh", 0, "seconds after which the page asks its server for a new snapshot")
	_ = cmd.Flags().MarkHidden("refresh") // the verb view sets it
	cmd.PreRunE = func(*cobra.Command, []string) error {
		switch {
		case *page == "":
			return nil
		case s.json || s.form != "" || s.out != "":
			return usageError{errors.New("--html FILE sets the format and the output: leave out --format, --json " +
				"and --output")}
		}
		s.form, s.out = string(report.HTML), *page
		return nil
	}
}

// openSource opens a source file of this machine.
func openSource(name string) (io.ReadCloser, error) { return files.Open(name) }

// format returns the output format.
func (s *style) format() (report.Format, error) {
	f := report.Format(cmp.Or(s.form, string(report.Text)))
	switch {
	case !slices.Contains(report.Formats(), f):
		_, err := report.New(f, nil, report.Options{})
		return "", usageError{err}
	case s.json && s.form != "" && f != report.JSON:
		return "", usageError{fmt.Errorf("--json and --format %s: one format at a time", f)}
	case s.json:
		return report.JSON, nil
	}
	return f, nil
}

// isJSON reports whether the output is JSON.
func (s *style) isJSON() bool {
	f, err := s.format()
	return err == nil && f == report.JSON
}

// checkOutput returns an error if a view cannot be printed, as far as that is known before the target is read.
func (s *style) checkOutput(v report.View) error {
	f, err := s.format()
	if err != nil {
		return err
	}
	if err := report.Check(f, v); err != nil {
		return usageError{err}
	}
	if !s.toFile() {
		return nil
	}
	return outfile.Check(s.out, s.outputOptions())
}

// toFile reports whether the output is a file that the user named.
func (s *style) toFile() bool { return s.out != "" && s.out != standardStream }

// outputOptions returns the options of the output file.
func (s *style) outputOptions() outfile.Options {
	return outfile.Options{Mode: 0o644, Force: s.force, Ours: func(f *os.File) bool { return report.Ours(f) }}
}

// print prints a picture; as text, only the view v of it.
func (a *app) print(pic *picture.Picture, v report.View) error {
	if a.stateNames != nil {
		a.renameStates(pic)
	}
	if t := pic.Target; t.Kind == picture.TargetCore && !a.remote() {
		if info, err := os.Stat(t.Path); err == nil { // else its time is left out
			a.written = info.ModTime()
		}
	}
	if err := a.printWith(a.Stdout, func(p report.Printer) error { return p.Picture(pic, v) }); err != nil {
		return err
	}
	f, err := a.format()
	for _, w := range report.Unshown(f, pic) {
		a.note("%s", w)
	}
	return err
}

// printWith prints on the standard output, or into the file that the user named.
func (s *style) printWith(stdout *os.File, print func(report.Printer) error) error {
	printTo := func(out *os.File) error {
		p, err := s.printer(out)
		if err != nil {
			return err
		}
		return print(p)
	}
	if !s.toFile() {
		return printTo(stdout)
	}
	f, err := outfile.Create(s.out, s.outputOptions())
	if err != nil {
		return err
	}
	if err := printTo(f.File); err != nil {
		return errors.Join(fmt.Errorf("%s: %w", s.out, err), f.Discard())
	}
	return f.Commit()
}

// printer returns a printer on out, in the chosen format and with the width and color of that output.
func (s *style) printer(out *os.File) (report.Printer, error) {
	format, err := s.format()
	if err != nil {
		return nil, err
	}
	o, err := s.printerOptions(out)
	if err != nil {
		return nil, err
	}
	o.Made = s.made()
	return report.New(format, out, o)
}

// printerOptions returns the width, color and links for the output out.
func (s *style) printerOptions(out *os.File) (report.Options, error) {
	o := report.Options{
		All: s.all, Native: s.native, Numbers: s.numbers, Sites: s.sites, Source: openSource, Refresh: s.refresh,
	}
	fd := int(out.Fd())
	tty := term.IsTerminal(fd)
	if s.width >= 0 {
		o.Width = s.width
	} else if tty {
		if w, _, err := term.GetSize(fd); err == nil {
			o.Width = w
		}
	}
	switch s.color {
	case "auto":
		o.Color = autoColor(tty)
	case "always":
		o.Color = true
	case "never":
	default:
		return o, usageError{fmt.Errorf("--color %q: it must be auto, always or never", s.color)}
	}
	return o, nil
}

// dateForm is the form of times in reports.
const dateForm = "2006-01-02 15:04:05 MST"

// made returns the time, the host and the version of the tool, for a page that is passed on.
func (s *style) made() string {
	host, err := os.Hostname()
	if err != nil {
		host = "an unknown host"
	}
	made := strings.TrimSpace(fmt.Sprintf("made %s on %s by ompd-inspect %s", s.now().Format(dateForm), host,
		s.tool))
	if !s.written.IsZero() {
		made += "; core written " + s.written.Format(dateForm)
	}
	return made
}

// autoColor reports whether the output is colored by default (no-color.org, bixense.com/clicolors).
func autoColor(tty bool) bool {
	force := os.Getenv("CLICOLOR_FORCE")
	switch {
	case os.Getenv("NO_COLOR") != "":
		return false
	case force != "" && force != "0":
		return true
	}
	return tty && os.Getenv("CLICOLOR") != "0" && os.Getenv("TERM") != "dumb"
}
