package ompdinspect_test

import (
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// The limits of types and of lines.
const (
	maxColumns = 120
	maxReceive = 40 // methods of one type
	maxFields  = 15 // fields of one struct
	tabColumns = 4
)

// large are the types that break a limit, with the reason: a type that is cut up goes out
// of the table.
var large = map[string]string{
	"internal/omptest.ThreadTruth":        "what a program's thread says of itself, as JSON",
	"picture.Facts":                       "the JSON contract, as wide as its noun",
	"picture.Target":                      "the JSON contract, as wide as its noun",
	"picture.Thread":                      "the JSON contract, as wide as its noun",
	"rtl/libgomp.globals":                 "a table: one field for each field of the runtime's structures",
	"rtl/libgomp.taskFields":              "a table: one field for each field of the runtime's structures",
	"rtl/libgomp.teamFields":              "a table: one field for each field of the runtime's structures",
	"rtl/libgomp.threadFields":            "a table: one field for each field of the runtime's structures",
	"rtl/libomp/locate.Layout":            "a table: one field for each field of the runtime's structures",
	"rtl/libomp/locate.dispPrivateFields": "a table: one field for each field of the runtime's structures",
	"rtl/libomp/locate.Globals":           "a table: one field for each field of the runtime's structures",
	"rtl/libomp/locate.taskdataFields":    "a table: one field for each field of the runtime's structures",
	"rtl/libomp/locate.teamFields":        "a table: one field for each field of the runtime's structures",
	"rtl/libomp/locate.threadFields":      "a table: one field for each field of the runtime's structures",
}

// lonely are the exported names of internal packages that no other package mentions,
// with the reason.
var lonely = map[string]string{
	"internal/text.Tasks": "one of the printers of a picture's parts, which tests print by",
}

// TestLineWidth keeps lines to a width that two files side by side have room for. What a
// raw string quotes is as wide as it is.
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

// quotedLines are the lines of s that have a part of a raw string.
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

// TestTypeSize keeps types to one responsibility.
func TestTypeSize(t *testing.T) {
	methods, broken := map[string]int{}, map[string]bool{}
	check := func(name string, n, most int, what string) {
		if n <= most {
			return
		}
		if broken[name] = true; large[name] == "" {
			t.Errorf("%s has %d %s, more than %d", name, n, what, most)
		}
	}
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		for _, d := range s.ast.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil {
				methods[s.pkg+"."+receiverName(f)]++
			}
		}
		ast.Inspect(s.ast, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok {
				if body, ok := spec.Type.(*ast.StructType); ok {
					check(s.pkg+"."+spec.Name.Name, body.Fields.NumFields(), maxFields, "fields")
				}
			}
			return true
		})
	}
	for name, n := range methods {
		check(name, n, maxReceive, "methods")
	}
	for name, why := range large {
		if !broken[name] {
			t.Errorf("%s breaks no limit any more: take it (%s) out of the table", name, why)
		}
	}
}

// receiverName is the name of the type that a method belongs to.
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

// TestLonelyNames finds exported names of internal packages that no other package
// mentions: they are to be unexported, or go. An error is there to be compared with, by
// whoever comes to need it.
func TestLonelyNames(t *testing.T) {
	mentioned := map[string]map[string]bool{} // name, the directories that mention it
	for _, s := range sources(t) {
		if s.pkg == "." { // these tables
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

// exportedFuncs are the exported functions and variables of a file. Types are left out:
// what a function returns need not be named.
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
