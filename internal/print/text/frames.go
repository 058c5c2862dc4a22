package text

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

const (
	// maxPeriod is how many functions may call each other in turn to be shown as
	// one recursion: more are no pattern that people see.
	maxPeriod = 8
	// minRepeats is how often they are on the stack before they are folded.
	minRepeats = 4
	// maxStackLines bounds the lines of one stack, after folding; then come as
	// many as stackTail of its outermost frames.
	maxStackLines = 48
	stackTail     = 12
	// maxStacks bounds the stacks of one page.
	maxStacks = 32
	// maxLines bounds the further lines that a recursion's function is said to be at.
	maxLines = 3
)

// frameKey is equal for frames of the same function: of the same construct in it, and
// of the same goroutine. Lines do not count.
func frameKey(f picture.Frame) string {
	name := f.Function
	if name == "" {
		name = functionAddress(f)
	}
	return fmt.Sprint(f.Kind, "|", name, "|", f.Construct, "|", f.In, "|", f.File, "|", f.Module, "|", f.Goroutine)
}

// functionAddress names the function of a frame without a name: by its entry, or else
// by the instruction.
func functionAddress(f picture.Frame) string {
	switch {
	case f.Entry != nil:
		return f.Entry.String()
	case f.PC != nil:
		return f.PC.String()
	}
	return ""
}

// stretch is a part of a stack: period frames from at on, repeated times in turn.
type stretch struct{ at, period, times int }

func (s stretch) end() int { return s.at + s.period*s.times }

// fold finds the recursions of a stack: the shortest period first, each as long as it
// goes. What is no recursion is a stretch of one frame.
func fold(fs []picture.Frame) []stretch {
	keys := make([]string, len(fs))
	for i, f := range fs {
		keys[i] = frameKey(f)
	}
	var out []stretch
	for at := 0; at < len(fs); at = out[len(out)-1].end() {
		out = append(out, recursion(keys, at))
	}
	return out
}

// recursion is the stretch that begins at a frame.
func recursion(keys []string, at int) stretch {
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

// stack prints the frames of a stack, recursions folded. pc adds the column of
// addresses.
func (p *Printer) stack(indent string, fs []picture.Frame, pc bool) {
	parts := fold(fs)
	if p.all {
		parts = eachFrame(len(fs))
	}
	for i, s := range parts {
		if skip := len(parts) - maxStackLines; !p.all && skip > 0 && i >= maxStackLines-stackTail &&
			i < len(parts)-stackTail {
			if i == maxStackLines-stackTail {
				p.linef("%s… frames #%d to #%d are left out; --all shows them", indent, s.at,
					parts[len(parts)-stackTail].at-1)
			}
			continue
		}
		if s.times > 1 {
			p.wrapped(fmt.Sprintf("%s#%d–#%d ", indent, s.at, s.end()-1), p.recursionLine(fs, s))
			continue
		}
		f := fs[s.at]
		address := ""
		if pc {
			address = pcColumn(f)
		}
		p.linef("%s#%-2d %s%s%s", indent, s.at, address, frameLine(p, f), entersGoroutine(p, fs, s.at))
	}
}

func eachFrame(n int) []stretch {
	out := make([]stretch, n)
	for i := range out {
		out[i] = stretch{i, 1, 1}
	}
	return out
}

// pcColumn is the address of a frame in the width of the column.
func pcColumn(f picture.Frame) string {
	if f.PC == nil {
		return strings.Repeat(" ", len("0x0123456789abcdef "))
	}
	return fmt.Sprintf("0x%016x ", uint64(*f.PC))
}

// recursionLine is "walk tree.c:7 ↔ main [task] tree.c:9, 169×": the functions that
// call each other, with the lines that they are at.
func (p *Printer) recursionLine(fs []picture.Frame, s stretch) string {
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
		text := frameLine(p, f)
		if len(lines) > 0 {
			text += " and " + strings.Join(lines[:min(len(lines), maxLines)], ", ")
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, " ↔ ") + p.bold(fmt.Sprintf(", %d×", s.times))
}
