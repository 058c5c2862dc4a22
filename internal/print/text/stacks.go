package text

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// stackView prints stacks, with recursions folded.
type stackView struct{ *Printer }

// Stacks prints the merged user-model stacks.
func Stacks(p *Printer, pic *picture.Picture) {
	printStacks(p, pic, nil)
}

// printStacks prints the merged stacks, without those of threads that are printed elsewhere.
func printStacks(p *Printer, pic *picture.Picture, elsewhere map[int]bool) {
	v := stackView{p}
	list := slices.DeleteFunc(slices.Clone(pic.Stacks), func(s picture.MergedStack) bool {
		return !slices.ContainsFunc(s.Threads, func(lwp int) bool { return !elsewhere[lwp] })
	})
	groups := v.foldStacks(list)
	above := len(pic.Stacks) - len(list)
	summary := fmt.Sprintf("%d different, ", len(groups)+above)
	if above > 0 && len(list) == 0 {
		summary = fmt.Sprintf("%d different, above; ", above)
	} else if above > 0 {
		summary = fmt.Sprintf("%d different, %d of them above; ", len(groups)+above, above)
	}
	p.printHeading("STACKS", summary+"runtime frames hidden (--native shows them)")
	threads := threadsByLWP(pic)
	for i, s := range groups {
		if i == maxStacks && !p.all {
			p.printf("  … %s; --all shows them", phrase.Count(len(groups)-i, "more stack"))
			break
		}
		many := ""
		if s.Count > 1 {
			many = p.bold(fmt.Sprintf("%d×", s.Count)) + " "
		}
		p.printWrapped("  "+many, p.namesOf(threads, s.Threads))
		v.printFolded("    ", s, false)
	}
}

// threadsInCycles returns the threads whose stacks a verdict prints.
func threadsInCycles(p *Printer, pic *picture.Picture) map[int]bool {
	out := map[int]bool{}
	if p.all {
		return out
	}
	for _, v := range pic.Verdicts {
		if isNote(v) {
			continue
		}
		for i, s := range v.Cycle {
			if isCutCycle(v, i) {
				break
			}
			out[s.Thread] = true
		}
	}
	return out
}

// NativeStacks prints every thread's native stack.
func NativeStacks(p *Printer, pic *picture.Picture) {
	v := stackView{p}
	for _, t := range pic.Threads {
		p.printLine("")
		p.printf("%s %s", p.bold(p.threadNames([]picture.Thread{t})), phrase.RoleName(t))
		v.print("  ", t.Stack, true)
		for _, e := range t.Errors {
			p.printWrapped("  "+p.amber("! "), e)
		}
	}
}

const (
	// maxPeriod bounds the functions that call each other in turn in one recursion: with more, the pattern is not
	// visible.
	maxPeriod = 8
	// minRepeats is the number of repetitions from which a recursion is folded.
	minRepeats = 4
	// maxStackLines bounds the lines of one stack after folding; a longer one has stackHead lines of its innermost
	// frames and stackTail of its outermost.
	maxStackLines = 16
	stackHead     = 8
	stackTail     = 3
	// maxStacks bounds the stacks of one page.
	maxStacks = 32
	// maxLines bounds the further source lines of a function in a recursion.
	maxLines = 3
)

// frameKey returns a key that is equal for frames of the same function, construct and goroutine, whatever their lines.
// Constructs of one kind in one function are alike: the names of their functions are the compiler's.
func frameKey(f picture.Frame) string {
	name := f.Function
	switch {
	case f.Construct != "" && f.In != "":
		name = ""
	case name == "":
		name = functionAddress(f)
	}
	return fmt.Sprint(f.Kind, "|", name, "|", f.Construct, "|", f.In, "|", f.File, "|", f.Module, "|", f.Goroutine)
}

// functionAddress returns the address of a function without a name: its entry, or else that of the instruction.
func functionAddress(f picture.Frame) string {
	switch {
	case f.Entry != nil:
		return f.Entry.String()
	case f.PC != nil:
		return f.PC.String()
	}
	return ""
}

