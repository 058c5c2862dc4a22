package dap

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// Reasons why a frame has no variables.
var (
	errRuns     = errors.New("the program is running, and its stacks change: `pause` stops it")
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
	scope := func(name, kind string, parts func(*picture.Values) []node) node {
		return node{name: name, kind: kind, parts: func() ([]node, error) {
			v, err := a.frameValues(a.life, f)
			if err != nil {
				return []node{{name: "not shown", value: err.Error()}}, nil
			}
			return parts(v), nil
		}}
	}
	if f.Kind == picture.FrameUser {
		before = []node{scope("Locals", "locals", locals)}
		return before, []node{scope("Globals", "globals", globals), scope("Registers", "registers", registers)}
	}
	return before, []node{scope("Registers", "registers", registers)}
}

// locals returns the variables of a frame.
func locals(v *picture.Values) []node { return values(v.Variables, "", "") }

// globals returns the variables of the source file of a frame that are in no function.
func globals(v *picture.Values) []node { return values(v.Globals, "", "") }

// registers returns the registers of a frame.
func registers(v *picture.Values) []node {
	var out []node
	for _, r := range v.Registers {
		out = append(out, node{name: r.Name, value: r.Value.String(), eval: "$" + r.Name, memory: r.Value.String()})
	}
	return out
}

// values returns nodes for variables, or for the parts of one. base is the expression for the whole, and sep
// the text before the name of a member.
func values(list []picture.Value, base, sep string) []node {
	var out []node
	for i := range list {
		out = append(out, valueNode(&list[i], base, sep))
	}
	return out
}

// valueNode returns the node of a variable, or of a part of one.
func valueNode(v *picture.Value, base, sep string) node {
	n := node{name: v.Name, value: v.Text, typ: v.Type, eval: base + sep + v.Name}
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
		n.parts = func() ([]node, error) { return values(v.Parts, inner, member), nil }
		if strings.HasPrefix(v.Parts[0].Name, "[") {
			n.count = len(v.Parts)
		}
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
	list := slices.Concat(globals(v), locals(v), registers(v))
	if found := search(list, strings.ReplaceAll(expression, " ", "")); found != nil {
		return *found, nil
	}
	return a.evaluateIn(ctx, f, expression)
}

// evaluateIn evaluates an expression in a frame.
func (a *adapter) evaluateIn(ctx context.Context, f *frame, expression string) (node, error) {
	parts := picture.Parts{Threads: true, Native: a.attachment.RuntimeFrames, Values: true, Expression: expression}
	pic, err := a.ask(ctx, threadQuestion(f.thread.LWP, parts))
	if err != nil {
		return node{}, err
	}
	for i := range pic.Threads {
		if pic.Threads[i].LWP != f.thread.LWP {
			continue
		}
		list := a.view.framesOf(&pic.Threads[i])
		if f.index >= len(list) || !isSamePlace(&list[f.index], &f.Frame) || list[f.index].Values() == nil {
			return node{}, errMoved
		}
		v := list[f.index].Values()
		if v.Result != nil {
			list := []picture.Value{*v.Result}
			explainLocks(list, a.view.lockTexts())
			return valueNode(&list[0], "", ""), nil
		}
		return node{}, fmt.Errorf("%s: %s; `omp help` lists the possible expressions", expression,
			cmp.Or(v.Error, "there are no variables in this frame"))
	}
	return node{}, errNoFrame
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
