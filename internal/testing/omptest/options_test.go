package omptest

import "testing"

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
