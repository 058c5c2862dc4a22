package ompdinspect_test

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// The limits of this code base.
const (
	maxFileLines  = 400
	maxFuncLines  = 60
	maxFuncMedian = 10
	maxMethods    = 5
	maxExported   = 40
)

// exceptions are the places that break a limit for a good reason.
var exceptions = map[string]string{
	"exported callbacks": "the contract: every layer speaks in its types, constants and codes",
	"exported rtl": "the contract towards runtimes: subjects, infos and the standard's states are one " +
		"vocabulary",
	"function TestRefused":      "a table of files to refuse, and the few lines that run it",
	"function circles":          "a table of damages",
	"exported inspect":          "the picture: one type for each noun of the JSON contract",
	"exported picture":          "the JSON contract: one type for each of its nouns and words",
	"exported internal/omptest": "what all tests stand on: programs, runtimes, compilers, ways to run, and comparing",
}

func excepted(what, where string) bool { return exceptions[what+" "+where] != "" }

func TestFileLength(t *testing.T) {
	for _, s := range sources(t) {
		n := strings.Count(s.text, "\n")
		if n > maxFileLines && !ast.IsGenerated(s.ast) && !excepted("file", s.name) {
			t.Errorf("%s has %d lines, more than %d", s.name, n, maxFileLines)
		}
	}
}

func TestFunctionLength(t *testing.T) {
	var lengths []int
	for _, s := range sources(t) {
		for _, d := range s.ast.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Body == nil {
				continue
			}
			n := s.fset.Position(f.End()).Line - s.fset.Position(f.Pos()).Line + 1
			if !s.test {
				lengths = append(lengths, n)
			}
			if n > maxFuncLines && !excepted("function", f.Name.Name) {
				t.Errorf("%v: function %s has %d lines, more than %d", s.fset.Position(f.Pos()), f.Name.Name, n,
					maxFuncLines)
			}
		}
	}
	slices.Sort(lengths)
	if m := lengths[len(lengths)/2]; m > maxFuncMedian {
		t.Errorf("the median function has %d lines, more than %d", m, maxFuncMedian)
	}
}

func TestInterfaceSize(t *testing.T) {
	for _, s := range sources(t) {
		ast.Inspect(s.ast, func(n ast.Node) bool {
			if i, ok := n.(*ast.InterfaceType); ok && len(i.Methods.List) > maxMethods {
				t.Errorf("%v: an interface of %d methods, more than %d", s.fset.Position(i.Pos()), len(i.Methods.List),
					maxMethods)
			}
			return true
		})
	}
}

// TestDocComments asks for a full sentence on every exported name, and counts
// them.
func TestDocComments(t *testing.T) {
	exported := map[string]int{}
	for _, s := range sources(t) {
		if s.test || s.ast.Name.Name == "main" {
			continue
		}
		for _, d := range s.ast.Decls {
			for _, name := range undocumented(d) {
				t.Errorf("%v: exported %s has no doc comment of a full sentence", s.fset.Position(d.Pos()), name)
			}
			exported[s.pkg] += exportedNames(d)
		}
	}
	for pkg, n := range exported {
		if n > maxExported && !excepted("exported", pkg) {
			t.Errorf("package %s exports %d names, more than %d", pkg, n, maxExported)
		}
	}
}

func undocumented(d ast.Decl) []string {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Name.IsExported() && !sentence(d.Doc) && receiverExported(d) && !wellKnown[d.Name.Name] {
			return []string{d.Name.Name}
		}
	case *ast.GenDecl:
		var out []string
		for _, spec := range d.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				if spec.Name.IsExported() && !sentence(spec.Doc) && !sentence(d.Doc) {
					out = append(out, spec.Name.Name)
				}
			case *ast.ValueSpec:
				if spec.Names[0].IsExported() && spec.Doc == nil && spec.Comment == nil && d.Doc == nil {
					out = append(out, spec.Names[0].Name)
				}
			}
		}
		return out
	}
	return nil
}

// wellKnown are methods whose meaning their interface gives.
var wellKnown = map[string]bool{"Error": true, "Unwrap": true, "String": true, "Is": true, "Len": true, "Less": true,
	"Swap": true}

// sentence reports whether a comment begins with a full sentence: its first paragraph ends
// as one does, or goes on into a list or an example.
func sentence(doc *ast.CommentGroup) bool {
	if doc == nil {
		return false
	}
	first, _, _ := strings.Cut(doc.Text(), "\n\n")
	first = strings.TrimRight(strings.TrimSpace(first), ")\"'`")
	return strings.HasSuffix(first, ".") || strings.HasSuffix(first, ":") || strings.HasSuffix(first, "?") ||
		strings.HasSuffix(first, ", as by")
}

func receiverExported(f *ast.FuncDecl) bool {
	if f.Recv == nil {
		return true
	}
	x := f.Recv.List[0].Type
	if star, ok := x.(*ast.StarExpr); ok {
		x = star.X
	}
	if gen, ok := x.(*ast.IndexExpr); ok {
		x = gen.X
	}
	id, ok := x.(*ast.Ident)
	return !ok || id.IsExported()
}

// exportedNames counts exported types, functions, variables and groups of
// constants; methods belong to their types.
func exportedNames(d ast.Decl) int {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil && d.Name.IsExported() {
			return 1
		}
	case *ast.GenDecl:
		n := 0
		for _, spec := range d.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				if spec.Name.IsExported() {
					n++
				}
			case *ast.ValueSpec:
				if d.Tok == token.VAR && spec.Names[0].IsExported() {
					n++
				}
			}
		}
		return n
	}
	return 0
}

// TestForbiddenCalls keeps printing and panics out of libraries.
func TestForbiddenCalls(t *testing.T) {
	for _, s := range sources(t) {
		ast.Inspect(s.ast, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			name := callName(call)
			at := s.fset.Position(call.Pos())
			switch {
			case s.test || s.pkg == "internal/cli":
			case strings.HasPrefix(s.pkg, "cmd/") || strings.HasPrefix(s.pkg, "examples/"):
			case name == "panic" || strings.HasPrefix(name, "fmt.Print") || strings.HasPrefix(name, "log."):
				t.Errorf("%v: %s in a library", at, name)
			}
			return true
		})
	}
}

func callName(c *ast.CallExpr) string {
	switch f := c.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		if x, ok := f.X.(*ast.Ident); ok {
			return x.Name + "." + f.Sel.Name
		}
	}
	return ""
}

// TestPackageNames keeps rooms without a subject out of the tree.
func TestPackageNames(t *testing.T) {
	for _, s := range sources(t) {
		if slices.Contains([]string{"util", "utils", "common", "helpers", "pkg", "misc"}, s.ast.Name.Name) {
			t.Errorf("%s: package %s says nothing of what is in it", s.name, s.ast.Name.Name)
		}
	}
}
