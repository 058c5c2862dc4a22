package gates_test

import (
	"go/ast"
	"os"
	"regexp"
	"strings"
	"testing"
)

// table reads a table of .ci: the words of each line that is not a comment.
func table(t *testing.T, name string) (rows [][]string) {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if words := strings.Fields(line); len(words) > 0 && words[0][0] != '#' {
			rows = append(rows, words)
		}
	}
	return rows
}

// testsOf returns the functions of a file that go test runs.
func testsOf(s source) (names []string) {
	for _, d := range s.ast.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || !s.test || f.Recv != nil || f.Name.Name == "TestMain" {
			continue
		}
		for _, kind := range []string{"Test", "Fuzz", "Example"} {
			if strings.HasPrefix(f.Name.Name, kind) {
				names = append(names, f.Name.Name)
			}
		}
	}
	return names
}

// TestJobs compares .ci/jobs with the tests: each package with tests is in one job.
func TestJobs(t *testing.T) {
	jobs := map[string][]string{} // by package
	matched := map[string]bool{}
	rows := table(t, ".ci/jobs")
	for _, s := range sources(t) {
		if len(testsOf(s)) == 0 || jobs[s.pkg] != nil {
			continue
		}
		name := "./" + s.pkg
		jobs[s.pkg] = []string{}
		for _, row := range rows {
			for _, pattern := range row[1:] {
				below, all := strings.CutSuffix(pattern, "/...")
				if pattern == name || all && (below == name || strings.HasPrefix(name, below+"/")) {
					jobs[s.pkg] = append(jobs[s.pkg], row[0])
					matched[pattern] = true
				}
			}
		}
	}
	for pkg, of := range jobs {
		if len(of) != 1 {
			t.Errorf("%s is in the jobs %q, want one: see .ci/jobs", pkg, of)
		}
	}
	for _, row := range rows {
		for _, pattern := range row[1:] {
			if !matched[pattern] {
				t.Errorf(".ci/jobs: %s %s has no tests", row[0], pattern)
			}
		}
	}
}

// TestLongTests compares .ci/long with the tests: each name is that of exactly one test, as go test skips the
// name in all packages.
func TestLongTests(t *testing.T) {
	packages := map[string][]string{}
	for _, s := range sources(t) {
		for _, name := range testsOf(s) {
			packages[name] = append(packages[name], s.pkg)
		}
	}
	for _, row := range table(t, ".ci/long") {
		if of := packages[row[0]]; len(of) != 1 {
			t.Errorf(".ci/long: %s is a test of %q, want one package", row[0], of)
		}
	}
}

// TestPackagesOfMakefile requires that each package that a list of the Makefile names exists.
func TestPackagesOfMakefile(t *testing.T) {
	b, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	lists := 0
	for line := range strings.Lines(string(b)) {
		name, list, ok := strings.Cut(line, " := ./")
		if !ok {
			continue
		}
		lists++
		for _, pkg := range strings.Fields("./" + list) {
			if info, err := os.Stat(strings.TrimSuffix(pkg, "/...")); err != nil || !info.IsDir() {
				t.Errorf("%s names %s, which is no directory", name, pkg)
			}
		}
	}
	if lists < 2 {
		t.Errorf("%d lists of packages, want RACING and LONGEST at least", lists)
	}
}

// TestCommandsOfContributing requires a row in CONTRIBUTING.md for each target that `make` lists, and a target for
// each row.
func TestCommandsOfContributing(t *testing.T) {
	makefile, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	targets := map[string]bool{"test-JOB": true}
	for _, m := range regexp.MustCompile(`(?m)^([a-z0-9.-]+):.*## `).FindAllStringSubmatch(string(makefile), -1) {
		targets[m[1]] = true
		if m[1] != "help" && !strings.Contains(string(text), "`make "+m[1]+"`") {
			t.Errorf("CONTRIBUTING.md has no `make %s`", m[1])
		}
	}
	for _, m := range regexp.MustCompile("`make ([a-zA-Z0-9.-]+)").FindAllStringSubmatch(string(text), -1) {
		job, ok := strings.CutPrefix(m[1], "test-")
		if !targets[m[1]] && (!ok || !strings.Contains(string(text), "`"+job+"`")) {
			t.Errorf("CONTRIBUTING.md names `make %s`, which is no target", m[1])
		}
	}
	if len(targets) < 15 {
		t.Errorf("%d targets", len(targets))
	}
}
