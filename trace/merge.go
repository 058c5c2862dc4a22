package trace

import "iter"

// Events yields the events of all threads since a time, in the order of their times. Each event overwrites the
// one before.
func (r *Recording) Events(since uint64) iter.Seq2[*Thread, *Event] {
	return func(yield func(*Thread, *Event) bool) {
		var h heap
		for _, t := range r.Threads {
			for _, run := range []*Run{&t.Main, &t.Rare} {
				s := &source{thread: t, cursor: run.Since(since)}
				if s.cursor.Next(&s.event) {
					h = append(h, first{s.event.Time, s})
				}
			}
		}
		for i := len(h)/2 - 1; i >= 0; i-- {
			h.down(i)
		}
		for len(h) > 0 {
			top := h[0].source
			if !yield(top.thread, &top.event) {
				return
			}
			if top.cursor.Next(&top.event) {
				h[0].time = top.event.Time
			} else {
				h[0] = h[len(h)-1]
				h = h[:len(h)-1]
			}
			h.down(0)
		}
	}
}

// Events yields the events of one thread since a time, from both rings in order. Each event overwrites the one
// before.
func (t *Thread) Events(since uint64) iter.Seq[*Event] {
	return func(yield func(*Event) bool) {
		var e, seldom Event
		main, rare := t.Main.Since(since), t.Rare.Since(since)
		more, left := main.Next(&e), rare.Next(&seldom)
		for more || left {
			switch {
			case !left || more && e.Time < seldom.Time:
				if !yield(&e) {
					return
				}
				more = main.Next(&e)
			default:
				if !yield(&seldom) {
					return
				}
				left = rare.Next(&seldom)
			}
		}
	}
}

// source is a ring with its next event.
type source struct {
	thread *Thread
	cursor Cursor
	event  Event
}

// first is the time of a source's event, stored without the source, so that the times of thousands of rings fit in
// the processor's nearest cache.
type first struct {
	time uint64
	*source
}

// heap is a heap of sources, the earliest event first.
type heap []first

// down moves source i down until the ones below it are not earlier.
func (h heap) down(i int) {
	for {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(h); child++ {
			if h[child].time < h[least].time {
				least = child
			}
		}
		if least == i {
			return
		}
		h[i], h[least] = h[least], h[i]
		i = least
	}
}
