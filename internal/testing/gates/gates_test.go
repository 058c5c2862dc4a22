package gates_test

import (
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

const (
	maxColumns = 120 // of a line
	tabColumns = 4
)

// lonely are the exported names of internal packages that no other package uses, with the reason.
var lonely = map[string]string{
	"internal/print/text.Tasks": "one of the printers of a picture's parts, which tests print by",
}

// TestLineWidth limits lines to a width at which two files fit side by side. It ignores raw strings.
func TestLineWidth(t *testing.T) {
	for _, s := range sources(t) {
		if ast.IsGenerated(s.ast) {
			continue
		}
		quoted, n := quotedLines(s), 0
		for line := range strings.Lines(s.text) {
			n++
			line = strings.TrimSuffix(line, "\n")
			columns := utf8.RuneCountInString(line) + (tabColumns-1)*strings.Count(line, "\t")
			if columns > maxColumns && !quoted[n] {
				t.Errorf("%s:%d has %d columns, more than %d", s.name, n, columns, maxColumns)
			}
		}
	}
}

// quotedLines returns the lines of s that have a part of a raw string.
func quotedLines(s source) map[int]bool {
	lines := map[int]bool{}
	ast.Inspect(s.ast, func(n ast.Node) bool {
		if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING && l.Value[0] == '`' {
			for i := s.fset.Position(l.Pos()).Line; i <= s.fset.Position(l.End()).Line; i++ {
				lines[i] = true
			}
		}
		return true
	})
	return lines
}

// receiverName returns the name of the type that a method belongs to.
func receiverName(f *ast.FuncDecl) string {
	x := f.Recv.List[0].Type
	for {
		switch e := x.(type) {
		case *ast.StarExpr:
			x = e.X
		case *ast.IndexExpr:
			x = e.X
		case *ast.Ident:
			return e.Name
		default:
			return ""
		}
	}
}

// qualified matches a name of another package.
var qualified = regexp.MustCompile(`\b([a-z][a-z0-9]*)\.([A-Z]\w*)`)

// TestLonelyNames finds exported names of internal packages that no other package uses: unexport or delete them.
// Errors are exempt, as a caller may need to compare with them.
func TestLonelyNames(t *testing.T) {
	mentioned := map[string]map[string]bool{} // name, the directories that mention it
	for _, s := range sources(t) {
		if s.pkg == gatesPackage { // these tables
			continue
		}
		for _, m := range qualified.FindAllString(s.text, -1) {
			if mentioned[m] == nil {
				mentioned[m] = map[string]bool{}
			}
			mentioned[m][s.pkg] = true
		}
	}
	found := map[string]bool{}
	for _, s := range sources(t) {
		if s.test || !strings.Contains("/"+s.pkg, "/internal/") {
			continue
		}
		for _, name := range exportedFuncs(s.ast) {
			by := mentioned[path.Base(s.pkg)+"."+name]
			where := s.pkg + "." + name
			elsewhere := len(by) > 1 || len(by) == 1 && !by[s.pkg]
			if elsewhere || strings.HasPrefix(name, "Err") {
				continue
			}
			if found[where] = true; lonely[where] == "" {
				t.Errorf("nobody but its package uses %s", where)
			}
		}
	}
	for where, why := range lonely {
		if !found[where] {
			t.Errorf("%s is used, or gone: take it (%s) out of the table", where, why)
		}
	}
}

// exportedFuncs returns the exported functions and variables of a file, but not the types, as a caller need not
// name the type of a result.
func exportedFuncs(f *ast.File) (names []string) {
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil && d.Name.IsExported() {
				names = append(names, d.Name.Name)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if v, ok := spec.(*ast.ValueSpec); ok && d.Tok == token.VAR && v.Names[0].IsExported() {
					names = append(names, v.Names[0].Name)
				}
			}
		}
	}
	return names
}
