package job

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// VerdictKind is the kind of a verdict over ranks.
type VerdictKind string

// Kinds of verdicts over ranks.
const (
	// Missing: ranks wait in MPI for others that are elsewhere.
	Missing VerdictKind = "mpi_missing"
	// Mismatch: ranks of one communicator are in different collectives, or give different counts or roots.
	Mismatch VerdictKind = "mpi_mismatch"
	// Cycle: ranks wait for each other.
	Cycle VerdictKind = "mpi_cycle"
	// LeftEarly: ranks wait for others that have ended, or are in MPI_Finalize.
	LeftEarly VerdictKind = "mpi_gone"
	// RankFault: ranks have a verdict of their own, and no rank waits for them in MPI.
	RankFault VerdictKind = "rank_fault"
	// Odd: few ranks are elsewhere than most; the cause is unknown.
	Odd VerdictKind = "rank_odd"
)

// Verdict is one conclusion over ranks.
type Verdict struct {
	Kind      VerdictKind       `json:"kind"`
	Certainty picture.Certainty `json:"certainty"`
	Severity  picture.Severity  `json:"severity"`
	Summary   string            `json:"summary"` // one sentence
	Ranks     Set               `json:"ranks"`   // that it is about
	Waiting   Set               `json:"waiting"` // that wait for them
	Evidence  []string          `json:"evidence,omitempty"`
}

// Hangs reports whether a verdict means that the job makes no progress, and is at least likely.
func (v Verdict) Hangs() bool {
	return v.Severity.Rank() <= picture.SeverityHang.Rank() && v.Certainty != picture.Possible
}

// stance describes whether the ranks of a group can still come to a call of others.
type stance uint8

const (
	busy    stance = iota // it may come
	waits                 // in MPI
	dead                  // it cannot come
	leaving               // in MPI_Finalize
	unknown               // it did not answer
)

// view contains the data of a Part that verdicts need.
type view struct {
	*Part
	list []*group
	by   map[stance]Set
}

func newView(p *Part) *view {
	v := &view{Part: p, list: p.groups(), by: map[stance]Set{}}
	for _, g := range v.list {
		s := g.stance()
		v.by[s] = v.by[s].Union(g.Set)
	}
	return v
}

func (g *group) stance() stance {
	k := &g.kind
	switch {
	case k.Condition == Silent || k.Condition == Unreadable:
		return unknown
	case k.Condition != Runs:
		return dead
	case k.Call != nil && roleOf(k.Call.Routine) == finalize:
		return leaving
	case k.Call != nil:
		return waits
	case k.Finding != nil && k.Finding.Certainty != picture.Possible:
		return dead
	}
	return busy
}

// verdicts returns the conclusions from the results, the worst first.
func (p *Part) verdicts() []Verdict {
	v := newView(p)
	var out []Verdict
	out = append(out, v.stopped()...)
	out = append(out, v.mismatches()...)
	out = append(out, v.cycles()...)
	if len(out) == 0 {
		out = append(out, v.late()...)
	}
	if len(out) == 0 {
		out = append(out, v.odd()...)
	}
	slices.SortStableFunc(out, func(a, b Verdict) int {
		return cmp.Or(cmp.Compare(a.Certainty.Rank()/2, b.Certainty.Rank()/2),
			cmp.Compare(a.Severity.Rank(), b.Severity.Rank()),
			cmp.Compare(a.Certainty.Rank(), b.Certainty.Rank()))
	})
	return out
}

// waitFor returns the ranks that wait in MPI for some of others, and the certainty: Certain if they name them,
// or their communicator contains all ranks.
func (v *view) waitFor(others Set) (waiting Set, sure picture.Certainty, routine string) {
	sure = picture.Certain
	most := 0
	for _, g := range v.list {
		if g.stance() != waits || g.kind.Movement == Moved {
			continue
		}
		c := g.kind.Call
		var w Set
		switch roleOf(c.Routine) {
		case collective:
			all := v.inside(c)
			if c.Size > 0 && all.Len() >= c.Size {
				continue // all are there, so the call is about to complete
			}
			if w = g.Set; !v.isWorld(c) {
				sure = sure.Weaker(picture.Likely)
			}
		case exchange:
			w = v.awaiting(g, others)
		default:
			continue
		}
		waiting = waiting.Union(w)
		if w.Len() > most {
			most, routine = w.Len(), c.Routine
		}
	}
	return waiting, sure, routine
}

