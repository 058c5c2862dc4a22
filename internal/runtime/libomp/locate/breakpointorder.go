package locate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/code/accesspath"
)

// body returns the code of the function from pc on, or nil if it cannot be read.
func (s *stubSearch) body(pc uint64) *accesspath.Body {
	b, ok := s.bodies[pc]
	if !ok {
		b, _ = accesspath.NewBody(s.cfg, pc)
		s.bodies[pc] = b
	}
	return b
}

// entriesIn returns the locations that a body calls.
func (s *stubSearch) entriesIn(b *accesspath.Body) []uint64 {
	var out []uint64
	for _, g := range s.guards {
		if b != nil && b.Contains(g.PC) && !slices.Contains(out, g.Entry) {
			out = append(out, g.Entry)
		}
	}
	return out
}

// sitesOf returns the places at which the runtime decides whether to call a location.
func (s *stubSearch) sitesOf(entry uint64) []callbacks.Address {
	var out []callbacks.Address
	for _, g := range s.guards {
		if g.Entry == entry {
			out = append(out, callbacks.Addr(g.At))
		}
	}
	return out
}

// byCallers names the locations that exported functions call themselves: the location that all functions with
// such a call have in common. A location has only one name.
func (s *stubSearch) byCallers() {
	for range callers { // each round may settle another location
		for _, c := range callers {
			if p, ok := s.found[c.name]; ok && p.err == nil {
				continue
			}
			common, who := s.common(c.functions)
			common = slices.DeleteFunc(common, s.named)
			s.name(c.name, common, "called after a test of ompd_state in "+strings.Join(who, " and "))
		}
	}
}

// common returns the functions that call any location, and the locations that all of these call.
func (s *stubSearch) common(functions []string) (entries []uint64, who []string) {
	for _, f := range functions {
		a, err := s.locations.exportedFunction(f)
		if err != nil {
			continue
		}
		in := s.entriesIn(s.body(a.Offset))
		if len(in) == 0 {
			continue
		}
		if who = append(who, f); len(who) == 1 {
			entries = in
		}
		entries = slices.DeleteFunc(entries, func(e uint64) bool { return !slices.Contains(in, e) })
	}
	return entries, who
}

// name records the location if entries has exactly one.
func (s *stubSearch) name(name string, entries []uint64, evidence string) {
	if len(entries) != 1 {
		s.found[name] = stubProof{err: fmt.Errorf("%d functions could be it: %w", len(entries), callbacks.Incompatible)}
		return
	}
	s.found[name] = stubProof{entry: callbacks.Addr(entries[0]), sites: s.sitesOf(entries[0]), evidence: evidence}
}

// stubPair is two locations that one function calls in this order.
type stubPair struct{ first, second uint64 }

// byOrder names the begin and the end of tasks and of threads. One function calls each pair in this order:
// __kmpc_omp_task leads to the function of the first pair, and new threads start in the other.
func (s *stubSearch) byOrder() {
	pairs := s.pairs()
	tasks := slices.DeleteFunc(slices.Clone(pairs), func(p stubPair) bool {
		return !s.leads([]string{"__kmpc_omp_task_parts", "__kmpc_omp_task"}, p.first, p.second)
	})
	threads := slices.DeleteFunc(slices.Clone(pairs), func(p stubPair) bool {
		return slices.Contains(tasks, p) || !s.leads([]string{"__kmpc_global_thread_num"}, p.first)
	})
	s.namePair("task", tasks, "that __kmpc_omp_task leads to")
	s.namePair("thread", threads, "that new threads start in; the first also where __kmpc_global_thread_num makes a "+
		"thread known")
}

func (s *stubSearch) namePair(what string, pairs []stubPair, who string) {
	var first, second []uint64
	for _, p := range pairs {
		first, second = append(first, p.first), append(second, p.second)
	}
	const evidence = "called after a test of ompd_state, as the %s of two, in the function " + "%s"
	s.name("ompd_bp_"+what+"_begin", first, fmt.Sprintf(evidence, "first", who))
	s.name("ompd_bp_"+what+"_end", second, fmt.Sprintf(evidence, "second", who))
}

// pairs returns the unnamed locations that are called in one order only: the code after a call of the first
// reaches a call of the second, and never the reverse.
func (s *stubSearch) pairs() []stubPair {
	var out []stubPair
	for _, g := range s.guards {
		if g.Jump || s.named(g.Entry) {
			continue
		}
		for _, e := range s.entriesIn(s.body(g.PC)) {
			p := stubPair{g.Entry, e}
			if e != g.Entry && !s.named(e) && !slices.Contains(out, p) {
				out = append(out, p)
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(out),
		func(p stubPair) bool { return slices.Contains(out, stubPair{p.second, p.first}) })
}

// named reports whether a location has its name.
func (s *stubSearch) named(entry uint64) bool {
	for _, p := range s.found {
		if p.err == nil && p.entry.Offset == entry {
			return true
		}
	}
	return false
}

// leads reports whether an exported function calls, through at most callDepth calls, a function that calls all
// of these locations.
func (s *stubSearch) leads(functions []string, entries ...uint64) bool {
	var level []uint64
	for _, f := range functions {
		if a, err := s.locations.exportedFunction(f); err == nil {
			level = append(level, a.Offset)
		}
	}
	seen := map[uint64]bool{}
	for range callDepth {
		var next []uint64
		for _, f := range level {
			b := s.body(f)
			if b == nil || seen[f] {
				continue
			}
			seen[f] = true
			in := s.entriesIn(b)
			if !slices.ContainsFunc(entries, func(e uint64) bool { return !slices.Contains(in, e) }) {
				return true
			}
			for _, c := range b.Calls() {
				if s.locations.module.Contains(callbacks.Addr(c.Entry)) {
					next = append(next, c.Entry)
				}
			}
		}
		level = next
	}
	return false
}

// distinct refuses locations with the same address: linkers may fold identical functions.
func (s *stubSearch) distinct() {
	at := map[callbacks.Address][]string{}
	for name, p := range s.found {
		if p.err == nil {
			at[p.entry] = append(at[p.entry], name)
		}
	}
	for a, names := range at {
		if len(names) < 2 {
			continue
		}
		slices.Sort(names)
		for _, n := range names {
			s.found[n] = stubProof{err: fmt.Errorf("%s are one function, at %v: %w", strings.Join(names, " and "), a,
				callbacks.Incompatible)}
		}
	}
}
