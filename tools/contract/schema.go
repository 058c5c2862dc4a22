package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/types"
	"strconv"
	"strings"
)

// document is a JSON schema: the form that a verb prints.
type document struct {
	name  string // name of its file
	root  string
	title string
}

// schemaBase is the base address of references between schemas.
const schemaBase = "https://github.com/ompd-inspect/ompd-inspect/proto/"

var documents = []document{
	{"picture", "picture.Picture", "Picture of an OpenMP program"},
	{"job", "job.Report", "A job of many ranks, as `ompd-inspect job --json` prints it"},
	{"ps", "picture.Processes", "OpenMP processes of a machine"},
	{"watch", "picture.Look", "Several looks at an OpenMP program"},
	{"profile", "picture.Profile", "Where the time of an OpenMP program goes"},
	{"breakpoints", "picture.Breakpoints", "Breakpoint locations of OpenMP runtimes"},
}

// object is a JSON object that keeps the order of its keys.
type object []member

type member struct {
	key   string
	value any
}

// MarshalJSON writes the members in their order.
func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		for _, part := range []any{m.key, m.value} {
			text, err := marshal(part)
			if err != nil {
				return nil, err
			}
			b.Write(text)
			b.WriteByte(':')
		}
		b.Truncate(b.Len() - 1)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSpace(b.Bytes()), err
}

// generator makes one document.
type generator struct {
	*model
	doc   document
	defs  object
	done  map[string]bool
	outer map[string]bool // types that the schema of the picture defines, for other schemas
	errs  []error
}

// schemas returns the schemas by the names of their files.
func (m *model) schemas() (map[string][]byte, error) {
	files := map[string][]byte{}
	var outer map[string]bool
	for _, d := range documents {
		g := &generator{model: m, doc: d, done: map[string]bool{}, outer: outer}
		root := m.structs[d.root]
		if root == nil {
			return nil, fmt.Errorf("no struct %s", d.root)
		}
		top := object{{"$schema", "https://json-schema.org/draft/2020-12/schema"},
			{"$id", schemaBase + d.name + ".schema.json"}, {"title", d.title}}
		top = append(top, g.object(root)...)
		top = append(top, member{"$defs", g.defs})
		if err := errors.Join(g.errs...); err != nil {
			return nil, fmt.Errorf("%s: %w", d.name, err)
		}
		text, err := marshal(top)
		if err != nil {
			return nil, err
		}
		var b bytes.Buffer
		if err := json.Indent(&b, text, "", "  "); err != nil {
			return nil, err
		}
		b.WriteByte('\n')
		files[d.name+".schema.json"] = b.Bytes()
		if outer == nil {
			outer = g.done
			outer[d.root] = true
		}
	}
	return files, nil
}

// object returns the schema of a struct.
func (g *generator) object(s *structure) object {
	if s.err != nil {
		g.errs = append(g.errs, s.err)
	}
	properties, required := object{}, []string{}
	for i := range s.fields {
		f := &s.fields[i]
		properties = append(properties, member{f.key, g.property(s, f)})
		if !f.optional {
			required = append(required, f.key)
		}
	}
	return object{{"description", sentence(renamed(s.doc, s.name, s.name))}, {"type", "object"}, {"required", required},
		{"additionalProperties", false}, {"properties", properties}}
}

// property returns the schema of a field.
func (g *generator) property(s *structure, f *field) object {
	item := g.value(s, f)
	p := item
	if f.list {
		p = object{{"type", "array"}, {"items", item}}
		if n, ok := f.rule("minitems"); ok {
			p = append(p, member{"minItems", g.number(s, f, n)})
		}
	}
	if f.doc != "" {
		p = append(p, member{"description", f.doc})
	}
	return p
}

