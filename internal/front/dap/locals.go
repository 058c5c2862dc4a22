package dap

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// Reasons why a frame has no variables.
var (
	errRuns     = errors.New("the program is running, and its stacks change: continue, then pause, stops it")
	errNoValues = errors.New("variables and registers of this target are not read here")
	errNoFrame  = errors.New("it has no frame on the stack any more")
	errMoved    = errors.New("the stack has changed since it was shown: `pause` takes a new snapshot")
)

// frameValues returns the variables and registers of a frame. They are read for all frames of its thread on the
// first request.
func (a *adapter) frameValues(ctx context.Context, f *frame) (*picture.Values, error) {
	if a.isLive() && !a.held {
		return nil, errRuns
	}
	t := f.thread
	if t.valued == nil {
		parts := picture.Parts{Threads: true, Native: a.attachment.RuntimeFrames, Values: true}
		pic, err := a.ask(ctx, threadQuestion(t.LWP, parts))
		if err != nil {
			return nil, err
		}
		for i := range pic.Threads {
			if pic.Threads[i].LWP == t.LWP {
				t.valued = a.view.framesOf(&pic.Threads[i])
			}
		}
		if texts := a.view.lockTexts(); len(texts) > 0 {
			for i := range t.valued {
				if v := t.valued[i].Values(); v != nil {
					explainLocks(v.Variables, texts)
					explainLocks(v.Globals, texts)
				}
			}
		}
	}
	if f.index >= len(t.valued) || !isSamePlace(&t.valued[f.index], &f.Frame) {
		return nil, errMoved
	}
	if v := t.valued[f.index].Values(); v != nil {
		return v, nil
	}
	if slices.ContainsFunc(t.valued, func(f picture.Frame) bool { return f.Values() != nil }) {
		return nil, errNoFrame
	}
	return nil, errNoValues
}

// isSamePlace reports whether two frames are at the same place.
func isSamePlace(x, y *picture.Frame) bool {
	return x.Function == y.Function && (x.PC == nil) == (y.PC == nil) && (x.PC == nil || *x.PC == *y.PC)
}

// localScopes returns the scopes of the frame itself, before and after those of its thread.
func (a *adapter) localScopes(f *frame) (before, after []node) {
	if f.PC == nil {
		return nil, nil
	}
	scope := func(name, kind string, parts func(pager, *picture.Values) []node) node {
		return node{name: name, kind: kind, parts: func() ([]node, error) {
			v, err := a.frameValues(a.life, f)
			if err != nil {
				return []node{{name: "not shown", value: err.Error()}}, nil
			}
			return parts(pager{a, f}, v), nil
		}}
	}
	if f.Kind == picture.FrameUser {
		before = []node{scope("Locals", "locals", pager.locals)}
		after = append(after, scope("Globals", "globals", pager.globals))
	}
	return before, append(after, scope("Registers", "registers", pager.registers))
}

// locals returns the variables of a frame.
func (p pager) locals(v *picture.Values) []node { return p.values(v.Variables, "", "") }

// globals returns the variables of the source file of a frame that are in no function.
func (p pager) globals(v *picture.Values) []node { return p.values(v.Globals, "", "") }

// registers returns the registers of a frame.
func (pager) registers(v *picture.Values) []node {
	var out []node
	for _, r := range v.Registers {
		out = append(out, node{name: r.Name, value: r.Value.String(), eval: "$" + r.Name, memory: r.Value.String()})
	}
	return out
}

// values returns nodes for variables, or for the parts of one. base is the expression for the whole, and sep
// the text before the name of a member.
func (p pager) values(list []picture.Value, base, sep string) []node {
	var out []node
	for i := range list {
		out = append(out, p.valueNode(&list[i], base, sep))
	}
	return out
}

// pager reads elements of arrays and containers in a frame beyond those that were read with its variables.
type pager struct {
	a *adapter
	f *frame
}

// maxElements is the number of elements that are read at once.
const maxElements = 1000

// page returns elements of the value of an expression, count from number first on.
func (p pager) page(expression string, first, count int) ([]node, error) {
	var out []node
	for count > 0 {
		q := picture.Request{Expression: expression, First: first, Count: min(count, maxElements)}
		v, err := p.a.evaluateIn(p.a.life, p.f, q)
		if err != nil {
			return out, err
		}
		if len(v.Parts) == 0 {
			break
		}
		out = append(out, p.values(v.Parts, expression, "")...)
		first, count = first+len(v.Parts), count-len(v.Parts)
	}
	return out, nil
}

