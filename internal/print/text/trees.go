package text

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// Regions prints the tree of parallel regions; regions that are alike are one line.
func Regions(p *Printer, pic *picture.Picture) {
	if NotRead(p, "REGIONS", pic.Runtimes) {
		return
	}
	n := 0
	there, children := map[picture.ID]bool{}, map[picture.ID][]picture.Region{}
	for _, r := range pic.Regions {
		there[r.ID] = true
	}
	for _, r := range pic.Regions {
		if r.Level > 0 {
			n++
		}
		parent := r.Parent
		if !there[parent] { // the region is shown alone
			parent = ""
		}
		children[parent] = append(children[parent], r)
	}
	p.heading("REGIONS", phrase.Count(n, "parallel region"))
	t := tree{p, pic, children}
	t.print("", "  ")
}

// tree is regions by their parents.
type tree struct {
	p        *Printer
	pic      *picture.Picture
	children map[picture.ID][]picture.Region
}

const (
	minAlike = 4 // regions side by side that are alike become one line
	minChain = 4 // regions within each other that are alike become one line
)

// print prints the regions within a parent.
func (t tree) print(parent picture.ID, indent string) {
	list := t.children[parent]
	for i := 0; i < len(list); {
		n := t.alike(list[i:])
		branch, next := "├─ ", "│  "
		if i+n == len(list) {
			branch, next = "└─ ", "   "
		}
		if parent == "" {
			branch, next = "", ""
		}
		r := list[i]
		if num := regionNumber(t.pic, r.ID); t.p.numbers && num >= 0 {
			branch += fmt.Sprintf("%d: ", num)
		}
		last := t.innermost(r)
		switch {
		case n > 1:
			t.p.wrapped(indent+branch, t.p.bold(fmt.Sprintf("%d× ", n))+regionLine(t.p, merged(list[i:i+n]), ""))
		case last.ID != r.ID:
			t.p.wrapped(indent+branch, regionLine(t.p, r, fmt.Sprintf("levels %d-%d (active %d)", r.Level, last.Level,
				last.ActiveLevel)))
		default:
			t.p.wrapped(indent+branch, regionLine(t.p, r, ""))
		}
		for _, e := range r.Errors {
			t.p.wrapped(indent+next+t.p.note("! "), e)
		}
		if last.ID != "" {
			t.print(last.ID, indent+next)
		}
		i += n
	}
}

// same reports whether two regions differ in nothing but their members and levels.
func same(a, b picture.Region) bool {
	return len(a.Errors) == 0 && len(b.Errors) == 0 && a.Serialized == b.Serialized && a.TeamSize == b.TeamSize &&
		a.League == b.League && phrase.CodeName(a.Function) == phrase.CodeName(b.Function) &&
		(a.Level > 0) == (b.Level > 0)
}

// alike is how many regions from the first on are alike and have none within them.
func (t tree) alike(list []picture.Region) int {
	if t.p.all || t.p.numbers {
		return 1
	}
	n := 0
	for n < len(list) && same(list[0], list[n]) && list[n].ID != "" && len(t.children[list[n].ID]) == 0 {
		n++
	}
	if n < minAlike {
		return 1
	}
	return n
}

// merged is regions that are alike as one with all their members.
func merged(list []picture.Region) picture.Region {
	r := list[0]
	r.Threads = nil
	for _, other := range list {
		r.Threads = append(r.Threads, other.Threads...)
	}
	return r
}

// innermost is the last of the regions within each other, from r on, that are alike and
// have the same members; r itself if they are few.
func (t tree) innermost(r picture.Region) picture.Region {
	if t.p.all || t.p.numbers {
		return r
	}
	last, n := r, 1
	for n < len(t.pic.Regions) {
		within := t.children[last.ID]
		if last.ID == "" || len(within) != 1 || !same(last, within[0]) ||
			!slices.Equal(last.Threads, within[0].Threads) {
			break
		}
		last, n = within[0], n+1
	}
	if n < minChain {
		return r
	}
	return last
}

// regionLine is one region; levels takes the place of its level if it is not empty.
func regionLine(p *Printer, r picture.Region, levels string) string {
	line := regionText(p, r, levels)
	if p.all {
		line += "; ID " + string(r.ID)
	}
	return line
}

func regionText(p *Printer, r picture.Region, levels string) string {
	if r.Level == 0 && r.Parent != "" {
		return fmt.Sprintf("one team of a league of %d (level 0): %s", r.League, p.members(r))
	}
	if r.Level == 0 {
		return "serial code (level 0): " + p.members(r)
	}
	kind := "parallel"
	if r.Serialized {
		kind += ", serialized"
	}
	if levels == "" {
		levels = fmt.Sprintf("level %d (active %d)", r.Level, r.ActiveLevel)
	}
	at := cmp.Or(phrase.CodeName(r.Function), "construct unknown")
	return fmt.Sprintf("%s %s, %s, team of %d: %s", kind, p.name(at), levels, r.TeamSize, p.members(r))
}

func (p *Printer) members(r picture.Region) string {
	if len(r.Threads) == 0 {
		return "no thread at hand"
	}
	return "LWP " + p.lwps(r.Threads)
}

// Stacks prints the merged user-model stacks.
func Stacks(p *Printer, pic *picture.Picture) {
	p.heading("STACKS", fmt.Sprintf("%d different, runtime frames hidden (--native shows them)", len(pic.Stacks)))
	for i, s := range pic.Stacks {
		if i == maxStacks && !p.all {
			p.linef("  … %s; --all shows them", phrase.Count(len(pic.Stacks)-i, "more stack"))
			break
		}
		p.wrapped("  "+p.bold(phrase.Count(s.Count, "thread"))+": ", "LWP "+p.lwps(s.Threads))
		p.stack("    ", s.Frames, false)
	}
}

// NativeStacks prints every thread's native stack.
func NativeStacks(p *Printer, pic *picture.Picture) {
	for _, t := range pic.Threads {
		p.line("")
		p.linef("%s %s %s", p.bold(fmt.Sprintf("LWP %d", t.LWP)), phrase.RoleName(t), phrase.Numbers(t))
		p.stack("  ", t.Stack, true)
		for _, e := range t.Errors {
			p.wrapped("  "+p.note("! "), e)
		}
	}
}

// entersGoroutine names the goroutine on whose stack frame i lies, if those before
// lie elsewhere.
func entersGoroutine(p *Printer, fs []picture.Frame, i int) string {
	id := fs[i].Goroutine
	if id == 0 || i > 0 && fs[i-1].Goroutine == id {
		return ""
	}
	return p.note(fmt.Sprintf("  goroutine %d", id))
}

func frameLine(p *Printer, f picture.Frame) string {
	s := phrase.Where(f)
	switch f.Kind {
	case picture.FramePseudo:
		s = p.note(s)
	case picture.FrameUser:
		s = p.name(s)
	default:
		s = p.dim(s)
	}
	if f.Inlined {
		s += p.dim("  inlined")
	}
	if f.How != "" {
		s += p.note("  guessed: " + f.How)
	}
	return s
}
