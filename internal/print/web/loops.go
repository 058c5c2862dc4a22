package web

import (
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// loop is a worksharing loop, and the threads that are in it.
type loop struct {
	Title   string
	Parts   []loopPart
	Members []loopMember
	More    int

	left       *uint64
	iterations uint64
	running    uint64
	known      bool // the iterations of all threads are known
}

// loopPart is a part of a loop's bar.
type loopPart struct {
	X, W  int
	Class string
	Name  string
}

// loopMember is threads with the same view of a loop.
type loopMember struct {
	Who, Text string

	lwps []int
}

// Bounds of the shown loops, and the width of a bar.
const (
	maxLoops       = 100
	maxLoopMembers = 200
	loopBar        = 640
)

// newLoops returns the loops that threads are in.
func newLoops(pic *picture.Picture, n *names) []loop {
	var order []string
	of := map[string]*loop{}
	for i := range pic.Threads {
		t := &pic.Threads[i]
		if t.Loop == nil {
			continue
		}
		key := fmt.Sprint(t.Region, "|", t.Loop.Schedule, "|", number64(t.Loop.Iterations), "|", t.Loop.Chunk == nil)
		l := of[key]
		if l == nil {
			if len(order) == maxLoops {
				continue
			}
			l = &loop{Title: t.Loop.Schedule, left: t.Loop.Left, known: true}
			l.iterations = number64(t.Loop.Iterations)
			if t.Loop.Ordered {
				l.Title += " ordered"
			}
			if t.Loop.Chunk != nil {
				l.Title += fmt.Sprintf(", chunk %d", *t.Loop.Chunk)
			}
			if l.iterations > 0 {
				l.Title += fmt.Sprintf(", %d iterations", l.iterations)
			}
			of[key], order = l, append(order, key)
		}
		l.add(t)
	}
	var out []loop
	for _, key := range order {
		l := of[key]
		for i := range l.Members {
			l.Members[i].Who = n.list(l.Members[i].lwps)
		}
		l.bar()
		out = append(out, *l)
	}
	return out
}

func number64(n *uint64) uint64 {
	if n == nil {
		return 0
	}
	return *n
}

// add adds a thread that is in the loop.
func (l *loop) add(t *picture.Thread) {
	if got, ok := iterationsLeft(t.Loop); ok {
		l.running += got
	} else {
		l.known = false
	}
	text := phrase.Loop(*t.Loop)
	for i := range l.Members {
		if l.Members[i].Text == text {
			l.Members[i].lwps = append(l.Members[i].lwps, t.LWP)
			return
		}
	}
	if len(l.Members) == maxLoopMembers {
		l.More++
		return
	}
	l.Members = append(l.Members, loopMember{Text: text, lwps: []int{t.LWP}})
}

// iterationsLeft returns the number of iterations that a thread has got and not finished, including its present
// one; false if unknown.
func iterationsLeft(l *picture.Loop) (uint64, bool) {
	if l.From == nil || l.To == nil {
		return 0, false
	}
	from, step := *l.From, int64(1)
	if l.At != nil {
		from = *l.At
	}
	if l.Step != nil && *l.Step != 0 {
		step = *l.Step
	}
	n := (*l.To-from)/step + 1
	return uint64(max(n, 0)), true
}

// bar draws the finished, running and remaining parts of the loop, if they are known.
func (l *loop) bar() {
	if l.iterations == 0 || l.left == nil || *l.left > l.iterations {
		return
	}
	got := l.iterations - *l.left
	running := min(l.running, got)
	done := got - running
	parts := []struct {
		n           uint64
		class, name string
	}{{done, "done", "done"}, {running, "running", "running"}, {*l.left, "left", "left"}}
	if !l.known { // some iterations of the threads may be finished
		parts[0].name = "done or running"
	}
	at := uint64(0)
	for _, p := range parts {
		if p.n == 0 {
			continue
		}
		x := int(float64(at) / float64(l.iterations) * loopBar)
		at += p.n
		w := int(float64(at)/float64(l.iterations)*loopBar) - x
		l.Parts = append(l.Parts, loopPart{X: x, W: max(w, 2), Class: p.class, Name: fmt.Sprintf("%d %s", p.n, p.name)})
	}
}
