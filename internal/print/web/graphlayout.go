package web

import (
	"fmt"
	"math"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/internal/print/waitgraph"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// Distances of the drawing.
const (
	margin  = 16
	column  = 100 // between the boxes of two columns
	rowStep = boxHeight + 26
)

// layout places the boxes: each cycle is a ring on the right; waiting boxes are in columns to the left of the boxes
// that they wait for.
func (d *drawing) layout(g waitgraph.Graph, out *graph) {
	d.depths()
	columns := map[int][]*box{}
	deepest := 0
	for _, b := range d.boxes {
		if !b.Cyclic {
			columns[b.depth] = append(columns[b.depth], b)
			deepest = max(deepest, b.depth)
		}
	}
	x, tallest := margin, 0
	for depth := deepest; depth >= 0; depth-- {
		list := columns[depth]
		if len(list) == 0 {
			continue
		}
		width := 0
		for i, b := range list {
			b.Y = margin + boxHeight/2 + i*rowStep
			width, tallest = max(width, b.W), max(tallest, b.Y+b.H/2)
		}
		for _, b := range list {
			b.X = x + width/2
		}
		x += width + column
	}
	right, low := d.rings(g, x)
	out.Width, out.Height = max(x-column, right)+margin, max(tallest, low)+margin
	for _, list := range columns { // short columns are centered
		shift := (out.Height - 2*margin - (list[len(list)-1].Y + boxHeight/2 - margin)) / 2
		for _, b := range list {
			b.Y += shift
		}
	}
}

// depths sets the length of the longest path from each box to a box that waits for no other, or is on a cycle,
// so that arrows point to the right.
func (d *drawing) depths() {
	for range min(len(d.boxes), maxColumnsOfGraph) { // each round completes one more column
		for _, b := range d.boxes {
			for _, to := range b.out {
				if !b.Cyclic {
					b.depth = min(max(b.depth, to.depth+1), maxColumnsOfGraph)
				}
			}
		}
	}
}

// maxColumnsOfGraph bounds the columns: a cycle without a verdict has no longest path.
const maxColumnsOfGraph = 12

// rings places the boxes of the cycles, one ring below the other, from x on, and returns their right and lower
// ends.
func (d *drawing) rings(g waitgraph.Graph, x int) (right, low int) {
	placed := map[*box]bool{}
	low = margin
	for _, lwps := range g.Cycles {
		ring := d.ring(lwps, placed)
		if len(ring) == 0 {
			continue
		}
		widest := 0
		for _, b := range ring {
			widest = max(widest, b.W)
		}
		n := float64(len(ring))
		rx, ry := max(float64(widest)*1.1, 30*n), max(26*n, 100)
		if len(ring) <= 2 {
			rx, ry = float64(widest)*0.5+80, boxHeight
		}
		cx, cy := float64(x+widest/2)+rx, float64(low)+ry+boxHeight/2
		for i, b := range ring {
			a := math.Pi + 2*math.Pi*float64(i)/n
			b.X, b.Y = int(cx+rx*math.Cos(a)), int(cy+ry*math.Sin(a))
			right = max(right, b.X+b.W/2)
		}
		low = int(cy+ry) + boxHeight
	}
	return right, low
}

// ring returns the boxes of a cycle in order, without those in earlier rings.
func (d *drawing) ring(lwps []int, placed map[*box]bool) (out []*box) {
	add := func(b *box) {
		if b != nil && !placed[b] && slices.Contains(d.boxes, b) {
			placed[b] = true
			out = append(out, b)
		}
	}
	for i, lwp := range lwps {
		from, to := d.of[threadID(lwp)], d.of[threadID(lwps[(i+1)%len(lwps)])]
		if add(from); from == nil {
			continue
		}
		for _, mid := range from.out {
			if mid.Cyclic && !mid.thread && slices.Contains(mid.out, to) {
				add(mid)
			}
		}
	}
	return out
}

func threadID(lwp int) string { return fmt.Sprintf("thread:%d", lwp) }

// arrows draws the edges; several between the same boxes are drawn once.
func (d *drawing) arrows(g waitgraph.Graph, out *graph) {
	drawn := map[[2]*box]bool{}
	for _, e := range g.Edges {
		from, to := d.of[e.From], d.of[e.To]
		if drawn[[2]*box{from, to}] || !slices.Contains(d.boxes, from) || !slices.Contains(d.boxes, to) {
			continue
		}
		drawn[[2]*box{from, to}] = true
		r := router{boxes: d.boxes, from: from, to: to, height: out.Height}
		var a arrow
		if !e.Cyclic && from.X+from.W/2 < to.X-to.W/2 {
			a = r.across()
		} else {
			a = r.connect()
		}
		a.Label, a.Cyclic = label(e, len(from.out)), e.Cyclic
		a.Dashed = e.Certainty != "" && e.Certainty != picture.Certain
		out.Arrows = append(out.Arrows, a)
	}
}

// border returns the point at which the line from the middle of a box to another point leaves the box.
func border(b *box, x, y float64) (float64, float64) {
	dx, dy := x-float64(b.X), y-float64(b.Y)
	if dx == 0 && dy == 0 {
		return x, y
	}
	const gap = 3
	scale := 1.0
	if dx != 0 {
		scale = min(scale, (float64(b.W)/2+gap)/math.Abs(dx))
	}
	if dy != 0 {
		scale = min(scale, (float64(b.H)/2+gap)/math.Abs(dy))
	}
	return float64(b.X) + dx*scale, float64(b.Y) + dy*scale
}
