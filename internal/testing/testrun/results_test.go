package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// inModule makes a module with one package of tests the working directory.
func inModule(t *testing.T, tests string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module example\n", "a.go": "package example\n",
		"a_test.go": "package example\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nvar _ = os.Exit\n\n" + tests,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	t.Setenv("GOFLAGS", "")
}

// TestRun runs go test on packages that pass, fail, end early, and do not build.
func TestRun(t *testing.T) {
	const passes = "func TestA(t *testing.T) { t.Run(\"sub\", func(*testing.T) {}) }\n"
	for name, c := range map[string]struct {
		tests          string
		passed, failed int
		prints         []string
	}{
		"passes": {passes, 1, 0, []string{"ok  \texample", "example TestA", "1 passed, 0 failed\n"}},
		"fails": {passes + "func TestB(t *testing.T) { t.Run(\"sub\", func(t *testing.T) { t.Error(\"wrong\") }) }\n",
			1, 1, []string{"wrong", "FAIL\texample", "FAILED: example TestB\n", "1 passed, 1 failed\n"}},
		"skips": {passes + "func TestB(t *testing.T) { t.Skip() }\n", 1, 0, []string{"1 skipped\n"}},
		"ends": {passes + "func TestB(t *testing.T) { println(\"last\"); os.Exit(3) }\n", 1, 1,
			[]string{"example TestB did not end", "last", "FAILED: example\n", "1 passed, 1 failed\n"}},
		"ends after a subtest has failed": {
			passes + "func TestB(t *testing.T) {\n" +
				"t.Run(\"sub\", func(t *testing.T) { t.Error(\"wrong\") })\nos.Exit(3) }\n",
			1, 1, []string{"wrong", "example TestB did not end", "FAILED: example\n", "1 passed, 1 failed\n"},
		},
		"does not build": {"func TestA(t *testing.T) { undefined() }\n", 0, 1,
			[]string{"undefined: undefined", "FAILED: example\n", "0 passed, 1 failed\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			inModule(t, c.tests)
			var out bytes.Buffer
			r := newResults(&out)
			err := run(r, []string{"-count=1", "."})
			passed, failed := r.finish(err)
			if err != nil || passed != c.passed || failed != c.failed {
				t.Errorf("%d passed, %d failed, %v; want %d, %d", passed, failed, err, c.passed, c.failed)
			}
			for _, want := range c.prints {
				if !strings.Contains(out.String(), want) {
					t.Errorf("%q is not printed", want)
				}
			}
			if t.Failed() {
				t.Log(out.String())
			}
		})
	}
}

// TestNothing runs go test on no package.
func TestNothing(t *testing.T) {
	inModule(t, "")
	r := newResults(&bytes.Buffer{})
	err := run(r, []string{"./missing"})
	if _, failed := r.finish(err); failed == 0 {
		t.Errorf("nothing failed: %v", err)
	}
}

// TestRunning prints the tests that run.
func TestRunning(t *testing.T) {
	var out bytes.Buffer
	r := newResults(&out)
	for _, line := range []string{
		`{"Time":"2026-11-26T12:00:00Z","Action":"run","Package":"p","Test":"TestLong"}`,
		`{"Time":"2026-11-26T12:00:00Z","Action":"run","Package":"p","Test":"TestShort"}`,
		`{"Time":"2026-11-26T12:00:01Z","Action":"pass","Package":"p","Test":"TestShort","Elapsed":1}`,
		"go: a line that is no event\n",
	} {
		r.add(line)
	}
	r.printRunning(time.Date(2026, 11, 26, 12, 5, 0, 0, time.UTC))
	if got, want := out.String(), "go: a line that is no event\nrunning for 5m0s: p TestLong\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestResume runs packages that pass once: a second run leaves them out, and runs one that failed again.
func TestResume(t *testing.T) {
	inModule(t, "func TestA(*testing.T) {}\n")
	if err := os.Mkdir("b", 0o700); err != nil {
		t.Fatal(err)
	}
	test := filepath.Join("b", "b_test.go")
	const text = "package b\n\nimport \"testing\"\n\nfunc TestB(t *testing.T) { "
	file := filepath.Join("bin", "passed")
	for i, c := range []struct {
		body           string
		passed, failed int
		prints         string
	}{
		{"t.Error() }\n", 1, 1, "ok  \texample\t"}, {"}\n", 1, 0, "ok  \texample/b\t"},
		{"t.Error() }\n", 0, 0, "all packages, earlier"},
	} {
		if err := os.WriteFile(test, []byte(text+c.body), 0o600); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		r := newResults(&out)
		err := resumed(r, []string{"-count=1", "-vet=off", "./..."}, file)
		passed, failed := r.finish(err)
		if err != nil || passed != c.passed || failed != c.failed || !strings.Contains(out.String(), c.prints) {
			t.Errorf("run %d: %d passed, %d failed, %v; want %d, %d:\n%s", i, passed, failed, err, c.passed, c.failed,
				&out)
		}
	}
}
