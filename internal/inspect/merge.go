package inspect

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// mergeStacks groups threads with the same user-model stack. The crashed
// thread's group comes first, then the larger ones, idle threads last.
func mergeStacks(threads []picture.Thread) []picture.MergedStack {
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
			g = &picture.MergedStack{Frames: shared(t.UserStack)}
			groups[key] = g
			order = append(order, g)
			rank[g] = 1
		}
		g.Count++
		g.Threads = append(g.Threads, t.LWP)
		for i := range g.Frames {
			keepShared(&g.Frames[i], t.UserStack[i])
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

// stackKey is equal for stacks that people would call the same: those of the same
// functions at the same lines. A function without a name is known by its entry, as
// threads at different instructions of it would be at one line, if there were lines.
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

// keepShared takes from f, a frame of a merged stack, what the same frame of another
// thread does not have: its goroutine, and where it is in a function without a name.
func keepShared(f *picture.Frame, other picture.Frame) {
	if f.Goroutine != other.Goroutine {
		f.Goroutine = 0
	}
	if f.Function == "" && f.Entry != nil && f.PC != nil && (other.PC == nil || *f.PC != *other.PC) {
		f.Offset -= min(f.Offset, uint64(*f.PC-*f.Entry))
		f.PC = nil
	}
}

// shared is a stack without what belongs to one thread only: the thread that
// forked the region is the same for all members of a team, but not for its
// primary.
func shared(fs []picture.Frame) []picture.Frame {
	out := slices.Clone(fs)
	for i := range out {
		out[i].LWP = 0
	}
	return out
}
