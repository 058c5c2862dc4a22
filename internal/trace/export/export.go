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

// Place is a place in the source; what is unknown is empty.
type Place struct {
	Function string
	File     string
	Line     int
}

// Names says what addresses of the program are.
type Names interface {
	// Place is where the call is that returns to pc.
	Place(pc uint64) Place
	// Lock is the name of a lock by its wait id, empty without.
	Lock(id uint64) string
}

// Options say what of a recording is written.
type Options struct {
	analyze.Window
	Program string // its name, for people
	Names   Names
	// Name is the name of an event in lines of JSON.
	Name func(*trace.Event) string
}

// formats are the ends of the names of files, with what writes them.
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

// Formats returns the names of the formats, which are the ends of the names of files without
// their dots.
func Formats() (names []string) {
	for _, f := range formats {
		names = append(names, strings.TrimPrefix(f.suffix, "."))
	}
	return names
}

// Writer is the format that a file's name asks for.
func Writer(name string) (func(io.Writer, *trace.Recording, Options) error, error) {
	var ends []string
	for _, f := range formats {
		if strings.HasSuffix(name, f.suffix) {
			return f.write, nil
		}
		ends = append(ends, f.suffix)
	}
	return nil, fmt.Errorf("%s: its name ends with none of %s", name, strings.Join(ends, ", "))
}

// output gathers what is written; its error sticks.
type output struct {
	w   *bufio.Writer
	err error
}

// bufferSize is what is written at once.
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

// labels keeps the titles of spans, which are few, by what they are of.
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

// labelsMax bounds the titles and places that are kept.
const labelsMax = 1 << 20

// place is where the code at pc is.
func (l *labels) place(pc uint64) Place {
	p, ok := l.places[pc]
	if !ok && pc != 0 {
		if p = l.names.Place(pc); len(l.places) < labelsMax {
			l.places[pc] = p
		}
	}
	return p
}

// title is what a span is called.
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

// threadTitle is what a thread is called; 0 is one that is not known any more.
func threadTitle(lwp uint32) string {
	if lwp == 0 {
		return "a thread that has ended"
	}
	return "thread " + strconv.Itoa(int(lwp))
}

// nanoseconds is a time of CLOCK_MONOTONIC.
func nanoseconds(c *trace.Clock, ticks uint64) int64 { return max(c.Monotonic(ticks), 0) }

// duration is a number of ticks as nanoseconds.
func duration(c *trace.Clock, from, to uint64) time.Duration { return max(c.Between(from, to), 0) }
