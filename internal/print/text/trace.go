package text

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/picture"
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
func (p *Events) Recorded(r *picture.Recording) {
	s := fmt.Sprintf("recorded in process %d", r.PID)
	if r.Program != "" {
		s += " (" + phrase.Printable(r.Program) + ")"
	}
	s += fmt.Sprintf(": %s, %s, %d older ones overwritten", phrase.Count(r.Threads, "thread"),
		phrase.Count(r.Records, "record"), r.Lost)
	if r.Damaged > 0 {
		s += fmt.Sprintf(", %d damaged", r.Damaged)
	}
	p.line(p.bold(s))
	if r.Parent != 0 {
		p.linef("  forked from process %d: older events are its", r.Parent)
	}
	if r.Unrecorded > 0 {
		p.line(p.note(fmt.Sprintf("  %d threads were not recorded, as there was no memory left", r.Unrecorded)))
	}
	if r.Paused {
		p.line(p.note("  omp_control_tool has paused the recording"))
	}
	for _, text := range r.Problems {
		p.line(p.note("  " + phrase.Printable(text)))
	}
	if r.Omitted > 0 {
		p.line(p.note(fmt.Sprintf("  and %d more", r.Omitted)))
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
	b := seconds(p.last[:0], ago)
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

// seconds appends how long ago something was, as a time before now in seconds, with six digits behind the
// point, in 14 columns. Hundreds of thousands of events are printed at once, so it is done in integers.
func seconds(b []byte, ago time.Duration) []byte {
	sign := byte('-')
	if ago < 0 {
		sign, ago = ' ', -ago
	}
	n := uint64(ago+time.Microsecond/2) / uint64(time.Microsecond)
	var digits [32]byte
	at := len(digits)
	for i := 0; i < 7 || n > 0; i++ {
		if at--; i == 6 {
			digits[at] = '.'
			at--
		}
		digits[at] = byte('0' + n%10)
		n /= 10
	}
	if sign == '-' {
		at--
		digits[at] = sign
	}
	return padded(b, digits[at:], 14)
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

// None says that there are no events to show, and why.
func (p *Events) None(why string) { p.line(p.note("  " + why)) }

// rowsShown are the rows of statistics that people are shown, unless they want all.
const rowsShown = 40

// Statistics prints the statistics of a recording, and then the orders of acquisition that
// can end in a deadlock.
func (p *Events) Statistics(s *picture.Statistics) {
	p.linef("%s of %s in %v", phrase.Count(s.Events, "event"), phrase.Count(s.Threads, "thread"),
		round(time.Duration(s.Nanoseconds)))
	t := table{head: []string{"construct", "at", "count", "total", "mean", "longest", ""}}
	for i := range s.Rows {
		if i == rowsShown && !p.all {
			break
		}
		r := &s.Rows[i]
		total := time.Duration(r.Total)
		t.add(phrase.Printable(r.Text), where(r.Frame), fmt.Sprint(r.Count), round(total).String(),
			round(total/time.Duration(max(r.Count, 1))).String(), round(time.Duration(r.Longest)).String(), notes(r))
	}
	p.table(&t)
	if more := len(s.Rows) - rowsShown; more > 0 && !p.all {
		p.linef("and %d more, which took less: --all", more)
	}
	if s.Unpaired > 0 {
		p.line(p.dim(fmt.Sprintf("%d events have no counterpart: it is older, or the runtime leaves it out",
			s.Unpaired)))
	}
	p.smallTasks(s.Rows)
	p.lockOrders(s.LockOrders)
}

// smallTasks tells what recording small tasks costs, where that is much of the time that they take.
func (p *Events) smallTasks(rows []picture.Statistic) {
	count, total := 0, time.Duration(0)
	for i := range rows {
		if rows[i].Text == taskSays {
			count, total = count+rows[i].Count, total+time.Duration(rows[i].Total)
		}
	}
	cost := time.Duration(count) * taskCost
	if count < manyTasks || float64(cost) <= muchCost*float64(total) {
		return
	}
	p.linef("%d tasks take %v on the mean, and it costs some %v to record one: `ompd-inspect record "+
		"--events default,-tasks` leaves them out", count, round(total/time.Duration(count)), taskCost)
}

// taskSays is what the rows of explicit tasks are called. To record a task costs taskCost: its creation, its
// beginning, its end and the wait for it (docs/recorder.md). It is told where that is more than muchCost of
// the time that manyTasks or more take without those in them: where they take less than 1 µs on the mean.
const (
	taskSays  = "task"
	taskCost  = 50 * time.Nanosecond
	muchCost  = 0.05
	manyTasks = 256
)

// lockOrders prints orders of acquisition that can end in a deadlock.
func (p *Events) lockOrders(orders []picture.LockOrder) {
	for i := range orders {
		if i == rowsShown && !p.all {
			p.linef("and %d more: --all", len(orders)-i)
			return
		}
		says, steps := "had these come at once, the threads would wait for each other for ever", orders[i].Steps
		if !slices.ContainsFunc(steps, func(s picture.LockStep) bool { return !s.Waits }) {
			says = "by the last events, the threads wait for each other"
		}
		p.line(p.bad("LOCK ORDER") + ": " + says)
		for _, s := range steps {
			then := "then"
			if s.Waits {
				then = "waits for"
			}
			p.linef("  thread %d acquired %s, %s, and %s %s, %s", s.Thread, phrase.Printable(s.First.Text),
				where(s.First.Frame), then, phrase.Printable(s.Second.Text), where(s.Second.Frame))
		}
		p.line("  fix: acquire the locks in the same order everywhere")
	}
}

// where is a place in the source, "" for none.
func where(at *picture.Frame) string {
	if at == nil {
		return ""
	}
	return phrase.Printable(strings.TrimSpace(phrase.Where(*at)))
}

// notes are what a row says beside its times.
func notes(r *picture.Statistic) string {
	var s []string
	add := func(format string, args ...any) { s = append(s, fmt.Sprintf(format, args...)) }
	if r.Barriers > 0 {
		add("imbalance %v", round(time.Duration(r.Imbalance)))
		add("thread %d last at %d of %d", r.Last, r.LastCount, r.Barriers)
	}
	if r.Contended > 0 {
		add("%d waited %v", r.Contended, round(time.Duration(r.Waited)))
		if r.Holder != nil {
			add("most for %s", where(r.Holder))
		}
	}
	if r.Open > 0 {
		add("%d not over", r.Open)
	}
	return strings.Join(s, "; ")
}

// round leaves three digits of a duration.
func round(d time.Duration) time.Duration {
	unit := time.Duration(1)
	for v := d; v >= 1000 || v <= -1000; v /= 10 {
		unit *= 10
	}
	return d.Round(unit)
}
