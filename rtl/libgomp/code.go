package libgomp

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/accesspath"
	"github.com/ompd-inspect/ompd-inspect/layout"
)

// codeBounds is what the rules need: accessors are short. Loops run twice, so
// that a chain of teams is seen to be one.
var codeBounds = accesspath.Bounds{Steps: 6000, Paths: 128, Visits: 2, Depth: 2, Edges: 2, Cases: 64}

// teamInThread is the offset of ts.team in gomp_thread: behind the two pointers
// fn and data, in every release. Where the linker has turned accesses relative to
// gomp_tls_data into accesses relative to the thread pointer, it tells the two
// apart.
const teamInThread = 16

// codeSource answers from the machine code of the functions that the runtime
// exports: what they read and write is where things lie. Nothing is run before
// it is asked for. It is not for concurrent use.
type codeSource struct {
	target callbacks.Target
	module *callbacks.Module

	paths    map[string][]accesspath.Path // by function
	started  bool
	startErr error
	tls      uint64             // distance of gomp_tls_data from the thread pointer
	slot     uint64             // address of the word that has the distance; 0 if the code itself has it
	results  map[int]codeResult // by rule
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

// Global is the address of a variable that a function uses, or the distance of
// gomp_tls_data.
func (s *codeSource) Global(name string) (uint64, error) {
	if name == "gomp_tls_data" {
		err := s.start()
		return s.tls, err
	}
	why := layout.ErrUnknown
	for i := range codeRules {
		if global, ok := strings.CutPrefix(codeRules[i].path, "global "); ok && global == name {
			if f := codeRules[i].unless; f != "" {
				if _, err := s.Field("gomp_task", f); err == nil {
					continue
				}
			}
			r := s.rule(i)
			if r.err == nil {
				return r.global, nil
			}
			why = r.err
		}
	}
	return 0, why
}

// Field is the place of a field on the path of a rule.
func (s *codeSource) Field(typ, field string) (layout.Field, error) {
	why := layout.ErrUnknown
	for i := range codeRules {
		at, ok := codeRules[i].gives(typ, field)
		if !ok {
			continue
		}
		r := s.rule(i)
		if r.err == nil {
			return r.fields[at], nil
		}
		if !errors.Is(r.err, layout.ErrUnknown) {
			return layout.Field{}, r.err
		}
		why = r.err
	}
	return layout.Field{}, why
}

// gives tells where on the rule's path a field is.
func (r *codeRule) gives(typ, field string) (at int, ok bool) {
	at = slices.Index(r.fields(), fieldName{typ, field})
	return at, at >= 0
}

// fields are the fields on the rule's path; none for a rule about a variable.
func (r *codeRule) fields() []fieldName {
	if strings.HasPrefix(r.path, "global ") {
		return nil
	}
	var out []fieldName
	typ := "gomp_thread"
	for f := range strings.FieldsSeq(r.path) {
		out = append(out, fieldName{typ, f})
		typ = pointees[f]
	}
	return out
}

// start finds gomp_tls_data: omp_get_num_threads reads its ts.team, and that
// team's number of threads.
func (s *codeSource) start() error {
	if s.started {
		return s.startErr
	}
	s.started = true
	s.startErr = s.findTLS()
	return s.startErr
}

func (s *codeSource) findTLS() error {
	var err error
	for _, through := range []bool{false, true} {
		var paths []accesspath.Path
		if paths, err = s.run("omp_get_num_threads", through); err != nil {
			return err
		}
		for _, p := range paths {
			if p.Result == nil {
				continue
			}
			if c, ok := p.Result.Chain(); ok && len(c.Steps) == 2 && c.Steps[0].Size == 8 && s.startFrom(c.Root, c.Steps[0]) {
				return s.readSlot()
			}
		}
	}
	return fmt.Errorf("%w: omp_get_num_threads reads no thread-local variable at a fixed distance from the thread pointer", layout.ErrUnknown)
}

// startFrom takes the root of a path to ts.team for gomp_tls_data, if it can be.
func (s *codeSource) startFrom(r accesspath.Root, team accesspath.Step) bool {
	switch r.Kind {
	case accesspath.RootTLS:
		s.tls = team.Offset - teamInThread
	case accesspath.RootTLSSlot:
		s.slot = r.Address
	default:
		return false
	}
	return true
}

// readSlot reads the distance from where the loader has put it.
func (s *codeSource) readSlot() (err error) {
	if s.slot == 0 {
		return nil
	}
	s.tls, err = layout.ReadUint(s.target, callbacks.At(s.slot), 8)
	if err == nil && s.tls == 0 {
		err = fmt.Errorf("%w: the loader has not filled the word for gomp_tls_data at %#x", layout.ErrUnknown, s.slot)
	}
	return err
}

// steps are the steps of a chain that starts from gomp_tls_data; nil for another.
func (s *codeSource) steps(c accesspath.Chain) []accesspath.Step {
	switch {
	case s.slot != 0 && c.Root.Kind == accesspath.RootTLSSlot && c.Root.Address == s.slot:
		return c.Steps
	case s.slot == 0 && c.Root.Kind == accesspath.RootTLS:
		steps := slices.Clone(c.Steps)
		steps[0].Offset -= s.tls
		return steps
	}
	return nil
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
		cfg.Follow = func(accesspath.Target) bool { return true }
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

// apply reads the function's own code first. Where a compiler has made functions of
// the runtime's small helpers, it runs through calls, too; to begin with that would
// find more than the rule means.
func (s *codeSource) apply(r *codeRule) codeResult {
	if err := s.start(); err != nil {
		return codeResult{err: err}
	}
	out := s.read(r, false)
	if out.err != nil {
		if deep := s.read(r, true); deep.err == nil {
			return deep
		}
	}
	return out
}

func (s *codeSource) read(r *codeRule, through bool) codeResult {
	paths, err := s.run(r.function, through)
	if err != nil {
		return codeResult{err: err}
	}
	chains := r.chains(paths)
	if strings.HasPrefix(r.path, "global ") {
		return r.global(chains)
	}
	var found [][]layout.Field
	for _, c := range chains {
		steps := s.steps(c)
		if steps == nil {
			continue
		}
		if f, ok := s.match(r, steps, c.Mask); ok && !slices.ContainsFunc(found, func(g []layout.Field) bool { return slices.Equal(f, g) }) {
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
func (r *codeRule) chains(paths []accesspath.Path) []accesspath.Chain {
	var chains []accesspath.Chain
	seen := map[*accesspath.Expr]bool{}
	for _, p := range paths {
		for _, e := range r.of(p) {
			if seen[e] {
				continue
			}
			seen[e] = true
			if c, ok := e.Chain(); ok && (r.size == 0 || c.Last().Size == r.size) {
				chains = append(chains, c)
			}
		}
	}
	return chains
}

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
		return codeResult{err: fmt.Errorf("%w: %s uses %d variables", layout.ErrUnknown, r.function, len(found))}
	}
	return codeResult{global: found[0]}
}

// match compares the steps of a chain with the path of a rule: as many steps,
// pointers where the path goes on, the offsets of the fields that other rules
// gave.
func (s *codeSource) match(r *codeRule, steps []accesspath.Step, mask uint64) ([]layout.Field, bool) {
	names := strings.Fields(r.path)
	if len(steps) != len(names) {
		return nil, false
	}
	var fields []layout.Field
	typ := "gomp_thread"
	for i, name := range names {
		if steps[i].Index != nil {
			return nil, false
		}
		f := layout.Field{Offset: steps[i].Offset, Size: uint64(steps[i].Size)}
		if last := i == len(names)-1; last && r.as != 0 {
			f.Size = r.as
		} else if last && mask != 0 && !r.partly {
			return nil, false
		}
		if !s.plausible(r, typ, name, f, i == len(names)-1) {
			return nil, false
		}
		fields = append(fields, f)
		typ = pointees[name]
	}
	return fields, true
}

// plausible tells whether a place can be that of a field: the same as a rule
// before this one found, a pointer unless it is the last, and none at which another
// field lies.
func (s *codeSource) plausible(r *codeRule, typ, name string, f layout.Field, last bool) bool {
	if !last && f.Size != 8 || f.End() > layout.MaxRecord {
		return false
	}
	for i := range codeRules {
		if &codeRules[i] == r {
			return true
		}
		for at, other := range codeRules[i].fields() {
			if other.typ != typ {
				continue
			}
			known := s.rule(i)
			if known.err == nil && (other.field == name) != (known.fields[at].Offset == f.Offset) {
				return false
			}
		}
	}
	return true
}

// moduleSymbol looks name up in one module only. It is ErrUnknown if the module
// does not define it.
func moduleSymbol(t callbacks.Target, mod *callbacks.Module, name string) (callbacks.Address, error) {
	a, err := t.Symbol(name, mod.Path)
	if err != nil || !mod.Contains(a) {
		return callbacks.Address{}, layout.ErrUnknown
	}
	return a, nil
}
