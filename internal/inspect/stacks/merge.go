package stacks

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// Merge groups threads with equal user-model stacks. The crashed thread's group comes first, then larger groups, idle
// threads last. Frames without a name in a library are one frame: such a library has no symbols, and its stacks differ
// in addresses only.
func Merge(threads []picture.Thread) []picture.MergedStack {
	m := merger{groups: map[string]*picture.MergedStack{}, alike: map[string][]*picture.MergedStack{}}
	rank := map[*picture.MergedStack]int{}
	for _, t := range threads {
		if len(t.UserStack) == 0 {
			continue
		}
		frames := withoutUnnamed(t.UserStack)
		g := m.groupOf(frames)
		if g.Count == 0 {
			rank[g] = 1
		}
		g.Count++
		g.Threads = append(g.Threads, t.LWP)
		for i := range g.Frames {
			dropDifferent(&g.Frames[i], frames[i])
		}
		switch {
		case t.Crashed:
			rank[g] = 0
		case t.Role == picture.RoleIdle || t.Role == picture.RoleNone:
			rank[g] = max(rank[g], 2)
		}
	}
	order := m.order
	slices.SortStableFunc(order, func(a, b *picture.MergedStack) int {
		return cmp.Or(cmp.Compare(rank[a], rank[b]), -cmp.Compare(a.Count, b.Count))
	})
	out := make([]picture.MergedStack, len(order))
	for i, g := range order {
		out[i] = *g
	}
	return out
}

// merger finds the groups of stacks.
type merger struct {
	groups map[string]*picture.MergedStack   // by their functions and lines
	alike  map[string][]*picture.MergedStack // by their functions alone
	order  []*picture.MergedStack
}

// groupOf returns the group of a stack, a new one if none is equal. Lines that are only near the code match all others
// of the function.
func (m *merger) groupOf(frames []picture.Frame) *picture.MergedStack {
	key := stackKey(frames, true)
	if g := m.groups[key]; g != nil {
		return g
	}
	functions := stackKey(frames, false)
	for _, g := range m.alike[functions] {
		if areNear(g.Frames, frames) {
			m.groups[key] = g
			return g
		}
	}
	g := &picture.MergedStack{Frames: withoutThreads(frames)}
	m.groups[key], m.alike[functions] = g, append(m.alike[functions], g)
	m.order = append(m.order, g)
	return g
}

// areNear reports whether two stacks of the same functions differ only in lines that are near the code.
func areNear(a, b []picture.Frame) bool {
	for i := range a {
		if a[i].Line != b[i].Line && !a[i].Near && !b[i].Near {
			return false
		}
	}
	return true
}

// withoutUnnamed returns a stack in which neighbouring frames of one library are one, the outermost, if they have no
// names.
func withoutUnnamed(fs []picture.Frame) []picture.Frame {
	inLibrary := func(f picture.Frame) bool { return f.Function == "" && isLibrary(f.Module) }
	out := make([]picture.Frame, 0, len(fs))
	for i, f := range fs {
		if inLibrary(f) && i+1 < len(fs) && fs[i+1].Module == f.Module && (inLibrary(fs[i+1]) ||
			fs[i+1].Kind != picture.FramePseudo && fs[i+1].Line == 0) {
			continue
		}
		out = append(out, f)
	}
	return out
}

// isLibrary reports whether a file is a shared library, by its name.
func isLibrary(module string) bool {
	return strings.HasSuffix(module, ".so") || strings.Contains(module, ".so.")
}

// stackKey is equal for stacks of the same functions, with lines at the same lines. A function without a name is
// identified by its entry, since threads at several instructions of it may be at one line; in a library by its file.
func stackKey(fs []picture.Frame, lines bool) string {
	var b strings.Builder
	for _, f := range fs {
		line := ""
		if lines {
			line = strconv.Itoa(f.Line)
		}
		switch {
		case f.Function == "" && isLibrary(f.Module):
			fmt.Fprintf(&b, "%s\n", f.Module)
		case f.Function == "" && f.Entry != nil:
			fmt.Fprintf(&b, "%s|%v\n", f.Module, f.Entry)
		case f.Function == "" && f.PC != nil:
			fmt.Fprintf(&b, "%v\n", f.PC)
		default:
			for _, part := range [...]string{f.Function, "|", f.File, "|", line, "\n"} {
				b.WriteString(part)
			}
		}
	}
	return b.String()
}

// dropDifferent removes from f, a frame of a merged stack, the parts in which another thread's frame differs:
// its goroutine, the address in a function without a name, and a line that is only near.
func dropDifferent(f *picture.Frame, other picture.Frame) {
	if f.Goroutine != other.Goroutine {
		f.Goroutine = 0
	}
	if f.Near && !other.Near {
		f.Line, f.Near = other.Line, false
	}
	if f.Function == "" && isLibrary(f.Module) && f.PC != nil && (other.PC == nil || *f.PC != *other.PC) {
		f.PC, f.Entry, f.Offset = nil, nil, 0
		return
	}
	if f.Function == "" && f.Entry != nil && f.PC != nil && (other.PC == nil || *f.PC != *other.PC) {
		f.Offset -= min(f.Offset, uint64(*f.PC-*f.Entry))
		f.PC = nil
	}
}

// withoutThreads returns a stack without the LWPs of frames: all members of a team but its primary thread have
// the forking thread there.
func withoutThreads(fs []picture.Frame) []picture.Frame {
	out := slices.Clone(fs)
	for i := range out {
		out[i].LWP = 0
	}
	return out
}
