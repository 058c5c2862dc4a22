package web

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// timeline is the activity of threads in the last seconds, as a drawing and in words.
type timeline struct {
	Width, Height int
	About         string // "the last 1.3 s before the newest event"
	Ticks         []tick
	Lanes         []*lane
	Band          *band
	Quiet         *quiet
	Legend        []struct{ Class, Name string }
	Merged, Blank bool // some spans are merged; some rows start later
	Words         []string
	More          int // threads without a row
}

// tick is a mark on the axis.
type tick struct {
	X    int
	Text string
}

// Y returns the start of the line of the mark.
func (tick) Y() int { return lineHead - 6 }

// Anchor returns the alignment of the text: the newest mark is at the right edge, where a centered text is cut.
func (t tick) Anchor() string {
	if t.Text == newestMark {
		return "end"
	}
	return "middle"
}

// quiet is the time since the newest event.
type quiet struct {
	X, W, H int
	Text    string
	Whole   string
}

// lane is the row of a thread.
type lane struct {
	Y             int
	Title, Whole  string
	Spans, Locks  []bar
	Small, Little []strip // spans and locks that are too narrow to be drawn individually
}

// bar is a span of a lane.
type bar struct {
	X, W   int
	Class  string
	Merged bool
	Name   string
}

// strip is all narrow spans of one color.
type strip struct{ Class, Path string }

// band is many threads in one row: the number of threads in each activity.
type band struct {
	Y             int
	Title, Detail string
	Whole         string
	Layers        []strip
}

// Sizes of the timeline, in units of the drawing, and its limits.
const (
	lineWidth  = 1080
	lineLead   = 190 // the start of the axis, after the threads' names
	lineChars  = 27  // characters that fit there
	linePlot   = lineWidth - lineLead
	lineHead   = 26 // height of the axis' labels
	laneStride = 26
	laneHeight = 16
	lockHeight = 4
	bandHeight = 72
	bandParts  = 200
	narrow     = 5  // narrower spans have no title of their own
	maxLanes   = 24 // with more threads, those of verdicts have a lane, and the others are one band
	fewLanes   = 12
	maxTicks   = 8
)

// TextY returns the baseline of the title of the lane.
func (l *lane) TextY() int { return l.Y + laneHeight - 4 }

// LocksY returns the position of the locks of the lane.
func (l *lane) LocksY() int { return l.Y + laneHeight + 1 }

// TextY returns the baseline of the title of the band.
func (b *band) TextY() int { return b.Y + laneHeight - 4 }

// DetailY returns the baseline of the line below it.
func (b *band) DetailY() int { return b.Y + 2*laneHeight - 2 }

// Lead returns the start of the axis.
func (*timeline) Lead() int { return lineLead }

// linePlan is a timeline in construction.
type linePlan struct {
	*picture.Timeline
	names *names
	used  map[string]bool
}

// newTimeline draws the timeline of a recorded program; nil without a recording.
func newTimeline(pic *picture.Picture, n *names) *timeline {
	if pic.Facts == nil || pic.Facts.History == nil || pic.Facts.History.Timeline == nil {
		return nil
	}
	p := &linePlan{pic.Facts.History.Timeline, n, map[string]bool{}}
	if p.Nanoseconds <= 0 || p.Newest <= 0 || len(p.Rows) == 0 {
		return nil
	}
	out := &timeline{Width: lineWidth, More: p.Omitted}
	out.About = "the last " + elapsed(p.Newest) + " before the newest event"
	if p.Quiet > 0 {
		out.About += ", which was " + elapsed(p.Quiet) + " ago"
	}
	if x := lineLead + p.position(p.Newest); lineWidth-x >= narrow {
		out.Quiet = &quiet{X: x, W: lineWidth - x, Text: "then", Whole: "behind the newest event: what goes on"}
		if p.Quiet > 0 {
			out.Quiet.Text, out.Quiet.Whole = "+"+elapsed(p.Quiet), "no event for "+elapsed(p.Quiet)
		}
	}
	alone, rest := p.choose(pic)
	y := lineHead
	for _, r := range alone {
		l := p.lane(r)
		l.Y = y
		out.Lanes, out.Words = append(out.Lanes, l), append(out.Words, p.words(r))
		y += laneStride
	}
	if len(rest) > 0 {
		out.Band = p.band(rest)
		out.Band.Y = y
		out.Words = append(out.Words, out.Band.Whole)
		y += bandHeight + lineHead/2
	}
	out.Height = y
	if out.Quiet != nil {
		out.Quiet.H = y - lineHead
	}
	out.Ticks = p.ticks()
	p.explainColors(out, alone)
	return out
}

