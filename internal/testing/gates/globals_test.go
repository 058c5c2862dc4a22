package gates_test

import (
	"go/ast"
	"go/token"
	"testing"
)

// TestNoWrittenGlobals finds assignments to package variables in functions.
func TestNoWrittenGlobals(t *testing.T) {
	globals := map[string]map[string]bool{}
	all := sources(t)
	for _, s := range all {
		for _, d := range s.ast.Decls {
			if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.VAR && !s.test {
				for _, spec := range g.Specs {
					for _, n := range spec.(*ast.ValueSpec).Names {
						if n.Name == "_" {
							continue
						}
						if globals[s.pkg] == nil {
							globals[s.pkg] = map[string]bool{}
						}
						globals[s.pkg][n.Name] = true
					}
				}
			}
		}
	}
	for _, s := range all {
		if s.test {
			continue
		}
		for _, d := range s.ast.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil {
				writtenGlobals(t, s, f, globals[s.pkg])
			}
		}
	}
}

func writtenGlobals(t *testing.T, s source, f *ast.FuncDecl, globals map[string]bool) {
	local := map[string]bool{}
	ast.Inspect(f, func(n ast.Node) bool { // names that the function declares hide package variables
		switch n := n.(type) {
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE {
				for _, l := range n.Lhs {
					if id, ok := l.(*ast.Ident); ok {
						local[id.Name] = true
					}
				}
			}
		case *ast.Field:
			for _, id := range n.Names {
				local[id.Name] = true
			}
		case *ast.ValueSpec:
			for _, id := range n.Names {
				local[id.Name] = true
			}
		}
		return true
	})
	ast.Inspect(f, func(n ast.Node) bool {
		a, ok := n.(*ast.AssignStmt)
		if !ok || a.Tok == token.DEFINE {
			return true
		}
		for _, l := range a.Lhs {
			root := l
			for {
				if x, ok := root.(*ast.IndexExpr); ok {
					root = x.X
				} else if x, ok := root.(*ast.SelectorExpr); ok {
					root = x.X
				} else {
					break
				}
			}
			if id, ok := root.(*ast.Ident); ok && globals[id.Name] && !local[id.Name] {
				t.Errorf("%v: package variable %s is written after init", s.fset.Position(a.Pos()), id.Name)
			}
		}
		return true
	})
}
