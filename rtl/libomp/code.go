package libomp

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/accesspath"
	"github.com/ompd-inspect/ompd-inspect/layout"
)

// codeBounds limits the work on one function. Each side of a branch is taken
// twice: a field that is read on any way through the function is seen, and a
// chain of structures is seen to be one.
var codeBounds = accesspath.Bounds{Steps: 6000, Paths: 128, Visits: 2, Depth: 1, Edges: 2, Cases: 64}

// codeSource answers from the machine code of the functions that the runtime
// exports: what they read and write is where things lie. Nothing is run before
// it is asked for. It is not for concurrent use.
type codeSource struct {
	target callbacks.Target
	module *callbacks.Module

	paths   map[string][]accesspath.Path // by function, and whether calls were run through
	threads uint64                       // address of __kmp_threads
	gtid    uint64                       // the runtime's function that gives the calling thread's number
	results map[int]codeResult           // by rule
}

// codeResult is what a rule found.
type codeResult struct {
	fields []layout.Field // as on the rule's path
	global uint64
	err    error
}

func newCodeSource(t callbacks.Target, mod *callbacks.Module) *codeSource {
	return &codeSource{target: t, module: mod, paths: map[string][]accesspath.Path{}, results: map[int]codeResult{}}
}

// Name is "code".
func (s *codeSource) Name() string { return "code" }

// Type is not told by code.
func (s *codeSource) Type(string) (layout.Type, error) { return layout.Type{}, layout.ErrUnknown }

// Global is the address of a variable that a function returns, or of
// __kmp_threads, from which they start.
func (s *codeSource) Global(name string) (uint64, error) {
	if name == "__kmp_threads" {
		return s.start()
	}
	for i := range codeRules {
		if global, ok := strings.CutPrefix(codeRules[i].path, "global "); ok && global == name {
			r := s.rule(i)
			return r.global, r.err
		}
	}
	return 0, layout.ErrUnknown
}

// Field is the place of a field on the path of a rule.
func (s *codeSource) Field(typ, field string) (layout.Field, error) {
	for i := range codeRules {
		at, ok := codeRules[i].gives(typ, field)
		if !ok {
			continue
		}
		if r := s.rule(i); r.err == nil {
			return r.fields[at], nil
		} else if !errors.Is(r.err, layout.ErrUnknown) {
			return layout.Field{}, r.err
		}
	}
	return layout.Field{}, layout.ErrUnknown
}

// gives tells where on the rule's path a field is.
func (r *codeRule) gives(typ, field string) (at int, ok bool) {
	if strings.HasPrefix(r.path, "global ") {
		return 0, false
	}
	in := "kmp_base_info_t"
	for f := range strings.FieldsSeq(r.path) {
		if f == field && in == typ {
			return at, true
		}
		in = pointees[f]
		at++
	}
	return 0, false
}

// start finds the array of all threads and the function for the caller's
// number, which is the one that omp_get_level calls.
func (s *codeSource) start() (uint64, error) {
	if s.threads != 0 {
		return s.threads, nil
	}
	paths, err := s.run("omp_get_level", false)
	if err != nil {
		return 0, err
	}
	for _, p := range paths {
		if p.Result == nil {
			continue
		}
		c, ok := s.chain(p.Result)
		if ok && ofThread(c) && len(p.Calls) > 0 {
			s.threads, s.gtid = c.Root.Address, p.Calls[0].Entry
			return s.threads, nil
		}
	}
	return 0, layout.ErrUnknown
}

// ofThread tells whether a chain starts from an element of an array of pointers
// that a global variable points to.
func ofThread(c accesspath.Chain) bool {
	return c.Root.Kind == accesspath.RootGlobal && len(c.Steps) >= 2 && isPointer(c.Steps[0]) &&
		c.Steps[1].Index != nil && c.Steps[1].Offset == 0 && c.Steps[1].Size == 8
}

// run gives the paths of an exported function.
func (s *codeSource) run(function string, through bool) ([]accesspath.Path, error) {
	key := function
	if through {
		key += " through"
	}
	if p, ok := s.paths[key]; ok {
		return p, nil
	}
	entry, err := moduleSymbol(s.target, s.module, function)
	if err != nil {
		return nil, err
	}
	cfg := accesspath.Config{Arch: s.target.Arch(), Mem: s.target, Bounds: codeBounds}
	if through {
		cfg.Follow = func(t accesspath.Target) bool { return t.Entry != s.gtid }
	}
	paths, err := accesspath.Run(cfg, entry.Offset)
	if err != nil { // no code at hand, or code that cannot be read
		return nil, fmt.Errorf("%w: %v", layout.ErrUnknown, err)
	}
	s.paths[key] = paths
	return paths, nil
}

// rule applies rule i once.
func (s *codeSource) rule(i int) codeResult {
	r, ok := s.results[i]
	if !ok {
		s.results[i] = codeResult{err: layout.ErrUnknown} // ends a circle of rules
		r = s.apply(&codeRules[i])
		s.results[i] = r
	}
	return r
}

