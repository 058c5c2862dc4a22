package gates_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// lockTable is the file with the tables of functions that acquire and release locks.
const lockTable = "internal/runtime/rtl/abi.go"

// recognizers are the packages that find the waits of threads.
var recognizers = []string{
	"internal/inspect/waits", "internal/runtime/foreign", "internal/runtime/libgomp", "internal/runtime/libomp",
}

// recognizedOtherwise maps functions that these packages do not name to how their waiting threads are recognized.
var recognizedOtherwise = map[string]string{
	"mtx_lock":      "it calls pthread_mutex_lock",
	"cnd_wait":      "it calls pthread_cond_wait",
	"cnd_timedwait": "it calls pthread_cond_timedwait",
}

// TestLockRows checks that a thread that waits in a function of the lock tables is recognized: a package that finds
// waits names the function, or recognizedOtherwise explains it.
func TestLockRows(t *testing.T) {
	named := map[string]bool{}
	for _, dir := range recognizers {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", dir, len(files), err)
		}
		for _, file := range files {
			if !strings.HasSuffix(file, "_test.go") {
				addStrings(t, file, named)
			}
		}
	}
	rows := waitingRows(t)
	if len(rows) == 0 {
		t.Fatalf("%s: no function that waits", lockTable)
	}
	for _, name := range rows {
		switch reason := recognizedOtherwise[name]; {
		case !named[name] && reason == "":
			t.Errorf("%s: no package that finds waits names %s (CONTRIBUTING, "+
				"\"Adding functions that acquire a lock\")",
				lockTable, name)
		case named[name] && reason != "":
			t.Errorf("%s is named by a package that finds waits: remove it from recognizedOtherwise", name)
		}
		delete(recognizedOtherwise, name)
	}
	for name := range recognizedOtherwise {
		t.Errorf("recognizedOtherwise: %s is no function that waits in %s", name, lockTable)
	}
}

// addStrings adds the string literals of a file to a set.
func addStrings(t *testing.T, file string, set map[string]bool) {
	ast.Inspect(parseSource(t, file), func(n ast.Node) bool {
		if s, ok := stringValue(n); ok {
			set[s] = true
		}
		return true
	})
}

// waitingRows returns the functions of the lock tables that wait: those that acquire a lock, or that release it while
// they wait.
func waitingRows(t *testing.T) (names []string) {
	ast.Inspect(parseSource(t, lockTable), func(n ast.Node) bool {
		row, ok := n.(*ast.KeyValueExpr)
		if !ok {
			return true
		}
		name, isName := stringValue(row.Key)
		effect, isEffect := row.Value.(*ast.CompositeLit)
		if !isName || !isEffect {
			return true
		}
		for _, e := range effect.Elts {
			field, ok := e.(*ast.KeyValueExpr)
			if !ok {
				continue
			}
			if key, ok := field.Key.(*ast.Ident); ok && (key.Name == "Set" || key.Name == "Lends") {
				names = append(names, name)
			}
		}
		return false
	})
	return names
}

func parseSource(t *testing.T, file string) *ast.File {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	f, err := parser.ParseFile(token.NewFileSet(), file, text, 0)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// stringValue returns the value of a string literal.
func stringValue(n ast.Node) (string, bool) {
	l, ok := n.(*ast.BasicLit)
	if !ok || l.Kind != token.STRING {
		return "", false
	}
	s, err := strconv.Unquote(l.Value)
	return s, err == nil
}
