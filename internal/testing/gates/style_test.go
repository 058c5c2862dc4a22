package gates_test

import (
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// TestDocComments requires a full sentence on every exported name.
func TestDocComments(t *testing.T) {
	for _, s := range sources(t) {
		if s.test || s.ast.Name.Name == "main" {
			continue
		}
		for _, d := range s.ast.Decls {
			for _, name := range undocumented(d) {
				t.Errorf("%v: exported %s has no doc comment of a full sentence", s.fset.Position(d.Pos()), name)
			}
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

// wellKnown are methods that their interface explains.
var wellKnown = map[string]bool{"Error": true, "Unwrap": true, "String": true, "Is": true, "Len": true, "Less": true,
	"Swap": true}

// sentence reports whether a comment starts with a full sentence: its first paragraph ends in a period, or
// continues in a list or an example.
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

// TestForbiddenCalls forbids printing and panics in libraries.
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
			case strings.HasPrefix(s.pkg, "cmd/"):
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

// TestPackageNames forbids packages without a subject.
func TestPackageNames(t *testing.T) {
	for _, s := range sources(t) {
		if slices.Contains([]string{"util", "utils", "common", "helpers", "pkg", "misc"}, s.ast.Name.Name) {
			t.Errorf("%s: package %s says nothing of what is in it", s.name, s.ast.Name.Name)
		}
	}
}
