package gates_test

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

// gatesPackage is the directory of these tests, which run in the root of the module.
const gatesPackage = "internal/testing/gates"

func TestMain(m *testing.M) {
	root, _ := filepath.Rel(gatesPackage, ".")
	if err := os.Chdir(root); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

const modulePath = "github.com/ompd-inspect/ompd-inspect/"

// imports lists the packages of this module that each package may import in code that is not a test. An unlisted
// package is an error.
var imports = map[string][]string{
	"callbacks":               nil,
	"callbacks/callbackstest": {"callbacks"},
	"client":                  {"internal/wire", "picture", "proto/ompd/v1"},
	"cmd/ompd-inspect":        {"internal/cli"},
	"corefile": {
		"callbacks", "internal/code/arch", "internal/guard/budget", "internal/guard/files",
		"internal/image/elfx", "internal/image/modules", "internal/image/unxz", "internal/target/pagecache",
	},
	"diagnose": {"internal/phrase", "picture"},
	"gdb":      nil,
	"handles":  {"callbacks", "picture"},
	"live": {
		"callbacks", "corefile", "internal/code/arch", "internal/guard/budget", "internal/image/elfx",
		"internal/image/libc", "internal/image/modules",
	},
	"ompd": {
		"callbacks", "handles", "internal/runtime/layout", "internal/runtime/readers", "internal/runtime/rtl",
	},
	"picture":       nil,
	"proto/ompd/v1": nil,
	"recorder":      nil,
	"server": {
		"callbacks", "handles", "internal/engine", "internal/guard/budget", "internal/guard/contain",
		"internal/guard/files", "internal/guard/sockets", "internal/trace/analyze", "internal/trace/export",
		"internal/trace/history", "internal/watch", "internal/wire", "ompd", "picture", "proto/ompd/v1", "session",
		"trace",
	},
	"session": {"callbacks", "internal/engine", "picture"},
	"trace":   {"callbacks"},
	"internal/cli": {
		"callbacks", "client", "corefile", "diagnose", "gdb", "internal/engine", "internal/front/clib",
		"internal/front/compare", "internal/front/dap", "internal/front/piped",
		"internal/guard/budget", "internal/guard/contain",
		"internal/guard/descriptors", "internal/guard/files", "internal/guard/jsonx", "internal/guard/outfile",
		"internal/guard/sandbox", "internal/guard/sockets", "internal/image/elfx", "internal/image/symfile",
		"internal/jobs", "internal/jobs/job", "internal/mpi", "internal/print/report", "internal/print/text",
		"internal/profile", "internal/runtime/readers", "internal/runtime/rtl", "internal/target/delve",
		"internal/target/remote", "internal/trace/analyze", "internal/trace/export", "internal/trace/history",
		"internal/trace/legacy", "internal/trace/omptnames", "internal/watch", "internal/wire", "live", "picture",
		"proto/ompd/v1", "recorder", "server", "session", "trace",
	},
	"internal/code/accesspath": {"callbacks", "internal/code/lift", "internal/code/symbolic"},
	"internal/code/arch":       {"callbacks"},
	"internal/code/emulate":    {"callbacks", "internal/code/arch", "internal/code/lift"},
	"internal/code/flow": {
		"callbacks", "internal/code/arch", "internal/code/lift", "internal/code/symbolic",
	},
	"internal/code/lift":     {"callbacks"},
	"internal/code/spin":     {"callbacks", "internal/code/arch", "internal/code/emulate", "internal/code/lift"},
	"internal/code/symbolic": {"callbacks", "internal/code/lift"},
	"internal/engine": {
		"callbacks", "corefile", "diagnose", "internal/guard/budget", "internal/inspect",
		"internal/image/elfx", "internal/phrase", "internal/profile",
		"internal/runtime/extended", "internal/runtime/layout",
		"internal/runtime/readers", "internal/runtime/rtl",
		"internal/stack/symbolize", "internal/stack/unwind", "internal/target/remote", "internal/watch",
		"internal/wire", "live", "picture", "proto/ompd/v1", "trace",
	},
	"internal/front/clib": {
		"callbacks", "handles", "ompd", "internal/code/arch", "internal/image/libc", "internal/image/modules",
		"internal/runtime/rtl",
	},
	"internal/front/compare": {
		"callbacks", "handles", "internal/phrase", "internal/runtime/extended", "internal/runtime/readers",
		"internal/runtime/rtl", "ompd",
	},
	"internal/front/dap": {
		"callbacks", "diagnose", "internal/engine", "internal/guard/budget", "internal/guard/contain",
		"internal/guard/jsonx", "internal/phrase", "internal/print/waitgraph",
		"internal/trace/history", "picture", "trace",
	},
	"internal/front/piped":       {"internal/guard/budget", "internal/guard/jsonx"},
	"internal/guard/budget":      {"callbacks"},
	"internal/guard/contain":     nil,
	"internal/guard/descriptors": nil,
	"internal/guard/files":       {"internal/guard/budget"},
	"internal/guard/jsonx":       {"internal/guard/budget"},
	"internal/guard/outfile":     nil,
	"internal/guard/sandbox":     nil,
	"internal/guard/sockets":     nil,
	"internal/image/binread":     nil,
	"internal/image/cxxabi":      {"callbacks"},
	"internal/image/dwarfx":      {"internal/guard/budget", "internal/image/binread", "internal/image/spans"},
	"internal/image/elfx": {
		"callbacks", "internal/code/arch", "internal/guard/budget", "internal/guard/files",
		"internal/image/binread",
	},
	"internal/image/gocode":  {"callbacks", "internal/code/arch", "internal/code/emulate", "internal/image/elfx"},
	"internal/image/jitcode": {"callbacks"},
	"internal/image/libc":    {"callbacks", "internal/code/arch"},
	"internal/image/modules": {
		"callbacks", "internal/code/arch", "internal/guard/budget", "internal/image/elfx",
		"internal/image/libc",
	},
	"internal/image/pycode":  {"callbacks"},
	"internal/image/rcode":   {"callbacks"},
	"internal/image/spans":   nil,
	"internal/image/symfile": {"callbacks", "internal/guard/budget", "internal/image/elfx"},
	"internal/image/unxz":    {"internal/guard/budget"},
	"internal/inspect": {
		"callbacks", "handles", "internal/image/libc", "internal/inspect/crash", "internal/inspect/recordings",
		"internal/inspect/stacks", "internal/inspect/teams", "internal/inspect/waits", "internal/mpi",
		"internal/phrase", "internal/runtime/accessor", "internal/runtime/layout", "internal/runtime/libomptarget",
		"internal/runtime/rtl", "internal/stack/symbolize", "internal/stack/unwind", "picture",
	},
	"internal/inspect/crash": {
		"callbacks", "internal/code/arch", "internal/code/emulate", "internal/code/flow", "internal/image/cxxabi",
		"internal/image/libc", "internal/inspect/stacks", "internal/inspect/teams", "internal/runtime/accessor",
		"internal/runtime/rtl", "internal/stack/symbolize", "internal/stack/unwind", "picture",
	},
	"internal/inspect/recordings": {
		"callbacks", "handles", "internal/inspect/stacks", "internal/inspect/teams", "internal/runtime/rtl",
		"internal/stack/symbolize", "internal/stack/unwind", "internal/trace/analyze", "picture", "trace",
	},
	"internal/inspect/stacks": {
		"callbacks", "handles", "internal/code/arch", "internal/code/flow", "internal/code/symbolic",
		"internal/guard/budget", "internal/image/jitcode", "internal/image/libc", "internal/image/pycode",
		"internal/image/rcode", "internal/lockflow", "internal/phrase", "internal/runtime/layout",
		"internal/runtime/rtl", "internal/stack/symbolize", "internal/stack/unwind", "picture",
	},
	"internal/inspect/teams": {
		"callbacks", "handles", "internal/code/arch", "internal/code/flow", "internal/code/symbolic",
		"internal/image/libc", "internal/inspect/stacks", "internal/runtime/rtl", "internal/stack/symbolize",
		"internal/stack/unwind", "picture",
	},
	"internal/inspect/waits": {
		"callbacks", "handles", "internal/code/arch", "internal/code/flow", "internal/code/spin",
		"internal/code/symbolic", "internal/image/libc", "internal/image/pycode", "internal/inspect/recordings",
		"internal/inspect/stacks", "internal/inspect/teams", "internal/lockflow", "internal/mpi",
		"internal/runtime/layout", "internal/runtime/rtl", "internal/stack/symbolize", "internal/stack/unwind",
		"picture",
	},
	"internal/jobs": {
		"callbacks", "diagnose", "internal/engine", "internal/guard/budget", "internal/guard/jsonx",
		"internal/jobs/job", "internal/mpi", "internal/phrase", "internal/runtime/layout",
		"internal/runtime/readers", "internal/stack/symbolize", "internal/watch", "live", "picture",
	},
	"internal/jobs/job": {"internal/guard/budget", "internal/guard/jsonx", "internal/mpi", "picture"},
	"internal/lockflow": {
		"callbacks", "internal/code/arch", "internal/code/flow", "internal/code/symbolic", "internal/runtime/rtl",
	},
	"internal/mpi":              nil,
	"internal/packaging/manual": {"internal/cli"},
	"internal/phrase":           {"picture"},
	"internal/pprof":            nil,
	"internal/print/export":     {"internal/phrase", "internal/pprof", "internal/print/waitgraph", "picture"},
	"internal/print/report": {
		"internal/jobs/job", "internal/phrase", "internal/print/export", "internal/print/text", "internal/print/web",
		"picture",
	},
	"internal/print/text": {
		"diagnose", "internal/jobs/job", "internal/mpi", "internal/phrase", "internal/print/waitgraph",
		"internal/profile", "picture",
	},
	"internal/print/waitgraph": {"picture"},
	"internal/print/web": {
		"diagnose", "internal/jobs/job", "internal/phrase", "internal/print/waitgraph", "internal/profile", "picture",
	},
	"internal/profile": {"diagnose", "internal/phrase", "picture"},
	"internal/runtime/accessor": {
		"callbacks", "handles", "internal/code/arch", "internal/code/emulate", "internal/runtime/rtl",
	},
	"internal/runtime/extended": {
		"callbacks", "handles", "internal/runtime/layout", "internal/runtime/readers", "internal/runtime/rtl",
		"ompd",
	},
	"internal/runtime/foreign": {
		"callbacks", "handles", "internal/runtime/accessor", "internal/runtime/layout", "internal/runtime/rtl",
		"picture",
	},
	"internal/runtime/layout": {"callbacks"},
	"internal/runtime/layoutcode": {
		"callbacks", "internal/code/accesspath", "internal/code/symbolic", "internal/runtime/layout",
	},
	"internal/runtime/libgomp": {
		"callbacks", "handles", "internal/code/accesspath", "internal/code/arch", "internal/code/symbolic",
		"internal/runtime/layout", "internal/runtime/layoutcode", "internal/runtime/rtl", "picture",
	},
	"internal/runtime/libomp": {
		"callbacks", "handles", "internal/runtime/layout", "internal/runtime/libomp/locate",
		"internal/runtime/rtl", "picture",
	},
	"internal/runtime/libomp/locate": {
		"callbacks", "handles", "internal/code/accesspath", "internal/code/symbolic", "internal/image/elfx",
		"internal/runtime/layout", "internal/runtime/layoutcode", "internal/runtime/rtl",
	},
	"internal/runtime/libomptarget": {
		"callbacks", "internal/code/accesspath", "internal/code/symbolic", "internal/runtime/layout",
	},
	"internal/runtime/readers": {
		"callbacks", "handles", "internal/runtime/foreign", "internal/runtime/layout", "internal/runtime/libgomp",
		"internal/runtime/libomp", "internal/runtime/rtl",
	},
	"internal/runtime/rtl": {
		"callbacks", "handles", "internal/image/libc", "internal/mpi", "internal/runtime/layout", "picture",
	},
	"internal/stack/symbolize": {
		"callbacks", "internal/code/arch", "internal/guard/budget", "internal/image/binread",
		"internal/image/dwarfx", "internal/image/elfx", "internal/image/spans", "internal/image/unxz",
	},
	"internal/stack/unwind": {
		"callbacks", "internal/code/arch", "internal/code/emulate", "internal/guard/budget",
		"internal/image/binread", "internal/image/elfx", "internal/image/gocode",
	},
	"internal/target/delve": {
		"callbacks", "internal/code/arch", "internal/guard/budget", "internal/guard/jsonx", "internal/image/elfx",
		"internal/target/remote", "proto/ompd/v1",
	},
	"internal/target/pagecache": {"callbacks", "internal/guard/budget"},
	"internal/target/remote": {
		"callbacks", "internal/code/arch", "internal/guard/budget", "internal/image/elfx",
		"internal/image/modules", "proto/ompd/v1",
	},
	"internal/testing/campaign":   {"internal/testing/omptest"},
	"internal/testing/daptest":    nil,
	"internal/testing/e2e":        {"internal/cli", "internal/testing/omptest", "picture"},
	"internal/testing/generated":  nil,
	"internal/testing/mutate":     nil,
	"internal/testing/omptest":    nil,
	"internal/testing/oracle":     nil,
	"internal/testing/recordtest": nil,
	"internal/testing/rtltest": {
		"callbacks", "corefile", "handles", "internal/code/arch", "internal/runtime/rtl",
		"internal/stack/symbolize", "internal/stack/unwind", "internal/testing/omptest", "picture",
	},
	"internal/testing/testrun":   nil,
	"internal/testing/tracetest": {"callbacks", "trace"},
	"internal/trace/analyze":     {"trace"},
	"internal/trace/export": {
		"internal/pprof", "internal/trace/analyze", "internal/trace/omptrecord", "picture", "trace",
	},
	"internal/trace/history": {
		"internal/engine", "internal/guard/budget", "internal/inspect/recordings", "internal/runtime/rtl",
		"internal/stack/symbolize", "internal/trace/analyze", "internal/trace/export", "internal/trace/omptnames",
		"picture", "trace",
	},
	"internal/trace/legacy":     {"internal/trace/omptnames"},
	"internal/trace/omptnames":  nil,
	"internal/trace/omptrecord": nil,
	"internal/watch":            {"internal/phrase", "picture"},
	"internal/wire":             {"picture", "proto/ompd/v1"},
}

// forbidden lists the external packages that a part of the tree must not import: they belong to other parts.
var forbidden = map[string][]string{
	"callbacks":            {"debug/elf", "debug/dwarf", "os", "syscall", "google.golang.org/grpc"},
	"handles":              {"debug/elf", "debug/dwarf", "os"},
	"internal/runtime/rtl": {"debug/elf", "os", "syscall", "golang.org/x/sys/unix", "google.golang.org/grpc"},
	"ompd":                 {"debug/elf", "os", "syscall", "golang.org/x/sys/unix", "google.golang.org/grpc"},
	"internal/inspect":     {"debug/elf", "debug/dwarf", "os", "syscall", "google.golang.org/grpc"},
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

// sources returns all Go files of the module: a test depends on their content, so that a change runs it again.
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
		if strings.HasSuffix(p, ".pb.go") && ast.IsGenerated(f) { // it is generated
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
		if s.test {
			continue
		}
		allowed, known := imports[s.pkg]
		if !known {
			t.Errorf("%s: package %s is not in the import graph of arch_test.go", s.name, s.pkg)
			continue
		}
		allowed = append(slices.Clone(allowed), imports[s.name]...)
		for _, spec := range s.ast.Imports {
			p, _ := strconv.Unquote(spec.Path.Value)
			checked++
			own, isOwn := strings.CutPrefix(p, modulePath)
			if isOwn && !slices.Contains(allowed, own) {
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

// TestGraphIsUsed finds entries of the table without an import: they would permit an unwanted import later.
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

// harness lists the packages of functions that tests of several packages share.
var harness = []string{"internal/testing/e2e", "internal/testing/omptest"}

// readers are the packages that each implement one kind of runtime.
var readers = []string{
	"internal/runtime/libomp", "internal/runtime/libomp/locate", "internal/runtime/libgomp",
	"internal/runtime/foreign", "internal/runtime/libomptarget",
}

// namesRuntimes are the files outside the readers that may name runtimes or their functions, each with the
// reason.
var namesRuntimes = map[string]string{
	"internal/runtime/readers/readers.go":    "the list of the readers",
	"internal/runtime/rtl/abi.go":            "what compilers call, whatever runtime serves it",
	"internal/runtime/rtl/abi_loops.go":      "the same for loops",
	"internal/runtime/rtl/abi_constructs.go": "the same for constructs that may have no barrier",
	"internal/runtime/rtl/abi_targets.go":    "the same for target constructs",
	"internal/stack/symbolize/types.go":      "types of variables that compilers make",
	"internal/cli/record.go":                 "how the recorder gets into a program depends on what it is linked with",
	"internal/cli/record_runtime.go":         "which runtimes a program can run with depends on what it calls",
	"internal/cli/symbols.go":                "its help shows the file that people have",
	"internal/image/elfx/symbols.go":         "an example of a symbol's version",
}

// runtimeName matches the names of runtimes' libraries, structures and functions.
var runtimeName = regexp.MustCompile(`\b(libi?omp5?|libgomp)\b|kmpc?_|(?i:gomp)_`)

// TestRuntimeNames permits names of runtimes only in their readers and in the files of the table.
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

// TestPublicTypes requires that exported names outside internal/ use no type of a package inside it, so that
// others can implement and call them.
func TestPublicTypes(t *testing.T) {
	for _, s := range sources(t) {
		if s.test || strings.Contains("/"+s.pkg, "/internal/") || s.ast.Name.Name == "main" {
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

// importName returns the name by which a file uses an import.
func importName(imp *ast.ImportSpec, p string) string {
	if imp.Name != nil {
		return imp.Name.Name
	}
	return path.Base(p)
}

// exportedParts returns the parts of a declaration that contain the types of an exported name.
func exportedParts(decl ast.Decl) (parts []ast.Node) {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Name.IsExported() && exportedReceiver(d) {
			parts = append(parts, d.Type)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			if ts, ok := spec.(*ast.TypeSpec); ok && ts.Name.IsExported() && !defined(ts) {
				parts = append(parts, exportedTypes(ts.Type)...)
			}
		}
	}
	return parts
}

// defined reports whether a type is defined by a name of another package: then its own name is all that the API has.
func defined(ts *ast.TypeSpec) bool {
	_, other := ts.Type.(*ast.SelectorExpr)
	return other && !ts.Assign.IsValid()
}

// exportedTypes returns the types of the exported fields of a structure, or the type itself if it is not a
// structure.
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
