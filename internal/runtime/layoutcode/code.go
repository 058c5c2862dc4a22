// Package layoutcode is the layout source "code": it finds the offsets of fields and the addresses
// of variables in the machine code of a runtime's exported functions. The rules of a runtime reader
// name the fields that each function reads.
package layoutcode

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/code/accesspath"
	"github.com/ompd-inspect/ompd-inspect/internal/code/symbolic"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
)

// codeBounds bounds the emulation for rules: accessors are short. Each side of a branch is taken
// twice, so that a field that is read on any path is seen, and a chain of structures is recognized.
var codeBounds = accesspath.Bounds{Steps: 6000, Paths: 128, Visits: 2, Depth: 2, Edges: 2, Cases: 64}

// Rule names the fields of one access path in the code of one exported function. The functions are
// those of the OpenMP API and of the compiler's interface that do one simple thing, in the source
// of all releases alike; their machine code may vary.
type Rule struct {
	Function string
	// Of returns the expressions that may contain the path.
	Of func(symbolic.Path) []*symbolic.Expr
	// Path lists the fields from Rules.Root; the value of the last one is the expression. A member of a nested
	// structure includes its outer ones. For a global variable, it is "global" and the variable.
	Path string
	// Unless is a field, with its type: if it is known, the rule does not hold.
	Unless layout.FieldName
	// Size is the size in bytes of the last read, to distinguish it from others, or 0.
	Size uint8
	// As is the size of the last field, if the function reads a part of it; 0 if it reads the whole.
	As uint64
	// Bits means that the last field is some bits of a word. Partly means that the function reads only some bits
	// of a field.
	Bits, Partly bool
}

// Rules are the rules of a runtime. A rule gives the fields on its path that no earlier rule gives;
// two fields of a structure have different offsets.
type Rules struct {
	Rules []Rule
	// Root is the structure at the start of the paths.
	Root string
	// Pointees are the structures that fields of a path point to.
	Pointees map[string]string
	// Elements are the fields that point to an array of pointers: a path continues from one of its
	// elements.
	Elements []string
	// Start finds the start of the paths. It is called once.
	Start func(*Code) (Start, error)
}

// Start is the path by which code reaches the structure at the start of all paths.
type Start struct {
	Global string // the variable that leads to it
	Value  uint64 // as Source.Global
	// Steps returns the steps of a chain from that structure on; nil for a chain that does not pass through it.
	Steps func(symbolic.Chain) []symbolic.Step
	// Opaque is the entry of a function that is not emulated, or 0.
	Opaque uint64
}

// Code is the source "code": it derives offsets from the reads and writes of the functions that a
// runtime exports. It emulates them on demand. It is not for concurrent use.
type Code struct {
	target callbacks.Target
	module *callbacks.Module
	rules  *Rules
	names  [][]layout.FieldName // by rule: Rules.fields

	paths    map[string][]symbolic.Path // by function, and whether calls were run through
	started  bool
	start    Start
	startErr error
	results  map[int]codeResult // by rule
}

// codeResult is the result of a rule.
type codeResult struct {
	fields []layout.Field // as on the rule's path
	global uint64
	err    error
}

// New returns the source for the runtime in mod.
func New(t callbacks.Target, mod *callbacks.Module, rules *Rules) *Code {
	s := &Code{target: t, module: mod, rules: rules, paths: map[string][]symbolic.Path{}, results: map[int]codeResult{}}
	for i := range rules.Rules {
		s.names = append(s.names, rules.fields(i))
	}
	return s
}

// Name returns "code".
func (s *Code) Name() string { return "code" }

// Type returns an error: code shows no types.
func (s *Code) Type(string) (layout.Type, error) { return layout.Type{}, layout.ErrUnknown }

// Global returns the address of a variable that a function uses, or of the start of the paths.
func (s *Code) Global(name string) (uint64, error) {
	start, err := s.begin()
	if err != nil || name == start.Global {
		return start.Value, err
	}
	why := layout.ErrUnknown
	for i := range s.rules.Rules {
		if s.rules.Rules[i].Path != "global "+name {
			continue
		}
		r := s.rule(i)
		if r.err == nil {
			return r.global, nil
		}
		why = r.err
	}
	return 0, why
}

// Field returns the offset of a field on the path of a rule.
func (s *Code) Field(typ, field string) (layout.Field, error) {
	why := layout.ErrUnknown
	for i := range s.rules.Rules {
		at := slices.Index(s.names[i], layout.FieldName{Type: typ, Field: field})
		if at < 0 {
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

// Fields lists the fields in the rules.
func (rs *Rules) Fields() []layout.FieldName {
	var all []layout.FieldName
	for i := range rs.Rules {
		for _, n := range rs.fields(i) {
			if !slices.Contains(all, n) {
				all = append(all, n)
			}
		}
	}
	return all
}

// fields returns the fields on the path of rule i; it is empty for a rule of a variable.
func (rs *Rules) fields(i int) []layout.FieldName {
	if rs.Rules[i].isGlobal() {
		return nil
	}
	var out []layout.FieldName
	typ := rs.Root
	for f := range strings.FieldsSeq(rs.Rules[i].Path) {
		out = append(out, layout.FieldName{Type: typ, Field: f})
		typ = rs.Pointees[f]
	}
	return out
}

func (r *Rule) isGlobal() bool { return strings.HasPrefix(r.Path, "global ") }

// begin finds the start of the paths.
func (s *Code) begin() (Start, error) {
	if !s.started {
		s.started = true
		s.start, s.startErr = s.rules.Start(s)
	}
	return s.start, s.startErr
}

// Run returns the paths of an exported function; through also emulates its calls. The error is
// layout.ErrUnknown if the module does not export it or its code is missing.
func (s *Code) Run(function string, through bool) ([]symbolic.Path, error) {
	key := function
	if through {
		key += " through"
	}
	if p, ok := s.paths[key]; ok {
		return p, nil
	}
	entry, err := layout.SymbolIn(s.target, s.module, function)
	if err != nil {
		return nil, err
	}
	cfg := accesspath.Config{Arch: s.target.Arch(), Mem: s.target, Bounds: codeBounds}
	if through {
		cfg.Follow = func(t symbolic.Target) bool { return t.Entry != s.start.Opaque }
	}
	paths, err := accesspath.Run(cfg, entry.Offset)
	if err != nil { // the code is missing or cannot be read
		return nil, fmt.Errorf("%w: %v", layout.ErrUnknown, err)
	}
	s.paths[key] = paths
	return paths, nil
}
