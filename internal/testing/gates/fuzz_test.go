package gates_test

import (
	"go/ast"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFuzzSeeds requires that each function Fuzz starts from inputs of the repository: calls of Add, or files in
// testdata/fuzz. `make fuzz` runs all of these functions.
func TestFuzzSeeds(t *testing.T) {
	found := 0
	for _, s := range sources(t) {
		for _, d := range s.ast.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || !s.test || f.Recv != nil || !strings.HasPrefix(f.Name.Name, "Fuzz") {
				continue
			}
			found++
			dir := filepath.Join(filepath.Dir(s.name), "testdata", "fuzz", f.Name.Name)
			files, _ := os.ReadDir(dir)
			if len(files) == 0 && !calls(f, "f.Add") {
				t.Errorf("%s: %s starts from no input", s.name, f.Name.Name)
			}
		}
	}
	if found < 40 {
		t.Errorf("only %d functions were found", found)
	}
}

// calls reports whether a function contains a call.
func calls(f *ast.FuncDecl, name string) (found bool) {
	ast.Inspect(f.Body, func(n ast.Node) bool {
		if c, ok := n.(*ast.CallExpr); ok && callName(c) == name {
			found = true
		}
		return !found
	})
	return found
}
