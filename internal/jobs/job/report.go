package job

import (
	"cmp"
	"maps"
	"slices"
)

// Schema names the version of the JSON form of a Report.
const Schema = "ompd-inspect/job/2.0"

// Report is a job on one page.
type Report struct {
	Schema   string  `json:"schema" schema:"const=Schema"`
	Job      string  `json:"job"`                    // its name on the command line
	Ranks    int     `json:"ranks" schema:"min=0"`   // of the job, as far as known
	Answered Set     `json:"answered"`               // ranks that answered, as ranges: 0-3,7
	Hosts    int     `json:"hosts" schema:"min=0"`   // that answered
	Threads  int     `json:"threads" schema:"min=0"` // of all ranks that answered
	Seconds  float64 `json:"seconds" schema:"min=0"` // from the command to the last answer
	// Partial is set if answers were still missing.
	Partial bool `json:"partial,omitempty"`
	// Programs are the executables of the ranks that answered, those of the fewest ranks first.
	Programs []Program `json:"programs,omitempty"`
	// Moved and Still are the ranks that made progress between two looks, and those that did not. The progress
	// of other ranks is unknown.
	Moved Set `json:"moved"`
	// Ranks that made no progress, as ranges. Ranks in neither list are unknown.
	Still    Set       `json:"still"`
	Verdicts []Verdict `json:"verdicts,omitempty"` // the worst first
	Classes  []Class   `json:"classes,omitempty"`  // of threads, those of the fewest ranks first
	// Others counts the threads of libraries, which are in no class.
	Others  int    `json:"other_threads,omitempty" schema:"min=0"`
	Missing []Lost `json:"missing,omitempty"` // ranks or hosts without an answer
	// Shown are the ranks to inspect in detail, with their places.
	Shown []Where `json:"shown,omitempty"`
}

// Class are threads that are at the same place, in whatever rank.
type Class struct {
	Ranks   Set    `json:"ranks"` // ranks, as ranges: 0-3,7
	Threads int    `json:"threads" schema:"min=0"`
	State   string `json:"state"` // in the words of a picture
	// Where is the place, outermost first.
	Where []Name `json:"where,omitempty"`
	// The same places: build ID of a file and offset in it, or a word.
	Sites []Site `json:"sites,omitempty"`
	// Call is that of MPI, if all threads of the class are in calls that are alike.
	Call *Call `json:"call,omitempty"`
	// Between two looks; missing if there was one, or ranks differ.
	Movement Movement `json:"movement,omitempty"`
}

// Program is an executable, and the ranks that run it.
type Program struct {
	Name  string `json:"name"`  // base name
	Ranks Set    `json:"ranks"` // ranks, as ranges: 0-3,7
}

// SingleProgram returns the name of the program of all ranks that answered; "" if they differ, or if it is unknown.
func (r *Report) SingleProgram() string {
	if len(r.Programs) == 1 && r.Programs[0].Ranks.Equal(r.Answered) {
		return r.Programs[0].Name
	}
	return ""
}

// Lost are ranks, or hosts, that did not answer.
type Lost struct {
	Host   string `json:"host,omitempty"`
	Ranks  Set    `json:"ranks"` // ranks, as ranges: 0-3,7
	Reason string `json:"reason"`
}

// Where is where a rank runs, or its core is.
type Where struct {
	Rank int    `json:"rank" schema:"min=0"`
	Host string `json:"host,omitempty"`
	PID  int    `json:"pid,omitempty" schema:"min=0"`
	Path string `json:"path,omitempty"` // of its core
	// Verdicts are those on the rank by itself, in words, as a second look in detail found
	// them.
	Verdicts []string `json:"verdicts,omitempty"`
}

// maxShown bounds the ranks that are recommended for inspection.
const maxShown = 8

