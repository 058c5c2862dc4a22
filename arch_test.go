package ompdinspect_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const modulePath = "github.com/ompd-inspect/ompd-inspect/"

// imports says which packages of this module each package may import in code
// that is not a test. A package that is not listed may not exist.
var imports = map[string][]string{
	"callbacks":               nil,
	"callbacks/callbackstest": {"callbacks"},
	"handles":                 {"callbacks"},
	"layout":                  {"callbacks", "internal/accesspath"},
	"rtl":                     {"callbacks", "handles", "layout"},
	"rtl/accessor":            {"callbacks", "handles", "rtl", "internal/accesspath"},
	"rtl/libomp":              {"callbacks", "handles", "layout", "rtl", "internal/accesspath"},
	"rtl/libgomp":             {"callbacks", "handles", "layout", "rtl", "internal/accesspath", "internal/arch"},
	"rtl/foreign":             {"callbacks", "handles", "layout", "rtl", "rtl/accessor"},
	"ompd":                    {"callbacks", "handles", "layout", "rtl"},
	"ompd/runtimes.go":        {"rtl/libomp", "rtl/libgomp", "rtl/foreign"},
	"internal/accesspath":     {"callbacks", "internal/arch"},
	"internal/arch":           {"callbacks"},
	"internal/elfx":           {"callbacks"},
	"internal/gocode":         {"callbacks", "internal/arch", "internal/elfx"},
	"internal/pagecache":      {"callbacks"},
	"internal/symfile":        {"callbacks", "internal/elfx"},
	"internal/modules":        {"callbacks", "internal/elfx"},
	"corefile":                {"callbacks", "internal/arch", "internal/elfx", "internal/modules", "internal/pagecache"},
	"unwind":                  {"callbacks", "internal/arch", "internal/elfx", "internal/gocode"},
	"symbolize":               {"callbacks", "internal/elfx"},
	"inspect":                 {"callbacks", "handles", "layout", "rtl", "rtl/accessor", "unwind", "symbolize", "internal/arch", "internal/accesspath"},
	"diagnose":                {"inspect"},
	"internal/text":           {"inspect"},
	"internal/omptest":        nil,
	"internal/oracle":         nil,
	"live":                    {"callbacks", "corefile", "internal/arch", "internal/elfx", "internal/modules", "internal/pagecache"},
	"proto/ompd/v1":           nil,
	"remote":                  {"callbacks", "internal/arch", "internal/elfx", "internal/modules", "proto/ompd/v1"},
	"delve":                   {"callbacks", "internal/arch", "internal/elfx", "proto/ompd/v1", "remote"},
	"internal/wire":           {"inspect", "proto/ompd/v1"},
	"server":                  {"callbacks", "diagnose", "handles", "inspect", "internal/wire", "ompd", "proto/ompd/v1", "remote", "rtl"},
	"client":                  {"inspect", "internal/wire", "proto/ompd/v1"},
	"internal/piped":          nil,
	"internal/clib":           {"callbacks", "handles", "internal/modules", "ompd", "rtl"},
	"cmd/ompd-inspect":        {"callbacks", "client", "corefile", "delve", "diagnose", "inspect", "internal/clib", "internal/elfx", "internal/piped", "internal/symfile", "internal/text", "internal/wire", "live", "ompd", "proto/ompd/v1", "remote", "rtl", "server", "symbolize", "unwind"},
}

// forbidden says which packages of others a part of the tree must not import:
// the rooms that they belong to are elsewhere.
var forbidden = map[string][]string{
	"callbacks": {"debug/elf", "debug/dwarf", "os", "syscall", "google.golang.org/grpc"},
	"handles":   {"debug/elf", "debug/dwarf", "os"},
	"rtl":       {"debug/elf", "os", "syscall", "golang.org/x/sys/unix", "google.golang.org/grpc"},
	"ompd":      {"debug/elf", "os", "syscall", "golang.org/x/sys/unix", "google.golang.org/grpc"},
	"inspect":   {"debug/elf", "debug/dwarf", "os", "syscall", "google.golang.org/grpc"},
}

// source is one Go file of the module.
type source struct {
	pkg  string // directory
	name string // path from the module's root
	test bool
	text string
	fset *token.FileSet
	ast  *ast.File
}

