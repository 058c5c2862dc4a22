package history

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/internal/inspect/recordings"
	"github.com/ompd-inspect/ompd-inspect/internal/trace/analyze"
	"github.com/ompd-inspect/ompd-inspect/internal/trace/export"
	"github.com/ompd-inspect/ompd-inspect/internal/trace/omptnames"
	"github.com/ompd-inspect/ompd-inspect/picture"
	"github.com/ompd-inspect/ompd-inspect/trace"
)

// About describes a recording: its process, and the numbers of recorded and lost events.
func (h *History) About(rec *trace.Recording) *picture.Recording {
	out := &picture.Recording{
		PID: int(rec.PID), Parent: int(rec.Parent), Program: h.program, Threads: len(rec.LWPs()),
		Unrecorded: rec.Unrecorded, Paused: rec.Paused, Omitted: rec.Omitted,
	}
	for _, t := range rec.Threads {
		out.Records += t.Main.Len() + t.Rare.Len() - int(t.Main.Missing+t.Rare.Missing)
	}
	out.Lost, out.Damaged = rec.Lost()
	for _, err := range rec.Problems {
		out.Problems = append(out.Problems, err.Error())
	}
	out.Problems = append(out.Problems, h.unnamed(rec)...)
	return out
}

// unnamed lists the files that give no names and lines for their code, because the file is missing or from another
// build. It takes the files from the newest records of each ring.
func (h *History) unnamed(rec *trace.Recording) (out []string) {
	const few = 256
	listed := map[string]bool{}
	for _, t := range rec.Threads {
		first, ok := t.Main.Back(few)
		if !ok {
			continue
		}
		c := t.Main.Since(first.Time)
		for e := (trace.Event{}); c.Next(&e); {
			m := h.sym.Module(e.PC)
			if m == nil || m.Image != nil || m.Err == nil || listed[m.Path] {
				continue
			}
			listed[m.Path] = true
			out = append(out, fmt.Sprintf("%s: no functions, lines and names of locks: %v", m.Path, m.Err))
		}
	}
	return out
}

// Program returns the base name of the program; "" if it is unknown.
func (h *History) Program() string { return h.program }

// Names returns the names and places of the program for exports.
func (h *History) Names() export.Names { return exportNames{h} }

type exportNames struct{ *History }

// Place implements export.Names.
func (n exportNames) Place(pc uint64) export.Place {
	f := n.History.Place(pc)
	if f.In != "" {
		f.Function = f.In
	}
	return export.Place{Function: f.Function, File: f.File, Line: f.Line}
}

// EventConverter converts events of one recording to those of a picture.
type EventConverter struct {
	h     *History
	rec   *trace.Recording
	words trace.Words
	now   uint64
	since string
	name  func(*trace.Event) string
	teams *trace.Members
	at    map[uint64]*picture.Frame
}

// PlacesMax limits the places that an EventConverter keeps. A program has far fewer calls of the runtime.
const PlacesMax = 1 << 16

// NewEventConverter returns an EventConverter for rec. It gives times relative to the present. name returns the name
// of an event.
func (h *History) NewEventConverter(rec *trace.Recording, name func(*trace.Event) string) *EventConverter {
	c := &EventConverter{
		h, rec, rec.Words(h.Lock), h.Now(rec), "before the newest event", name, rec.Members(),
		map[uint64]*picture.Frame{},
	}
	switch {
	case h.now != nil:
		c.since = "ago"
	case h.saved > 0:
		c.since = "before it was saved"
	}
	return c
}

// Event returns an event of a thread with its names and its place in the source.
func (c *EventConverter) Event(th *trace.Thread, e *trace.Event) picture.Event {
	out := picture.Event{
		Time: c.rec.Clock.Monotonic(e.Time), Ago: c.rec.Clock.Elapsed(e.Time, c.now).Nanoseconds(),
		LWP: int(th.LWPOf(e)), Code: int(e.Code), Name: c.name(e), Text: c.words.Phrase(e), Kind: int(e.Kind),
		Endpoint: int(e.Endpoint), Value: int(e.Value), PC: picture.Address(e.PC), Frame: c.place(e.PC),
		Lock: picture.Address(e.Lock()),
	}
	d := export.NewDetails(e, c.words)
	out.Dependences, out.Mapped, out.Truncated = d.Dependences, d.Mapped, d.Truncated
	out.Operation, out.Loaded = d.Operation, d.Loaded
	if e.Region != 0 {
		out.Region = c.words.ID(e.Region)
	}
	if m := c.teams.At(th.LWPOf(e), e.Time); m.Size > 0 {
		num := int(m.Num)
		out.ThreadNum, out.TeamSize = &num, int(m.Size)
	}
	if task := e.Task(); task != 0 {
		out.Task = c.words.ID(task)
	}
	return out
}

// EventName returns the name of an event in OpenMP 5.1, or the recorder's own name for an event outside OpenMP 5.1.
func EventName(e *trace.Event) string {
	if name := omptnames.Callback(uint8(e.Code)); name != "" {
		return name
	}
	return e.Code.Own()
}