// explainColors explains the colors and the special parts of the drawing.
func (p *linePlan) explainColors(out *timeline, rows []*picture.TimelineRow) {
	for _, c := range lineClasses {
		if p.used[c.Class] {
			out.Legend = append(out.Legend, c)
		}
	}
	for _, r := range rows {
		out.Blank = out.Blank || p.position(r.Begin) > 1
		merged := func(s picture.TimelineSpan) bool { return s.Merged > 1 }
		out.Merged = out.Merged || slices.ContainsFunc(r.Spans, merged)
	}
}

// choose returns the rows with a lane, and the others.
func (p *linePlan) choose(pic *picture.Picture) (alone, rest []*picture.TimelineRow) {
	named := map[int]bool{}
	for _, v := range pic.Verdicts {
		if v.Severity != picture.SeverityInfo {
			for _, lwp := range v.Threads {
				named[lwp] = true
			}
		}
	}
	var others []*picture.TimelineRow
	for i := range p.Rows {
		if r := &p.Rows[i]; named[r.Thread] && len(alone) < fewLanes {
			alone = append(alone, r)
		} else {
			others = append(others, r)
		}
	}
	most := maxLanes
	if len(p.Rows) > maxLanes {
		most = fewLanes
	}
	n := max(0, min(len(others), most-len(alone)))
	alone, rest = append(alone, others[:n]...), others[n:]
	slices.SortFunc(alone, func(a, b *picture.TimelineRow) int { return cmp.Compare(a.Thread, b.Thread) })
	return alone, rest
}

// position returns the position of a moment on the axis.
func (p *linePlan) position(nanoseconds int64) int {
	part := float64(min(max(nanoseconds, 0), p.Nanoseconds)) / float64(p.Nanoseconds)
	return int(math.Round(part * float64(linePlot)))
}

// lane returns the row of a thread.
func (p *linePlan) lane(r *picture.TimelineRow) *lane {
	l := &lane{Title: fmt.Sprintf("LWP %d", r.Thread), Whole: p.words(r)}
	if t := p.names.threads[r.Thread]; t != nil && t.ThreadNum != nil && t.TeamSize != nil && *t.TeamSize > 1 {
		l.Title = fmt.Sprintf("%d of %d (%s)", *t.ThreadNum, *t.TeamSize, l.Title)
	}
	l.Title = clip(l.Title, lineChars)
	l.Spans, l.Small = p.bars(r.Spans, 0, laneHeight)
	l.Locks, l.Little = p.bars(r.Held, laneHeight+1, lockHeight)
	return l
}

// bars returns spans for drawing. Narrow ones are merged into strips at y with a height.
func (p *linePlan) bars(spans []picture.TimelineSpan, y, height int) (out []bar, strips []strip) {
	paths, last := map[string]*strings.Builder{}, 0
	for _, s := range spans {
		a := p.activity(s)
		class := lineClass(a.Kind)
		p.used[class] = true
		b := bar{X: lineLead + p.position(s.Begin), Class: class, Merged: s.Merged > 1}
		if b.W = max(1, lineLead+p.position(s.End)-b.X); b.W >= narrow {
			b.Name = p.spanText(s)
			out = append(out, b)
			continue
		}
		if b.W -= max(0, last-b.X); b.W <= 0 { // overlapped by the last bar
			continue
		}
		b.X = max(b.X, last)
		if last = b.X + b.W; b.Merged {
			class += " merged"
		}
		if paths[class] == nil {
			paths[class] = &strings.Builder{}
		}
		fmt.Fprintf(paths[class], "M%d %dh%dv%dh-%dz", b.X, y, b.W, height, b.W)
	}
	for _, class := range slices.Sorted(maps.Keys(paths)) {
		strips = append(strips, strip{class, paths[class].String()})
	}
	return out, strips
}

// activity returns the activity of a span.
func (p *linePlan) activity(s picture.TimelineSpan) picture.Activity {
	if s.Activity < 0 || s.Activity >= len(p.Activities) {
		return picture.Activity{Text: "not known"}
	}
	return p.Activities[s.Activity]
}

