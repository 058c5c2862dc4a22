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
	"sync"
	"testing"
)

const modulePath = "github.com/ompd-inspect/ompd-inspect/"

// imports says which packages of this module each package may import in code
// that is not a test. A package that is not listed may not exist.
var imports = map[string][]string{
	"callbacks":               nil,
	"callbacks/callbackstest": {"callbacks"},
	"handles":                 {"callbacks"},
	"layout":                  {"callbacks"},
	"internal/layoutcode":     {"callbacks", "internal/accesspath", "internal/symbolic", "layout"},
	"rtl":                     {"callbacks", "handles", "layout", "picture", "internal/libc", "internal/mpi"},
	"rtl/accessor":            {"callbacks", "handles", "rtl", "internal/accesspath"},
	"rtl/rtltest": {"callbacks", "corefile", "handles", "internal/arch", "internal/omptest", "picture",
		"rtl", "symbolize", "unwind"},
	"rtl/libomp": {"callbacks", "handles", "layout", "picture", "rtl", "rtl/libomp/locate"},
	"rtl/libomp/locate": {"callbacks", "layout", "rtl", "internal/accesspath", "internal/layoutcode",
		"internal/symbolic"},
	"rtl/libgomp": {"callbacks", "handles", "layout", "picture", "rtl", "internal/accesspath", "internal/arch",
		"internal/layoutcode", "internal/symbolic"},
	"rtl/foreign":         {"callbacks", "handles", "layout", "picture", "rtl", "rtl/accessor"},
	"ompd":                {"callbacks", "handles", "layout", "rtl"},
	"ompd/runtimes.go":    {"rtl/libomp", "rtl/libgomp", "rtl/foreign"},
	"internal/lift":       {"callbacks"},
	"internal/symbolic":   {"callbacks", "internal/lift"},
	"internal/accesspath": {"callbacks", "internal/lift", "internal/symbolic"},
	"internal/flow":       {"callbacks", "internal/arch", "internal/lift", "internal/symbolic"},
	"internal/spin":       {"callbacks", "internal/lift", "internal/symbolic"},
	"internal/lockflow":   {"callbacks", "rtl", "internal/flow", "internal/symbolic"},
	"internal/mpi":        nil,
	"job":                 {"internal/mpi", "picture"},
	"internal/arch":       {"callbacks"},
	"internal/binread":    nil,
	"internal/contain":    nil,
	"internal/elfx":       {"callbacks", "internal/binread", "internal/budget"},
	"internal/gocode":     {"callbacks", "internal/arch", "internal/elfx"},
	"internal/pagecache":  {"callbacks", "internal/budget"},
	"internal/symfile":    {"callbacks", "internal/budget", "internal/elfx"},
	"internal/libc":       {"callbacks"},
	"internal/cxxabi":     {"callbacks"},
	"internal/modules":    {"callbacks", "internal/budget", "internal/elfx", "internal/libc"},
	"corefile": {"callbacks", "internal/arch", "internal/budget", "internal/elfx", "internal/modules",
		"internal/pagecache", "internal/unxz"},
	"unwind": {"callbacks", "internal/arch", "internal/binread", "internal/budget", "internal/elfx",
		"internal/gocode"},
	"symbolize": {"callbacks", "internal/binread", "internal/budget", "internal/elfx", "internal/unxz"},
	"picture":   nil,
	"inspect": {"internal/budget", "picture", "callbacks", "handles", "layout", "rtl", "rtl/accessor",
		"unwind", "symbolize", "internal/accesspath", "internal/arch", "internal/cxxabi", "internal/flow",
		"internal/symbolic", "internal/libc", "internal/lockflow", "internal/mpi", "internal/spin", "trace",
		"trace/analyze"},
	"diagnose":           {"internal/phrase", "picture"},
	"trace":              {"callbacks"},
	"trace/analyze":      {"trace"},
	"trace/export":       {"internal/omptrecord", "trace", "trace/analyze"},
	"trace/tracetest":    {"callbacks", "trace"},
	"watch":              {"picture"},
	"internal/phrase":    {"picture"},
	"internal/waitgraph": {"picture"},
	"internal/text": {"diagnose", "internal/mpi", "internal/phrase", "internal/waitgraph", "job", "picture",
		"watch"},
	"internal/export":     {"internal/phrase", "internal/waitgraph", "picture"},
	"internal/web":        {"diagnose", "job", "internal/phrase", "internal/waitgraph", "picture"},
	"internal/report":     {"job", "picture", "internal/export", "internal/text", "internal/web", "watch"},
	"internal/files":      nil,
	"internal/outfile":    nil,
	"internal/unxz":       {"internal/budget"},
	"internal/sandbox":    nil,
	"internal/omptest":    nil,
	"internal/oracle":     nil,
	"internal/mutate":     nil,
	"internal/omptnames":  nil,
	"internal/omptrecord": nil,
	"internal/recordtest": nil,
	"live": {"callbacks", "corefile", "internal/arch", "internal/budget", "internal/elfx",
		"internal/libc", "internal/modules"},
	"proto/ompd/v1": nil,
	"remote": {"callbacks", "internal/arch", "internal/budget", "internal/elfx", "internal/modules",
		"proto/ompd/v1"},
	"delve":         {"callbacks", "internal/arch", "internal/elfx", "proto/ompd/v1", "remote"},
	"internal/wire": {"picture", "proto/ompd/v1", "watch"},
	"server": {"callbacks", "handles", "inspect", "internal/budget", "internal/contain", "picture",
		"internal/files", "internal/wire", "ompd", "proto/ompd/v1", "remote", "rtl", "session", "watch", "trace",
		"trace/analyze", "trace/export"},
	"session": {"callbacks", "corefile", "diagnose", "inspect", "internal/budget", "internal/omptnames",
		"live", "ompd", "picture", "rtl", "symbolize", "unwind", "watch", "trace", "trace/analyze", "trace/export"},
	"dap": {"callbacks", "diagnose", "inspect", "internal/contain", "internal/waitgraph", "picture",
		"session", "trace"},
	"dap/daptest":        nil,
	"gdb":                nil,
	"examples/lend":      {"client", "proto/ompd/v1"},
	"internal/budget":    {"callbacks"},
	"client":             {"picture", "internal/wire", "proto/ompd/v1", "watch"},
	"internal/piped":     nil,
	"internal/clib":      {"callbacks", "handles", "internal/libc", "internal/modules", "ompd", "rtl"},
	"cmd/ompd-inspect":   {"internal/cli"},
	"internal/e2e":       {"internal/cli", "internal/omptest", "picture"},
	"internal/generated": nil,
	"internal/testrun":   nil,
	"recorder":           nil,
	"internal/manual":    {"internal/cli"},
	"internal/jobs": {
		"callbacks", "diagnose", "inspect", "internal/mpi", "internal/phrase", "job", "layout", "picture", "session",
		"symbolize", "watch",
	},
	"internal/cli": {
		"callbacks", "client", "corefile", "dap", "delve", "diagnose", "gdb", "inspect", "job", "picture", "recorder",
		"internal/budget", "internal/clib", "internal/contain", "internal/elfx", "internal/files",
		"internal/jobs", "internal/mpi", "internal/outfile", "internal/piped", "internal/sandbox", "internal/symfile",
		"internal/report", "internal/wire", "live", "ompd", "proto/ompd/v1", "remote", "rtl", "server",
		"session", "watch", "trace", "trace/analyze", "trace/export", "internal/text", "internal/omptnames",
	},
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

// sources are all Go files of the module: a test depends on their content, so that a
// change runs it again.
func sources(t *testing.T) []source {
	t.Helper()
	all, err := parsed()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 50 {
		t.Fatalf("only %d Go files found", len(all))
	}
	return all
}

// parsed parses all Go files of the module, once for all tests.
var parsed = sync.OnceValues(func() (out []source, err error) {
	err = filepath.WalkDir(".", func(p string, d fs.DirEntry, err error) error {
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
		test := strings.HasSuffix(p, "_test.go")
		out = append(out, source{path.Dir(filepath.ToSlash(p)), filepath.ToSlash(p), test, string(b), fset, f})
		return nil
	})
	return out, err
})

// ownModule reports whether directory p is the root of another module.
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

// TestGraphIsUsed finds what the table allows and no file does: a table with more than
// that lets arrows come back.
func TestGraphIsUsed(t *testing.T) {
	used := map[string]bool{}
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		for _, spec := range s.ast.Imports {
			p, _ := strconv.Unquote(spec.Path.Value)
			if own, ok := strings.CutPrefix(p, modulePath); ok {
				used[s.pkg+" "+own], used[s.name+" "+own] = true, true
			}
		}
	}
	for pkg, allowed := range imports {
		for _, own := range allowed {
			if !used[pkg+" "+own] {
				t.Errorf("%s may import %s, and does not: take it out of the table", pkg, own)
			}
		}
	}
}

