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
	summary := fmt.Sprintf("%d different, ", len(pic.Stacks))
	if above := len(pic.Stacks) - len(list); above > 0 && len(list) == 0 {
		summary = fmt.Sprintf("%d different, above; ", len(pic.Stacks))
	} else if above > 0 {
		summary = fmt.Sprintf("%d different, %d of them above; ", len(pic.Stacks), above)
	}
	p.printHeading("STACKS", summary+"runtime frames hidden (--native shows them)")
	threads := threadsByLWP(pic)
	for i, s := range list {
		if i == maxStacks && !p.all {
			p.printf("  … %s; --all shows them", phrase.Count(len(list)-i, "more stack"))
			break
		}
		many := ""
		if s.Count > 1 {
			many = p.bold(fmt.Sprintf("%d×", s.Count)) + " "
		}
		p.printWrapped("  "+many, p.namesOf(threads, s.Threads))
		v.print("    ", s.Frames, false)
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
	// maxStackLines bounds the lines of one stack after folding, with stackTail lines of its outermost frames.
	maxStackLines = 48
	stackTail     = 12
	// maxStacks bounds the stacks of one page.
	maxStacks = 32
	// maxLines bounds the further source lines of a function in a recursion.
	maxLines = 3
)

// frameKey returns a key that is equal for frames of the same function, construct and goroutine, whatever their lines.
func frameKey(f picture.Frame) string {
	name := f.Function
	if name == "" {
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
type stretch struct{ at, period, times int }

func (s stretch) end() int { return s.at + s.period*s.times }

// fold divides a stack into recursions, with the shortest period and as long as possible, and other frames, each of
// which is a stretch of its own.
func fold(fs []picture.Frame) []stretch {
	keys := make([]string, len(fs))
	for i, f := range fs {
		keys[i] = frameKey(f)
	}
	var out []stretch
	for at := 0; at < len(fs); at = out[len(out)-1].end() {
		out = append(out, recursionAt(keys, at))
	}
	return out
}

// recursionAt returns the stretch that starts at a frame.
func recursionAt(keys []string, at int) stretch {
	for period := 1; period <= maxPeriod; period++ {
		end := at + period
		for end < len(keys) && keys[end] == keys[end-period] {
			end++
		}
		if times := (end - at) / period; times >= minRepeats {
			return stretch{at, period, times}
		}
	}
	return stretch{at, 1, 1}
}

// print prints the frames of a stack with its recursions folded. pc adds the column of addresses.
func (p *stackView) print(indent string, fs []picture.Frame, pc bool) {
	parts := fold(fs)
	if p.all {
		parts = unfolded(len(fs))
	}
	for i, s := range parts {
		if skip := len(parts) - maxStackLines; !p.all && skip > 0 && i >= maxStackLines-stackTail &&
			i < len(parts)-stackTail {
			if i == maxStackLines-stackTail {
				p.printf("%s… frames #%d to #%d are left out; --all shows them", indent, s.at,
					parts[len(parts)-stackTail].at-1)
			}
			continue
		}
		if s.times > 1 {
			p.printWrapped(fmt.Sprintf("%s#%d–#%d ", indent, s.at, s.end()-1), p.recursionLine(fs, s))
			continue
		}
		f := fs[s.at]
		address := ""
		if pc {
			address = pcColumn(f)
		}
		p.printf("%s#%-2d %s%s%s", indent, s.at, address, p.frameLine(f), p.enteredGoroutine(fs, s.at))
	}
}

func unfolded(n int) []stretch {
	out := make([]stretch, n)
	for i := range out {
		out[i] = stretch{i, 1, 1}
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
// source lines.
func (p *stackView) recursionLine(fs []picture.Frame, s stretch) string {
	var parts []string
	for i := range s.period {
		f := fs[s.at+i]
		var lines []string
		for j := s.at + i; j < s.end(); j += s.period {
			if line := strconv.Itoa(fs[j].Line); fs[j].Line != f.Line && !slices.Contains(lines, line) {
				lines = append(lines, line)
			}
			if f.PC != nil && (fs[j].PC == nil || *fs[j].PC != *f.PC) {
				f.PC = nil
			}
		}
		text := p.frameLine(f)
		if len(lines) > 0 {
			text += " and " + strings.Join(lines[:min(len(lines), maxLines)], ", ")
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, " ↔ ") + p.bold(fmt.Sprintf(", %d×", s.times))
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
	if f.How != "" {
		s += p.amber("  guessed: " + f.How)
	}
	return s
}