// spanText returns a span in words.
func (p *linePlan) spanText(s picture.TimelineSpan) string {
	a := p.activity(s)
	text := a.Text
	if a.Frame != nil {
		text += ", " + strings.TrimSpace(phrase.Where(*a.Frame))
	}
	if s.Merged > 1 {
		text = fmt.Sprintf("mostly %s; %d short ones", text, s.Merged)
	}
	if s.End > p.Newest {
		return fmt.Sprintf("%s: since %s", text, p.labelBefore(s.Begin))
	}
	return fmt.Sprintf("%s: %s, from %s to %s", text, elapsed(s.End-s.Begin), p.labelBefore(s.Begin),
		p.labelBefore(s.End))
}

// labelBefore formats a time before the newest event.
func (p *linePlan) labelBefore(nanoseconds int64) string {
	if nanoseconds >= p.Newest {
		return "0"
	}
	return "−" + elapsed(p.Newest-nanoseconds)
}

// words returns a row in words.
func (p *linePlan) words(r *picture.TimelineRow) string {
	text := p.names.nameOf(r.Thread) + ": " + p.shares([]*picture.TimelineRow{r})
	if n := len(r.Spans); n > 0 {
		text += "; last " + p.spanText(r.Spans[n-1])
	}
	if n := len(r.Held); n > 0 {
		text += "; last had " + p.spanText(r.Held[n-1])
	}
	return text
}

// shares returns the share of the time of each activity.
func (p *linePlan) shares(rows []*picture.TimelineRow) string {
	of, all := map[string]int64{}, int64(0)
	for _, r := range rows {
		for _, s := range r.Spans {
			of[lineClass(p.activity(s).Kind)] += s.End - s.Begin
			all += s.End - s.Begin
		}
	}
	var parts []string
	for _, c := range lineClasses {
		if n := of[c.Class]; n > 0 {
			parts = append(parts, fmt.Sprintf("%s %s of the time", c.Name, percent(n, all)))
		}
	}
	return strings.Join(parts, ", ")
}

// percent formats a part of a whole.
func percent(n, all int64) string {
	if s := math.Round(100 * float64(n) / float64(max(all, 1))); s >= 1 {
		return fmt.Sprintf("%.0f %%", s)
	}
	return "less than 1 %"
}

// newestMark is the text of the mark of the newest event.
const newestMark = "0"

// ticks returns the marks of the axis; 0 is the newest event.
func (p *linePlan) ticks() (out []tick) {
	step := int64(1) // then 2, 5, 10, 20, and so on
	for p.Newest/step > maxTicks {
		switch leading(step) {
		case 2:
			step = step / 2 * 5
		default:
			step *= 2
		}
	}
	for t := int64(0); t <= p.Newest; t += step {
		text := newestMark
		if t > 0 {
			text = "−" + elapsed(t)
		}
		out = append(out, tick{lineLead + p.position(p.Newest-t), text})
	}
	return out
}

// leading returns the first digit of a number.
func leading(n int64) int64 {
	for n >= 10 {
		n /= 10
	}
	return n
}

// elapsed formats a time with three digits.
func elapsed(nanoseconds int64) string {
	v, unit := float64(nanoseconds), "ns"
	for _, next := range []string{"µs", "ms", "s"} {
		if v < 1000 {
			break
		}
		v, unit = v/1000, next
	}
	switch {
	case unit == "ns" || v >= 100:
		return fmt.Sprintf("%.0f %s", v, unit)
	case v >= 10:
		return strings.TrimSuffix(fmt.Sprintf("%.1f", v), ".0") + " " + unit
	}
	return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.2f", v), "0"), ".") + " " + unit
}

// lineClasses are the colors of the timeline, in the order of the legend.
var lineClasses = []struct{ Class, Name string }{
	{classWork, "at work"}, {"running", "in a task"}, {classLock, "waits for a lock"},
	{classBarrier, "at a barrier"}, {classTask, "waits for tasks"}, {classWait, "waits for a device"},
	{classIdle, "idle"}, {classUnknown, "not known"}, {"held", "has a lock"},
}

// lineClass returns the color of an activity.
func lineClass(k picture.ActivityKind) string {
	switch k {
	case picture.ActivityWork:
		return classWork
	case picture.ActivityTask:
		return "running"
	case picture.ActivityLockWait:
		return classLock
	case picture.ActivityBarrier:
		return classBarrier
	case picture.ActivityTaskWait:
		return classTask
	case picture.ActivityDevice:
		return classWait
	case picture.ActivityIdle:
		return classIdle
	case picture.ActivityLock:
		return "held"
	}
	return classUnknown
}