// harness are the packages of functions that tests of several packages share.
var harness = []string{"internal/e2e", "internal/omptest"}

// readers are the packages that each know one kind of runtime.
var readers = []string{"rtl/libomp", "rtl/libomp/locate", "rtl/libgomp", "rtl/foreign"}

// namesRuntimes are the files beside the readers that may name runtimes or their
// functions, each with the reason.
var namesRuntimes = map[string]string{
	"ompd/runtimes.go":               "the list of the readers",
	"rtl/abi.go":                     "what compilers call, whatever runtime serves it",
	"rtl/abi_loops.go":               "the same for loops",
	"rtl/abi_constructs.go":          "the same for constructs that may have no barrier",
	"symbolize/types.go":             "types of variables that compilers make",
	"internal/cli/record.go":         "how the recorder gets into a program depends on what it is linked with",
	"internal/cli/record_runtime.go": "which runtime a program can have in place of its own depends on what it calls",
	"internal/cli/symbols.go":        "its help shows the file that people have",
	"internal/elfx/symbols.go":       "an example of a symbol's version",
}

// runtimeName matches the names of runtimes' libraries, structures and functions.
var runtimeName = regexp.MustCompile(`\b(libi?omp5?|libgomp)\b|kmpc?_|(?i:gomp)_`)

