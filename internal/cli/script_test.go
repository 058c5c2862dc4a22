package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// TestMain runs the tool if a script starts it, else the tests. At the end it removes the binary of buildTool.
func TestMain(m *testing.M) {
	if address, text, ok := strings.Cut(os.Getenv(floodEnv), " "); ok {
		os.Exit(flood(address, text))
	}
	if text := os.Getenv(askEnv); text != "" {
		os.Exit(askOnce(text))
	}
	testscript.Main(tidy{m}, map[string]func(){"ompd-inspect": runMain})
}

// runMain runs the tool as its main function does.
func runMain() {
	c := Command{Version: "0.0.0-test", Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Alone: true,
		Now: func() time.Time { return time.Unix(1_795_000_000, 0) }} // scripts compare reports
	interrupts, ctx := CatchInterrupts()
	c.Interrupts = interrupts
	os.Exit(c.Run(ctx, os.Args[1:]))
}

// tidy removes the binary of buildTool after the tests.
type tidy struct{ *testing.M }

// Run runs the tests.
func (t tidy) Run() int {
	defer func() { os.RemoveAll(builtTool.dir) }() // no effect for ""
	return t.M.Run()
}

// TestScripts runs the command lines of testdata/script, which need nothing but Go, on a golden core. With
// UPDATE=1, the scripts are updated to the tool's output.
func TestScripts(t *testing.T) {
	core := unpackCore(t, "llvm-deadlock")
	healthy, crash := unpackGolden(t, "llvm-healthy"), unpackGolden(t, "llvm-crash")
	testscript.Run(t, testscript.Params{
		Dir:           filepath.Join("testdata", "script"),
		UpdateScripts: os.Getenv("UPDATE") != "",
		Setup: func(env *testscript.Env) error {
			env.Setenv("CORE", core.Core)
			env.Setenv("PACKED", core.packed)
			env.Setenv("EXE", core.Exe)
			env.Setenv("SYSROOT", core.Sysroot)
			for name, g := range map[string]omptest.Golden{"HEALTHY": healthy, "CRASH": crash} {
				env.Setenv(name, g.Core)
				env.Setenv(name+"_EXE", g.Exe)
			}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": omptest.Exits, "helps": helps},
	})
}

// helps is a command of scripts. It compares the verbs in a file, one per line, with those of the tool, and
// requires that each of them prints its help, by --help and by help:
//
//	helps FILE
func helps(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: helps FILE")
	}
	root := Command{}.Tree()
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	verbs := visible(root)
	slices.Sort(verbs)
	if listed := strings.Split(strings.TrimSpace(ts.ReadFile(args[0])), "\n"); !slices.Equal(listed, verbs) {
		ts.Fatalf("%s has %q, want %q", args[0], listed, verbs)
	}
	for _, verb := range verbs {
		words := strings.Fields(verb)
		var texts [2]string
		for i, line := range [][]string{append(slices.Clone(words), "--help"), append([]string{"help"}, words...)} {
			ts.Check(ts.Exec("ompd-inspect", line...))
			texts[i] = ts.ReadFile("stdout")
			if errs := ts.ReadFile("stderr"); errs != "" {
				ts.Fatalf("%q: printed %q on the standard error", line, errs)
			}
			if usage := "\nUsage:\n  ompd-inspect " + verb; !strings.Contains(texts[i], usage) {
				ts.Fatalf("%q: no %q in\n%s", line, usage, texts[i])
			}
		}
		if texts[0] != texts[1] {
			ts.Fatalf("help %q prints\n%s\nnot\n%s", words, texts[1], texts[0])
		}
	}
}

// visible returns the verbs below c that its help lists, with the verbs below them.
func visible(c *cobra.Command) (names []string) {
	for _, verb := range c.Commands() {
		if !verb.IsAvailableCommand() && verb.Name() != "help" {
			continue
		}
		names = append(names, verb.Name())
		for _, below := range visible(verb) {
			names = append(names, verb.Name()+" "+below)
		}
	}
	return names
}

// goldenCore is a golden core, unpacked and as compressed in the repository.
type goldenCore struct {
	omptest.Golden
	packed string
}

// unpackGolden unpacks the files of a golden core once for all tests.
func unpackGolden(t *testing.T, name string) omptest.Golden {
	t.Helper()
	dir, err := filepath.Abs("../../testdata/golden")
	if err != nil {
		t.Fatal(err)
	}
	g, err := omptest.UnpackGolden(dir, name, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// unpackCore unpacks a golden core with its files.
func unpackCore(t *testing.T, name string) goldenCore {
	t.Helper()
	g := unpackGolden(t, name)
	core := goldenCore{g, g.Core}
	core.Core = filepath.Join(t.TempDir(), "core.5607")
	if err := omptest.Unpack(core.packed, core.Core); err != nil {
		t.Fatal(err)
	}
	return core
}
