package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/ompd-inspect/ompd-inspect/internal/guard/outfile"
	"github.com/ompd-inspect/ompd-inspect/internal/trace/analyze"
	"github.com/ompd-inspect/ompd-inspect/internal/trace/export"
	"github.com/ompd-inspect/ompd-inspect/internal/trace/legacy"
	"github.com/ompd-inspect/ompd-inspect/internal/trace/omptnames"
	"github.com/ompd-inspect/ompd-inspect/session"
	"github.com/ompd-inspect/ompd-inspect/trace"
)

// tracing are the flags of trace.
type tracing struct {
	*app
	last   time.Duration
	thread int
	region string
	events int
	follow bool
	rate   int
	named  bool // events are shown by the names of a document
	names  legacy.Document
}

// document is a document by whose names events are shown, as a flag.
type document struct{ *legacy.Document }

// Type is the word for it in the help.
func (document) Type() string { return "document" }

// Defaults of trace's flags.
const (
	eventsShown = 20   // of each thread
	rateShown   = 2000 // lines a second
)

// traceVerb shows what a recorder has kept.
func traceVerb(a *app) *cobra.Command {
	t := &tracing{app: a, events: eventsShown, rate: rateShown}
	cmd := &cobra.Command{
		Use: "trace CORE|PID|FILE", Short: "The last OpenMP events of a program that is recorded",
		Long: `Shows the last events of each thread of a program that was started with
` + "`ompd-inspect record`" + `, merged by time, with their places in the source: from a core of
it, from a FILE of record --save, or while it runs. A process is not stopped.

The time is in seconds before now, in a FILE before it was written, in a core before the
newest event. --last 5s shows all events of the last five seconds, in place of the last
ones of each thread.

-o FILE writes a file in the format that its name asks for: .perfetto-trace (Perfetto),
.json (Chrome's trace events), .pb.gz (a profile of waiting, for pprof), .jsonl or
.ompt-records (OpenMP 5.1's trace records). It has all events that are there, or those of
--last. With -o -, --format names the format without the dot: -o - --format pb.gz | …`,
		RunE: func(cmd *cobra.Command, args []string) error {
			t.named = cmd.Flags().Changed("names")
			if err := t.check(cmd); err != nil {
				return err
			}
			if t.remote() {
				return t.served(args[0], (*servedTrace).show)
			}
			return t.open(args[0], func(h *session.History) error {
				switch {
				case t.out != "":
					return t.write(h)
				case t.follow:
					return t.followed(h)
				}
				return t.show(h)
			})
		},
	}
	f := cmd.Flags()
	f.IntVar(&t.events, "events", t.events, "how many of the last events of each thread are shown, 0 for all")
	f.BoolVar(&t.follow, "follow", false, "show events as they come, until Ctrl-C or the end of the process")
	f.IntVar(&t.rate, "rate", t.rate,
		"with --follow, how many events a second are shown for people; others are counted; 0 for all")
	f.Var(document{&t.names}, "names", "show events by the names that OMPT gave them in 2013, 2016 or 5.1")
	f.IntVar(&t.thread, "thread", 0, "only the thread of this number (LWP)")
	f.StringVar(&t.region, "region", "", "only what happened in the region of this id, such as 0.7")
	a.outputFlags(cmd)
	f.Lookup("force").Usage = "replace a file that is there"
	cmd.PersistentFlags().DurationVar(&t.last, "last", 0, "only events of so long a time before now, such as 5s")
	cmd.AddCommand(t.statsVerb())
	return a.targeted(cmd)
}

// statsVerb shows statistics of what was recorded.
func (t *tracing) statsVerb() *cobra.Command {
	return t.targeted(&cobra.Command{
		Use: "stats CORE|PID|FILE", Short: "Time, waiting, imbalance and contention of each construct",
		Long: `Shows for each construct and place in the source how often it was executed and how long
that took: of barriers how uneven threads arrived, and who was the last; of locks how
long threads waited that another thread had it, and where that one acquired it; of tasks
how long they took without the tasks in them. Then the locks that threads acquired in
different orders, so that they might have waited for each other for ever.`,
		RunE: func(_ *cobra.Command, args []string) error {
			if t.remote() {
				return t.served(args[0], (*servedTrace).statistics)
			}
			return t.open(args[0], func(h *session.History) error {
				rec, err := h.Read()
				if err != nil {
					return err
				}
				return t.showStatistics(h.About(rec), h.Statistics(rec, t.window(h, rec)))
			})
		},
	})
}

