// Package report prints answers in the format that the user chose. New makes the choice once; the caller of a Printer
// does not depend on the format.
package report

import (
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/internal/jobs/job"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// View is the part of a picture that text shows. Formats for programs print the whole picture.
type View int

// Views of a picture.
const (
	Whole View = iota
	Part       // of the threads, regions and tasks, as Whole
	Verdicts
	Threads
	Regions
	Stacks
	ICVs
	Devices
	Layout
	Doctor
	// Profile is the view of a profile, which is not a picture.
	Profile

	none // no part of a picture
)

// Printer prints answers. A picture contains only the requested parts; each unreadable part has an error, which
// a format must not leave out.
type Printer interface {
	// Picture prints a picture; text prints the part v.
	Picture(pic *picture.Picture, v View) error
	// Tasks prints a picture's tasks one by one as they arrive, as there may be a million. After the last one it calls
	// complete, which adds the warnings to pic.
	Tasks(pic *picture.Picture, tasks iter.Seq[picture.Task], complete func() error) error
	Breakpoints(b *picture.Breakpoints) error
	Processes(list *picture.Processes) error
	// Look prints one of several looks at a process. The last has the result.
	Look(l *picture.Look) error
	// Profile prints where the time of a process goes.
	Profile(p *picture.Profile) error
	// Job prints a job of many ranks. Text ends with the next command, which starts with next.
	Job(r *job.Report, next string) error
	// Progress prints the ranks of a job that made progress.
	Progress(r *job.Report, next string) error
}

// Format is a form of output.
type Format string

// Formats of New.
const (
	Text       Format = "text"
	JSON       Format = "json"
	HTML       Format = "html"       // one page for a browser
	Dot        Format = "dot"        // the wait-for graph, for Graphviz
	Folded     Format = "folded"     // the merged stacks, for flame graphs
	Speedscope Format = "speedscope" // the same, for speedscope
	Pprof      Format = "pprof"      // the stacks of a profile, for pprof
)

// Formats are the formats of New.
func Formats() []Format { return []Format{Text, JSON, HTML, Dot, Folded, Speedscope, Pprof} }

// Options are the options of text and pages. Formats for programs ignore them.
type Options struct {
	Color   bool
	Width   int  // columns; 0: unlimited
	All     bool // one line for each thread, task and frame, without folding
	Native  bool // native stacks, too
	Numbers bool // regions have numbers, and threads are named by them
	Sites   bool // print also the sites of breakpoints

	// Source opens a source file, for pages that show its lines; nil: pages show no sources.
	Source func(name string) (io.ReadCloser, error)
	// Refresh is the time in seconds after which a page refreshes; 0: never.
	Refresh int
	// Made is the time, the host and the version of the tool, for the headers of reports and pages.
	Made string
}

// New returns a printer on w.
func New(f Format, w io.Writer, o Options) (Printer, error) {
	switch f {
	case Text:
		return newText(w, o), nil
	case JSON:
		return jsonPrinter{w}, nil
	case HTML, Dot, Folded, Speedscope, Pprof:
		return drawingPrinter{w, f, o}, nil
	}
	return nil, fmt.Errorf("format %q: it is one of %s", f, strings.Join(names(), ", "))
}

func names() (out []string) {
	for _, f := range Formats() {
		out = append(out, string(f))
	}
	return out
}
