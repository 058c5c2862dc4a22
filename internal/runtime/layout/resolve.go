package layout

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrConflict means that a name is refused since two sources place it differently.
var ErrConflict = errors.New("layout sources disagree")

// errNothing is Resolve's error if no source knew any name.
var errNothing = errors.New("no layout source knows anything of this runtime")

// Resolver finds declared names through sources.
type Resolver struct {
	// Sources are queried for every name, in order of trust: the first source with a name determines its value;
	// the others agree with it or conflict.
	Sources []Source
	// Costly lists the Sources that are queried only for names that the others lack and for names that Check
	// selects.
	Costly []Source
	// Check selects names for which Costly are always queried, to compare; it may be nil. The arguments are
	// those of Entry.
	Check func(typ, name string) bool
	// Judge settles a conflict by the target's memory: it returns the index of the right candidate, or -1 if it
	// is unknown. Candidates differ, and each has Source set. A nil Judge leaves conflicts open.
	Judge func(candidates []Entry) int
}

// Resolve sets dst from sources in order of trust. It is Resolver.Resolve with Sources only.
func Resolve(dst any, srcs ...Source) (Report, error) {
	return (&Resolver{Sources: srcs}).Resolve(dst)
}

// Resolve sets the Field, Type and Global values of the structure that dst points to, and of the structures
// nested in it.
//
// Each has a tag: `layout:"team.level"` on a Field, `layout:"team"` on a Type, `layout:"global threads"` on a
// Global. If the tag of a nested structure is a type, such as `layout:"team"`, the type applies to its members:
// there a Field's tag is the field alone, and a Type needs no tag. The option ",optional" marks a name that some
// versions of a runtime lack.
//
// A name that no source knows, or on which they disagree, stays unknown, with the reason in its entry in the
// report. The error is for a wrongly declared dst and for sources without any answer.
func (r *Resolver) Resolve(dst any) (Report, error) {
	names, err := declared(dst)
	if err != nil {
		return Report{}, err
	}
	rep := Report{Entries: make([]Entry, 0, len(names))}
	found := false
	for _, n := range names {
		e := r.resolve(n)
		n.store(e)
		rep.Entries = append(rep.Entries, e)
		found = found || e.Err == nil
	}
	if !found && len(names) > 0 {
		return rep, fmt.Errorf("%w: %w", errNothing, rep.Entries[0].Err)
	}
	return rep, nil
}

// resolve asks the sources for one name and compares their answers.
func (r *Resolver) resolve(n name) Entry {
	answers := make([]*Entry, len(r.Sources)) // of sources that know the name
	known := false
	var damage []Claim // errors of the others, except for unknown names
	why := ErrUnknown  // the last reason for an unknown name
	ask := func(costly bool) {
		for i, s := range r.Sources {
			if slices.Contains(r.Costly, s) != costly {
				continue
			}
			e, err := n.ask(s)
			switch {
			case err == nil:
				answer := e // so that only answers are allocated
				answers[i], known = &answer, true
			case errors.Is(err, ErrUnknown):
				if err.Error() != ErrUnknown.Error() { // it has more details
					why = err
				}
			default:
				damage = append(damage, Claim{Source: s.Name(), Value: err.Error()})
			}
		}
	}
	ask(false)
	if !known || r.Check != nil && r.Check(n.typ, n.member) {
		ask(true)
	}
	answers = slices.DeleteFunc(answers, func(e *Entry) bool { return e == nil })
	if len(answers) == 0 {
		e := Entry{Type: n.typ, Name: n.member, Optional: n.optional, Claims: damage}
		if len(damage) > 0 {
			why = fmt.Errorf("source %s is damaged: %s", damage[0].Source, damage[0].Value)
		}
		e.Err = &absence{n.String(), why}
		return e
	}
	e := r.agree(n, answers)
	e.Claims = append(e.Claims, damage...)
	return e
}

// agree combines all answers, at least one, into one entry.
func (r *Resolver) agree(n name, answers []*Entry) Entry {
	e := Entry{Type: n.typ, Name: n.member, Optional: n.optional}
	chosen := answers[0]
	if slices.ContainsFunc(answers, func(a *Entry) bool { return !a.agrees(chosen) }) {
		for _, a := range answers {
			e.Claims = append(e.Claims, Claim{Source: a.Source, Value: a.value()})
		}
		i := r.judge(answers)
		if i < 0 || i >= len(answers) {
			e.Err = &absence{n.String(), fmt.Errorf("%w: %s", ErrConflict, claims(e.Claims))}
			return e
		}
		chosen = answers[i]
	}
	e.Field, e.Global, e.Source = chosen.Field, chosen.Global, chosen.Source
	for _, a := range answers {
		if a.Source != chosen.Source && a.agrees(chosen) {
			e.Agreed = append(e.Agreed, a.Source)
		}
	}
	return e
}

// judge passes one candidate for each distinct place to Judge, and returns the index in answers.
func (r *Resolver) judge(answers []*Entry) int {
	if r.Judge == nil {
		return -1
	}
	var distinct []Entry
	var index []int
	for i, a := range answers {
		if !slices.ContainsFunc(distinct, func(d Entry) bool { return a.agrees(&d) }) {
			distinct, index = append(distinct, *a), append(index, i)
		}
	}
	i := r.Judge(distinct)
	if i < 0 || i >= len(index) {
		return -1
	}
	return index[i]
}

func claims(cs []Claim) string {
	var s []string
	for _, c := range cs {
		s = append(s, c.Source+" says "+c.Value)
	}
	return strings.Join(s, ", ")
}
