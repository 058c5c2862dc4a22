package text

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/picture"
	"github.com/ompd-inspect/ompd-inspect/trace"
	"github.com/ompd-inspect/ompd-inspect/trace/analyze"
)

// Events prints what a recorder has kept.
type Events struct {
	*Printer
	place  func(pc uint64) picture.Frame
	spots  map[uint64]string // what place said, by code address
	last   []byte            // the row before
	number [20]byte
}

// NewEvents returns a printer of events on w, as New does. place says where the call is that
// returns to a code address.
func NewEvents(w io.Writer, color bool, width int, place func(pc uint64) picture.Frame) *Events {
	return &Events{Printer: New(w, color, width), place: place, spots: map[uint64]string{}}
}

// Recorded begins a list of events: what was recorded, and what of it is not there.
func (p *Events) Recorded(rec *trace.Recording, program string) {
	events := 0
	for _, t := range rec.Threads {
		events += t.Main.Len() + t.Rare.Len()
	}
	lost, damaged := rec.Lost()
	s := fmt.Sprintf("recorded in process %d", rec.PID)
	if program != "" {
		s += " (" + program + ")"
	}
	s += fmt.Sprintf(": %s, %s, %d older ones overwritten", phrase.Count(len(rec.Threads), "thread"),
		phrase.Count(events, "record"), lost)
	if damaged > 0 {
		s += fmt.Sprintf(", %d damaged", damaged)
	}
	p.line(p.bold(s))
	if rec.Parent != 0 {
		p.linef("  forked from process %d: older events are its", rec.Parent)
	}
	if rec.Unrecorded > 0 {
		p.line(p.note(fmt.Sprintf("  %d threads were not recorded, as there was no memory left", rec.Unrecorded)))
	}
	if rec.Paused {
		p.line(p.note("  omp_control_tool has paused the recording"))
	}
	for _, err := range rec.Problems {
		p.line(p.note("  " + err.Error()))
	}
	if rec.Omitted > 0 {
		p.line(p.note(fmt.Sprintf("  and %d more", rec.Omitted)))
	}
}

// EventHeading names the columns of Event.
func (p *Events) EventHeading() {
	p.line(p.dim(fmt.Sprintf("%14s %8s  %s", "seconds", "thread", "event")))
}

// Event prints one event: how long ago it was, who made it, what, and where in the source.
func (p *Events) Event(ago time.Duration, lwp uint32, says []byte, pc uint64) {
	if !phrase.IsPlain(says) {
		says = []byte(phrase.Printable(string(says)))
	}
	b := seconds(p.last[:0], -ago.Seconds())
	b = padded(append(b, ' '), strconv.AppendUint(p.number[:0], uint64(lwp), 10), 8)
	b = append(append(b, "  "...), says...)
	if spot := p.spot(pc); spot != "" {
		for n := utf8.RuneCount(says); n < saysWidth; n++ {
			b = append(b, ' ')
		}
		b = append(append(b, ' '), p.dim(spot)...)
	}
	p.row(b)
	p.last = b
}

// saysWidth are the columns of what an event says.
const saysWidth = 52

// spot is the place of an event in one phrase, "" if it is unknown.
func (p *Events) spot(pc uint64) string {
	s, known := p.spots[pc]
	if known {
		return s
	}
	if at := p.place(pc); at.Line != 0 || at.Function != "" {
		s = phrase.Printable(strings.TrimSpace(phrase.Where(at)))
	}
	if len(p.spots) >= spotsKept {
		clear(p.spots)
	}
	p.spots[pc] = s
	return s
}

// spotsKept bounds the places that are kept: then all are looked for anew.
const spotsKept = 1 << 16

// seconds appends a time in seconds, with six digits behind the point, in 14 columns.
func seconds(b []byte, s float64) []byte {
	var digits [32]byte
	return padded(b, strconv.AppendFloat(digits[:0], s, 'f', 6, 64), 14)
}

// padded appends s at the right of so many columns.
func padded(b, s []byte, columns int) []byte {
	for n := len(s); n < columns; n++ {
		b = append(b, ' ')
	}
	return append(b, s...)
}

// Skipped says that events are not shown.
func (p *Events) Skipped(n uint64, why string) {
	if n > 0 {
		p.line(p.note(fmt.Sprintf("%14s %8s  %d %s", "...", "", n, why)))
	}
}

// rowsShown are the rows of statistics that people are shown, unless they want all.
const rowsShown = 40

// Statistics prints the statistics of a recording.
func (p *Events) Statistics(s *analyze.Statistics, w trace.Words) {
	p.linef("%s of %s in %v", phrase.Count(s.Events, "event"), phrase.Count(s.Threads, "thread"), round(s.Span))
	t := table{head: []string{"construct", "at", "count", "total", "mean", "longest", ""}}
	for i, r := range s.Rows {
		if i == rowsShown && !p.all {
			break
		}
		at := ""
		if f := p.place(r.PC); r.PC != 0 {
			at = strings.TrimSpace(phrase.Where(f))
		}
		mean := r.Total / time.Duration(max(r.Count, 1))
		t.add(phrase.Printable(analyze.Title(r.What, r.Kind, r.Lock, w)), phrase.Printable(at), fmt.Sprint(r.Count),
			round(r.Total).String(), round(mean).String(), round(r.Max).String(), phrase.Printable(notes(r, p.place)))
	}
	p.table(&t)
	if more := len(s.Rows) - rowsShown; more > 0 && !p.all {
		p.linef("and %d more, which took less: --all", more)
	}
	if n := s.EndOnly + s.Unclosed; n > 0 {
		p.line(p.dim(fmt.Sprintf("%d events have no counterpart: it is older, or the runtime leaves it out", n)))
	}
}

// LockOrder prints orders of acquisition that can end in a deadlock.
func (p *Events) LockOrder(cycles []analyze.Cycle, w trace.Words) {
	for i, c := range cycles {
		if i == rowsShown && !p.all {
			p.linef("and %d more: --all", len(cycles)-i)
			return
		}
		p.line(p.bad("LOCK ORDER") + ": had these come at once, the threads would wait for each other for ever")
		for _, s := range c {
			first, second := s.Events()
			p.linef("  thread %d acquired %s, %s, and then %s, %s", s.LWP, phrase.Printable(w.Mutex(&first)),
				strings.TrimSpace(phrase.Where(p.place(s.FirstPC))), phrase.Printable(w.Mutex(&second)),
				strings.TrimSpace(phrase.Where(p.place(s.SecondPC))))
		}
		p.line("  fix: acquire the locks in the same order everywhere")
	}
}

// notes are what a row says beside its times.
func notes(r analyze.Row, place func(pc uint64) picture.Frame) string {
	var s string
	add := func(format string, args ...any) {
		if s != "" {
			s += "; "
		}
		s += fmt.Sprintf(format, args...)
	}
	if r.Barriers > 0 {
		add("imbalance %v", round(r.Imbalance))
		add("thread %d last at %d of %d", r.Late.LWP, r.Late.Count, r.Barriers)
	}
	if r.What == analyze.LockWait && r.Contended > 0 {
		add("%d waited %v", r.Contended, round(r.Wait))
		if r.Holder.PC != 0 {
			add("most for %s", strings.TrimSpace(phrase.Where(place(r.Holder.PC))))
		}
	}
	if r.Open > 0 {
		add("%d not over", r.Open)
	}
	return s
}

// round leaves three digits of a duration.
func round(d time.Duration) time.Duration {
	unit := time.Duration(1)
	for v := d; v >= 1000 || v <= -1000; v /= 10 {
		unit *= 10
	}
	return d.Round(unit)
}
