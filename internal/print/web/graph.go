package web

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/internal/print/waitgraph"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// graph is the wait-for graph as a drawing, and in words.
type graph struct {
	Width, Height int
	Boxes         []*box
	Arrows        []arrow
	Words         []string // one for each edge
	More          int      // boxes that are not drawn
	MoreWords     int      // edges that are not worded
}

// box is a node: a thread, several similar ones, or the object that they wait for.
type box struct {
	X, Y, W, H int // of its center, and its size
	Round      int // radius of its corners
	Class      string
	Title      string
	Detail     string
	Whole      string // title and detail, untruncated
	Cyclic     bool

	ids    []string // nodes that it represents
	thread bool
	depth  int // steps to a box that waits for no other, or is on a cycle
	out    []*box
}

// Left is the left side of the box.
func (b *box) Left() int { return b.X - b.W/2 }

// Top is the upper side of the box.
func (b *box) Top() int { return b.Y - b.H/2 }

// TitleY returns the baseline of the title.
func (b *box) TitleY() int {
	if b.Detail == "" {
		return b.Y + 5
	}
	return b.Y - 3
}

// DetailY returns the baseline of the detail.
func (b *box) DetailY() int { return b.Y + 14 }

// arrow is an edge between boxes.
type arrow struct {
	Path   string
	X, Y   int // the position of its label
	Label  string
	Anchor string // the alignment of the label at that position
	Cyclic bool
	Dashed bool // it is not certain
}

// Bounds of the drawing.
const (
	maxBoxes  = 60
	fullBoxes = 14 // with more, threads are merged wherever they are in the program
	maxWords  = 200
)

// newGraph draws the wait-for graph; nil if there are no edges.
func newGraph(pic *picture.Picture, n *names) *graph {
	g := waitgraph.NewGraph(pic)
	if len(g.Edges) == 0 {
		return nil
	}
	d := newDrawing(g, n, false)
	if len(d.boxes) > fullBoxes {
		d = newDrawing(g, n, true)
	}
	out := &graph{Boxes: d.boxes}
	if more := len(out.Boxes) - maxBoxes; more > 0 {
		out.More, out.Boxes = more, out.Boxes[:maxBoxes]
	}
	d.boxes = out.Boxes
	d.layout(g, out)
	d.arrows(g, out)
	for i, e := range g.Edges {
		if i == maxWords {
			out.MoreWords = len(g.Edges) - i
			break
		}
		out.Words = append(out.Words, d.words(e))
	}
	return out
}

// drawing is a graph in construction.
type drawing struct {
	names *names
	nodes map[string]waitgraph.Node
	of    map[string]*box // by ID of node
	boxes []*box
}

// newDrawing creates the boxes. Threads with the same edges share a box if they are at the same place; with
// loose, at any place.
func newDrawing(g waitgraph.Graph, n *names, loose bool) *drawing {
	d := &drawing{names: n, nodes: map[string]waitgraph.Node{}, of: map[string]*box{}}
	edges := map[string][]string{}
	for _, e := range g.Edges {
		edges[e.From] = append(edges[e.From], ">"+e.To)
		edges[e.To] = append(edges[e.To], "<"+e.From)
	}
	alike, lwps := map[string]*box{}, map[*box][]int{}
	for _, node := range g.Nodes {
		if d.nodes[node.ID] = node; len(edges[node.ID]) == 0 {
			continue
		}
		b := d.box(node)
		if b.thread && !b.Cyclic {
			key := b.Class + "|" + strings.Join(edges[node.ID], "|")
			if !loose {
				key += "|" + b.Detail
			}
			if same := alike[key]; same != nil {
				if same.Detail != b.Detail {
					same.Detail = "at different places"
				}
				b = same
			}
			alike[key] = b
		}
		if len(b.ids) == 0 {
			d.boxes = append(d.boxes, b)
		}
		b.ids = append(b.ids, node.ID)
		d.of[node.ID] = b
		lwps[b] = append(lwps[b], node.LWP)
	}
	d.finish(g, lwps)
	return d
}

