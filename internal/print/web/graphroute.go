package web

import (
	"fmt"
	"math"
)

// router finds the way of an arrow around the boxes of a drawing.
type router struct {
	boxes    []*box
	from, to *box
	height   int // of the drawing
}

// curve is a cubic Bézier curve: its start, its control points, its end.
type curve struct{ x, y [4]float64 }

// pointAt returns the point of a curve at t, from 0 to 1.
func (c *curve) pointAt(t float64) (x, y float64) {
	u := 1 - t
	for i, f := range [4]float64{u * u * u, 3 * u * u * t, 3 * u * t * t, t * t * t} {
		x, y = x+f*c.x[i], y+f*c.y[i]
	}
	return x, y
}

// path returns the curve as an SVG path.
func (c *curve) path() string {
	return fmt.Sprintf("M%.0f %.0fC%.0f %.0f %.0f %.0f %.0f %.0f",
		c.x[0], c.y[0], c.x[1], c.y[1], c.x[2], c.y[2], c.x[3], c.y[3])
}

const (
	curveSteps = 48 // points of a curve that are tested
	clearance  = 6  // between an arrow and a box that it passes
	bendStep   = 24 // step by which a curve is bent more to pass a box
	bendsMost  = 14
)

// free reports whether a curve stays in the drawing and crosses only the boxes that it connects.
func (r *router) free(c *curve) bool {
	for i := range curveSteps {
		x, y := c.pointAt((float64(i) + 0.5) / curveSteps)
		if y < clearance || y > float64(r.height)-clearance || x < clearance {
			return false
		}
		for _, b := range r.boxes {
			gap := float64(clearance)
			if b == r.from || b == r.to {
				gap = -1
			}
			if math.Abs(x-float64(b.X)) < float64(b.W)/2+gap && math.Abs(y-float64(b.Y)) < float64(b.H)/2+gap {
				return false
			}
		}
	}
	return true
}

// across returns the curve from the right side of a box to the left side of another. If it crosses boxes, it is
// bent above or below them, as little as possible.
func (r *router) across() arrow {
	x1, x2 := r.from.X+r.from.W/2+3, r.to.X-r.to.W/2-3
	plain := r.bent(0, 0.5)
	if r.free(&plain) {
		return arrow{Path: plain.path(), X: x2 - 8, Y: r.to.Y - 6, Anchor: "end"}
	}
	steep := 24 / float64(x2-x1) // reaches its height early
	for n := 1; n <= bendsMost; n++ {
		for _, bend := range []float64{-bendStep, bendStep} {
			for _, lean := range []float64{0.25, min(0.2, steep), -min(0.2, steep)} {
				c := r.bent(bend*float64(n), lean)
				if r.free(&c) {
					return labelled(&c)
				}
			}
		}
	}
	return arrow{Path: plain.path(), X: x2 - 8, Y: r.to.Y - 6, Anchor: "end"}
}

// bent returns a curve between the sides of the boxes, with its bends that far below them, and at that part of
// its width from its ends.
func (r *router) bent(below, lean float64) curve {
	x1, x2 := float64(r.from.X+r.from.W/2+3), float64(r.to.X-r.to.W/2-3)
	y1, y2 := float64(r.from.Y), float64(r.to.Y)
	return curve{
		[4]float64{x1, x1 + (x2-x1)*lean, x2 - (x2-x1)*lean, x2}, [4]float64{y1, y1 + below, y2 + below, y2},
	}
}

// labelled returns an arrow with its label above its middle.
func labelled(c *curve) arrow {
	x, y := c.pointAt(0.5)
	return arrow{Path: c.path(), X: int(x), Y: int(y) - 6, Anchor: "middle"}
}

// connect returns the curve from one box to another, bent to its left, or to its right if only that crosses no
// box.
func (r *router) connect() arrow {
	const bend = 26
	first, _ := r.side(bend)
	for n := range bendsMost {
		for _, way := range []float64{1, -1} {
			a, c := r.side(way * (bend + float64(n)*bendStep))
			if r.free(&c) {
				return a
			}
		}
	}
	return first
}

// side returns the curve from one box to another that is bent to its left.
func (r *router) side(bend float64) (arrow, curve) {
	x1, y1, x2, y2 := float64(r.from.X), float64(r.from.Y), float64(r.to.X), float64(r.to.Y)
	dx, dy := x2-x1, y2-y1
	length := max(math.Hypot(dx, dy), 1)
	cx, cy := (x1+x2)/2+dy/length*bend, (y1+y2)/2-dx/length*bend
	sx, sy := border(r.from, cx, cy)
	ex, ey := border(r.to, cx, cy)
	outwards := math.Copysign(1, bend)
	nx, ny := outwards*dy/length, -outwards*dx/length
	a := arrow{
		Path: fmt.Sprintf("M%.0f %.0fQ%.0f %.0f %.0f %.0f", sx, sy, cx, cy, ex, ey),
		X:    int((sx+2*cx+ex)/4 + nx*8), Y: int((sy+2*cy+ey)/4+ny*8) + 4, Anchor: "middle",
	}
	if nx > sideways {
		a.Anchor = "start"
	} else if nx < -sideways {
		a.Anchor = "end"
	}
	third := func(p, q float64) float64 { return p + (q-p)*2/3 }
	return a, curve{
		[4]float64{sx, third(sx, cx), third(ex, cx), ex}, [4]float64{sy, third(sy, cy), third(ey, cy), ey},
	}
}

// sideways is the horizontal part of an arrow's normal above which its label is at the side, not above or
// below.
const sideways = 0.25