// Report returns the page of a job. asked is its name on the command line.
func (p *Part) Report(asked string) *Report {
	r := &Report{Schema: Schema, Job: asked, Ranks: p.Size(), Verdicts: p.verdicts()}
	hosts := map[string]bool{}
	silent, programs := map[Lost]*Set{}, map[string]*Program{}
	for _, g := range p.groups() {
		switch g.kind.Condition {
		case Silent, Unreadable:
			for rank := range g.All {
				l := Lost{Host: p.members.memberOf(rank).Host, Reason: g.kind.Why}
				if silent[l] == nil {
					silent[l] = &Set{}
				}
				silent[l].Add(rank)
			}
		default:
			r.Answered.join(g.Set)
			if name := g.kind.Program; name != "" {
				if programs[name] == nil {
					programs[name] = &Program{Name: name}
				}
				programs[name].Ranks.join(g.Set)
			}
			switch g.kind.Movement {
			case Moved:
				r.Moved.join(g.Set)
			case Still:
				r.Still.join(g.Set)
			}
			last := ""
			for rank := range g.All {
				if h := p.members.memberOf(rank).Host; h != last || len(hosts) == 0 {
					hosts[h], last = true, h
				}
			}
		}
	}
	r.Hosts = len(hosts)
	for _, e := range programs {
		r.Programs = append(r.Programs, *e)
	}
	slices.SortFunc(r.Programs, func(a, b Program) int {
		return cmp.Or(cmp.Compare(a.Ranks.Len(), b.Ranks.Len()), cmp.Compare(a.Name, b.Name))
	})
	for l, s := range silent {
		l.Ranks = *s
		r.Missing = append(r.Missing, l)
	}
	for host, why := range p.lost {
		if !hosts[host] {
			r.Missing = append(r.Missing, Lost{Host: host, Reason: why})
		}
	}
	slices.SortFunc(r.Missing, func(a, b Lost) int {
		return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.Ranks.First(), b.Ranks.First()),
			cmp.Compare(a.Reason, b.Reason))
	})
	r.Classes = p.classes(r)
	r.Shown = p.shown(r)
	return r
}

// classes returns the classes of threads, those of the fewest ranks first.
func (p *Part) classes(r *Report) []Class {
	index := map[string]*Class{}
	for _, g := range p.groups() {
		for _, t := range g.kind.Threads {
			r.Threads += t.Threads * g.Len()
			if t.Other {
				r.Others += t.Threads * g.Len()
				continue
			}
			c := index[t.key()]
			if c == nil {
				c = &Class{State: t.State, Sites: t.Where, Where: p.namesOf(t.Where), Movement: g.kind.Movement,
					Call: g.callOf(t)}
				index[t.key()] = c
			}
			if c.Call != nil && (g.callOf(t) == nil || g.callOf(t).String() != c.Call.String()) {
				c.Call = nil
			}
			if c.Movement != g.kind.Movement {
				c.Movement = SeenOnce
			}
			c.Ranks.join(g.Set)
			c.Threads += t.Threads * g.Len()
		}
	}
	return slices.SortedFunc(func(yield func(Class) bool) {
		for _, c := range index {
			if !yield(*c) {
				return
			}
		}
	}, func(a, b Class) int {
		return cmp.Or(cmp.Compare(a.Ranks.Len(), b.Ranks.Len()), cmp.Compare(a.Threads, b.Threads),
			cmp.Compare(a.State, b.State),
			slices.Compare(a.Sites, b.Sites))
	})
}

// key returns equal texts for equal classes.
func (c ThreadClass) key() string {
	s := c.State
	for _, w := range c.Where {
		s += "\n" + string(w)
	}
	return s
}

// callOf returns the call of a group's ranks, if threads of a class are in it.
func (g *group) callOf(t Count) *Call {
	if c := g.kind.Call; c != nil && len(t.Where) > 0 && t.Where[len(t.Where)-1] == Site(c.Routine) {
		return c
	}
	return nil
}

// namesOf returns the names of sites; a site without a name is its own name.
func (p *Part) namesOf(sites []Site) []Name {
	var out []Name
	for _, s := range sites {
		n, ok := p.names[s]
		if !ok || n.Function == "" && n.Line == 0 {
			n = Name{Function: string(s)}
		}
		out = append(out, n)
	}
	return out
}

// shown returns the ranks to inspect: one of each verdict, and one of each of the rarest classes.
func (p *Part) shown(r *Report) (out []Where) {
	picked := map[int]bool{}
	pick := func(s Set) {
		if rank := s.First(); rank >= 0 && !picked[rank] && len(picked) < maxShown {
			picked[rank] = true
		}
	}
	for _, v := range r.Verdicts {
		pick(v.Ranks)
	}
	for _, c := range r.Classes {
		pick(c.Ranks)
	}
	for _, rank := range slices.Sorted(maps.Keys(picked)) {
		m := p.members.memberOf(rank)
		out = append(out, Where{rank, m.Host, m.PID, m.Path, p.told[rank]})
	}
	return out
}
