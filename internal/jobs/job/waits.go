package job

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// mismatches returns the communicators with ranks in different collectives, or pass different counts or roots
// to the same one. If another rank may still come, the others wait for that instead.
func (v *view) mismatches() (out []Verdict) {
	seen := map[string]bool{}
	for _, g := range v.list {
		c := g.kind.Call
		if g.stance() != waits || c.Communicator == "" || roleOf(c.Routine) != collective || seen[c.Communicator] {
			continue
		}
		seen[c.Communicator] = true
		all := v.inside(c)
		if !v.isWorld(c) && all.Len() != c.Size {
			continue // communicators with disjoint ranks may have one name
		}
		if v.anyMoved(all) || c.Size > 0 && all.Len() < c.Size && v.by[busy].Len() > 0 {
			continue
		}
		sides, differ := v.sides(c.Communicator)
		if len(sides) < 2 {
			continue
		}
		few := sides[0]
		most := all.Subtract(few.Set)
		d := Verdict{
			Kind: Mismatch, Certainty: v.weaken(picture.Certain,
				all), Severity: picture.SeverityHang, Ranks: few.Set, Waiting: most,
			Evidence: v.places(all),
		}
		against := sides[len(sides)-1]
		d.Summary = fmt.Sprintf("on %s, %s %s in %s%s, and %s in %s%s: %s", c.Communicator, ranksWord(few.Set),
			verb(few.Set, "is"),
			v.sideText(few, differ), v.atText(few), ranksWord(against.Set), v.sideText(against, differ),
			v.atText(against), differ)
		out = append(out, d)
	}
	return out
}

// sideText describes a call, with the argument that differs.
func (v *view) sideText(g *group, differ string) string {
	if differ == differentRoutines {
		return g.kind.Call.Routine
	}
	return g.kind.Call.String()
}

const (
	differentRoutines = "all ranks of a communicator have to call the same collective"
	differentRoots    = "the root has to be the same"
	differentCounts   = "the number of elements has to be the same"
)

// sides divides the ranks in collectives on a communicator by the item that must be equal, those with the
// fewest ranks first.
func (v *view) sides(comm string) ([]*group, string) {
	part := func(of func(*Call) (string, bool)) (out []*group) {
		index := map[string]*group{}
		for _, g := range v.list {
			c := g.kind.Call
			if g.stance() != waits || c.Communicator != comm || roleOf(c.Routine) != collective {
				continue
			}
			key, known := of(c)
			if !known {
				return nil
			}
			if index[key] == nil {
				index[key] = &group{key: g.key, kind: g.kind}
				out = append(out, index[key])
			}
			index[key].join(g.Set)
		}
		slices.SortStableFunc(out, func(a, b *group) int { return a.Len() - b.Len() })
		return out
	}
	if s := part(func(c *Call) (string, bool) { return c.Routine, true }); len(s) > 1 {
		return s, differentRoutines
	}
	if s := part(func(c *Call) (string, bool) {
		return fmt.Sprint(deref(c.Root)), c.Root != nil
	}); len(s) > 1 {
		return s, differentRoots
	}
	s := part(func(c *Call) (string, bool) {
		return fmt.Sprint(deref(c.Count), c.Type), c.Count != nil && c.Type != "" &&
			slices.Contains(sameSize, c.Routine)
	})
	return s, differentCounts
}

