package layoutcode

import (
	"fmt"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/code/symbolic"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
)

// rule applies rule i once.
func (s *Code) rule(i int) codeResult {
	r, ok := s.results[i]
	if !ok {
		s.results[i] = codeResult{err: layout.ErrUnknown} // ends a circle of rules
		r = s.apply(i)
		s.results[i] = r
	}
	return r
}

// apply reads the function's own code first. If a compiler has not inlined the runtime's small helpers, it
// emulates calls, too; starting with the calls would find more than the rule means.
func (s *Code) apply(i int) codeResult {
	if _, err := s.begin(); err != nil {
		return codeResult{err: err}
	}
	r := &s.rules.Rules[i]
	if r.Unless != (layout.FieldName{}) {
		if _, err := s.Field(r.Unless.Type, r.Unless.Field); err == nil {
			return codeResult{err: fmt.Errorf("%w: it is %v", layout.ErrUnknown, r.Unless)}
		}
	}
	out := s.read(i, false)
	if out.err != nil && !s.own(i) {
		if deep := s.read(i, true); deep.err == nil {
			return deep
		}
	}
	return out
}

// own reports whether an earlier rule found its path in the same function's own code. Then the compiler has
// inlined its helpers, and emulating its other calls takes long and has no result.
func (s *Code) own(i int) bool {
	for before := range s.rules.Rules[:i] {
		if s.rules.Rules[before].Function != s.rules.Rules[i].Function {
			continue
		}
		s.rule(before)
		if s.read(before, false).err == nil {
			return true
		}
	}
	return false
}

func (s *Code) read(i int, through bool) codeResult {
	r := &s.rules.Rules[i]
	paths, err := s.Run(r.Function, through)
	if err != nil {
		return codeResult{err: err}
	}
	chains := s.chains(r, paths)
	if r.isGlobal() {
		return r.global(chains)
	}
	var found [][]layout.Field
	for _, c := range chains {
		steps := s.start.Steps(c)
		if steps == nil {
			continue
		}
		if f, ok := s.match(i, steps, c.Mask); ok &&
			!slices.ContainsFunc(found, func(g []layout.Field) bool { return slices.Equal(f, g) }) {
			found = append(found, f)
		}
	}
	if len(found) != 1 {
		return codeResult{err: fmt.Errorf("%w: %d readings of the code of %s", layout.ErrUnknown, len(found),
			r.Function)}
	}
	return codeResult{fields: found[0]}
}

// chains returns the access paths that may be the rule's. The paths through a function share the
// expressions of their common start.
func (s *Code) chains(r *Rule, paths []symbolic.Path) []symbolic.Chain {
	var chains []symbolic.Chain
	seen := map[*symbolic.Expr]bool{}
	for _, p := range paths {
		for _, e := range r.Of(p) {
			if seen[e] {
				continue
			}
			seen[e] = true
			if c, ok := s.Chain(e); ok && (r.Size == 0 || c.Last().Size == r.Size) {
				chains = append(chains, c)
			}
		}
	}
	return chains
}

// Chain splits an expression. Code may reach a variable through a pointer that the loader set (the global offset
// table): a pointer in the runtime's module to another place in that module. That step is omitted.
func (s *Code) Chain(e *symbolic.Expr) (symbolic.Chain, bool) {
	c, ok := e.Chain()
	if !ok || c.Root.Kind != symbolic.RootGlobal || len(c.Steps) < 2 || !c.Steps[0].IsPointer() {
		return c, ok
	}
	p, err := layout.ReadUint(s.target, callbacks.Addr(c.Root.Address), 8)
	if err == nil && s.module.Contains(callbacks.Addr(p)) {
		c.Root.Address, c.Steps = p, c.Steps[1:]
	}
	return c, true
}

// global returns the one variable that makes up the chains.
func (r *Rule) global(chains []symbolic.Chain) codeResult {
	var found []uint64
	for _, c := range chains {
		if c.Root.Kind == symbolic.RootGlobal && len(c.Steps) == 1 && c.Steps[0].Index == nil {
			found = append(found, c.Root.Address+c.Steps[0].Offset)
		}
	}
	slices.Sort(found)
	if found = slices.Compact(found); len(found) != 1 {
		return codeResult{err: fmt.Errorf("%w: %s uses %d variables", layout.ErrUnknown, r.Function, len(found))}
	}
	return codeResult{global: found[0]}
}

// match compares the steps of a chain with the path of rule i: the number of steps, pointers
// between them, and the offsets of the fields that other rules gave.
func (s *Code) match(i int, steps []symbolic.Step, mask uint64) ([]layout.Field, bool) {
	r, names := &s.rules.Rules[i], s.names[i]
	var fields []layout.Field
	for at, name := range names {
		if len(steps) == 0 || steps[0].Index != nil {
			return nil, false
		}
		f := layout.Field{Offset: steps[0].Offset, Size: uint64(steps[0].Size)}
		steps = steps[1:]
		last := at == len(names)-1
		switch {
		case last && r.As != 0:
			f.Size = r.As
		case last && r.Bits:
			f.Mask = mask
		case last && mask != 0 && !r.Partly:
			return nil, false
		}
		if !s.plausible(i, name, f, last) {
			return nil, false
		}
		if slices.Contains(s.rules.Elements, name.Field) { // one more step, to the element
			if len(steps) == 0 || steps[0].Index == nil || steps[0].Offset != 0 {
				return nil, false
			}
			steps = steps[1:]
		}
		fields = append(fields, f)
	}
	return fields, len(steps) == 0
}

// plausible reports whether an offset can be that of a field on the path of rule i: equal to an
// earlier rule's, a pointer unless it is the last, and not that of another field.
func (s *Code) plausible(i int, name layout.FieldName, f layout.Field, last bool) bool {
	if !last && f.Size != 8 || f.End() > layout.MaxRecord {
		return false
	}
	for before := range s.rules.Rules[:i] {
		for at, other := range s.names[before] {
			if other.Type != name.Type {
				continue
			}
			known := s.rule(before)
			if known.err != nil {
				continue
			}
			k := known.fields[at]
			if same := k.Offset == f.Offset && k.Mask == f.Mask; same != (other == name) {
				return false
			}
		}
	}
	return true
}