// finish sets the titles, sizes and order of the boxes, and their successors.
func (d *drawing) finish(g waitgraph.Graph, lwps map[*box][]int) {
	for _, b := range d.boxes {
		if len(b.ids) > 1 {
			b.Title = phrase.Count(len(b.ids), "thread")
		}
		b.fit()
		if len(b.ids) > 1 {
			b.Whole += "\n" + d.names.list(lwps[b])
		}
	}
	slices.SortStableFunc(d.boxes, func(a, b *box) int { // those of cycles first
		return cmp.Compare(number(!a.Cyclic), number(!b.Cyclic))
	})
	for _, e := range g.Edges {
		from, to := d.of[e.From], d.of[e.To]
		if !slices.Contains(from.out, to) {
			from.out = append(from.out, to)
		}
	}
}

func number(b bool) int {
	if b {
		return 1
	}
	return 0
}

// box returns the box of a node.
func (d *drawing) box(n waitgraph.Node) *box {
	if n.Kind == waitgraph.Thread {
		return &box{
			Class: d.names.class(n.LWP), Title: d.names.nameOf(n.LWP), Detail: d.names.place(n.LWP),
			Round: 4, Cyclic: n.Cyclic, thread: true,
		}
	}
	t := n.Target
	address := ""
	if t.Address != nil {
		address, t.Address = t.Address.String(), nil
	}
	b := &box{Class: classLock, Title: phrase.Target(t), Detail: address, Round: 22, Cyclic: n.Cyclic}
	if n.Kind == waitgraph.Barrier {
		b.Class = classBarrier
	}
	return b
}

// Sizes of boxes, in units of the drawing.
const (
	minBox    = 150
	maxBox    = 330
	boxHeight = 46
	padding   = 14
	titleChar = 7.9 // width of a character of the title
	placeChar = 6.7 // of the detail
)

// fit sets the size of a box from its texts, and truncates texts that do not fit.
func (b *box) fit() {
	b.Whole = strings.TrimSpace(b.Title + "\n" + b.Detail)
	title, detail := float64(len([]rune(b.Title)))*titleChar, float64(len([]rune(b.Detail)))*placeChar
	b.W = min(max(int(max(title, detail))+2*padding, minBox), maxBox)
	b.H = boxHeight
	room := float64(b.W - 2*padding)
	b.Title, b.Detail = clip(b.Title, int(room/titleChar+0.5)), clip(b.Detail, int(room/placeChar+0.5))
}

// words returns an edge in words.
func (d *drawing) words(e waitgraph.Edge) string {
	s := fmt.Sprintf("%s %s %s", d.called(e.From), relation(e), d.called(e.To))
	if e.At != nil {
		s += ", acquired at " + phrase.Where(*e.At)
	}
	return s
}

// called returns the name of a node.
func (d *drawing) called(id string) string {
	n := d.nodes[id]
	if n.Kind == waitgraph.Thread {
		return d.names.nameOf(n.LWP)
	}
	return phrase.Target(n.Target)
}

// relation returns the meaning of an edge in words.
func relation(e waitgraph.Edge) string {
	s := string(e.Relation)
	switch e.Relation {
	case waitgraph.Lacks:
		s = "has not been reached by"
	case waitgraph.HeldBy:
		s = "is held by"
		if e.Certainty != "" && e.Certainty != picture.Certain {
			s = "is held, " + string(e.Certainty) + ", by"
		}
	}
	return s
}

// atLine returns the line of a place; its file is shown elsewhere.
func atLine(f *picture.Frame) string {
	if f.Near {
		return fmt.Sprintf("near line %d", f.Line)
	}
	return fmt.Sprintf("at line %d", f.Line)
}

// label returns the label of an arrow: the facts that the boxes do not show.
func label(e waitgraph.Edge, several int) string {
	switch {
	case e.Relation == waitgraph.Releases:
		return "may be released by"
	case e.At != nil && e.At.Line != 0:
		return clip("acquired "+atLine(e.At), maxLabel)
	case e.Relation == waitgraph.HeldBy:
		return "held by"
	case e.Relation == waitgraph.Lacks && several == 1:
		return "not reached by"
	case e.Relation == waitgraph.NeedsOf:
		return "depends on"
	}
	return ""
}

// maxLabel bounds the characters of a label.
const maxLabel = 28