// regionID is how trace writes ids: the thread that made it and a number, or the runtime's own.
var regionID = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(\d+\.\d+|0x[0-9a-f]+)$`)
})

// check refuses flags that do not go together.
func (t *tracing) check(cmd *cobra.Command) error {
	set := cmd.Flags().Changed
	switch {
	case t.follow && t.out != "":
		return usageError{errors.New("--follow writes no file: leave -o out, or take --json with a redirection")}
	case t.follow && (set("last") || set("events")):
		return usageError{errors.New("--follow shows events from now on: leave --last and --events out")}
	case t.out != "" && (set("thread") || set("region") || set("events")):
		return usageError{errors.New("-o writes the events of all threads and regions: leave --thread, --region and " +
			"--events out, or take --json with a redirection")}
	case t.last < 0 || t.events < 0 || t.rate < 0:
		return usageError{errors.New("--last, --events and --rate are not negative")}
	case set("thread") && t.thread <= 0:
		return usageError{fmt.Errorf("--thread: %d is no number of a thread (LWP)", t.thread)}
	case t.region != "" && !regionID().MatchString(t.region):
		return usageError{fmt.Errorf("--region: %q is no id of a region as events have it, such as 0.7 or 0x1f40",
			t.region)}
	case t.last > 0 && !set("events"):
		t.events = 0
	}
	if t.out == "" {
		return nil
	}
	if _, err := t.writer(); err != nil {
		return usageError{err}
	}
	if !t.toFile() {
		return nil
	}
	return outfile.Check(t.out, outfile.Options{Mode: 0o644, Force: t.force})
}

// open opens a target and its recording.
func (t *tracing) open(name string, f func(*session.History) error) (err error) {
	if err := t.enterSandbox(name); err != nil {
		return err
	}
	target, err := t.openTarget(t.context(), name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, target.Close()) }()
	h, err := target.History()
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	return f(h)
}

// since is the time of the first event that is wanted.
func (t *tracing) since(h *session.History, rec *trace.Recording) uint64 {
	if t.last == 0 {
		return 0
	}
	return rec.Clock.Before(h.Now(rec), t.last)
}

// window is the time that is wanted.
func (t *tracing) window(h *session.History, rec *trace.Recording) analyze.Window {
	return analyze.Window{Since: t.since(h, rec), Until: h.Now(rec)}
}

// options are those of exports.
func (t *tracing) options(h *session.History, rec *trace.Recording) export.Options {
	return export.Options{Window: t.window(h, rec), Program: h.Program(), Names: h.Names(), Name: t.eventName}
}

// eventName is the name that the chosen document gives to an event.
func (t *tracing) eventName(e *trace.Event) string {
	return t.nameOf(legacy.Event{Code: uint8(e.Code), Kind: e.Kind, Endpoint: uint8(e.Endpoint)})
}

// nameOf is the name that the chosen document gives to an event; in parentheses, OpenMP 5.1's
// where it gives none; or its number.
func (t *tracing) nameOf(key legacy.Event) string {
	if name := t.names.Name(key); name != "" {
		return name
	}
	if name := omptnames.Callback(key.Code); name != "" {
		return "(" + name + ")"
	}
	return trace.Code(key.Code).Own()
}

// write writes a file.
func (t *tracing) write(h *session.History) error {
	write, err := t.writer()
	if err != nil {
		return err
	}
	rec, err := h.Read()
	if err != nil {
		return err
	}
	return t.save(func(w io.Writer) error { return write(w, rec, t.options(h, rec)) })
}

// exportName is a name whose end says in which format -o writes.
func (t *tracing) exportName() string {
	if t.out == standardStream {
		return "." + t.form
	}
	return t.out
}

// writer returns the writer for the format of -o.
func (t *tracing) writer() (func(io.Writer, *trace.Recording, export.Options) error, error) {
	write, err := export.Writer(t.exportName())
	if err != nil && t.out == standardStream {
		return nil, fmt.Errorf("-o -: in which format? --format %s", strings.Join(export.Formats(), ", "))
	}
	return write, err
}

// save makes the file of -o of what write writes, or none; or writes to the standard output.
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

// interrupted returns a context that ends with Ctrl-C.
func (t *tracing) interrupted() (context.Context, context.CancelFunc) {
	return signal.NotifyContext(t.context(), unix.SIGINT, unix.SIGTERM, os.Interrupt)
}
