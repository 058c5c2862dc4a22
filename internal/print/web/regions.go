package web

import (
	"fmt"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/internal/print/waitgraph"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// region is a region with its members and the regions within it.
type region struct {
	Title   string
	Detail  string
	Members []member
	Words   string // the states of the members
	More    int    // members that are not drawn
	Inner   []*region
	Errors  []string
	Deep    bool // its inner regions are folded initially
}

// member is a square in the row of a region's members.
type member struct {
	X, Y  int
	Class string
	Name  string
}

// Sizes of the rows of members, in pixels, and their maximal number.
const (
	memberSize   = 14
	memberStride = 17
	memberRow    = 32
	maxMembers   = 2048
	maxRegions   = 1500
	openLevels   = 4 // deeper regions are folded initially
)

// Width returns the width of the drawing of the members.
func (r *region) Width() int { return min(len(r.Members), memberRow)*memberStride + 1 }

// Height returns the height of the drawing.
func (r *region) Height() int { return (len(r.Members)+memberRow-1)/memberRow*memberStride + 1 }

// newRegions returns the tree of regions.
func newRegions(pic *picture.Picture, n *names) (roots []*region) {
	at, drawn := map[picture.ID]*region{}, 0
	for i := range pic.Regions[:min(len(pic.Regions), maxRegions)] {
		r := &pic.Regions[i]
		one := newRegion(r, n)
		if drawn += len(one.Members); drawn > maxMembers*4 {
			one.More, one.Members = one.More+len(one.Members), nil
		}
		at[r.ID] = one
		if outer := at[r.Parent]; outer != nil && r.Parent != r.ID {
			outer.Inner = append(outer.Inner, one)
			continue
		}
		roots = append(roots, one)
	}
	if more := len(pic.Regions) - maxRegions; more > 0 {
		roots = append(roots, &region{Title: fmt.Sprintf("… and %s", phrase.Count(more, "more region"))})
	}
	return roots
}

func newRegion(r *picture.Region, n *names) *region {
	out := &region{Title: "serial code", Errors: r.Errors, Deep: r.Level > openLevels}
	out.Detail = fmt.Sprintf("level %d", r.Level)
	if r.Level > 0 {
		out.Title = "parallel"
		if at := phrase.CodeName(r.Function); at != "" {
			out.Title = "parallel " + at
		}
		out.Detail = fmt.Sprintf("level %d, active %d, team of %d", r.Level, r.ActiveLevel, r.TeamSize)
		if r.Serialized {
			out.Detail += ", serialized"
		}
	} else if r.League > 0 {
		out.Title = fmt.Sprintf("one team of a league of %d", r.League)
	}
	out.Words = memberWords(r.Threads, n)
	if len(r.Threads) == 1 && r.TeamSize <= 1 { // one square alone shows nothing
		out.Detail += "; " + memberName(r.Threads[0], n)
		return out
	}
	for i, lwp := range r.Threads {
		if i == maxMembers {
			out.More = len(r.Threads) - i
			break
		}
		out.Members = append(out.Members, member{
			X: i%memberRow*memberStride + 1, Y: i/memberRow*memberStride + 1, Class: n.class(lwp),
			Name: memberName(lwp, n),
		})
	}
	return out
}

// memberName names a member of a region, with its state.
func memberName(lwp int, n *names) string {
	name := n.nameOf(lwp)
	if t := n.threads[lwp]; t != nil && t.State != nil {
		name += " " + string(t.State.Name)
	}
	return name
}

// regionLegend explains the colors of the squares that are drawn.
func regionLegend(list []*region) (out []struct{ Class, Name string }) {
	used := map[string]bool{}
	var add func([]*region)
	add = func(list []*region) {
		for _, r := range list {
			for _, m := range r.Members {
				used[m.Class] = true
			}
			add(r.Inner)
		}
	}
	add(list)
	for _, c := range classes {
		if used[c.Class] {
			out = append(out, c)
		}
	}
	return out
}

// memberWords returns the squares of a region's members in words.
func memberWords(lwps []int, n *names) string {
	of := map[string]int{}
	for _, lwp := range lwps {
		of[n.class(lwp)]++
	}
	var states []string
	for _, c := range classes {
		if of[c.Class] > 0 {
			states = append(states, fmt.Sprintf("%s: %d", c.Name, of[c.Class]))
		}
	}
	return phrase.Count(len(lwps), "member") + "; " + strings.Join(states, ", ")
}

// threads is the table of threads.
type threads struct {
	Groups []threadGroup
	Total  int
	More   int
}

// threadGroup is a group of similar threads; if there are several, the first row represents all.
type threadGroup struct {
	Count int
	Who   string
	Rows  []threadRow
	Rest  bool // not alike, but the rest of too many

	lwps []int
}

// threadRow is a thread in the table.
type threadRow struct {
	Class, LWP, Number, Role, Name, State, Source, Waits, Holds, Where string
	Crashed                                                            bool
	Errors                                                             []string
}

// threadKey is equal for similar threads.
type threadKey struct{ role, state, waits, holds, where string }

// maxThreads bounds the threads in the table. From foldThreads similar threads on, they are one row.
const (
	maxThreads  = 5000
	foldThreads = 4
	maxRows     = 64 // that are not folded
)

// newThreads returns the table of threads; similar neighbours are folded.
func newThreads(pic *picture.Picture, n *names) threads {
	out := threads{Total: len(pic.Threads), More: max(0, len(pic.Threads)-maxThreads)}
	at, held := map[threadKey]int{}, waitgraph.Holdings(waitgraph.Contention(pic))
	for i := range pic.Threads[:len(pic.Threads)-out.More] {
		t := &pic.Threads[i]
		row := newThreadRow(t)
		row.Holds = phrase.HeldText(held[t.LWP])
		key := threadKey{row.Role, row.State, row.Waits, row.Holds, row.Where}
		alike := !t.Crashed && t.LWP != 0 && len(t.Errors) == 0
		g, ok := at[key]
		if !ok || !alike {
			g = len(out.Groups)
			out.Groups = append(out.Groups, threadGroup{})
			if alike {
				at[key] = g
			}
		}
		out.Groups[g].Rows = append(out.Groups[g].Rows, row)
		out.Groups[g].lwps = append(out.Groups[g].lwps, t.LWP)
	}
	out.Groups = folded(out.Groups)
	for i := range out.Groups {
		g := &out.Groups[i]
		g.Count, g.Who = len(g.Rows), n.list(g.lwps)
	}
	return out
}

// folded joins the last of too many groups into one.
func folded(groups []threadGroup) []threadGroup {
	var out []threadGroup
	rows, rest := 0, threadGroup{Rest: true}
	for _, g := range groups {
		if rows++; rows > maxRows {
			rest.Rows, rest.lwps = append(rest.Rows, g.Rows...), append(rest.lwps, g.lwps...)
			continue
		}
		out = append(out, g)
	}
	if len(rest.Rows) > 0 {
		out = append(out, rest)
	}
	return out
}

// Folded reports whether the threads of a group are initially one row.
func (g threadGroup) Folded() bool { return g.Rest || g.Count >= foldThreads }

// First returns the thread that represents the group.
func (g threadGroup) First() threadRow { return g.Rows[0] }

func newThreadRow(t *picture.Thread) threadRow {
	r := threadRow{
		Class: class(t), LWP: fmt.Sprint(t.LWP), Role: phrase.RoleName(*t), Name: t.Name,
		Waits: phrase.WaitsOn(*t), Crashed: t.Crashed, Errors: t.Errors,
	}
	r.Number = strings.ReplaceAll(phrase.Numbers(*t), "/", " of ")
	if t.LWP == 0 {
		r.LWP = "gone"
	}
	if t.State != nil {
		r.State, r.Source = string(t.State.Name), string(t.State.Source)
	}
	if f, ok := phrase.InnermostUser(t.UserStack); ok {
		r.Where = phrase.Where(f)
	}
	return r
}