// isWorld reports whether a call uses the communicator of all ranks.
func (v *view) isWorld(c *Call) bool {
	return c.Communicator == worldName && (c.Size == 0 || c.Size == v.Size())
}

// inside returns the ranks in a collective call on the communicator of c.
func (v *view) inside(c *Call) (all Set) {
	for _, g := range v.list {
		if d := g.kind.Call; g.stance() == waits && d.Communicator == c.Communicator &&
			roleOf(d.Routine) == collective {
			all = all.Union(g.Set)
		}
	}
	return all
}

// awaiting returns the ranks of a group that wait for one of others, by name.
func (v *view) awaiting(g *group, others Set) (out Set) {
	if !v.isWorld(g.kind.Call) {
		return out
	}
	for r := range g.All {
		if others.Contains(v.members.memberOf(r).Peer) {
			out.Add(r)
		}
	}
	return out
}

// stopped returns the verdicts on ranks that cannot come.
func (v *view) stopped() (out []Verdict) {
	for _, g := range v.mergeGroups(dead, leaving) {
		waiting, sure, routine := v.waitFor(g.Set)
		d := Verdict{Kind: Missing, Certainty: sure, Severity: picture.SeverityHang, Ranks: g.Set, Waiting: waiting}
		f := g.kind.Finding
		if f != nil && g.kind.Condition == Runs {
			d.Certainty, d.Severity = sure.Weaker(f.Certainty), f.Severity
		}
		switch {
		case g.kind.Condition == Gone, g.stance() == leaving:
			d.Kind = LeftEarly
		case g.kind.Condition == Crashed:
			d.Severity = picture.SeverityCrash
		}
		what, more := v.describe(g)
		if waiting.Len() == 0 {
			if g.stance() == leaving || g.kind.Condition == Gone {
				continue // as at the end of each job
			}
			d.Kind, d.Summary = RankFault, fmt.Sprintf("%s %s", ranksWord(g.Set), what)
			d.Certainty = picture.Certain
			if f != nil {
				d.Certainty = f.Certainty
			}
		} else {
			if g.stance() == leaving {
				d.Certainty = v.weaken(d.Certainty, waiting)
			}
			d.Summary = fmt.Sprintf("%s %s in %s for %s, which %s", ranksWord(waiting), verb(waiting, "wait"),
				routine, ranksWord(g.Set), what)
		}
		d.Evidence = append(v.places(waiting), more...)
		out = append(out, d)
	}
	return out
}

// mergeGroups returns the groups of some stances; groups with the same description are joined.
func (v *view) mergeGroups(stances ...stance) (out []*group) {
	index := map[string]*group{}
	for _, g := range v.list {
		if !slices.Contains(stances, g.stance()) {
			continue
		}
		what, _ := v.describe(g)
		if known := index[what]; known != nil {
			known.Set = known.Union(g.Set)
			continue
		}
		one := &group{key: g.key, kind: g.kind, Set: g.Clone()}
		index[what] = one
		out = append(out, one)
	}
	return out
}

// describe describes the activity of a group of ranks, as the end of a sentence.
func (v *view) describe(g *group) (what string, more []string) {
	k := &g.kind
	is := verb(g.Set, "is")
	switch {
	case k.Condition == Stopped:
		return is + " stopped by a signal or a debugger", []string{
			"SIGCONT may continue it: kill -CONT PID",
		}
	case k.Condition == Crashed:
		return "crashed (" + k.Why + ")" + v.atText(g), nil
	case k.Condition == Gone:
		return strings.TrimSuffix(verb(g.Set, "has")+" ended: "+k.Why, ": "), nil
	case k.Call != nil:
		return fmt.Sprintf("%s in %s%s", is, k.Call.Routine, v.atText(g)), nil
	case k.Finding != nil && k.Finding.Severity == picture.SeverityHang && k.Finding.Certainty != picture.Possible:
		return is + " deadlocked: " + k.Finding.Summary, nil
	case k.Finding != nil && k.Finding.Certainty != picture.Possible:
		return "failed: " + k.Finding.Summary, nil
	}
	return is + " elsewhere" + v.atText(g), nil
}

