// Counters prints counts of this repository's code, to be compared with those of another commit: lines by kind,
// packages, exported names, the largest types, files per package, imports that point upwards, and words of
// comments.
//
//	go -C tools run ./counters [-root ..]
package main

import (
	"cmp"
	"flag"
	"fmt"
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
)

const modulePath = "github.com/ompd-inspect/ompd-inspect/"

// floors are the rooms of the tree from the ground up. A room may be imported from the same floor and from those
// above. A package whose name is listed is above the rest of its directory.
var floors = [][]string{
	{"picture", "callbacks", "handles", "internal/mpi"},
	{"internal/guard", "internal/image", "internal/code"},
	{"internal/stack", "internal/runtime", "internal/target", "corefile", "live", "trace", "internal/trace", "proto"},
	{"ompd", "internal/runtime/extended", "internal/lockflow", "internal/phrase"},
	{"internal/inspect", "internal/watch", "diagnose"},
	{"session", "internal/engine"},
	{"internal/jobs", "internal/print", "internal/trace/history", "internal/wire"},
	{"server", "client", "internal/front", "gdb", "recorder"},
	{"internal/cli", "cmd"},
}

// words are those that internal/testing/gates and the rules of writing restrict, as found in comments.
var words = []struct {
	name    string
	pattern *regexp.Regexp
}{
	{"tells", regexp.MustCompile(`(?i)\btells?\b`)},
	{"is told", regexp.MustCompile(`(?i)\b(is|are|was|were) told\b`)},
	{"what is/was/has", regexp.MustCompile(`(?i)\bwhat (is|are|was|were|has|have|had)\b`)},
	{"who/whose/whom", regexp.MustCompile(`(?i)\b(who|whose|whom)\b`)},
	{"nobody/none/nothing", regexp.MustCompile(`(?i)\b(nobody|none|nothing)\b`)},
	{"of which/of whom", regexp.MustCompile(`(?i)\bof (which|whom)\b`)},
	{"lies", regexp.MustCompile(`(?i)\blies?\b`)},
	{"goes on", regexp.MustCompile(`(?i)\b(goes|go|going|went) on\b`)},
	{"behind/beside", regexp.MustCompile(`(?i)\b(behind|beside)\b`)},
	{"begins \"Of …,\"", regexp.MustCompile(`(^|[.:] )Of [^.,]{1,60},`)},
	{"returns", regexp.MustCompile(`(?i)\breturns?\b`)},
}

// functionWords are function names that carry no meaning at a call.
var functionWords = strings.Fields("at of on in by to up off out over as has had is told said held known past before " +
	"after behind beside between beyond with within without from into through for and or not so then than")

func main() {
	root := flag.String("root", "..", "directory of the module")
	flag.Parse()
	c := newCounts()
	if err := filepath.WalkDir(*root, c.visit(*root)); err != nil {
		fmt.Fprintln(os.Stderr, "counters:", err)
		os.Exit(1)
	}
	c.print()
}

// counts has all counts.
type counts struct {
	lines     map[string]int // by kind of file
	files     map[string]int // source files of Go by package
	exported  map[string]int // names and methods by package
	methods   map[string]int // of a type, package.Type
	taking    map[string]int // functions with a first parameter of a type
	bare      []string       // functions named by a function word, except methods for errors.Is
	upwards   []string       // package -> package
	functions []int          // lines of each
	words     map[string]int
	total     int // words of comments
}

func newCounts() *counts {
	return &counts{
		lines: map[string]int{}, files: map[string]int{}, exported: map[string]int{}, methods: map[string]int{},
		taking: map[string]int{}, words: map[string]int{},
	}
}

// visit counts one file of the tree.
func (c *counts) visit(root string) fs.WalkDirFunc {
	return func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		hidden := strings.HasPrefix(d.Name(), ".") && rel != "."
		if d.IsDir() {
			if hidden || slices.Contains([]string{"bin", "dist", "node_modules", "testdata"}, d.Name()) {
				return filepath.SkipDir
			}
			return nil
		}
		kind := kindOf(rel)
		if kind == "" || !d.Type().IsRegular() {
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if strings.Contains(string(text[:min(len(text), 500)]), "DO NOT EDIT") {
			kind = "generated"
		}
		c.lines[kind] += strings.Count(string(text), "\n")
		if kind == "Go" || kind == "Go tests" {
			return c.parse(filepath.ToSlash(rel), text, kind == "Go tests")
		}
		return nil
	}
}

// kindOf returns the kind of a file, or "" for one that is not counted.
func kindOf(name string) string {
	switch ext := filepath.Ext(name); {
	case strings.HasSuffix(name, "_test.go"):
		return "Go tests"
	case strings.HasSuffix(name, ".pb.go"):
		return "generated"
	case strings.HasSuffix(name, ".schema.json"):
		return "JSON schema"
	default:
		return map[string]string{
			".go": "Go", ".c": "C", ".h": "C", ".py": "Python", ".ts": "TypeScript", ".proto": ".proto", ".md": "documents",
		}[ext]
	}
}