// LastEvents returns the last events that the recorder has kept of a thread, by its LWP, newest first: at most n,
// from the last n records of its rings. A process is not stopped. The error is trace.ErrNone if there is no recorder.
func LastEvents(from Source, lwp, n int) ([]picture.Event, error) {
	h, err := Open(from)
	if err != nil {
		return nil, err
	}
	rec, err := h.Latest(uint64(max(n, 0)))
	if err != nil {
		return nil, errors.Join(err, h.Close())
	}
	type event struct {
		of *trace.Thread
		trace.Event
	}
	var last []event
	of := trace.Filter{LWPs: []uint32{uint32(lwp)}}
	for _, th := range rec.Threads {
		for e := range th.Events(0) {
			if of.Matches(th, e) {
				last = append(last, event{th, *e})
			}
		}
	}
	slices.SortStableFunc(last, func(x, y event) int { return cmp.Compare(y.Time, x.Time) })
	converter := h.NewEventConverter(rec, EventName)
	out := make([]picture.Event, min(n, len(last)))
	for i := range out {
		out[i] = converter.Event(last[i].of, &last[i].Event)
	}
	return out, h.Close()
}

// place returns the place of the call that returns to pc; nil if pc is 0.
func (c *EventConverter) place(pc uint64) *picture.Frame {
	if pc == 0 {
		return nil
	}
	f := c.at[pc]
	if f == nil {
		at := c.h.Place(pc)
		if f = &at; len(c.at) < PlacesMax {
			c.at[pc] = f
		}
	}
	return f
}

// pastEvent returns the description of an earlier event of a mutex, by its time and place.
func (c *EventConverter) pastEvent(e *trace.Event, at, pc uint64) picture.PastEvent {
	return picture.PastEvent{
		Text: c.words.Mutex(e), When: fmt.Sprintf("%v %s", trace.Elapsed(c.rec.Clock.Elapsed(at, c.now)), c.since),
		Lock: picture.Address(e.Lock()), Frame: c.place(pc),
	}
}

// Statistics adds up the time of each construct at each place in the events of a window, and finds the orders of
// acquisition that can end in a deadlock.
func (h *History) Statistics(rec *trace.Recording, w analyze.Window) *picture.Statistics {
	c := h.NewEventConverter(rec, nil)
	calls := analyze.Calls{Tests: h.onlyTests, Waits: func(pc uint64) bool {
		return h.lockCall(pc) == recordings.LockCallWaits
	}}
	s := analyze.Stats(rec, w, func(pc uint64) bool { return !calls.Waits(pc) })
	out := &picture.Statistics{
		Threads: s.Threads, Events: s.Events, Nanoseconds: s.Span.Nanoseconds(), Unpaired: s.EndOnly + s.Unclosed,
	}
	for i := range s.Rows {
		out.Rows = append(out.Rows, c.row(&s.Rows[i]))
	}
	out.Rows = alike(out.Rows)
	for _, cycle := range analyze.LockOrder(rec, w, calls) {
		var o picture.LockOrder
		for i := range cycle {
			first, second := cycle[i].Events()
			o.Steps = append(o.Steps, picture.LockStep{
				Thread: int(cycle[i].LWP), First: c.pastEvent(&first, cycle[i].FirstAt(), cycle[i].FirstPC),
				Second: c.pastEvent(&second, cycle[i].At, cycle[i].SecondPC), Waits: cycle[i].Waits,
			})
		}
		out.LockOrders = append(out.LockOrders, o)
	}
	return out
}

// lockCall returns the kind of the lock call that returns to pc.
func (h *History) lockCall(pc uint64) recordings.LockCall {
	call, known := h.calls[pc]
	if !known && pc != 0 {
		if call = recordings.LockCallBefore(h.target, h.sym, pc); h.calls == nil {
			h.calls = map[uint64]recordings.LockCall{}
		}
		if len(h.calls) < PlacesMax {
			h.calls[pc] = call
		}
	}
	return call
}

// onlyTests reports whether the call that returns to pc is known to test a lock without waiting.
func (h *History) onlyTests(pc uint64) bool { return h.lockCall(pc) == recordings.LockCallTests }

// row returns a row of statistics with its names.
func (c *EventConverter) row(r *analyze.Row) picture.Statistic {
	out := picture.Statistic{
		Text: analyze.Title(r.What, r.Kind, r.Lock, c.words), Frame: c.place(r.PC), Lock: picture.Address(r.Lock),
		Count: r.Count, Open: r.Open, Threads: r.Threads, Total: r.Total.Nanoseconds(), Longest: r.Max.Nanoseconds(),
		Waited: r.Wait.Nanoseconds(), Barriers: r.Barriers,
		Imbalance: r.Imbalance.Nanoseconds(), Last: int(r.Late.LWP), LastCount: r.Late.Count,
	}
	if r.What == analyze.LockWait && r.Contended > 0 {
		out.Contended, out.Holder = r.Contended, c.place(r.Holder.PC)
	}
	return out
}