// TestRuntimeNames keeps names of runtimes out of everything but their readers and
// the one file that lists these.
func TestRuntimeNames(t *testing.T) {
	unused := maps.Clone(namesRuntimes)
	lines := 0
	for _, s := range sources(t) {
		if s.test || slices.Contains(readers, s.pkg) || slices.Contains(harness, s.pkg) {
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

// TestPublicTypes: what a package outside of internal/ exports names no type of a
// package inside of it, so that others can implement and call it.
func TestPublicTypes(t *testing.T) {
	for _, s := range sources(t) {
		// which is for tests, with our programs
		if s.test || strings.Contains("/"+s.pkg, "/internal/") || s.ast.Name.Name == "main" || s.pkg == "rtl/rtltest" {
			continue
		}
		inside := map[string]bool{}
		for _, imp := range s.ast.Imports {
			p, _ := strconv.Unquote(imp.Path.Value)
			if strings.HasPrefix(p, modulePath+"internal/") {
				inside[importName(imp, p)] = true
			}
		}
		for _, decl := range s.ast.Decls {
			for _, part := range exportedParts(decl) {
				ast.Inspect(part, func(n ast.Node) bool {
					if sel, ok := n.(*ast.SelectorExpr); ok {
						if x, ok := sel.X.(*ast.Ident); ok && inside[x.Name] {
							t.Errorf("%v: exported with %s.%s", s.fset.Position(n.Pos()), x.Name, sel.Sel.Name)
						}
					}
					return true
				})
			}
		}
	}
}

// importName is the name by which a file uses an import.
func importName(imp *ast.ImportSpec, p string) string {
	if imp.Name != nil {
		return imp.Name.Name
	}
	return path.Base(p)
}

// exportedParts are the parts of a declaration that say of what types something
// exported is made.
func exportedParts(decl ast.Decl) (parts []ast.Node) {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Name.IsExported() && exportedReceiver(d) {
			parts = append(parts, d.Type)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			if ts, ok := spec.(*ast.TypeSpec); ok && ts.Name.IsExported() {
				parts = append(parts, exportedTypes(ts.Type)...)
			}
		}
	}
	return parts
}

// exportedTypes are the types of the exported fields of a structure, or a type that
// is none.
func exportedTypes(e ast.Expr) (parts []ast.Node) {
	st, ok := e.(*ast.StructType)
	if !ok {
		return []ast.Node{e}
	}
	for _, f := range st.Fields.List {
		if len(f.Names) == 0 || slices.ContainsFunc(f.Names, (*ast.Ident).IsExported) {
			parts = append(parts, f.Type)
		}
	}
	return parts
}

// exportedReceiver reports whether a function has no receiver, or one of an exported
// type.
func exportedReceiver(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return true
	}
	e := d.Recv.List[0].Type
	if star, ok := e.(*ast.StarExpr); ok {
		e = star.X
	}
	id, ok := e.(*ast.Ident)
	return !ok || id.IsExported()
}
