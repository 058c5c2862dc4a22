package cli

import (
	"errors"
	"fmt"
	"regexp"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/ompd-inspect/ompd-inspect/internal/guard/outfile"
	"github.com/ompd-inspect/ompd-inspect/internal/trace/history"
	"github.com/ompd-inspect/ompd-inspect/internal/trace/legacy"
)

// tracing contains the flags of trace.
type tracing struct {
	*app
	last   time.Duration
	thread int
	region string
	events int
	follow bool
	rate   int
	// summary counts equal events in place of showing each.
	summary bool
	named   bool // show events by the names of a document
	names   legacy.Document
}

// document is a flag for a document that names events.
type document struct{ *legacy.Document }

// Type returns the word for the value in the help.
func (document) Type() string { return "document" }

// Defaults of trace's flags.
const (
	eventsShown = 20   // per thread
	rateShown   = 2000 // lines per second
)

// traceVerb returns the verb trace.
func traceVerb(a *app) *cobra.Command {
	t := &tracing{app: a, events: eventsShown, rate: rateShown}
	cmd := &cobra.Command{
		Use: "trace CORE|PID|FILE", Short: "Show the last OpenMP events of a recorded program",
		Long: `Shows the last events of each thread of a program that was started with
` + "`ompd-inspect record`" + `, merged by time, with their places in the source. It reads a core
file, a FILE of record --save, or the running process, which is not stopped.

Times are in seconds: for a process, before now; for a FILE, before it was written; for a
core, before the newest event. --last 5s shows all events of the last five seconds instead
of the last ones of each thread. Events that a thread repeats, four times or more, are one
line, with the time of the last one; --all shows each.

-o FILE writes a file in the format of its extension: .perfetto-trace (Perfetto), .json
(Chrome's trace events), .pb.gz (a profile of waiting, for pprof), .jsonl or .ompt-records
(OpenMP 5.1's trace records). It contains all recorded events, or those of --last. With
-o -, --format names the format, without the dot: -o - --format pb.gz | …`,
		RunE: func(cmd *cobra.Command, args []string) error {
			t.named = cmd.Flags().Changed("names")
			if err := t.check(cmd); err != nil {
				return err
			}
			if t.remote() {
				return t.withServed(args[0], (*servedTrace).show)
			}
			return t.open(args[0], func(h *history.History) error {
				switch {
				case t.out != "":
					return t.write(h)
				case t.follow:
					return t.followEvents(h)
				}
				return t.show(h)
			})
		},
	}
	f := cmd.Flags()
	f.IntVar(&t.events, "events", t.events, "number of last events to show for each thread (0: all)")
	f.BoolVar(&t.follow, "follow", false, "show new events until Ctrl-C or the end of the process")
	f.IntVar(&t.rate, "rate", t.rate,
		"with --follow: limit of events per second in the text; the others are counted (0: none)")
	f.Var(document{&t.names}, "names", "show events by the names of OMPT in 2013, 2016 or 5.1")
	f.BoolVar(&t.summary, "summary", false, "count the events that are equal, in place of showing each; of all events")
	f.IntVar(&t.thread, "thread", 0, "show only the thread with this number (LWP)")
	f.StringVar(&t.region, "region", "", "show only events in the region with this ID, such as 0.7")
	a.outputFlags(cmd)
	f.Lookup("force").Usage = "replace an existing file"
	cmd.PersistentFlags().DurationVar(&t.last, "last", 0, "show only events of this last time, such as 5s")
	cmd.AddCommand(t.statsVerb())
	return a.targeted(cmd)
}

// statsVerb returns the verb `trace stats`.
func (t *tracing) statsVerb() *cobra.Command {
	return t.targeted(&cobra.Command{
		Use: "stats CORE|PID|FILE", Short: "Show time, waiting, imbalance and contention of each construct",
		Long: `Shows statistics for each construct and place in the source: how often it was executed and
how long that took. For barriers: how unevenly threads arrived, and which thread was the
last. For locks: how long threads waited while another thread held the lock, and where that
thread acquired it. For tasks: the time without the tasks in them. At the end it lists locks
that threads acquired in different orders, which can cause a deadlock.`,
		RunE: func(_ *cobra.Command, args []string) error {
			if t.remote() {
				return t.withServed(args[0], (*servedTrace).statistics)
			}
			return t.open(args[0], func(h *history.History) error {
				rec, err := h.Read()
				if err != nil {
					return err
				}
				return t.showStatistics(h.About(rec), h.Statistics(rec, t.window(h, rec)))
			})
		},
	})
}

// regionID matches IDs as trace prints them: the thread that created the region and a number, or the runtime's
// own ID.
var regionID = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(\d+\.\d+|0x[0-9a-f]+)$`)
})

// check returns an error for flags that exclude each other.
func (t *tracing) check(cmd *cobra.Command) error {
	set := cmd.Flags().Changed
	switch {
	case t.follow && t.out != "":
		return usageError{errors.New("--follow writes no file: leave out -o, or use --json with a redirection")}
	case t.follow && (set("last") || set("events")):
		return usageError{errors.New("--follow shows new events only: leave out --last and --events")}
	case t.out != "" && (set("thread") || set("region") || set("events")):
		return usageError{errors.New("-o writes the events of all threads and regions: leave out --thread, --region " +
			"and " +
			"--events, or use --json with a redirection")}
	case t.last < 0 || t.events < 0 || t.rate < 0:
		return usageError{errors.New("--last, --events and --rate must not be negative")}
	case set("thread") && t.thread <= 0:
		return usageError{fmt.Errorf("--thread: %d is not the number of a thread (LWP)", t.thread)}
	case t.region != "" && !regionID().MatchString(t.region):
		return usageError{fmt.Errorf("--region: %q is not the ID of a region in a trace, such as 0.7 or 0x1f40",
			t.region)}
	case t.summary && (t.follow || t.out != "" || t.isJSON()):
		return usageError{errors.New("--summary is for text, and not for --follow")}
	case (t.last > 0 || t.summary) && !set("events"):
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
func (t *tracing) open(name string, f func(*history.History) error) (err error) {
	if err := t.enterSandbox(name); err != nil {
		return err
	}
	target, err := t.openTarget(t.context(), name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, target.Close()) }()
	h, err := history.Open(target)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	return f(h)
}