func (s *codeSource) apply(r *codeRule) codeResult {
	threads, err := s.start()
	if err != nil {
		return codeResult{err: err}
	}
	paths, err := s.run(r.function, r.through)
	if err != nil {
		return codeResult{err: err}
	}
	chains := s.chains(r, paths)
	if _, ok := strings.CutPrefix(r.path, "global "); ok {
		return r.global(chains)
	}
	var found [][]layout.Field
	for _, c := range chains {
		if c.Root.Address != threads || !ofThread(c) {
			continue
		}
		if f, ok := s.match(r, c); ok && !slices.ContainsFunc(found, func(g []layout.Field) bool { return slices.Equal(f, g) }) {
			found = append(found, f)
		}
	}
	if len(found) != 1 {
		return codeResult{err: fmt.Errorf("%w: %d readings of the code of %s", layout.ErrUnknown, len(found), r.function)}
	}
	return codeResult{fields: found[0]}
}

// chains gives the access paths that may be the rule's. The paths through a
// function share the expressions of their common beginning.
func (s *codeSource) chains(r *codeRule, paths []accesspath.Path) []accesspath.Chain {
	var chains []accesspath.Chain
	seen := map[*accesspath.Expr]bool{}
	for _, p := range paths {
		for _, e := range r.of(p) {
			if seen[e] {
				continue
			}
			seen[e] = true
			if c, ok := s.chain(e); ok && (r.size == 0 || c.Last().Size == r.size) {
				chains = append(chains, c)
			}
		}
	}
	return chains
}

// chain takes an expression apart. Code may find a variable through a pointer
// that the loader set (the global offset table): a pointer in the runtime's
// module to a place in the runtime's module. That step is left out.
func (s *codeSource) chain(e *accesspath.Expr) (accesspath.Chain, bool) {
	c, ok := e.Chain()
	if !ok || c.Root.Kind != accesspath.RootGlobal || len(c.Steps) < 2 || !isPointer(c.Steps[0]) {
		return c, ok
	}
	p, err := layout.ReadUint(s.target, callbacks.At(c.Root.Address), 8)
	if err == nil && s.module.Contains(callbacks.At(p)) {
		c.Root.Address, c.Steps = p, c.Steps[1:]
	}
	return c, true
}

// isPointer tells whether a step reads the pointer at the place itself.
func isPointer(s accesspath.Step) bool { return s.Offset == 0 && s.Size == 8 && s.Index == nil }

// global is the one variable that is all there is in the chains.
func (r *codeRule) global(chains []accesspath.Chain) codeResult {
	var found []uint64
	for _, c := range chains {
		if c.Root.Kind == accesspath.RootGlobal && len(c.Steps) == 1 && c.Steps[0].Index == nil {
			found = append(found, c.Root.Address+c.Steps[0].Offset)
		}
	}
	slices.Sort(found)
	if found = slices.Compact(found); len(found) != 1 {
		return codeResult{err: fmt.Errorf("%w: %s returns %d variables", layout.ErrUnknown, r.function, len(found))}
	}
	return codeResult{global: found[0]}
}

// match compares a chain with the path of a rule: as many steps, pointers where
// the path goes on, the offsets of the fields that other rules gave.
func (s *codeSource) match(r *codeRule, c accesspath.Chain) ([]layout.Field, bool) {
	names := strings.Fields(r.path)
	steps := c.Steps[2:]
	var fields []layout.Field
	typ := "kmp_base_info_t"
	for i, name := range names {
		if len(steps) == 0 || steps[0].Index != nil {
			return nil, false
		}
		f := layout.Field{Offset: steps[0].Offset, Size: uint64(steps[0].Size)}
		steps = steps[1:]
		last := i == len(names)-1
		if last {
			f.Mask = c.Mask
		}
		if !s.plausible(r, typ, name, f, last) {
			return nil, false
		}
		if name == "t_threads" { // one more step, to the element
			if len(steps) == 0 || steps[0].Index == nil || steps[0].Offset != 0 {
				return nil, false
			}
			steps = steps[1:]
		}
		fields = append(fields, f)
		typ = pointees[name]
	}
	return fields, len(steps) == 0
}

// plausible tells whether a place can be that of a field: the same as a rule
// before this one found, a pointer unless it is the last, and none of those that
// the rule excludes.
func (s *codeSource) plausible(r *codeRule, typ, name string, f layout.Field, last bool) bool {
	if !last && f.Size != 8 {
		return false
	}
	for i := range codeRules {
		at, ok := codeRules[i].gives(typ, name)
		if &codeRules[i] == r {
			break
		}
		if !ok {
			continue
		}
		if known := s.rule(i); known.err == nil {
			if known.fields[at] != f {
				return false
			}
			break
		}
	}
	for not := range strings.FieldsSeq(r.not) {
		if g, err := s.Field(typ, not); err == nil && g.Offset == f.Offset {
			return false
		}
	}
	return true
}
