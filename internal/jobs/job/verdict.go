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
	// RankFault: ranks have a verdict of their own, and nobody waits for them in MPI.
	RankFault VerdictKind = "rank_fault"
	// Odd: few ranks are elsewhere than most; nothing else is known.
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

// Hangs reports whether a verdict says that the job comes no further, and is at least likely.
func (v Verdict) Hangs() bool {
	return v.Severity.Rank() <= picture.SeverityHang.Rank() && v.Certainty != picture.Possible
}

// stance is what a group of ranks does for the others.
type stance uint8

const (
	busy    stance = iota // it may come
	waits                 // in MPI
	dead                  // it cannot come
	leaving               // in MPI_Finalize
	unknown               // nobody answered
)

// view is a Part as verdicts see it.
type view struct {
	*Part
	list []*group
	by   map[stance]Set
}

func newView(p *Part) *view {
	v := &view{Part: p, list: p.groups(), by: map[stance]Set{}}
	for _, g := range v.list {
		s := g.stance()
		v.by[s] = v.by[s].Or(g.Set)
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

// verdicts are the conclusions from what is known, the worst first.
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

// waitFor are the ranks that wait in MPI for some of others, and how sure that is: Certain
// if they name them, or their communicator has all ranks.
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
				continue // all are there: it is on its way
			}
			if w = g.Set; !v.isWorld(c) {
				sure = sure.Weaker(picture.Likely)
			}
		case exchange:
			w = v.awaiting(g, others)
		default:
			continue
		}
		waiting = waiting.Or(w)
		if w.Len() > most {
			most, routine = w.Len(), c.Routine
		}
	}
	return waiting, sure, routine
}

// isWorld reports whether a call is on the communicator of all ranks.
func (v *view) isWorld(c *Call) bool {
	return c.Communicator == worldName && (c.Size == 0 || c.Size == v.Size())
}

// inside are the ranks that are in a collective call on the communicator of c.
func (v *view) inside(c *Call) (all Set) {
	for _, g := range v.list {
		if d := g.kind.Call; g.stance() == waits && d.Communicator == c.Communicator &&
			roleOf(d.Routine) == collective {
			all = all.Or(g.Set)
		}
	}
	return all
}

// awaiting are the ranks of a group that wait for one of others, by name.
func (v *view) awaiting(g *group, others Set) (out Set) {
	if !v.isWorld(g.kind.Call) {
		return out
	}
	for r := range g.All {
		if others.Has(v.members.of(r).Peer) {
			out.Add(r)
		}
	}
	return out
}

// stopped are the verdicts on ranks that cannot come.
func (v *view) stopped() (out []Verdict) {
	for _, g := range v.merged(dead, leaving) {
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
				d.Certainty = v.stillness(d.Certainty, waiting)
			}
			d.Summary = fmt.Sprintf("%s %s in %s for %s, which %s", ranksWord(waiting), verb(waiting, "wait"),
				routine, ranksWord(g.Set), what)
		}
		d.Evidence = append(v.places(waiting), more...)
		out = append(out, d)
	}
	return out
}

// merged are the groups of some stances, those that are alike for people as one.
func (v *view) merged(stances ...stance) (out []*group) {
	index := map[string]*group{}
	for _, g := range v.list {
		if !slices.Contains(stances, g.stance()) {
			continue
		}
		what, _ := v.describe(g)
		if known := index[what]; known != nil {
			known.Set = known.Or(g.Set)
			continue
		}
		one := &group{key: g.key, kind: g.kind, Set: g.Clone()}
		index[what] = one
		out = append(out, one)
	}
	return out
}

// describe says what a group of ranks does, as the end of a sentence.
func (v *view) describe(g *group) (what string, more []string) {
	k := &g.kind
	is := verb(g.Set, "is")
	switch {
	case k.Condition == Stopped:
		return is + " stopped by a signal or a debugger", []string{
			"what stopped it may be undone by SIGCONT: kill -CONT PID",
		}
	case k.Condition == Crashed:
		return "crashed (" + k.Why + ")" + v.at(g), nil
	case k.Condition == Gone:
		return strings.TrimSuffix(verb(g.Set, "has")+" ended: "+k.Why, ": "), nil
	case k.Call != nil:
		return fmt.Sprintf("%s in %s%s", is, k.Call.Routine, v.at(g)), nil
	case k.Finding != nil && k.Finding.Severity == picture.SeverityHang && k.Finding.Certainty != picture.Possible:
		return is + " deadlocked: " + k.Finding.Summary, nil
	case k.Finding != nil && k.Finding.Certainty != picture.Possible:
		return "failed: " + k.Finding.Summary, nil
	}
	return is + " elsewhere" + v.at(g), nil
}

// at says where a group of ranks is, in the program's code.
func (v *view) at(g *group) string {
	if c := g.kind.Call; c != nil {
		return v.named(c.Site)
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
	for _, s := range slices.Backward(best.Where) { // the innermost of the program's own
		if v.names[s].Line != 0 {
			return v.named(s)
		}
	}
	return v.named(best.Where[len(best.Where)-1])
}

// named is " at " and what people call a site; "" if that is not known.
func (v *view) named(s Site) string {
	if n := v.names[s].String(); n != "" {
		return " at " + n
	}
	return ""
}

// places says where some ranks wait.
func (v *view) places(waiting Set) (out []string) {
	where, ranks := []string{}, map[string]Set{}
	for _, g := range v.list {
		both := g.And(waiting)
		if both.Len() == 0 || g.kind.Call == nil {
			continue
		}
		what := g.kind.Call.String() + v.at(g)
		if ranks[what].Len() == 0 {
			where = append(where, what)
		}
		ranks[what] = ranks[what].Or(both)
	}
	for _, what := range where[:min(len(where), maxEvidence)] {
		out = append(out, ranksWord(ranks[what])+": "+what)
	}
	return out
}

// maxEvidence bounds the facts of a verdict.
const maxEvidence = 6

// stillness is a certainty, weakened by how often ranks were seen where they are.
func (v *view) stillness(c picture.Certainty, ranks Set) picture.Certainty {
	for _, g := range v.list {
		if g.And(ranks).Len() == 0 {
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

// moved reports whether one of some ranks made progress.
func (v *view) moved(ranks Set) bool {
	return slices.ContainsFunc(v.list, func(g *group) bool {
		return g.kind.Movement == Moved &&
			g.And(ranks).Len() > 0
	})
}

// String is the call as people write it.
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

// maxRanges is how many ranges of ranks a sentence names.
const maxRanges = 6

// ranksWord names a set of ranks: "rank 9", "3 ranks [0-1,5]".
func ranksWord(s Set) string {
	if s.Len() == 1 {
		return fmt.Sprintf("rank %d", s.First())
	}
	return fmt.Sprintf("%d ranks [%s]", s.Len(), s.Ranges(maxRanges))
}

// verb is a verb in the number of a set.
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
