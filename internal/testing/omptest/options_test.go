package omptest

import (
	"os"
	"path/filepath"
	"testing"
)

func TestOptions(t *testing.T) {
	t.Setenv(OptionsVariable, "")
	if got := Option("dir"); got != "" {
		t.Errorf("unset: %q", got)
	}
	t.Setenv(OptionsVariable, "looks=20 otherlooks=30 dir=a=b")
	for name, want := range map[string]string{"looks": "20", "dir": "a=b", "look": "", "ooks": ""} {
		if got := Option(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if got := Number(t, "looks", 7); got != 20 {
		t.Errorf("looks: %d", got)
	}
	if got := Number(t, "seed", 7); got != 7 {
		t.Errorf("seed, which is unset: %d", got)
	}
}

// TestKeepDir requires that the directory of the option keep is created.
func TestKeepDir(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "pictures")
	t.Setenv(OptionsVariable, "keep="+dir)
	if got := KeepDir(t); got != dir {
		t.Errorf("the directory is %q, want %q", got, dir)
	}
	if _, err := os.Stat(dir); err != nil {
		t.Error(err)
	}
	t.Setenv(OptionsVariable, "")
	if got := KeepDir(t); got != "" {
		t.Errorf("without the option, the directory is %q", got)
	}
}
