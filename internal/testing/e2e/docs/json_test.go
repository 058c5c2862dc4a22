package docs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// schemas are the forms of JSON in proto, in the order of the page, with the verbs that print them.
var schemas = []struct{ name, verbs string }{
	{"picture", "`report`, `diagnose`, `threads`, `regions`, `tasks`, `stacks`, `icvs`, `layout`, `doctor`"},
	{"watch", "`watch`: one object a line, each with a picture"},
	{"profile", "`profile`, `job profile`"},
	{"job", "`job`, `job watch`"},
	{"ps", "`ps`"},
	{"breakpoints", "`breakpoints`"},
}

// object is a JSON object with the order of its keys.
type object struct {
	keys   []string
	values map[string]schema
}

func (o *object) UnmarshalJSON(text []byte) error {
	o.values = map[string]schema{}
	d := json.NewDecoder(bytes.NewReader(text))
	if _, err := d.Token(); err != nil {
		return err
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return err
		}
		var s schema
		if err := d.Decode(&s); err != nil {
			return err
		}
		name := fmt.Sprint(key)
		o.keys = append(o.keys, name)
		o.values[name] = s
	}
	return nil
}

// schema is a part of a JSON schema, as far as the schemas of this module use it.
type schema struct {
	Title       string   `json:"title"`
	Description string   `json:"description"`
	Type        string   `json:"type"`
	Ref         string   `json:"$ref"`
	Const       string   `json:"const"`
	Enum        []string `json:"enum"`
	Items       *schema  `json:"items"`
	AnyOf       []schema `json:"anyOf"`
	Required    []string `json:"required"`
	Minimum     *int     `json:"minimum"`
	Format      string   `json:"format"`
	Properties  object   `json:"properties"`
	Defs        object   `json:"$defs"`
}

// jsonPage returns the page of the JSON forms: a table for each object.
func jsonPage(t *testing.T) string {
	p := newPage("JSON", "proto/*.schema.json", "Read the output of `--json` in a program. Each form has a JSON "+
		"schema in [proto](../../proto), which a validator can use. Within a major version of a form, keys are only "+
		"added. A key that is *optional* is missing if its value is unknown or empty.")
	var list [][]string
	for _, s := range schemas {
		list = append(list, []string{fmt.Sprintf("[%s](#%s)", s.name, s.name),
			fmt.Sprintf("[%s.schema.json](../../proto/%s.schema.json)", s.name, s.name), s.verbs})
	}
	p.table([]string{"form", "schema", "verbs"}, list)
	for _, s := range schemas {
		var root schema
		if err := json.Unmarshal([]byte(readFile(t, "proto/"+s.name+".schema.json")), &root); err != nil {
			t.Fatal(err)
		}
		p.text("## " + s.name)
		prefix := s.name + " "
		if s.name == "picture" {
			prefix = ""
		}
		p.schema(root, prefix)
		for _, name := range root.Defs.keys {
			p.text("### " + prefix + name)
			p.schema(root.Defs.values[name], prefix)
		}
	}
	return p.String()
}

// schema adds an object or a type. prefix starts the headings of the types of the same file.
func (p *page) schema(s schema, prefix string) {
	description, words, _ := strings.Cut(s.Description, "\n")
	p.text(description)
	if len(s.Enum) > 0 {
		p.text("One of " + codes(s.Enum) + ".")
	}
	if words != "" {
		p.text("- " + strings.ReplaceAll(words, "\n", "\n- "))
	}
	if len(s.Properties.keys) == 0 {
		return
	}
	var rows [][]string
	for _, key := range s.Properties.keys {
		v := s.Properties.values[key]
		kind := v.kind(prefix)
		if !slices.Contains(s.Required, key) {
			kind += ", optional"
		}
		meaning := strings.ReplaceAll(v.Description, "\n", " ")
		if rest := strings.TrimPrefix(meaning, key+" "); verb.MatchString(rest) {
			meaning = upper(rest)
		}
		rows = append(rows, []string{"`" + key + "`", kind, meaning})
	}
	p.notedTable([]string{"key", "value", "meaning"}, rows)
}

// verb matches a comment on a field after the name of the field.
var verb = regexp.MustCompile(`^(has|lists|describes|counts|explains) `)

// kind returns the type of a value.
func (s schema) kind(prefix string) string {
	switch {
	case s.Items != nil:
		return "list of " + s.Items.kind(prefix)
	case s.Ref != "":
		file, name, found := strings.Cut(s.Ref, "#/$defs/")
		if !found {
			return "[picture](#picture)"
		}
		if file == "picture.schema.json" {
			prefix = ""
		}
		return fmt.Sprintf("[%s](#%s)", name, anchor(prefix+name))
	case s.Const != "":
		return "`" + s.Const + "`"
	case len(s.Enum) > 0:
		return codes(s.Enum)
	case len(s.AnyOf) > 0:
		return s.AnyOf[0].kind(prefix) + " or empty"
	case s.Minimum != nil:
		return fmt.Sprintf("%s ≥ %d", s.Type, *s.Minimum)
	case s.Format == "date-time":
		return "time (RFC 3339)"
	}
	return s.Type
}

// codes returns words as a list of code.
func codes(words []string) string { return "`" + strings.Join(words, "`, `") + "`" }
