package dap

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	godap "github.com/google/go-dap"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// node is a variable in the client's form: a value, and possibly parts.
type node struct {
	name, value string
	typ         string
	eval        string // expression for the value, if there is one
	memory      string // address
	kind        string // one of the protocol's kinds of variables, or empty
	parts       func() ([]node, error)
	count       int // number of parts, if they are numbered; parts may have the first ones only
	// page returns some of the numbered parts; nil if parts has all.
	page func(first, count int) ([]node, error)
}

// variable returns a node as a variable of the protocol.
func (v *view) variable(n node) godap.Variable {
	out := godap.Variable{
		Name: n.name, Value: n.value, Type: n.typ, EvaluateName: n.eval, MemoryReference: n.memory,
		PresentationHint: &godap.VariablePresentationHint{Kind: n.kind, Attributes: []string{"readOnly"}},
		IndexedVariables: n.count,
	}
	out.VariablesReference = v.refer(n)
	return out
}

// fixedParts returns a function that returns existing parts.
func fixedParts(list []node) func() ([]node, error) {
	return func() ([]node, error) { return list, nil }
}

// maxNodes bounds the variables with parts that a client may request.
const maxNodes = 1 << 18

// refer assigns a node with parts the number with which the client requests them; 0 for a node without parts.
func (v *view) refer(n node) int {
	if n.parts == nil {
		return 0
	}
	if len(v.nodes) == maxNodes {
		clear(v.nodes) // a client that requested so many does not know them any more
	}
	id := v.ids.next()
	v.nodes[id] = n
	return id
}

// fields returns the members of a structure of a picture, by their names in JSON, without those in skip.
// Members that are unset in the picture are left out. prefix is the prefix of the expression for a member.
func fields(x any, prefix string, skip ...string) []node {
	s := reflect.ValueOf(x)
	for s.Kind() == reflect.Pointer {
		if s.IsNil() {
			return nil
		}
		s = s.Elem()
	}
	var out []node
	for i := range s.NumField() {
		name, options, _ := strings.Cut(s.Type().Field(i).Tag.Get("json"), ",")
		f := s.Field(i)
		if slices.Contains(skip, name) || strings.Contains(options, "omitempty") && f.IsZero() {
			continue
		}
		n := nodeOf(name, f)
		if prefix != "" {
			n.eval = prefix + name
		}
		out = append(out, n)
	}
	return out
}

// nodeOf returns the node of a value of a picture.
func nodeOf(name string, v reflect.Value) node {
	n := node{name: name}
	if v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	switch x := v.Interface().(type) {
	case picture.Hex:
		n.value, n.memory = x.String(), x.String()
		return n
	case picture.Frame:
		n.value = frameText(x)
	case picture.State:
		n.value = fmt.Sprintf("%s (%s)", x.Name, x.Source)
	case picture.Code:
		n.value = codeText(x)
	default:
		n.value = valueText(v)
	}
	switch v.Kind() {
	case reflect.Struct:
		n.parts = func() ([]node, error) { return fields(v.Interface(), ""), nil }
	case reflect.Slice:
		if v.Len() > 0 {
			n.count, n.parts = v.Len(), func() ([]node, error) { return elements(v), nil }
		}
	}
	return n
}

// elements returns the elements of a list.
func elements(v reflect.Value) []node {
	out := make([]node, v.Len())
	for i := range out {
		out[i] = nodeOf(fmt.Sprintf("[%d]", i), v.Index(i))
	}
	return out
}

// maxText is the number of elements in the value of a list.
const maxText = 8

// valueText returns a value in one line.
func valueText(v reflect.Value) string {
	switch v.Kind() {
	case reflect.Struct:
		return "{…}"
	case reflect.Slice:
		if k := v.Type().Elem().Kind(); k == reflect.Struct {
			return fmt.Sprintf("[%d]", v.Len())
		}
		var parts []string
		for i := range min(v.Len(), maxText) {
			parts = append(parts, valueText(v.Index(i)))
		}
		if v.Len() > maxText {
			parts = append(parts, "…")
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case reflect.Pointer:
		return "none"
	}
	return fmt.Sprint(v.Interface())
}

// codeText returns a function of the program with the line of its construct.
func codeText(c picture.Code) string {
	s := c.Name
	if s == "" && c.Address != nil {
		s = c.Address.String()
	}
	if c.Line != 0 {
		s += " " + c.File + ":" + strconv.Itoa(c.Line)
	}
	return strings.TrimSpace(s)
}

// frameText returns a frame in one line.
func frameText(p picture.Frame) string {
	f := frame{Frame: p}
	s := f.name()
	if p.Line == 0 {
		return s
	}
	if p.Near {
		s += " near"
	}
	return s + " " + p.File + ":" + strconv.Itoa(p.Line)
}
