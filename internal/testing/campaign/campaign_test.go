package main

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

// root is the directory of the module.
const root = "../../.."

// TestTable compares the campaigns with the tests: each test is a function of one of the campaign's packages, each
// package has one of the tests, and the packages and commands read each option.
func TestTable(t *testing.T) {
	names := map[string]bool{}
	for _, c := range campaigns {
		if names[c.name] || c.checks == "" || c.needs == "" || c.time == "" {
			t.Errorf("%s: twice, or incomplete", c.name)
		}
		names[c.name] = true
		text := strings.Join(strings.Fields(strings.ReplaceAll(strings.Join(flatten(c.setup), " "), "$", " $")), "\n")
		matched := map[string]bool{}
		for _, pkg := range c.packages {
			own := sourcesOf(t, pkg)
			found := false
			for _, test := range c.tests {
				if regexp.MustCompile(`(?m)^func ` + test + `\(t \*testing\.T\)`).MatchString(own) {
					matched[test], found = true, true
				}
			}
			if !found {
				t.Errorf("%s: %s has none of the tests", c.name, pkg)
			}
			text += own
		}
		for _, test := range c.tests {
			if !matched[test] {
				t.Errorf("%s: no test %s in %q", c.name, test, c.packages)
			}
		}
		text = helpers.Replace(text)
		for _, o := range c.options {
			if !strings.Contains(text, `"`+o.name+`"`) && !strings.Contains(text, "$"+o.name) {
				t.Errorf("%s: nothing reads the option %s", c.name, o.name)
			}
		}
		for _, command := range c.setup {
			if _, err := os.Stat(filepath.Join(root, command[0])); strings.Contains(command[0], "/") && err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
		}
	}
}

// helpers replaces functions that read options by the names of these.
var helpers = strings.NewReplacer("omptest.KeepDir(", `"keep"`, "e2e.MachineOptions(", `"cpus" "gcore"`)

func flatten(lists [][]string) (out []string) {
	for _, list := range lists {
		out = append(out, list...)
	}
	return out
}

// sourcesOf returns the text of a package's tests.
func sourcesOf(t *testing.T, pkg string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, pkg, "*_test.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %d files, %v", pkg, len(files), err)
	}
	var text strings.Builder
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text.Write(b)
	}
	return text.String()
}

func TestList(t *testing.T) {
	var out bytes.Buffer
	list(&out)
	for _, c := range campaigns {
		if !strings.Contains(out.String(), "\n"+c.name+" ") || !strings.Contains(out.String(), c.checks) {
			t.Errorf("%s is not in the list:\n%s", c.name, out.String())
		}
	}
}

func TestCommands(t *testing.T) {
	c := campaign{
		name: "x", options: []option{{"looks", "5", "looks"}, {"dir", "", "a `directory`"}, seed},
		setup: [][]string{{"build.sh", "$dir/b", "$looks"}},
		tests: []string{"TestA", "TestB.*"}, packages: []string{"./p"},
	}
	values, err := c.parse([]string{"-dir", "/d", "-seed", "7"})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := variable(values), "campaign=x dir=/d looks=5 seed=7"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	want := [][]string{
		{"build.sh", "/d/b", "5"},
		{"go", "test", "-count=1", "-timeout=0", "-vet=off", "-v", "-run", "^(TestA|TestB.*)$", "./p"},
	}
	if got := c.commands(values); !reflect.DeepEqual(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	values, err = c.parse(nil)
	if err != nil || values["looks"] != "5" || values["seed"] == "" || values["dir"] != "" {
		t.Errorf("defaults: %v, %v", values, err)
	}
	values, err = c.parse([]string{"-dir", "d"})
	if err != nil || !filepath.IsAbs(values["dir"]) {
		t.Errorf("a relative path: %v, %v", values, err)
	}
	for _, args := range [][]string{{"-dir", "/a b"}, {"soak"}, {"-other", "1"}} {
		if values, err := c.parse(args); err == nil {
			t.Errorf("%q: %v", args, values)
		}
	}
}

func TestUnknown(t *testing.T) {
	if err := run([]string{"sook"}); err == nil || !strings.Contains(err.Error(), "no campaign sook") {
		t.Errorf("%v", err)
	}
}

// TestContributing requires that CONTRIBUTING.md lists each campaign with the same words.
func TestContributing(t *testing.T) {
	b, err := os.ReadFile(filepath.Join(root, "CONTRIBUTING.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range campaigns {
		row := "| `" + c.name + "` | " + c.checks + " | " + c.needs + " | " + c.time + " |\n"
		if !strings.Contains(string(b), row) {
			t.Errorf("CONTRIBUTING.md lacks the row\n%s", row)
		}
	}
}
