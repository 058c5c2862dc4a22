package cli

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/ompd-inspect/ompd-inspect/internal/print/report"
	"github.com/ompd-inspect/ompd-inspect/internal/print/text"
	"github.com/ompd-inspect/ompd-inspect/internal/trace/export"
	"github.com/ompd-inspect/ompd-inspect/internal/trace/history"
	"github.com/ompd-inspect/ompd-inspect/trace"
)

// Messages about events that are not shown. Some of them follow a number.
const (
	noEvent      = "no event matches this thread, region and time: leave out --thread, --region or --last"
	overwritten  = "records were overwritten before they could be read"
	rateLimited  = "events are not shown: --rate"
	processEnded = "ompd-inspect: the process has ended"
)

// show shows the last events.
func (t *tracing) show(h *history.History) error {
	rec, err := h.Read()
	if err != nil {
		return err
	}
	if err := t.filter(rec).Check(rec); err != nil {
		return err
	}
	since := t.firstTime(h, rec)
	skip := map[uint32]int{} // events of a ring that are too old
	if t.events > 0 {
		choose := t.filter(rec)
		for _, th := range rec.Threads {
			for e := range th.Events(since) {
				if choose.Matches(th, e) {
					skip[th.Index]++
				}
			}
			skip[th.Index] -= t.events
		}
	}
	out, err := t.printing(h, rec)
	if err != nil {
		return err
	}
	if out.p != nil {
		out.p.Recorded(h.About(rec))
		out.p.EventHeading()
	}
	choose, shown := t.filter(rec), 0
	for th, e := range rec.Events(since) {
		if !choose.Matches(th, e) {
			continue
		}
		if t.events > 0 && skip[th.Index] > 0 {
			skip[th.Index]--
			continue
		}
		if shown++; out.event(th, e) != nil {
			break
		}
	}
	if shown == 0 && out.p != nil && out.err == nil {
		out.p.None(noEvent)
	} else if out.p != nil && out.err == nil {
		out.p.End()
		out.err = out.p.Err()
	}
	return out.flush()
}

// followInterval is the time between two copies of the rings. A thread that makes a million events per second
// fills a ring of 32,768 records in 33 ms.
const followInterval = 20 * time.Millisecond

// followEvents shows new events as they arrive.
func (t *tracing) followEvents(h *history.History) error {
	if !h.Living() {
		return usageError{errors.New("--follow is for processes that run: leave it out")}
	}
	ctx, stop := t.interruptible()
	defer stop()
	rec, err := h.Latest(0) // the events that exist already
	if err != nil {
		return err
	}
	if err := (&trace.Filter{LWPs: t.filter(rec).LWPs}).Check(rec); err != nil { // it may still arrive
		t.note("%v; waits for it", err)
	}
	tick := time.NewTicker(followInterval)
	defer tick.Stop()
	var out *printing
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		rec, err := t.newest(h)
		if err != nil {
			if !errors.Is(err, trace.ErrDamaged) {
				return err
			}
			fmt.Fprintln(t.Stderr, processEnded)
			return nil
		}
		if out == nil {
			if out, err = t.printing(h, rec); err != nil {
				return err
			}
		}
		out.rec, out.now = rec, h.Now(rec)
		if err := out.showNewest(); err != nil {
			return err
		}
	}
}

// newest copies the events that may be shown; it only counts the others.
func (t *tracing) newest(h *history.History) (*trace.Recording, error) {
	if most := t.maxShown(); most > 0 {
		return h.Latest(uint64(most))
	}
	return h.New()
}

// showNewest shows the newest events, as many as may be shown, and counts the others.
func (o *printing) showNewest() error {
	since, skipped := o.shownSince()
	choose := o.filter(o.rec)
	lost, _ := o.rec.Lost()
	if o.p != nil {
		o.p.Skipped(lost, overwritten)
		o.p.Skipped(skipped, rateLimited)
	}
	for th, e := range o.rec.Events(since) {
		if choose.Matches(th, e) && o.event(th, e) != nil {
			break
		}
	}
	return o.flush()
}

// shownSince returns a time since which there are at most as many events as may be shown, and the number of
// records before it.
func (o *printing) shownSince() (shownSince, skipped uint64) {
	most, all := o.maxShown(), uint64(0)
	if most == 0 {
		return 0, 0
	}
	for _, th := range o.rec.Threads {
		all += uint64(th.Main.Len()+th.Rare.Len()) + th.Main.Passed + th.Rare.Passed
	}
	if all <= uint64(most) {
		return 0, 0
	}
	for _, th := range o.rec.Threads {
		if e, ok := th.Main.Back(max(most/len(o.rec.Threads), 1)); ok {
			shownSince = max(shownSince, e.Time)
		}
	}
	kept := uint64(0)
	for range o.rec.Events(shownSince) {
		kept++
	}
	return shownSince, all - min(kept, all)
}

// printing prints events, as text or as lines of JSON.
type printing struct {
	*tracing
	w     *bufio.Writer
	h     *history.History
	rec   *trace.Recording
	words trace.Words
	says  []byte // words of the previous event
	now   uint64
	p     *text.Events // nil for JSON
	teams *trace.Members
	of    *trace.Recording // that teams is of
	liner *export.Liner
	json  *json.Encoder
	err   error
}

func (t *tracing) printing(h *history.History, rec *trace.Recording) (*printing, error) {
	out := &printing{tracing: t, h: h, rec: rec, words: rec.Words(h.Lock), now: h.Now(rec)}
	out.w = bufio.NewWriterSize(t.Stdout, outputBlock)
	if t.isJSON() {
		out.liner, out.json = export.NewLiner(rec, t.exportOptions(h, rec)), report.NewJSON(out.w)
		return out, nil
	}
	var err error
	out.p, err = t.textPrinter(out.w, h.Place)
	return out, err
}

// outputBlock is the number of bytes that are written at once. A recorded thread makes more events than lines
// can be written one by one.
const outputBlock = 64 << 10

// event prints one event. Its error is that of the output.
func (o *printing) event(th *trace.Thread, e *trace.Event) error {
	if o.p == nil {
		o.err = o.json.Encode(o.liner.Line(th, e))
		return o.err
	}
	if o.named {
		o.says = append(o.says[:0], o.eventName(e)...)
	} else {
		o.says = o.words.Append(o.says[:0], e)
	}
	if o.of != o.rec {
		o.teams, o.of = o.rec.Members(), o.rec
	}
	lwp := th.LWPOf(e)
	o.p.Event(o.rec.Clock.Elapsed(e.Time, o.now), lwp, text.Member(o.teams.At(lwp, e.Time)), o.says, e.PC)
	o.err = o.p.Err()
	return o.err
}

// flush writes the remaining output. Its error is that of the output.
func (o *printing) flush() error {
	if o.err == nil {
		o.err = o.w.Flush()
	}
	return o.err
}