// sources parses all Go files of the module: the test depends on their content,
// so that a change runs it again.
func sources(t *testing.T) []source {
	t.Helper()
	var out []source
	err := filepath.WalkDir(".", func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || d.Name() == ".git" || ownModule(p)):
			return filepath.SkipDir
		case !strings.HasSuffix(p, ".go"):
			return nil
		}
		b, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, p, b, parser.ParseComments)
		if err != nil {
			return err
		}
		if strings.HasSuffix(p, ".pb.go") && ast.IsGenerated(f) { // nobody writes or reads it
			return nil
		}
		out = append(out, source{path.Dir(filepath.ToSlash(p)), filepath.ToSlash(p), strings.HasSuffix(p, "_test.go"), string(b), fset, f})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(out) < 50 {
		t.Fatalf("only %d Go files found", len(out))
	}
	return out
}

// ownModule tells whether directory p is the root of another module.
func ownModule(p string) bool {
	_, err := os.Stat(filepath.Join(p, "go.mod"))
	return p != "." && err == nil
}

func TestImportGraph(t *testing.T) {
	checked := 0
	for _, s := range sources(t) {
		if s.test || s.pkg == "." {
			continue
		}
		allowed, known := imports[s.pkg]
		inner := strings.Contains(s.pkg, "/internal/")
		if !known && !inner {
			t.Errorf("%s: package %s is not in the import graph of arch_test.go", s.name, s.pkg)
			continue
		}
		allowed = append(slices.Clone(allowed), imports[s.name]...)
		for _, spec := range s.ast.Imports {
			p, _ := strconv.Unquote(spec.Path.Value)
			checked++
			own, isOwn := strings.CutPrefix(p, modulePath)
			if isOwn && !slices.Contains(allowed, own) && !strings.HasPrefix(own, s.pkg+"/internal/") && !inner {
				t.Errorf("%s imports %s: the import graph does not allow it", s.name, own)
			}
			for room, words := range forbidden {
				if (s.pkg == room || strings.HasPrefix(s.pkg, room+"/")) && slices.Contains(words, p) {
					t.Errorf("%s imports %s: that belongs to another room", s.name, p)
				}
			}
		}
	}
	if checked < 100 {
		t.Fatalf("only %d imports checked", checked)
	}
}

// TestGraphHasNoCycle keeps the table itself honest.
func TestGraphHasNoCycle(t *testing.T) {
	var visit func(pkg string, above []string)
	visit = func(pkg string, above []string) {
		if slices.Contains(above, pkg) {
			t.Fatalf("the import graph has a cycle: %v", append(above, pkg))
		}
		for _, next := range imports[pkg] {
			visit(next, append(above, pkg))
		}
	}
	for pkg := range imports {
		visit(pkg, nil)
	}
}

// readers are the packages that each know one kind of runtime.
var readers = []string{"rtl/libomp", "rtl/libgomp", "rtl/foreign"}

// namesRuntimes are the files beside the readers that may name runtimes or their
// functions, each with the reason.
var namesRuntimes = map[string]string{
	"ompd/runtimes.go":            "the list of the readers",
	"rtl/abi.go":                  "what compilers call, whatever runtime serves it",
	"rtl/abi_loops.go":            "the same for loops",
	"symbolize/types.go":          "types of variables that compilers make",
	"cmd/ompd-inspect/symbols.go": "its help shows the file that people have",
	"internal/elfx/symbols.go":    "an example of a symbol's version",
}

// runtimeName matches the names of runtimes' libraries, structures and functions.
var runtimeName = regexp.MustCompile(`\b(libi?omp5?|libgomp)\b|kmpc?_|(?i:gomp)_`)

// TestRuntimeNames keeps names of runtimes out of everything but their readers and
// the one file that lists these.
func TestRuntimeNames(t *testing.T) {
	unused := maps.Clone(namesRuntimes)
	lines := 0
	for _, s := range sources(t) {
		if s.test || slices.Contains(readers, s.pkg) || s.pkg == "internal/omptest" {
			continue
		}
		for i, line := range strings.Split(s.text, "\n") {
			lines++
			if !runtimeName.MatchString(line) {
				continue
			}
			if delete(unused, s.name); namesRuntimes[s.name] == "" {
				t.Errorf("%s:%d names a runtime: %s", s.name, i+1, strings.TrimSpace(line))
			}
		}
	}
	for name, why := range unused {
		t.Errorf("%s names no runtime: its exception (%s) is not needed", name, why)
	}
	if lines < 10000 {
		t.Errorf("only %d lines were looked at", lines)
	}
}

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