// stretch is a part of a stack: period frames from index at, repeated the given number of times.
type stretch struct {
	at, period, times int
	library           bool // one call of the C++ standard library
}

func (s stretch) end() int { return s.at + s.period*s.times }

// fold divides a stack into recursions, with the shortest period and as long as possible, calls of the C++ standard
// library, and other frames, each of which is a stretch of its own.
func fold(fs []picture.Frame) []stretch {
	keys := make([]string, len(fs))
	for i, f := range fs {
		keys[i] = frameKey(f)
	}
	var out []stretch
	for at := 0; at < len(fs); at = out[len(out)-1].end() {
		part := recursionAt(keys, at)
		if n := phrase.LibraryCall(fs, at); n > 0 && part.times == 1 {
			part = stretch{at: at, period: n, times: 1, library: true}
		}
		out = append(out, part)
	}
	return out
}

// recursionAt returns the stretch that starts at a frame, or at an event of a thread.
func recursionAt[K comparable](keys []K, at int) stretch {
	for period := 1; period <= maxPeriod; period++ {
		end := at + period
		for end < len(keys) && keys[end] == keys[end-period] {
			end++
		}
		if times := (end - at) / period; times >= minRepeats {
			return stretch{at: at, period: period, times: times}
		}
	}
	return stretch{at: at, period: 1, times: 1}
}

// print prints the frames of a stack with its recursions folded. pc adds the column of addresses.
func (p *stackView) print(indent string, fs []picture.Frame, pc bool) {
	p.printFolded(indent, p.foldStack(picture.MergedStack{Frames: fs}), pc)
}

// foldedStack is merged stacks that differ only in the depth and the lines of their recursions.
type foldedStack struct {
	picture.MergedStack // the first one, with the threads of all
	parts               []stretch
	others              []foldedStack
}

// foldStack folds the recursions of a stack, unless nothing is folded.
func (p *stackView) foldStack(s picture.MergedStack) foldedStack {
	if p.all {
		return foldedStack{MergedStack: s, parts: unfolded(len(s.Frames))}
	}
	return foldedStack{MergedStack: s, parts: fold(s.Frames)}
}

// shape returns a key that is equal for stacks in one group.
func (s *foldedStack) shape() string {
	var b strings.Builder
	for _, part := range s.parts {
		for _, f := range s.Frames[part.at:][:part.period] {
			b.WriteString(frameKey(f))
			if part.times == 1 && !f.Near {
				fmt.Fprint(&b, "|", f.Line)
			}
			b.WriteByte('\n')
		}
		if part.times > 1 {
			b.WriteString("repeated\n")
		}
	}
	return b.String()
}

// foldStacks groups stacks that differ only in the depth and the lines of their recursions.
func (p *stackView) foldStacks(list []picture.MergedStack) []foldedStack {
	var out []foldedStack
	at := map[string]int{}
	for _, s := range list {
		folded := p.foldStack(s)
		key := folded.shape()
		i, ok := at[key]
		recursive := slices.ContainsFunc(folded.parts, func(s stretch) bool { return s.times > 1 })
		if p.all || !ok || !recursive {
			at[key] = len(out)
			out = append(out, folded)
			continue
		}
		first := &out[i]
		first.others = append(first.others, folded)
		first.Count, first.Threads = first.Count+s.Count, slices.Concat(first.Threads, s.Threads)
	}
	return out
}