// parse counts the contents of a Go file.
func (c *counts) parse(name string, text []byte, test bool) error {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, name, text, parser.ParseComments)
	if err != nil {
		return err
	}
	pkg := path.Dir(name)
	for _, group := range f.Comments {
		comment := group.Text()
		c.total += len(strings.Fields(comment))
		for _, w := range words {
			c.words[w.name] += len(w.pattern.FindAllString(comment, -1))
		}
	}
	for _, d := range f.Decls {
		c.declaration(fset, pkg, d, test)
	}
	if test || strings.HasPrefix(pkg, "tools") || strings.HasPrefix(pkg, "examples") {
		return nil
	}
	c.files[pkg]++
	for _, spec := range f.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return err
		}
		if own, ok := strings.CutPrefix(p, modulePath); ok && pointsUp(pkg, own) {
			c.upwards = append(c.upwards, pkg+" -> "+own)
		}
	}
	return nil
}

// declaration counts a declaration of a package.
func (c *counts) declaration(fset *token.FileSet, pkg string, d ast.Decl, test bool) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if slices.Contains(functionWords, strings.ToLower(d.Name.Name)) && !(d.Recv != nil && d.Name.Name == "Is") {
			c.bare = append(c.bare, fset.Position(d.Pos()).Filename+": "+d.Name.Name)
		}
		if test {
			return
		}
		c.functions = append(c.functions, fset.Position(d.End()).Line-fset.Position(d.Pos()).Line+1)
		if d.Name.IsExported() {
			c.exported[pkg]++
		}
		if d.Recv != nil {
			c.methods[pkg+"."+typeName(d.Recv.List[0].Type)]++
		} else if len(d.Type.Params.List) > 0 {
			c.taking[pkg+"."+typeName(d.Type.Params.List[0].Type)]++
		}
	case *ast.GenDecl:
		if test {
			return
		}
		for _, spec := range d.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				if spec.Name.IsExported() {
					c.exported[pkg]++
				}
			case *ast.ValueSpec:
				for _, n := range spec.Names {
					if n.IsExported() {
						c.exported[pkg]++
					}
				}
			}
		}
	}
}

// typeName returns the name of a type of the same package, without pointer and type parameters, or "".
func typeName(e ast.Expr) string {
	for {
		switch x := e.(type) {
		case *ast.StarExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.Ident:
			return x.Name
		default:
			return ""
		}
	}
}

// pointsUp reports whether an import leads to a higher floor.
func pointsUp(from, to string) bool {
	a, b := floorOf(from), floorOf(to)
	return a >= 0 && b >= 0 && a < b
}

// floorOf returns the floor of a package, -1 if its room is not on the list.
func floorOf(pkg string) int {
	floor, length := -1, 0
	for i, rooms := range floors {
		for _, r := range rooms {
			if (pkg == r || strings.HasPrefix(pkg, r+"/")) && len(r) > length {
				floor, length = i, len(r)
			}
		}
	}
	return floor
}

// largest is the number of types printed.
const largest = 10

func (c *counts) print() {
	for _, kind := range slices.Sorted(maps.Keys(c.lines)) {
		fmt.Printf("lines of %s: %d\n", kind, c.lines[kind])
	}
	internal, public, exported, publicNames := 0, 0, 0, 0
	for pkg := range c.files {
		exported += c.exported[pkg]
		if strings.HasPrefix(pkg, "internal/") || strings.HasPrefix(pkg, "cmd/") {
			internal++
		} else {
			public++
			publicNames += c.exported[pkg]
		}
	}
	fmt.Printf("packages: %d, %d of them public; exported names and methods: %d, %d of them public\n",
		internal+public, public, exported, publicNames)
	fmt.Printf("files per package: %s\n", spread(slices.Collect(maps.Values(c.files))))
	fmt.Printf("lines per function: %s\n", spread(c.functions))
	types := slices.SortedFunc(maps.Keys(c.methods), func(a, b string) int {
		return cmp.Or(cmp.Compare(c.methods[b]+c.taking[b], c.methods[a]+c.taking[a]), cmp.Compare(a, b))
	})
	fmt.Println("largest types, methods + functions that take them first:")
	for _, name := range types[:min(largest, len(types))] {
		fmt.Printf("  %s: %d + %d\n", name, c.methods[name], c.taking[name])
	}
	slices.Sort(c.upwards)
	c.upwards = slices.Compact(c.upwards)
	fmt.Printf("imports that point upwards: %d\n", len(c.upwards))
	for _, u := range c.upwards {
		fmt.Println("  " + u)
	}
	fmt.Printf("functions named by a function word: %d\n", len(c.bare))
	for _, name := range c.bare {
		fmt.Println("  " + name)
	}
	fmt.Printf("words of comments: %d; per 1,000:\n", c.total)
	for _, w := range words {
		fmt.Printf("  %s: %.2f\n", w.name, float64(c.words[w.name])*1000/float64(max(c.total, 1)))
	}
}

// spread returns the median, the 90th percentile and the maximum.
func spread(list []int) string {
	if len(list) == 0 {
		return "none"
	}
	slices.Sort(list)
	return fmt.Sprintf("median %d, 90 %% at most %d, maximum %d", list[len(list)/2], list[len(list)*9/10], list[len(list)-1])
}
