package web

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// cores shows the allowed processors of threads.
type cores struct {
	Width, Height int
	Columns       []coreLabel
	Rows          []coreRow
	More          int
	Limits        []string
}

// coreLabel is the number of a processor above its column.
type coreLabel struct {
	X    int
	Text string
}

// coreRow is the threads with one affinity mask.
type coreRow struct {
	Y       int
	Title   string
	Running int
	Whole   string
	Cells   []coreCell
}

// TextY returns the baseline of the title.
func (r coreRow) TextY() int { return r.Y + 13 }

// Class returns the color of the row's cells.
func (r coreRow) Class() string {
	if r.Running > 0 {
		return classWork
	}
	return classIdle
}

// Shows reports whether a row has a color.
func (c *cores) Shows(class string) bool {
	return slices.ContainsFunc(c.Rows, func(r coreRow) bool { return r.Class() == class })
}

// coreCell is a run of allowed processors of a row.
type coreCell struct{ X, W int }

// Sizes of the drawing, and its bounds.
const (
	coreLeft    = 300
	coreWidth   = 760
	coreRowStep = 22
	coreTop     = 20
	maxCoreRows = 64
	coreChars   = 42
	maxColumns  = 16 // columns with a number
)

// newCores draws threads × processors; nil if the processors are unknown, as in a core.
func newCores(pic *picture.Picture, n *names) *cores {
	if pic.Facts == nil || pic.Facts.Processors == nil {
		return nil
	}
	p := pic.Facts.Processors
	out := &cores{}
	if q := p.Quota; q != nil {
		out.Limits = append(out.Limits, fmt.Sprintf("quota of %v processors (%s)", q.Processors, q.Source))
	}
	if p.Cpuset != nil && p.Cpuset.Processors != "" {
		out.Limits = append(out.Limits, fmt.Sprintf("processors %s (%s)", p.Cpuset.Processors, p.Cpuset.Source))
	}
	out.rows(p, n)
	if len(out.Rows)+len(out.Limits) == 0 {
		return nil
	}
	return out
}

// rows draws a row for each affinity mask.
func (c *cores) rows(p *picture.Processors, n *names) {
	last := -1
	for _, m := range p.Masks {
		for _, cpu := range m.Processors {
			last = max(last, cpu)
		}
	}
	running := map[int]bool{}
	for _, lwp := range p.Running {
		running[lwp] = true
	}
	column := func(cpu int) int { return coreLeft + coreWidth*cpu/(last+1) }
	for i := 0; i <= last; i += max(1, (last+maxColumns)/maxColumns) {
		c.Columns = append(c.Columns, coreLabel{column(i) + coreWidth/(last+1)/2, fmt.Sprint(i)})
	}
	for i, m := range p.Masks {
		if i == maxCoreRows {
			c.More = len(p.Masks) - i
			break
		}
		row := coreRow{Y: coreTop + i*coreRowStep}
		for _, lwp := range m.Threads {
			row.Running += number(running[lwp])
		}
		who := n.list(m.Threads)
		if row.Title = who; len(who) > coreChars {
			row.Title, _, _ = strings.Cut(who, " (LWP")
		}
		row.Title = clip(row.Title, coreChars)
		row.Whole = fmt.Sprintf("%s may run on processors %s; %s at work", who,
			phrase.Ranges(m.Processors, maxRanges),
			phrase.Count(row.Running, "thread"))
		for j := 0; j < len(m.Processors); {
			k := j + 1
			for k < len(m.Processors) && m.Processors[k] == m.Processors[k-1]+1 {
				k++
			}
			x := column(m.Processors[j])
			row.Cells = append(row.Cells, coreCell{x, max(column(m.Processors[k-1]+1)-x-1, 1)})
			j = k
		}
		c.Rows = append(c.Rows, row)
	}
	c.Width, c.Height = coreLeft+coreWidth, coreTop+len(c.Rows)*coreRowStep
}

// Words returns the rows in words.
func (c *cores) Words() string {
	var out []string
	for _, r := range c.Rows {
		out = append(out, r.Whole)
	}
	return strings.Join(out, ". ")
}
