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
)

// Events prints the events of a recorder.
type Events struct {
	*Printer
	place  func(pc uint64) picture.Frame
	spots  map[uint64]string // results of place, by code address
	last   []byte            // the previous row
	number [40]byte
	sums   map[eventKey]*eventSum // nil: events are not counted
	// repeats is nil if each event is printed.
	repeats *eventRepeats
}

// NewEvents returns a printer of events on w, as New does. place returns the frame of the call that returns to a code
// address.
func NewEvents(w io.Writer, color bool, width int, place func(pc uint64) picture.Frame) *Events {
	return &Events{Printer: New(w, color, width), place: place, spots: map[uint64]string{}}
}

// Recorded prints the head of a list of events: the recording, and its missing parts.
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
	p.printLine(p.bold(s))
	if r.Parent != 0 {
		p.printf("  forked from process %d: older events are its", r.Parent)
	}
	if r.Unrecorded > 0 {
		p.printLine(p.amber(fmt.Sprintf("  %d threads were not recorded, as there was no memory left", r.Unrecorded)))
	}
	if r.Paused {
		p.printLine(p.amber("  omp_control_tool has paused the recording"))
	}
	for _, text := range r.Problems {
		p.printLine(p.amber("  " + phrase.Printable(text)))
	}
	if r.Omitted > 0 {
		p.printLine(p.amber(fmt.Sprintf("  and %d more", r.Omitted)))
	}
}

// EventHeading prints the names of the columns of Event.
func (p *Events) EventHeading() {
	if p.sums == nil {
		p.printLine(p.dim(fmt.Sprintf("%14s %*s %8s  %s", "seconds", memberWidth, "thread", "LWP", "event")))
	}
}

// Member is the number of a thread in its team, and the size of the team.
type Member struct{ Num, Size uint32 }

// memberWidth is the width of the column with the number of a thread in its team.
const memberWidth = 9

// Event prints one event: its age, its thread, its text, and its place in the source. The size of a member's
// team is 0 if its number is unknown.
func (p *Events) Event(ago time.Duration, lwp uint32, member Member, text []byte, pc uint64) {
	switch {
	case p.sums != nil:
		p.count(lwp, text, pc)
	case p.repeats != nil:
		p.collect(ago, lwp, member, text, pc)
	default:
		p.printEvent(ago, lwp, member, text, p.spot(pc))
	}
}

// End prints the events that are not printed yet, or the summary. It is called after the last event.
func (p *Events) End() {
	switch {
	case p.sums != nil:
		p.printSums()
	case p.repeats != nil:
		p.printCollected()
		if n := p.repeats.folded; n > 0 {
			p.printLine(p.dim(fmt.Sprintf("  %s of repeats not shown; --all shows each", phrase.Count(n, "event"))))
		}
	}
}

// printEvent prints the line of an event.
func (p *Events) printEvent(ago time.Duration, lwp uint32, member Member, text []byte, place string) {
	if !phrase.IsPlain(text) {
		text = []byte(phrase.Printable(string(text)))
	}
	b := appendSeconds(p.last[:0], ago)
	who := p.number[:0]
	if member.Size > 0 {
		who = strconv.AppendUint(who, uint64(member.Num), 10)
		who = strconv.AppendUint(append(who, " of "...), uint64(member.Size), 10)
	}
	b = appendPadded(append(b, ' '), who, memberWidth)
	b = appendPadded(append(b, ' '), strconv.AppendUint(p.number[:0], uint64(lwp), 10), 8)
	b = append(append(b, "  "...), text...)
	if place != "" {
		for n := utf8.RuneCount(text); n < textWidth; n++ {
			b = append(b, ' ')
		}
		b = append(append(b, ' '), p.dim(place)...)
	}
	p.printBytes(b)
	p.last = b
}

// textWidth is the width of the column with the text of an event.
const textWidth = 52

// spot returns the place of an event in one phrase; "" if it is unknown.
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

// spotsKept bounds the cache of places, which is cleared when it is full.
const spotsKept = 1 << 16

// appendSeconds appends an age in seconds with six decimals, in 14 columns. It uses integers, as hundreds of thousands
// of events may be printed at once.
func appendSeconds(b []byte, ago time.Duration) []byte {
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
	return appendPadded(b, digits[at:], 14)
}

// appendPadded appends s, right-aligned in a number of columns.
func appendPadded(b, s []byte, columns int) []byte {
	for n := len(s); n < columns; n++ {
		b = append(b, ' ')
	}
	return append(b, s...)
}

// Skipped prints that n events are not printed.
func (p *Events) Skipped(n uint64, why string) {
	if n > 0 {
		p.printLine(p.amber(fmt.Sprintf("%14s %*s %8s  %d %s", "...", memberWidth, "", "", n, why)))
	}
}

// None prints the reason why there are no events.
func (p *Events) None(why string) { p.printLine(p.amber("  " + why)) }

// placeText returns a place in the source; "" without one.
func placeText(at *picture.Frame) string {
	if at == nil {
		return ""
	}
	return phrase.Printable(strings.TrimSpace(phrase.Where(*at)))
}
