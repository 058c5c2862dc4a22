package web

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// icicle is a drawing of the merged stacks: a cell is a frame, its width is the number of its threads, and the
// called functions are below it.
type icicle struct {
	Width, Height int
	Cells         []cell
	Legend        []struct{ Class, Name string }
	Threads       int
	Deeper        string // "40 frames of 3 threads": the part below the last row

	describe func(*call) string // the size of a cell, in words
}

// cell is a frame of the threads with the same frames above it.
type cell struct {
	X, Y, W int
	Class   string // color of all of its threads; empty if they differ
	Text    string // truncated to the width
	Whole   string
}

// Rows returns the maximal number of rows of the drawing.
func (*icicle) Rows() int { return maxDepth }

// TextX returns the start of the text of the cell.
func (c cell) TextX() int { return c.X + cellPadding }

// TextY returns the baseline of the text.
func (c cell) TextY() int { return c.Y + 15 }

// Sizes of the icicle, in units of the drawing.
const (
	icicleWidth = 1080
	cellHeight  = 22
	cellChar    = 6.7
	cellPadding = 6
	minCell     = 3       // narrower cells are not drawn
	maxCount    = 1 << 31 // of a stack; a saved picture may claim any number
	maxDepth    = 48      // rows
)

// call is a frame in the tree of the merged stacks.
type call struct {
	name  string
	count int
	lwps  []int
	class string
	next  []*call
	at    map[string]*call
}

// newIcicle draws the merged stacks; nil without any.
func newIcicle(pic *picture.Picture, n *names) *icicle {
	if len(pic.Stacks) == 0 {
		return nil
	}
	root, deeper, deep := &call{at: map[string]*call{}}, 0, 0
	for _, s := range pic.Stacks {
		root.add(s, n)
		if below := len(s.Frames) - maxDepth; below > 0 {
			deeper, deep = deeper+below, deep+s.Count
		}
	}
	out := &icicle{Width: icicleWidth, Threads: root.count}
	if deeper > 0 {
		out.Deeper = phrase.Count(deeper, "inner frame") + " of " + phrase.Count(deep, "thread")
	}
	used := map[string]bool{}
	out.describe = func(c *call) string { return phrase.Count(c.count, "thread") + ": " + n.list(c.lwps) }
	out.draw(root, 0, 0, icicleWidth, used)
	out.addLegend(used)
	return out
}

// addLegend adds the used colors.
func (o *icicle) addLegend(used map[string]bool) {
	for _, c := range classes {
		if used[c.Class] {
			o.Legend = append(o.Legend, c)
		}
	}
}

// add adds a merged stack, its outermost frame first.
func (c *call) add(s picture.MergedStack, n *names) {
	classOf := ""
	for i, lwp := range s.Threads {
		if k := n.class(lwp); i == 0 {
			classOf = k
		} else if k != classOf {
			classOf = ""
			break
		}
	}
	c.insert(s.Frames, min(max(s.Count, 0), maxCount), s.Threads, classOf)
}

// insert adds a stack of a size, its outermost frame first.
func (c *call) insert(frames []picture.Frame, count int, lwps []int, classOf string) {
	at := c
	at.join(count, lwps, classOf)
	for i := len(frames) - 1; i >= 0 && len(frames)-i <= maxDepth; i-- {
		name := phrase.Where(frames[i])
		next := at.at[name]
		if next == nil {
			next = &call{name: name, at: map[string]*call{}}
			at.at[name] = next
			at.next = append(at.next, next)
		}
		next.join(count, lwps, classOf)
		at = next
	}
}

// join adds the size and the threads of a stack.
func (c *call) join(count int, lwps []int, classOf string) {
	if c.count == 0 {
		c.class = classOf
	} else if c.class != classOf {
		c.class = ""
	}
	c.count += count
	c.lwps = append(c.lwps, lwps...)
}

// draw places the calls of c, those of most threads first; those that would be too narrow are one cell.
func (o *icicle) draw(c *call, depth, x, width int, used map[string]bool) {
	slices.SortStableFunc(c.next, func(a, b *call) int { return cmp.Compare(b.count, a.count) })
	done, most := 0, len(c.next)
	for i, next := range c.next {
		left := x + width*done/max(c.count, 1)
		w := x + width*(done+next.count)/max(c.count, 1) - left
		if w < minCell {
			most = i
			break
		}
		done += next.count
		o.cell(next, depth, left, w, used)
		o.draw(next, depth+1, left, w, used)
	}
	rest := call{name: fmt.Sprintf("… %s", phrase.Count(len(c.next)-most, "other frame"))}
	for i, next := range c.next[most:] {
		if rest.class = next.class; i > 0 && next.class != c.next[most].class {
			rest.class = ""
			break
		}
	}
	for _, next := range c.next[most:] {
		rest.count, rest.lwps = rest.count+next.count, append(rest.lwps, next.lwps...)
	}
	left := x + width*done/max(c.count, 1)
	if w := x + width*(done+rest.count)/max(c.count, 1) - left; w >= minCell {
		o.cell(&rest, depth, left, w, used)
	}
}

// cell draws a call.
func (o *icicle) cell(c *call, depth, x, w int, used map[string]bool) {
	one := cell{X: x, Y: depth * cellHeight, W: w - 1, Class: c.class}
	one.Text = clip(c.name, int(float64(w-2*cellPadding)/cellChar))
	one.Whole = c.name + ": " + o.describe(c)
	if one.Class != "" {
		used[one.Class] = true
	}
	o.Cells = append(o.Cells, one)
	o.Height = max(o.Height, (depth+1)*cellHeight)
}
