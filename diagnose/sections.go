package diagnose

import (
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// teamSections is the sections construct in which all threads of a team are.
type teamSections struct {
	total, left uint64 // left: sections that no thread has been given
	several     string // clause on the first thread that executes several sections, one after the other; or ""
	evidence    string
}

// explainSections adds to a hang that its threads wait in sections, and that no thread is left for the others. One of
// these may do that for which the threads wait.
func explainSections(x *index, v *picture.Verdict, what string) {
	for _, lwp := range v.Threads {
		t := x.threads[lwp]
		if t == nil || t.Loop == nil || t.Loop.Schedule != "sections" {
			continue
		}
		r := x.regions[t.Region]
		s, ok := x.sectionsOf(r)
		if !ok {
			continue
		}
		size := threadCount(r.TeamSize)
		if s.left > 0 {
			is, one := "are", "one of them"
			if s.left == 1 {
				is, one = "is", "it"
			}
			v.Explanation += fmt.Sprintf(" But %d of %d sections %s not started, and the %s of the team wait in "+
				"others: %s may be what %s.", s.left, s.total, is, size, one, what)
		} else {
			v.Explanation += fmt.Sprintf(" But the team has %s for %d sections, and %s: a section that is not "+
				"started, or is over, may be what %s.", size, s.total, s.several, what)
		}
		v.Evidence = append(v.Evidence, s.evidence)
		v.Fix = fmt.Sprintf("execute sections that wait for each other by as many threads as there are sections (here "+
			"%d: num_threads), or let no section wait for another one; otherwise: %s", s.total, v.Fix)
		return
	}
}

// sectionsOf returns the sections in which all members of a region are. It is not ok if there are as many threads as
// sections, or if that is not known. GNU's runtime gives sections to threads one by one; clang's code gives each
// thread a range of sections, which it executes one after the other.
func (x *index) sectionsOf(r *picture.Region) (teamSections, bool) {
	if r == nil || !x.allMembersWait(r.ID) {
		return teamSections{}, false
	}
	s := teamSections{}
	for _, lwp := range r.Threads {
		t := x.threads[lwp]
		if t == nil || t.Loop == nil || t.Loop.Schedule != "sections" {
			return teamSections{}, false
		}
		l := t.Loop
		switch {
		case l.Left != nil && l.Last != nil && *l.Left > 0 && *l.Last > 0: // sections from 1
			s.left, s.total = *l.Left, uint64(*l.Last)
			s.evidence = fmt.Sprintf("%s of %d not assigned to a thread yet: %s", phrase.Count(int(s.left), "section"),
				s.total, l.Evidence)
		case l.Left == nil && l.From != nil && l.To != nil && *l.From >= 0: // sections from 0
			s.total = max(s.total, uint64(max(0, *l.To)+1))
			if n := *l.To - *l.From + 1; n > 1 && s.several == "" {
				s.several = fmt.Sprintf("%s executes %d of them, one after the other", x.threadName(lwp), n)
				s.evidence = fmt.Sprintf("%s was given sections %d to %d, from 0: %s", x.threadName(lwp), *l.From,
					*l.To, l.Evidence)
			}
		default:
			return teamSections{}, false
		}
	}
	return s, s.left > 0 && s.left < s.total || s.several != ""
}