func deref[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// cycles returns the ranks that wait for each other: each for a message of the next one, or for its arrival at
// a collective.
func (v *view) cycles() (out []Verdict) {
	ranks, visited := v.exchanging(), Set{}
	for start := range ranks.All {
		if visited.Contains(start) {
			continue
		}
		var path []int
		at := start
		for ranks.Contains(at) && !visited.Contains(at) {
			visited.Add(at)
			path = append(path, at)
			at = v.members.memberOf(at).Peer
		}
		if i := slices.Index(path, at); i >= 0 {
			out = append(out, v.cycle(path[i:]))
			continue
		}
		if d, ok := v.throughCollective(path, at); ok {
			out = append(out, d)
		}
	}
	out = append(out, v.noSender()...)
	return slices.DeleteFunc(out, func(d Verdict) bool { return v.anyMoved(d.Ranks) || v.anyMoved(d.Waiting) })
}

// exchanging returns the ranks that wait for a rank that they name.
func (v *view) exchanging() (out Set) {
	for _, g := range v.list {
		c := g.kind.Call
		if g.stance() != waits || roleOf(c.Routine) != exchange || c.AnySource || !v.isWorld(c) {
			continue
		}
		for r := range g.All {
			if p := v.members.memberOf(r).Peer; p >= 0 && p != r {
				out.Add(r)
			}
		}
	}
	return out
}

// maxSteps is the number of steps of a cycle in a sentence.
const maxSteps = 3

// cycle returns the verdict on ranks that each wait for the next, the last for the first.
func (v *view) cycle(path []int) Verdict {
	all := newSet(path...)
	var steps []string
	for _, r := range path[:min(len(path), maxSteps)] {
		steps = append(steps, v.stepText(r))
	}
	if len(path) > maxSteps {
		steps = append(steps, "…")
	}
	behind := v.by[waits].Subtract(all)
	return Verdict{
		Kind: Cycle, Certainty: v.weaken(picture.Certain,
			all), Severity: picture.SeverityHang, Ranks: all, Waiting: behind,
		Summary:  fmt.Sprintf("%s wait for each other: %s", ranksWord(all), strings.Join(steps, ", ")),
		Evidence: v.places(all),
	}
}

// stepText describes the wait of a rank.
func (v *view) stepText(rank int) string {
	g, m := v.groupOf(rank), v.members.memberOf(rank)
	tag := ""
	if m.Tag != nil {
		tag = fmt.Sprintf(" (tag %d)", *m.Tag)
	}
	return fmt.Sprintf("rank %d in %s%s for rank %d%s", rank, g.kind.Call.Routine, v.atText(g), m.Peer, tag)
}

// throughCollective returns the verdict on ranks that wait for a rank in a collective to which they themselves
// must come.
func (v *view) throughCollective(path []int, end int) (Verdict, bool) {
	g := v.groupOf(end)
	if len(path) == 0 || g == nil || g.stance() != waits || roleOf(g.kind.Call.Routine) != collective ||
		!v.isWorld(g.kind.Call) {
		return Verdict{}, false
	}
	all := newSet(path...)
	inside := v.inside(g.kind.Call)
	return Verdict{
		Kind: Cycle, Certainty: v.weaken(picture.Certain,
			all.Union(g.Set)), Severity: picture.SeverityHang, Ranks: all, Waiting: inside,
		Summary: fmt.Sprintf("%s %s in %s for %s; %s, which waits there, too", ranksWord(inside),
			verb(inside, "wait"),
			g.kind.Call.Routine, ranksWord(all), v.stepText(path[len(path)-1])),
		Evidence: v.places(all.Union(inside)),
	}, true
}

// noSender returns the verdict on ranks that wait to receive a message of any rank, or to send one, if all
// other ranks wait, too.
func (v *view) noSender() []Verdict {
	var any Set
	sends := false
	for _, g := range v.list {
		if g.stance() == waits && v.isWorld(g.kind.Call) {
			w := v.exchangingWithUnknown(g)
			any = any.Union(w)
			sends = sends || w.Len() > 0 && !receives(g.kind.Call.Routine)
		}
		if g.stance() == waits && roleOf(g.kind.Call.Routine) == other {
			return nil // the wait of this rank is not known
		}
	}
	others := v.ranks.Subtract(any)
	if any.Len() == 0 || v.ranks.Len() < v.Size() || v.by[busy].Len()+v.by[unknown].Len()+v.by[dead].Len() > 0 {
		return nil
	}
	d := Verdict{
		Kind: Cycle, Certainty: v.weaken(picture.Certain,
			v.ranks), Severity: picture.SeverityHang, Ranks: any, Waiting: others,
		Evidence: v.places(v.ranks),
	}
	d.Summary = fmt.Sprintf("%s %s for a message, and no rank is left to send one", ranksWord(any),
		verb(any, "wait"))
	if sends {
		d.Summary = fmt.Sprintf("%s %s to send or receive a message, and no rank is left to take or send one",
			ranksWord(any), verb(any, "wait"))
	}
	if others.Len() > 0 {
		d.Summary += fmt.Sprintf(": %s %s in MPI", ranksWord(others), verb(others, "wait"))
	}
	return []Verdict{d}
}

// receives reports whether a routine waits for a message.
func receives(routine string) bool {
	return slices.Contains([]string{"MPI_Recv", "MPI_Probe", "MPI_Mprobe"}, routine)
}

// exchangingWithUnknown returns the ranks of a group that wait for a message of any rank, or for an unknown
// rank.
func (v *view) exchangingWithUnknown(g *group) (out Set) {
	c := g.kind.Call
	if c.AnySource {
		return g.Set
	}
	if roleOf(c.Routine) != exchange {
		return out
	}
	for r := range g.All {
		if v.members.memberOf(r).Peer < 0 {
			out.Add(r)
		}
	}
	return out
}

// fewest is the largest part of the ranks, as its inverse, that may be late or odd: a larger part belongs to
// the program's design.
const fewest = 8

// late returns the verdict on few ranks that most others wait for, and that may still come.
func (v *view) late() (out []Verdict) {
	busy := v.by[busy]
	if busy.Len() == 0 || busy.Len() > max(1, v.ranks.Len()/fewest) {
		return nil
	}
	for _, g := range v.mergeGroups(0) {
		waiting, sure, routine := v.waitFor(g.Set)
		if waiting.Len() == 0 {
			continue
		}
		what, _ := v.describe(g)
		if v.anyMoved(g.Set) {
			what += ", and makes progress"
		}
		out = append(out, Verdict{
			Kind: Missing, Certainty: v.weaken(sure,
				waiting), Severity: picture.SeverityWarning, Ranks: g.Set, Waiting: waiting,
			Summary: fmt.Sprintf("%s %s in %s for %s, which %s; it may still come",
				ranksWord(waiting), verb(waiting, "wait"), routine, ranksWord(g.Set), what),
			Evidence: v.places(waiting),
		})
	}
	return out
}

// odd returns the verdict on few ranks that are at another place than most.
func (v *view) odd() []Verdict {
	if len(v.list) < 2 {
		return nil
	}
	least, most := v.list[0], v.list[len(v.list)-1]
	if least.Len() > max(1, v.ranks.Len()/fewest) || most.Len() < v.ranks.Len()*3/4 || least.stance() == unknown {
		return nil
	}
	what, _ := v.describe(least)
	return []Verdict{{
		Kind: Odd, Certainty: picture.Certain, Severity: picture.SeverityInfo, Ranks: least.Set,
		Summary: fmt.Sprintf("%s %s, %s elsewhere", ranksWord(least.Set), what, ranksWord(most.Set)),
	}}
}
