package gdb_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestModules requires that no part of the script imports itself through others.
func TestModules(t *testing.T) {
	files, err := filepath.Glob("ompd_gdb/*.py")
	if err != nil || len(files) < 10 {
		t.Fatalf("%v, %v", files, err)
	}
	needs := map[string][]string{}
	imports := regexp.MustCompile(`(?m)^\s*from \. import (.*)$`)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(file), ".py")
		for _, m := range imports.FindAllStringSubmatch(string(text), -1) {
			needs[name] = append(needs[name], strings.Split(strings.TrimSpace(m[1]), ", ")...)
		}
	}
	if !slices.Contains(needs["follow"], "session") {
		t.Errorf("imports are not found: %v", needs)
	}
	var walk func(path []string)
	walk = func(path []string) {
		for _, next := range needs[path[len(path)-1]] {
			if slices.Contains(path, next) {
				t.Fatalf("%v needs %s", path, next)
			}
			walk(append(slices.Clip(path), next))
		}
	}
	for name := range needs {
		walk([]string{name})
	}
}
