package lockflow

import (
	"errors"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/internal/code/flow"
)

// functionAt returns the function around pc, with all its parts; nil if its code is unreadable, or if the code around
// pc is a part of an unknown function.
func (p *Program) functionAt(pc uint64) *function {
	if f, ok := p.around[pc]; ok {
		return f
	}
	var f *function
	if r, ok := p.rangeAt(pc); ok {
		f = p.functionWith(r)
	}
	p.around[pc] = f
	return f
}

// rangeAt returns the function around pc, or the part of a function in a place of its own.
func (p *Program) rangeAt(pc uint64) (flow.Range, bool) {
	low, high, ok := p.cfg.Code.Bounds(pc)
	return flow.Range{Low: low, High: high}, ok
}

// knownEntry returns the entry of the function that starts with r, or that has r as a part; not ok for a part of an
// unknown function.
func (p *Program) knownEntry(r flow.Range) (entry uint64, ok bool) {
	entry, isPart := p.cfg.Code.PartOf(r.Low)
	if !isPart {
		return r.Low, true
	}
	return entry, entry != 0
}

// functionWith returns the function that starts with r, or that has r as a part.
func (p *Program) functionWith(r flow.Range) *function {
	entry, ok := p.knownEntry(r)
	switch {
	case !ok:
		return p.functionJumpingTo(r)
	case entry == r.Low:
		return p.wholeFunction(r)
	}
	if first, ok := p.rangeAt(entry); ok && first.Low == entry {
		return p.wholeFunction(first, r)
	}
	return nil
}

// wholeFunction returns the function with a first range and all its parts, among them those given.
func (p *Program) wholeFunction(first flow.Range, parts ...flow.Range) *function {
	if f, known := p.functions[first.Low]; known {
		return f
	}
	for _, low := range p.cfg.Code.Parts(first.Low) {
		if r, ok := p.rangeAt(low); ok && r.Low == low && r != first && !slices.Contains(parts, r) {
			parts = append(parts, r)
		}
	}
	for {
		f := p.functionFrom(first, parts...)
		more := p.unnamedParts(f)
		if len(more) == 0 {
			return f
		}
		delete(p.functions, first.Low)
		parts = append(parts, more...)
	}
}

// unnamedParts returns parts of unknown functions to which f, which may be nil, jumps: they are parts of f.
func (p *Program) unnamedParts(f *function) (out []flow.Range) {
	if f == nil {
		return nil
	}
	for _, to := range jumpsOf(f) {
		r, ok := p.rangeAt(to)
		if !ok || slices.Contains(out, r) || r.Low == f.entry {
			continue
		}
		if _, known := p.knownEntry(r); !known && !f.flow.Starts(r.Low) {
			out = append(out, r)
		}
	}
	return out
}

// jumpsOf returns the addresses outside of f to which single instructions of f jump.
func jumpsOf(f *function) []uint64 {
	if o, ok := f.flow.Outline(); ok {
		return o.Jumps
	}
	var out []uint64
	jumps, _ := f.flow.JumpsOut()
	for _, j := range jumps {
		if j.Entry != 0 && !slices.Contains(out, j.Entry) {
			out = append(out, j.Entry)
		}
	}
	return out
}

// functionJumpingTo returns the function that jumps to a part of an unknown function, and to which the part, or another
// part to which it jumps, jumps back; nil if there is none.
func (p *Program) functionJumpingTo(part flow.Range) *function {
	seen := map[uint64]bool{part.Low: true}
	for work := []flow.Range{part}; len(work) > 0 && len(seen) < maxLinkedParts; work = work[1:] {
		g := p.functionFrom(work[0])
		if g == nil {
			continue
		}
		for _, to := range jumpsOf(g) {
			r, ok := p.rangeAt(to)
			if !ok || seen[r.Low] {
				continue
			}
			switch entry, known := p.knownEntry(r); {
			case !known:
				seen[r.Low] = true
				work = append(work, r)
			case entry == r.Low && to != r.Low:
				if f := p.wholeFunction(r); f != nil && f.flow.Starts(part.Low) {
					return f
				}
			}
		}
	}
	return nil
}

// maxLinkedParts bounds the parts that are followed to find their function.
const maxLinkedParts = 64

// functionFrom returns code as a function that starts with the first range; nil if it is unreadable.
func (p *Program) functionFrom(first flow.Range, others ...flow.Range) *function {
	f, known := p.functions[first.Low]
	if known {
		return f
	}
	g, err := flow.New(p.flowConfig(), first, others...)
	switch {
	case err == nil:
		f = &function{entry: first.Low, flow: g, points: map[place]*point{}, locks: map[string]*familySites{}}
	case errors.Is(err, flow.ErrSpent):
		p.cut++
	case errors.Is(err, flow.ErrUnread):
		p.unread = true
	}
	p.functions[first.Low] = f
	return f
}

// codeFrom returns the code that a call or a jump to entry executes: a function or, if entry is inside one, the rest of
// its range from there. A part of an unknown function has several entries, and jumps back into the function.
func (p *Program) codeFrom(entry uint64) *function {
	whole := p.functionAt(entry)
	r, ok := p.rangeAt(entry)
	if whole == nil && ok {
		if whole = p.functionFrom(r); whole != nil && !whole.flow.Starts(entry) {
			return nil
		}
	}
	if !ok || whole == nil || whole.entry == entry || !whole.flow.Starts(entry) || !p.mayEnter(whole, entry) {
		return whole
	}
	return p.functionFrom(flow.Range{Low: entry, High: r.High})
}

// entryOf returns the entry of the function around pc.
func (p *Program) entryOf(pc uint64) (entry uint64, ok bool) {
	r, ok := p.rangeAt(pc)
	if !ok {
		return 0, false
	}
	if entry, ok = p.knownEntry(r); ok {
		return entry, true
	}
	if f := p.functionAt(pc); f != nil {
		return f.entry, true
	}
	return 0, false
}