// atText describes the place of a group of ranks in the program's code.
func (v *view) atText(g *group) string {
	if c := g.kind.Call; c != nil {
		return v.atSite(c.Site)
	}
	var best *Count
	for i := range g.kind.Threads {
		t := &g.kind.Threads[i]
		if t.Other || t.State == string(picture.StateIdle) || len(t.Where) == 0 {
			continue
		}
		if best == nil || strings.HasPrefix(t.State, "work") && !strings.HasPrefix(best.State, "work") {
			best = t
		}
	}
	if best == nil {
		return ""
	}
	for _, s := range slices.Backward(best.Where) { // the innermost frame of the program's own code
		if v.names[s].Line != 0 {
			return v.atSite(s)
		}
	}
	return v.atSite(best.Where[len(best.Where)-1])
}

// atSite returns " at " and the name of a site; "" if it is not known.
func (v *view) atSite(s Site) string {
	if n := v.names[s].String(); n != "" {
		return " at " + n
	}
	return ""
}

// places describes the places at which some ranks wait.
func (v *view) places(waiting Set) (out []string) {
	where, ranks := []string{}, map[string]Set{}
	for _, g := range v.list {
		both := g.Intersect(waiting)
		if both.Len() == 0 || g.kind.Call == nil {
			continue
		}
		what := g.kind.Call.String() + v.atText(g)
		if ranks[what].Len() == 0 {
			where = append(where, what)
		}
		ranks[what] = ranks[what].Union(both)
	}
	for _, what := range where[:min(len(where), maxEvidence)] {
		out = append(out, ranksWord(ranks[what])+": "+what)
	}
	return out
}

// maxEvidence bounds the facts of a verdict.
const maxEvidence = 6

// weaken weakens a certainty by the number of snapshots that showed the ranks at their places.
func (v *view) weaken(c picture.Certainty, ranks Set) picture.Certainty {
	for _, g := range v.list {
		if g.Intersect(ranks).Len() == 0 {
			continue
		}
		switch g.kind.Movement {
		case Still:
			c = c.Weaker(picture.Likely)
		default:
			c = c.Weaker(picture.Possible)
		}
	}
	return c
}

// anyMoved reports whether one of some ranks made progress.
func (v *view) anyMoved(ranks Set) bool {
	return slices.ContainsFunc(v.list, func(g *group) bool {
		return g.kind.Movement == Moved &&
			g.Intersect(ranks).Len() > 0
	})
}

// String returns the call as it appears in a program.
func (c *Call) String() string {
	var args []string
	if c.Count != nil {
		args = append(args, fmt.Sprintf("count %d", *c.Count))
	}
	for _, a := range []string{c.Type, c.Op} {
		if a != "" {
			args = append(args, a)
		}
	}
	if c.Root != nil {
		args = append(args, fmt.Sprintf("root %d", *c.Root))
	}
	if c.AnySource {
		args = append(args, "from any rank")
	}
	if c.Communicator != "" {
		args = append(args, c.Communicator)
	}
	if len(args) == 0 {
		return c.Routine
	}
	return c.Routine + "(" + strings.Join(args, ", ") + ")"
}

// maxRanges is the number of ranges of ranks in a sentence.
const maxRanges = 6

// ranksWord returns a set of ranks in words: "rank 9", "3 ranks [0-1,5]".
func ranksWord(s Set) string {
	if s.Len() == 1 {
		return fmt.Sprintf("rank %d", s.First())
	}
	return fmt.Sprintf("%d ranks [%s]", s.Len(), s.Ranges(maxRanges))
}

// verb returns a verb in the number of a set.
func verb(s Set, word string) string {
	one := s.Len() == 1
	switch {
	case word == "is" && !one:
		return "are"
	case word == "has" && !one:
		return "have"
	case word == "is", word == "has", !one:
		return word
	}
	return word + "s"
}
