package text

import (
	"fmt"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/inspect"
)

// Regions prints the tree of parallel regions.
func Regions(p *Printer, pic *inspect.Picture) {
	n := 0
	for _, r := range pic.Regions {
		if r.Level > 0 {
			n++
		}
	}
	p.heading("REGIONS", count(n, "parallel region"))
	children := map[inspect.ID][]inspect.Region{}
	for _, r := range pic.Regions {
		children[r.Parent] = append(children[r.Parent], r)
	}
	regionTree(p, pic, children, "", "  ")
}

func regionTree(p *Printer, pic *inspect.Picture, children map[inspect.ID][]inspect.Region, parent inspect.ID, indent string) {
	for i, r := range children[parent] {
		branch, next := "├─ ", "│  "
		if i == len(children[parent])-1 {
			branch, next = "└─ ", "   "
		}
		if parent == "" {
			branch, next = "", ""
		}
		if n := regionNumber(pic, r.ID); p.numbers && n >= 0 {
			branch += fmt.Sprintf("%d: ", n)
		}
		p.wrapped(indent+branch, regionLine(p, r))
		for _, e := range r.Errors {
			p.wrapped(indent+next+p.note("! "), e)
		}
		if r.ID != "" {
			regionTree(p, pic, children, r.ID, indent+next)
		}
	}
}

func regionLine(p *Printer, r inspect.Region) string {
	if r.Level == 0 && r.Parent != "" {
		return fmt.Sprintf("one team of a league of %d (level 0): %s", r.League, members(r))
	}
	if r.Level == 0 {
		return "serial code (level 0): " + members(r)
	}
	kind := "parallel"
	if r.Serialized {
		kind += ", serialized"
	}
	at := codeName(r.Function)
	if at == "" {
		at = "construct unknown"
	}
	return fmt.Sprintf("%s %s, level %d (active %d), team of %d: %s", kind, p.name(at), r.Level, r.ActiveLevel, r.TeamSize, members(r))
}

func members(r inspect.Region) string {
	if len(r.Threads) == 0 {
		return "no thread at hand"
	}
	return "LWP " + lwps(r.Threads, maxListed)
}

// Stacks prints the merged user-model stacks.
func Stacks(p *Printer, pic *inspect.Picture) {
	p.heading("STACKS", fmt.Sprintf("%d different, runtime frames hidden (--native shows them)", len(pic.Stacks)))
	for _, s := range pic.Stacks {
		p.wrapped("  "+p.bold(count(s.Count, "thread"))+": ", "LWP "+lwps(slices.Sorted(slices.Values(s.Threads)), maxListed))
		for i, f := range s.Frames {
			p.linef("    #%-2d %s%s", i, frameLine(p, f), entersGoroutine(p, s.Frames, i))
		}
	}
}

// NativeStacks prints every thread's native stack.
func NativeStacks(p *Printer, pic *inspect.Picture) {
	for _, t := range pic.Threads {
		p.line("")
		p.linef("%s %s %s", p.bold(fmt.Sprintf("LWP %d", t.LWP)), roleName(t), numbers(t))
		for i, f := range t.Stack {
			pc := "                  "
			if f.PC != nil {
				pc = fmt.Sprintf("0x%016x", uint64(*f.PC))
			}
			p.linef("  #%-2d %s %s%s", i, pc, frameLine(p, f), entersGoroutine(p, t.Stack, i))
		}
		for _, e := range t.Errors {
			p.wrapped("  "+p.note("! "), e)
		}
	}
}

// entersGoroutine tells the goroutine on whose stack frame i lies, if those before
// lie elsewhere.
func entersGoroutine(p *Printer, fs []inspect.Frame, i int) string {
	id := fs[i].Goroutine
	if id == 0 || i > 0 && fs[i-1].Goroutine == id {
		return ""
	}
	return p.note(fmt.Sprintf("  goroutine %d", id))
}

func frameLine(p *Printer, f inspect.Frame) string {
	s := where(f)
	switch f.Kind {
	case inspect.FramePseudo:
		s = p.note(s)
	case inspect.FrameUser:
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
