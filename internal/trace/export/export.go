package export

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/ompd-inspect/ompd-inspect/internal/trace/analyze"
	"github.com/ompd-inspect/ompd-inspect/trace"
)

// Place is a place in the source; unknown fields are empty.
type Place struct {
	Function string
	File     string
	Line     int
}

// Names resolves addresses of the program.
type Names interface {
	// Place returns the place of the call that returns to pc.
	Place(pc uint64) Place
	// Lock returns the name of a lock by its wait ID; "" without one.
	Lock(id uint64) string
}

// Options contains the options of an export.
type Options struct {
	analyze.Window
	Program string // name of the program
	Names   Names
	// Name returns the name of an event in lines of JSON.
	Name func(*trace.Event) string
}

// formats lists the extensions of files, with their writers.
var formats = []struct {
	suffix string
	write  func(io.Writer, *trace.Recording, Options) error
}{
	{".perfetto-trace", writePerfetto},
	{".pb.gz", writePprof},
	{".jsonl", writeLines},
	{".json", writeChrome},
	{".ompt-records", writeRecords},
}

// Formats returns the names of the formats, which are the extensions of files without the dots.
func Formats() (names []string) {
	for _, f := range formats {
		names = append(names, strings.TrimPrefix(f.suffix, "."))
	}
	return names
}

// Writer returns the writer for the extension of a file's name.
func Writer(name string) (func(io.Writer, *trace.Recording, Options) error, error) {
	var ends []string
	for _, f := range formats {
		if strings.HasSuffix(name, f.suffix) {
			return f.write, nil
		}
		ends = append(ends, f.suffix)
	}
	return nil, fmt.Errorf("%s: unknown extension: use one of %s", name, strings.Join(ends, ", "))
}

// output is a buffered writer that keeps the first error.
type output struct {
	w   *bufio.Writer
	err error
}

// bufferSize is the size of the buffer, in bytes.
const bufferSize = 1 << 20

func newOutput(w io.Writer) *output { return &output{w: bufio.NewWriterSize(w, bufferSize)} }

func (o *output) write(b []byte) {
	if o.err == nil {
		_, o.err = o.w.Write(b)
	}
}

func (o *output) close() error {
	if o.err != nil {
		return o.err
	}
	return o.w.Flush()
}

// labels caches the titles of spans and the places of code, which are few.
type labels struct {
	names  Names
	words  trace.Words
	places map[uint64]Place
	titles map[labelKey]string
}

type labelKey struct {
	what analyze.What
	kind uint8
	lock uint64
}

func newLabels(rec *trace.Recording, names Names) *labels {
	return &labels{names, rec.Words(names.Lock), map[uint64]Place{}, map[labelKey]string{}}
}

// labelsMax bounds the cached titles and places.
const labelsMax = 1 << 20

// place returns the place of the code at pc.
func (l *labels) place(pc uint64) Place {
	p, ok := l.places[pc]
	if !ok && pc != 0 {
		if p = l.names.Place(pc); len(l.places) < labelsMax {
			l.places[pc] = p
		}
	}
	return p
}

// title returns the title of a span.
func (l *labels) title(s *analyze.Span) string {
	key := labelKey{s.What, s.Kind, s.Lock}
	t, ok := l.titles[key]
	if !ok {
		if t = analyze.Title(s.What, s.Kind, s.Lock, l.words); len(l.titles) < labelsMax {
			l.titles[key] = t
		}
	}
	return t
}

// threadTitle returns the title of a thread; 0 is a thread that is not known any more.
func threadTitle(lwp uint32) string {
	if lwp == 0 {
		return "a thread that has ended"
	}
	return "thread " + strconv.Itoa(int(lwp))
}

// nanoseconds returns a time of CLOCK_MONOTONIC.
func nanoseconds(c *trace.Clock, ticks uint64) int64 { return max(c.Monotonic(ticks), 0) }

// duration returns the time between two ticks.
func duration(c *trace.Clock, from, to uint64) time.Duration { return max(c.Elapsed(from, to), 0) }
