package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"github.com/ompd-inspect/ompd-inspect/internal/print/report"
	"github.com/ompd-inspect/ompd-inspect/internal/print/text"
	"github.com/ompd-inspect/ompd-inspect/internal/trace/analyze"
	"github.com/ompd-inspect/ompd-inspect/internal/trace/export"
	"github.com/ompd-inspect/ompd-inspect/internal/trace/history"
	"github.com/ompd-inspect/ompd-inspect/internal/trace/legacy"
	"github.com/ompd-inspect/ompd-inspect/internal/trace/omptnames"
	"github.com/ompd-inspect/ompd-inspect/picture"
	"github.com/ompd-inspect/ompd-inspect/trace"
	"golang.org/x/sys/unix"
)

// exportOptions returns the options of exports.
func (t *tracing) exportOptions(h *history.History, rec *trace.Recording) export.Options {
	return export.Options{Window: t.window(h, rec), Program: h.Program(), Names: h.Names(), Name: t.eventName}
}

// eventName returns the name of an event in the chosen document.
func (t *tracing) eventName(e *trace.Event) string {
	return t.nameOf(legacy.Event{Code: uint8(e.Code), Kind: e.Kind, Endpoint: uint8(e.Endpoint)})
}

// nameOf returns the name of an event in the chosen document; if it has no name there, OpenMP 5.1's name in
// parentheses; else its number.
func (t *tracing) nameOf(key legacy.Event) string {
	if name := t.names.Name(key); name != "" {
		return name
	}
	if name := omptnames.Callback(key.Code); name != "" {
		return "(" + name + ")"
	}
	return trace.Code(key.Code).Own()
}

// interruptible returns a context that Ctrl-C cancels.
func (t *tracing) interruptible() (context.Context, context.CancelFunc) {
	return signal.NotifyContext(t.context(), unix.SIGINT, unix.SIGTERM, os.Interrupt)
}

// filter returns the filter for the thread and region of the command line.
func (t *tracing) filter(rec *trace.Recording) *trace.Filter {
	f := &trace.Filter{Region: t.region, Words: rec.Words(nil)}
	if t.thread != 0 {
		f.LWPs = []uint32{uint32(t.thread)}
	}
	return f
}

// maxShown returns the number of events of one copy that are shown, 0 for all.
func (t *tracing) maxShown() int {
	if t.isJSON() || t.thread != 0 || t.region != "" {
		return 0
	}
	return int(time.Duration(t.rate) * followInterval / time.Second)
}

// showStatistics shows statistics and a description of the recording.
func (t *tracing) showStatistics(r *picture.Recording, s *picture.Statistics) error {
	if t.isJSON() {
		return report.WriteJSON(t.Stdout, s)
	}
	p, err := t.textPrinter(t.Stdout, nil)
	if err != nil {
		return err
	}
	p.Recorded(r)
	p.Statistics(s)
	return p.Err()
}

// window returns the wanted time range.
func (t *tracing) window(h *history.History, rec *trace.Recording) analyze.Window {
	return analyze.Window{Since: t.firstTime(h, rec), Until: h.Now(rec)}
}

// firstTime returns the time of the first wanted event.
func (t *tracing) firstTime(h *history.History, rec *trace.Recording) uint64 {
	if t.last == 0 {
		return 0
	}
	return rec.Clock.TicksBefore(h.Now(rec), t.last)
}

// textPrinter returns a printer of text on w, which writes to the standard output. place returns the place of
// the call that returns to a code address.
func (t *tracing) textPrinter(w io.Writer, place func(uint64) picture.Frame) (*text.Events, error) {
	if f, err := t.format(); err != nil || f != report.Text {
		return nil, errors.Join(err,
			usageError{fmt.Errorf("--format %s: events are text or json; -o writes other formats", f)})
	}
	o, err := t.printerOptions(t.Stdout)
	if err != nil {
		return nil, err
	}
	p := text.NewEvents(w, o.Color, o.Width, place)
	if o.All {
		p.FoldNothing()
	}
	switch {
	case t.summary:
		p.Summarize()
	case !t.follow: // it shows events as they arrive
		p.FoldRepeats()
	}
	return p, nil
}