// printFolded prints the parts of a stack, the innermost and outermost ones of a long one.
func (p *stackView) printFolded(indent string, s foldedStack, pc bool) {
	parts, numbered := s.parts, true
	for i, part := range parts {
		if !p.all && len(parts) > maxStackLines && i >= stackHead && i < len(parts)-stackTail {
			if i == stackHead {
				p.printf("%s… frames #%d to #%d are left out; --all shows them", indent, part.at,
					parts[len(parts)-stackTail].at-1)
			}
			continue
		}
		if part.times > 1 {
			number := fmt.Sprintf("#%d–#%d ", part.at, part.end()-1)
			if s.isVaried(i) {
				number, numbered = fmt.Sprintf("#%d… ", part.at), false
			}
			p.printWrapped(indent+number, p.recursionLine(s.recursions(i)))
			continue
		}
		f := s.Frames[part.end()-1]
		address, number := "", fmt.Sprintf("#%d", part.at)
		if part.period > 1 {
			number = fmt.Sprintf("#%d–#%d", part.at, part.end()-1)
		}
		if pc {
			address = pcColumn(f)
		}
		if !numbered { // the number differs among the stacks of the group
			number = ""
		}
		line := p.frameLine(f)
		if part.library {
			line = p.dim(phrase.LibraryFunction(f))
		}
		p.printf("%s%-3s %s%s%s", indent, number, address, line, p.enteredGoroutine(s.Frames, part.at))
	}
}

// isVaried reports whether the stacks of a group differ in the depth of a recursion.
func (s *foldedStack) isVaried(i int) bool {
	return slices.ContainsFunc(s.others, func(o foldedStack) bool { return o.parts[i].times != s.parts[i].times })
}

// recursion is one recursion in a stack.
type recursion struct {
	frames []picture.Frame
	stretch
}

// recursions returns a recursion in all stacks of a group.
func (s *foldedStack) recursions(i int) []recursion {
	out := []recursion{{s.Frames, s.parts[i]}}
	for _, o := range s.others {
		out = append(out, recursion{o.Frames, o.parts[i]})
	}
	return out
}

func unfolded(n int) []stretch {
	out := make([]stretch, n)
	for i := range out {
		out[i] = stretch{at: i, period: 1, times: 1}
	}
	return out
}

// pcColumn returns the address of a frame in the width of its column.
func pcColumn(f picture.Frame) string {
	if f.PC == nil {
		return strings.Repeat(" ", len("0x0123456789abcdef "))
	}
	return fmt.Sprintf("0x%016x ", uint64(*f.PC))
}

// recursionLine returns "walk tree.c:7 ↔ main [task] tree.c:9, 169×": the functions that call each other, with their
// source lines. The recursions are of alike stacks.
func (p *stackView) recursionLine(list []recursion) string {
	var parts []string
	first := list[0]
	least, most := first.times, first.times
	for i := range first.period {
		f := first.frames[first.at+i]
		var lines []string
		for _, r := range list {
			least, most = min(least, r.times), max(most, r.times)
			for j := r.at + i; j < r.end(); j += r.period {
				g := r.frames[j]
				if line := strconv.Itoa(g.Line); g.Line != f.Line && !g.Near && !slices.Contains(lines, line) {
					lines = append(lines, line)
				}
				if f.PC != nil && (g.PC == nil || *g.PC != *f.PC) {
					f.PC = nil
				}
			}
		}
		text := p.frameLine(f)
		if len(lines) > 0 {
			text += " and " + strings.Join(lines[:min(len(lines), maxLines)], ", ")
		}
		parts = append(parts, text)
	}
	times := fmt.Sprintf(", %d×", least)
	if most > least {
		times = fmt.Sprintf(", %d to %d×", least, most)
	}
	return strings.Join(parts, " ↔ ") + p.bold(times)
}

// enteredGoroutine names the goroutine of frame i, if the inner frames belong to another one.
func (p *stackView) enteredGoroutine(fs []picture.Frame, i int) string {
	id := fs[i].Goroutine
	if id == 0 || i > 0 && fs[i-1].Goroutine == id {
		return ""
	}
	return p.amber(fmt.Sprintf("  goroutine %d", id))
}

// frameLine returns a frame in the colour of its kind.
func (p *stackView) frameLine(f picture.Frame) string {
	s := phrase.Where(f)
	switch f.Kind {
	case picture.FramePseudo:
		s = p.amber(s)
	case picture.FrameUser:
		s = p.cyan(s)
	default:
		s = p.dim(s)
	}
	if f.Inlined {
		s += p.dim("  inlined")
	}
	if guess := f.Guess(); guess != "" {
		s += p.amber("  " + guess)
	}
	return s
}
