package main

import (
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// model is the contract as declared in the Go packages.
type model struct {
	structs map[string]*structure // by package and name: "picture.Thread"
	enums   map[string]*enum
	texts   map[string]text   // types with a JSON form of their own
	consts  map[string]string // string constants
	decls   map[string]*ast.StructType
}

// structure is a struct with JSON keys.
type structure struct {
	pkg     string
	name    string
	message string // name in the .proto
	doc     string
	fields  []field
	err     error // errors of its fields
}

// field is one JSON key.
type field struct {
	key      string
	goName   string
	optional bool // the key is missing if the value is zero
	number   int  // in the message; 0 if it is not in the message
	list     bool
	pointer  bool
	typ      string // "int", "picture.Frame"
	basic    types.BasicKind
	doc      string
	rules    []rule
}

// rule is one part of a schema tag: min=1.
type rule struct{ name, value string }

// text is a type that is marshalled as text, with its declared schema.
type text struct{ schema, doc string }

// enum is a string type with constants.
type enum struct {
	name  string
	doc   string
	words []word
}

// closed reports whether a type is a string with constant values.
func (e *enum) closed() bool { return e != nil && len(e.words) > 0 }

// word is one constant of an enum.
type word struct {
	text string
	doc  string
	pos  token.Pos
}

// Directives in doc comments of types.
const (
	messageDirective = "//contract:message " // another name in the .proto
	schemaDirective  = "//contract:schema "  // the schema of a type that is marshalled as text
)

// load reads the packages with these directories below root.
func load(root string, dirs ...string) (*model, error) {
	m := &model{structs: map[string]*structure{}, enums: map[string]*enum{}, texts: map[string]text{},
		consts: map[string]string{}, decls: map[string]*ast.StructType{}}
	known := packages{}
	for _, dir := range dirs {
		if err := m.loadPackage(root, dir, known); err != nil {
			return nil, fmt.Errorf("%s: %w", dir, err)
		}
	}
	return m, nil
}

// packages imports the packages that were loaded before. Other packages are empty, because only names of the
// contract's own types matter.
type packages map[string]*types.Package

func (p packages) Import(name string) (*types.Package, error) {
	if known := p[name]; known != nil {
		return known, nil
	}
	empty := types.NewPackage(name, path.Base(name))
	empty.MarkComplete()
	return empty, nil
}

const modulePath = "github.com/ompd-inspect/ompd-inspect/"

func (m *model) loadPackage(root, dir string, known packages) error {
	fset := token.NewFileSet()
	isSource := func(f fs.FileInfo) bool { return !strings.HasSuffix(f.Name(), "_test.go") }
	parsed, err := parser.ParseDir(fset, filepath.Join(root, dir), isSource, parser.ParseComments)
	if err != nil {
		return err
	}
	pkg := parsed[path.Base(dir)]
	if pkg == nil {
		return fmt.Errorf("no package %s", path.Base(dir))
	}
	var files []*ast.File
	for _, name := range slices.Sorted(maps.Keys(pkg.Files)) {
		files = append(files, pkg.Files[name])
	}
	info := &types.Info{Defs: map[*ast.Ident]types.Object{}}
	conf := types.Config{Importer: known, Error: func(error) {}} // errors of declarations in other packages are ignored
	checked, _ := conf.Check(modulePath+dir, fset, files, info)
	known[modulePath+dir] = checked
	for _, f := range files {
		ast.Inspect(f, func(n ast.Node) bool {
			if s, ok := n.(*ast.TypeSpec); ok {
				m.decls[pkg.Name+"."+s.Name.Name], _ = s.Type.(*ast.StructType)
			}
			return true
		})
	}
	for _, f := range files {
		for _, d := range f.Decls {
			gen, ok := d.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, spec := range gen.Specs {
				switch s := spec.(type) {
				case *ast.TypeSpec:
					m.addType(info, pkg.Name, s, cmp.Or(s.Doc, gen.Doc))
				case *ast.ValueSpec:
					if gen.Tok == token.CONST {
						m.addConstants(info, s)
					}
				}
			}
		}
	}
	return nil
}

// addType adds a struct with JSON keys, a string type, or a type with a schema of its own.
func (m *model) addType(info *types.Info, pkg string, s *ast.TypeSpec, doc *ast.CommentGroup) {
	name := pkg + "." + s.Name.Name
	message, schema := s.Name.Name, ""
	if doc != nil {
		for _, c := range doc.List {
			if after, ok := strings.CutPrefix(c.Text, messageDirective); ok {
				message = after
			}
			if after, ok := strings.CutPrefix(c.Text, schemaDirective); ok {
				schema = after
			}
		}
	}
	switch t := info.Defs[s.Name].Type().Underlying().(type) {
	case *types.Struct:
		if schema != "" {
			m.texts[name] = text{schema, sentence(renamed(doc.Text(), s.Name.Name, ""))}
			return
		}
		st := &structure{pkg: pkg, name: s.Name.Name, message: message, doc: doc.Text()}
		m.addFields(st, t, s.Type.(*ast.StructType))
		st.useKeys()
		if len(st.fields) > 0 {
			m.structs[name] = st
		}
	case *types.Basic:
		if schema != "" {
			m.texts[name] = text{schema, sentence(renamed(doc.Text(), s.Name.Name, ""))}
		} else if t.Kind() == types.String {
			e := m.enumOf(name)
			e.name, e.doc = s.Name.Name, doc.Text()
		}
	}
}

func (m *model) enumOf(name string) *enum {
	if m.enums[name] == nil {
		m.enums[name] = &enum{}
	}
	return m.enums[name]
}

// addFields adds the fields of a struct that have JSON keys.
func (m *model) addFields(st *structure, t *types.Struct, decl *ast.StructType) {
	i := 0
	for _, f := range decl.Fields.List {
		for range max(len(f.Names), 1) {
			v, tag := t.Field(i), reflect.StructTag(t.Tag(i))
			i++
			switch {
			case v.Embedded() && tag.Get("json") == "":
				if named, ok := v.Type().(*types.Named); ok {
					inner, _ := named.Underlying().(*types.Struct)
					if decl := m.decls[st.pkg+"."+named.Obj().Name()]; inner != nil && decl != nil {
						m.addFields(st, inner, decl)
					}
				}
			case tag.Get("json") != "":
				st.fields = append(st.fields, m.fieldOf(st, v, tag, comment(f)))
			}
		}
	}
}

// useKeys replaces field names by keys in the comments of the struct, as sentences.
func (st *structure) useKeys() {
	keys := map[string]string{}
	for _, f := range st.fields {
		keys[f.goName] = f.key
	}
	st.doc = keyed(st.doc, keys)
	for i := range st.fields {
		f := &st.fields[i]
		subject := strings.HasPrefix(f.doc, f.goName+" ")
		f.doc = keyed(renamed(f.doc, f.goName, f.key), keys)
		if !subject || !strings.HasPrefix(f.doc, f.key+" ") {
			f.doc = sentence(f.doc)
		}
	}
}

// comment returns the comment above a field, or the one after it, or both as two sentences.
func comment(f *ast.Field) string {
	above, behind := strings.TrimSpace(f.Doc.Text()), strings.TrimSpace(f.Comment.Text())
	if above == "" || behind == "" {
		return above + behind
	}
	return sentence(above) + " " + sentence(behind)
}

func (m *model) fieldOf(st *structure, v *types.Var, tag reflect.StructTag, doc string) field {
	key, options, _ := strings.Cut(tag.Get("json"), ",")
	f := field{key: key, goName: v.Name(), optional: options == "omitempty"}
	t := v.Type()
	if l, ok := t.(*types.Slice); ok {
		f.list, t = true, l.Elem()
	}
	if p, ok := t.(*types.Pointer); ok {
		f.pointer, t = true, p.Elem()
	}
	switch t := t.(type) {
	case *types.Named:
		f.typ = t.Obj().Pkg().Name() + "." + t.Obj().Name()
	case *types.Basic:
		f.typ = t.Name()
	}
	if b, ok := t.Underlying().(*types.Basic); ok {
		f.basic = b.Kind()
	}
	var err error
	if n := tag.Get("pb"); n != "" {
		f.number, err = strconv.Atoi(n)
	}
	if err != nil || f.typ == "" || options != "" && !f.optional {
		st.err = errors.Join(st.err, fmt.Errorf("%s.%s: type %v, tag %q: %v", st.name, v.Name(), v.Type(), tag, err))
	}
	for r := range strings.SplitSeq(tag.Get("schema"), ",") {
		name, value, _ := strings.Cut(r, "=")
		if name != "" {
			f.rules = append(f.rules, rule{name, value})
		}
	}
	f.doc = doc
	return f
}

// addConstants adds string constants: those of a type are its words.
func (m *model) addConstants(info *types.Info, s *ast.ValueSpec) {
	for _, id := range s.Names {
		c, ok := info.Defs[id].(*types.Const)
		if !ok || c.Val().Kind() != constant.String {
			continue
		}
		m.consts[c.Pkg().Name()+"."+c.Name()] = constant.StringVal(c.Val())
		named, ok := c.Type().(*types.Named)
		if !ok {
			continue
		}
		doc := renamed(strings.TrimSpace(s.Doc.Text()+s.Comment.Text()), id.Name, constant.StringVal(c.Val()))
		e := m.enumOf(named.Obj().Pkg().Name() + "." + named.Obj().Name())
		if text := constant.StringVal(c.Val()); text != "" {
			e.words = append(e.words, word{text: text, doc: doc, pos: id.Pos()})
		}
	}
}

// rule returns the value of a rule of a field, and whether it has that rule.
func (f *field) rule(name string) (string, bool) {
	for _, r := range f.rules {
		if r.name == name {
			return r.value, true
		}
	}
	return "", false
}

// reached returns the names of the structs that are part of roots, each once, in the order of the fields.
func (m *model) reached(roots ...string) (names []string) {
	seen := map[string]bool{}
	var visit func(name string)
	visit = func(name string) {
		s := m.structs[name]
		if s == nil || seen[name] {
			return
		}
		seen[name] = true
		names = append(names, name)
		for _, f := range s.fields {
			visit(f.typ)
		}
	}
	for _, r := range roots {
		visit(r)
	}
	return names
}