// operandText matches an expression to which the name of a part can be added as it is: *p is none.
var operandText = regexp.MustCompile(`^[A-Za-z_$][\w$]*((\.|->|::|%)[\w$]+|\[[^\[\]]*\]|\([\d,-]*\))*$`)

// valueNode returns the node of a variable, or of a part of one.
func (p pager) valueNode(v *picture.Value, base, sep string) node {
	n := node{name: v.Name, value: v.Text, typ: v.Type, eval: base + sep + v.Name}
	if base != "" && !operandText.MatchString(base) {
		base = "(" + base + ")"
		n.eval = base + sep + v.Name
	}
	inner, member := n.eval, "."
	switch {
	case base == "":
		n.eval, inner = v.Name, v.Name
	case strings.HasPrefix(v.Name, "*"):
		n.eval, inner, member = "*"+base, base, "->"
	case strings.HasPrefix(v.Name, "["), strings.HasPrefix(v.Name, "("):
		n.eval, inner = base+v.Name, base+v.Name
	}
	if v.Address != nil {
		n.memory = v.Address.String()
	}
	switch {
	case v.Missing != "":
		n.value = "<" + v.Missing + ">"
	case v.Text == "" && len(v.Parts) > 0:
		n.value = summary(v)
	}
	if len(v.Parts) > 0 {
		n.parts = func() ([]node, error) { return p.values(v.Parts, inner, member), nil }
		n.count = int(v.Count)
		n.page = func(first, count int) ([]node, error) { return p.page(inner, first, count) }
	}
	return n
}

// summary returns a value that has only parts, in one line.
func summary(v *picture.Value) string {
	var parts []string
	list := strings.HasPrefix(v.Parts[0].Name, "[") || strings.HasPrefix(v.Parts[0].Name, "(")
	for i := range v.Parts {
		p := &v.Parts[i]
		if i == maxText {
			parts = append(parts, "…")
			break
		}
		text := p.Text
		switch {
		case p.Missing != "":
			text = "<" + p.Missing + ">"
		case text == "":
			text = "{…}"
		}
		if !list {
			text = p.Name + " = " + text
		}
		parts = append(parts, text)
	}
	if v.Cut && len(v.Parts) <= maxText {
		parts = append(parts, "…")
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// findVariable finds a variable of a frame, or a part of one, by its expression: accts[1].lock, *p, p->next,
// $rip.
func (a *adapter) findVariable(ctx context.Context, expression string, f *frame) (node, error) {
	v, err := a.frameValues(ctx, f)
	if err != nil {
		return node{}, err
	}
	p := pager{a, f}
	list := slices.Concat(p.globals(v), p.locals(v), p.registers(v))
	if found := search(list, strings.ReplaceAll(expression, " ", "")); found != nil {
		return *found, nil
	}
	value, err := a.evaluateIn(ctx, f, picture.Request{Expression: expression})
	if err != nil {
		return node{}, err
	}
	return p.valueNode(value, "", ""), nil
}

// evaluateIn evaluates an expression in a frame.
func (a *adapter) evaluateIn(ctx context.Context, f *frame, q picture.Request) (*picture.Value, error) {
	parts := picture.Parts{Threads: true, Native: a.attachment.RuntimeFrames, Values: true, Request: q}
	pic, err := a.ask(ctx, threadQuestion(f.thread.LWP, parts))
	if err != nil {
		return nil, err
	}
	for i := range pic.Threads {
		if pic.Threads[i].LWP != f.thread.LWP {
			continue
		}
		list := a.view.framesOf(&pic.Threads[i])
		if f.index >= len(list) || !isSamePlace(&list[f.index], &f.Frame) || list[f.index].Values() == nil {
			return nil, errMoved
		}
		v := list[f.index].Values()
		if v.Result == nil {
			return nil, fmt.Errorf("%s: %s; `omp help` lists the possible expressions", q.Expression,
				cmp.Or(v.Error, "there are no variables in this frame"))
		}
		result := []picture.Value{*v.Result}
		explainLocks(result, a.view.lockTexts())
		return &result[0], nil
	}
	return nil, errNoFrame
}

// search returns the last variable, or part of one, with an expression: an inner block's variable comes after
// that of the enclosing block.
func search(list []node, expression string) *node {
	for i := len(list) - 1; i >= 0; i-- {
		n := &list[i]
		if n.eval == expression {
			return n
		}
		if n.parts == nil || !strings.Contains(expression, strings.TrimLeft(n.eval, "*")) {
			continue
		}
		parts, err := n.parts()
		if err != nil {
			continue
		}
		if found := search(parts, expression); found != nil {
			return found
		}
	}
	return nil
}
