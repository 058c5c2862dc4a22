package stacks

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// Merge groups threads with equal user-model stacks. The crashed thread's group comes first, then larger
// groups, idle threads last.
func Merge(threads []picture.Thread) []picture.MergedStack {
	groups := map[string]*picture.MergedStack{}
	var order []*picture.MergedStack
	rank := map[*picture.MergedStack]int{}
	for _, t := range threads {
		if len(t.UserStack) == 0 {
			continue
		}
		key := stackKey(t.UserStack)
		g := groups[key]
		if g == nil {
			g = &picture.MergedStack{Frames: withoutThreads(t.UserStack)}
			groups[key] = g
			order = append(order, g)
			rank[g] = 1
		}
		g.Count++
		g.Threads = append(g.Threads, t.LWP)
		for i := range g.Frames {
			dropDifferent(&g.Frames[i], t.UserStack[i])
		}
		switch {
		case t.Crashed:
			rank[g] = 0
		case t.Role == picture.RoleIdle || t.Role == picture.RoleNone:
			rank[g] = max(rank[g], 2)
		}
	}
	slices.SortStableFunc(order, func(a, b *picture.MergedStack) int {
		return cmp.Or(cmp.Compare(rank[a], rank[b]), -cmp.Compare(a.Count, b.Count))
	})
	out := make([]picture.MergedStack, len(order))
	for i, g := range order {
		out[i] = *g
	}
	return out
}

// stackKey is equal for stacks of the same functions at the same lines. A function without a name is identified
// by its entry, since threads at several instructions of it may be at one line.
func stackKey(fs []picture.Frame) string {
	var b strings.Builder
	for _, f := range fs {
		switch {
		case f.Function == "" && f.Entry != nil:
			fmt.Fprintf(&b, "%s|%v\n", f.Module, f.Entry)
		case f.Function == "" && f.PC != nil:
			fmt.Fprintf(&b, "%v\n", f.PC)
		default:
			for _, part := range [...]string{f.Function, "|", f.File, "|", strconv.Itoa(f.Line), "\n"} {
				b.WriteString(part)
			}
		}
	}
	return b.String()
}

// dropDifferent removes from f, a frame of a merged stack, the parts in which another thread's frame differs:
// its goroutine, and the address in a function without a name.
func dropDifferent(f *picture.Frame, other picture.Frame) {
	if f.Goroutine != other.Goroutine {
		f.Goroutine = 0
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
