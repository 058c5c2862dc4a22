package cli

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/ompd-inspect/ompd-inspect/internal/omptest"
)

// TestMain runs the tool where a script starts it, else the tests; then it removes what buildTool
// has built.
func TestMain(m *testing.M) {
	if address, text, ok := strings.Cut(os.Getenv(floodEnv), " "); ok {
		os.Exit(flood(address, text))
	}
	testscript.Main(tidy{m}, map[string]func(){"ompd-inspect": tool})
}

// tool is the tool as its main function is.
func tool() {
	c := Command{Version: "0.0.0-test", Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Alone: true}
	os.Exit(c.Run(context.Background(), os.Args[1:]))
}

// tidy removes what buildTool has built when the tests are done.
type tidy struct{ *testing.M }

// Run runs the tests.
func (t tidy) Run() int {
	defer func() { os.RemoveAll(builtTool.dir) }() // nothing for ""
	return t.M.Run()
}

// TestScripts runs the command lines of testdata/script, which need nothing but Go, on a golden core.
// Set UPDATE=1 to take what the tool prints as what it should print.
func TestScripts(t *testing.T) {
	core := unpackedCore(t, "llvm-deadlock")
	testscript.Run(t, testscript.Params{
		Dir:           filepath.Join("testdata", "script"),
		UpdateScripts: os.Getenv("UPDATE") != "",
		Setup: func(env *testscript.Env) error {
			env.Setenv("CORE", core.Core)
			env.Setenv("PACKED", core.packed)
			env.Setenv("EXE", core.Exe)
			env.Setenv("SYSROOT", core.Sysroot)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": omptest.Exits},
	})
}

// goldenCore is a golden core as it is, and as the repository has it, compressed.
type goldenCore struct {
	omptest.Golden
	packed string
}

// unpackedCore unpacks a golden core with its files.
func unpackedCore(t *testing.T, name string) goldenCore {
	t.Helper()
	golden, err := filepath.Abs("../../testdata/golden")
	if err != nil {
		t.Fatal(err)
	}
	g, err := omptest.UnpackGolden(golden, name, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	core := goldenCore{g, g.Core}
	core.Core = filepath.Join(t.TempDir(), "core.5607")
	if err := omptest.Unpack(core.packed, core.Core); err != nil {
		t.Fatal(err)
	}
	return core
}
