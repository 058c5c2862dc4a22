package inspect

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// mergeStacks groups threads with the same user-model stack. The crashed
// thread's group comes first, then the larger ones, idle threads last.
func mergeStacks(threads []Thread) []MergedStack {
	groups := map[string]*MergedStack{}
	var order []*MergedStack
	rank := map[*MergedStack]int{}
	for _, t := range threads {
		if len(t.UserStack) == 0 {
			continue
		}
		key := stackKey(t.UserStack)
		g := groups[key]
		if g == nil {
			g = &MergedStack{Frames: shared(t.UserStack)}
			groups[key] = g
			order = append(order, g)
			rank[g] = 1
		}
		g.Count++
		g.Threads = append(g.Threads, t.LWP)
		for i := range g.Frames {
			if g.Frames[i].Goroutine != t.UserStack[i].Goroutine {
				g.Frames[i].Goroutine = 0 // each thread has another
			}
		}
		switch {
		case t.Crashed:
			rank[g] = 0
		case t.Role == "idle" || t.Role == "none":
			rank[g] = max(rank[g], 2)
		}
	}
	slices.SortStableFunc(order, func(a, b *MergedStack) int {
		return cmp.Or(cmp.Compare(rank[a], rank[b]), -cmp.Compare(a.Count, b.Count))
	})
	out := make([]MergedStack, len(order))
	for i, g := range order {
		out[i] = *g
	}
	return out
}

// stackKey is equal for stacks that people would call the same.
func stackKey(fs []Frame) string {
	var b strings.Builder
	for _, f := range fs {
		if f.Function == "" && f.PC != nil {
			fmt.Fprintf(&b, "%v\n", f.PC)
			continue
		}
		fmt.Fprintf(&b, "%s|%s|%d\n", f.Function, f.File, f.Line)
	}
	return b.String()
}

// shared is a stack without what belongs to one thread only: the thread that
// forked the region is the same for all members of a team, but not for its
// primary.
func shared(fs []Frame) []Frame {
	out := slices.Clone(fs)
	for i := range out {
		out[i].LWP = 0
	}
	return out
}
