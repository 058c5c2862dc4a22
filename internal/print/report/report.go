// Package report prints answers in the format that the user chose. The choice is made
// once, by New; whoever has an answer calls the Printer and knows no format.
package report

import (
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/internal/jobs/job"
	"github.com/ompd-inspect/ompd-inspect/internal/watch"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// View is which part of a picture people want to see. Formats for programs print
// whatever the picture has.
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
	Layout
	Doctor

	none // no part of a picture
)

// Printer prints answers. For whoever adds a format: a picture has only the parts that
// were asked for, and each part that could not be read has its error beside it, which
// must not be left out.
type Printer interface {
	// Picture prints a picture, for people the part that v names.
	Picture(pic *picture.Picture, v View) error
	// Tasks prints a picture's tasks one by one as they come, as there may be a
	// million. When they have come, it calls complete, which adds what is known
	// only then (warnings) to pic.
	Tasks(pic *picture.Picture, tasks iter.Seq[picture.Task], complete func() error) error
	Breakpoints(b *picture.Breakpoints) error
	Processes(list *picture.Processes) error
	// Look prints one of several looks at a process. The last has the result.
	Look(l *watch.Look) error
	// Job prints a job of many ranks. The next command begins with next, for people.
	Job(r *job.Report, next string) error
	// Progress prints which ranks of a job made progress.
	Progress(r *job.Report, next string) error
}

// Format is a form of output.
type Format string

// Formats that New knows.
const (
	Text       Format = "text"
	JSON       Format = "json"
	HTML       Format = "html"       // one page for a browser
	Dot        Format = "dot"        // the wait-for graph, for Graphviz
	Folded     Format = "folded"     // the merged stacks, for flame graphs
	Speedscope Format = "speedscope" // the same, for speedscope
)

// Formats are the formats that New knows.
func Formats() []Format { return []Format{Text, JSON, HTML, Dot, Folded, Speedscope} }

// Options are how output for people is laid out. Formats for programs ignore them.
type Options struct {
	Color   bool
	Width   int  // columns; 0 for any
	All     bool // fold nothing: one line for each thread, task and frame
	Native  bool // native stacks, too
	Numbers bool // regions have numbers, and threads are named by them
	Sites   bool // of breakpoints, also where the runtime decides to come to them

	// Source opens a source file, for pages that show its lines; nil if none do.
	Source func(name string) (io.ReadCloser, error)
	// Refresh is after how many seconds a page asks for a new look; 0 for never.
	Refresh int
}

// New returns a printer on w.
func New(f Format, w io.Writer, o Options) (Printer, error) {
	switch f {
	case Text:
		return newText(w, o), nil
	case JSON:
		return jsonPrinter{w}, nil
	case HTML, Dot, Folded, Speedscope:
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