// value returns the schema of a field's value, or of the elements of a list.
func (g *generator) value(s *structure, f *field) object {
	switch {
	case g.structs[f.typ] != nil, g.texts[f.typ].schema != "", g.enums[f.typ] != nil:
		return g.reference(f)
	}
	kind := map[types.BasicKind]string{types.Bool: "boolean", types.String: "string", types.Float64: "number",
		types.Int: "integer", types.Int64: "integer", types.Uint64: "integer"}[f.basic]
	if kind == "" {
		g.errs = append(g.errs, fmt.Errorf("%s.%s: no schema for %s", s.name, f.key, f.typ))
	}
	o := object{{"type", kind}}
	for _, r := range f.rules {
		switch r.name {
		case "const":
			o = object{{"const", g.consts[s.pkg+"."+r.value]}}
		case "enum":
			o = object{{"enum", strings.Split(r.value, "|")}}
		case "min", "max":
			o = append(o, member{r.name + "imum", g.number(s, f, r.value)})
		case "minlen":
			o = append(o, member{"minLength", g.number(s, f, r.value)})
		case "format", "pattern":
			o = append(o, member{r.name, r.value})
		case "minitems":
		default:
			g.errs = append(g.errs, fmt.Errorf("%s.%s: unknown rule %s", s.name, f.key, r.name))
		}
	}
	return o
}

func (g *generator) number(s *structure, f *field, text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		g.errs = append(g.errs, fmt.Errorf("%s.%s: %w", s.name, f.key, err))
	}
	return n
}

// reference returns a reference to the definition of a field's type, and adds the definition if it is missing.
func (g *generator) reference(f *field) object {
	name := f.typ
	_, null := f.rule("null")
	if null {
		name = nullable
	}
	_, def, _ := strings.Cut(name, ".")
	ref := "#/$defs/" + snake(def)
	switch {
	case name == documents[0].root:
		ref = "picture.schema.json"
	case g.outer[name]:
		ref = "picture.schema.json" + ref
	default:
		g.define(name, snake(def))
	}
	r := object{{"$ref", ref}}
	if _, empty := f.rule("empty"); empty {
		return object{{"anyOf", []object{r, {{"const", ""}}}}}
	}
	return r
}

// nullable is an address that may be that of a null pointer.
const nullable = "picture.AnyHex"

func (g *generator) define(name, def string) {
	if g.done[name] {
		return
	}
	g.done[name] = true
	var o object
	switch {
	case name == nullable:
		o = object{{"type", "string"}, {"pattern", "^0x(0|[1-9a-f][0-9a-f]*)$"},
			{"description", "An address, which may be that of a null pointer: 0x0."}}
	case g.structs[name] != nil:
		i := len(g.defs)
		g.defs = append(g.defs, member{def, nil}) // before the definitions that it refers to
		o = g.object(g.structs[name])
		g.defs[i].value = o
		return
	case g.texts[name].schema != "":
		t := g.texts[name]
		if err := json.Unmarshal([]byte(t.schema), &map[string]any{}); err != nil {
			g.errs = append(g.errs, fmt.Errorf("%s: %w", name, err))
		}
		described := strings.TrimSuffix(t.schema, "}") + fmt.Sprintf(`, "description": %q}`, t.doc)
		g.defs = append(g.defs, member{def, json.RawMessage(described)})
		return
	default:
		o = g.enumSchema(g.enums[name])
	}
	g.defs = append(g.defs, member{def, o})
}

// enumSchema returns the schema of a word; the description has one line for each word with a comment.
func (g *generator) enumSchema(e *enum) object {
	if len(e.words) == 0 {
		return object{{"type", "string"}, {"description", sentence(renamed(e.doc, e.name, e.name))}}
	}
	doc := sentence(renamed(e.doc, e.name, e.name))
	var words []string
	for _, w := range e.words {
		words = append(words, w.text)
		if w.doc != "" {
			doc += "\n" + w.text + ": " + strings.Join(strings.Fields(w.doc), " ")
		}
	}
	return object{{"description", doc}, {"enum", words}}
}
