package gates_test

import (
	"go/ast"
	"go/token"
	"strings"
	"testing"
)

// TestNoArchitectureTests finds code that compares an architecture with a certain one. Only internal/code/arch may do
// that; elsewhere, code asks for a fact about the architecture (arch.Facts), or has a table by architecture, so that a
// new one is added by facts and rows.
func TestNoArchitectureTests(t *testing.T) {
	for _, s := range sources(t) {
		if s.test || s.pkg == "internal/code/arch" || s.pkg == "callbacks" {
			continue
		}
		ast.Inspect(s.ast, func(n ast.Node) bool {
			var compared []ast.Expr
			switch n := n.(type) {
			case *ast.BinaryExpr:
				if n.Op == token.EQL || n.Op == token.NEQ {
					compared = []ast.Expr{n.X, n.Y}
				}
			case *ast.CaseClause:
				compared = n.List
			}
			for _, e := range compared {
				if name := selected(e); isArchitecture(name) {
					t.Errorf("%s:%d compares with %s: ask internal/code/arch for the fact that differs", s.name,
						s.fset.Position(e.Pos()).Line, name)
				}
			}
			return true
		})
	}
}

// selected returns the name of an expression such as pkg.Name.
func selected(e ast.Expr) string {
	sel, ok := e.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	pkg, ok := sel.X.(*ast.Ident)
	if !ok {
		return ""
	}
	return pkg.Name + "." + sel.Sel.Name
}

// isArchitecture reports whether a name is that of a certain architecture or of this program's.
func isArchitecture(name string) bool {
	return name == "runtime.GOARCH" || strings.HasPrefix(name, "elf.EM_") ||
		strings.HasPrefix(name, "callbacks.Arch") && name != "callbacks.ArchUnknown"
}
