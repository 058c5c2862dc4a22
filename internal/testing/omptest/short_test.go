package omptest

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// outcome is a testing.TB that records how the test ended.
type outcome struct {
	testing.TB
	how string
}

func (o *outcome) Helper() {}

func (o *outcome) Skipf(format string, args ...any) {
	o.how = "skipped: " + fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func (o *outcome) Fatalf(format string, args ...any) {
	o.how = "failed: " + fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// outcomeOf returns how a test that runs a program ends.
func outcomeOf(t *testing.T, program string) string {
	t.Helper()
	o := &outcome{t, "ran"}
	done := make(chan struct{})
	go func() {
		defer close(done)
		Program(o, program)
	}()
	<-done
	return o.how
}

// TestProgram requests present and missing programs, in quick runs and in others.
func TestProgram(t *testing.T) {
	if testing.Short() {
		t.Skip("a short run skips what is missing")
	}
	for _, c := range []struct{ quick, path, program, want string }{
		{"", "", "sh", "ran"},
		{"", "/missing", "xz", "failed: exec: \"xz\": executable file not found in $PATH: apt-get install xz-utils"},
		{"1", "", "strace", "skipped: not in a quick run: it needs strace"},
		{"1", "/missing", "gcore", "failed: exec: \"gcore\": executable file not found in $PATH: apt-get install gdb"},
		{"1", "", "bash", "ran"},
	} {
		t.Run(strings.Join([]string{c.program, c.quick, filepath.Base(c.path)}, " "), func(t *testing.T) {
			t.Setenv("OMPD_QUICK", c.quick)
			t.Setenv("OMPD_FULL", "")
			if c.path != "" {
				t.Setenv("PATH", c.path)
			}
			if got := outcomeOf(t, c.program); got != c.want {
				t.Errorf("%s: %q, want %q", c.program, got, c.want)
			}
		})
	}
}

// TestQuickTurns counts the cases of a matrix in quick runs: each comes once in quickTurn times as many days.
func TestQuickTurns(t *testing.T) {
	t.Setenv("OMPD_QUICK", "1")
	t.Setenv("OMPD_FULL", "")
	const oneIn = 2
	for c := range 20 {
		turns := 0
		for d := 1; d <= oneIn*quickTurn; d++ {
			t.Setenv("OMPD_DATE", fmt.Sprintf("2026-11-%02d", d))
			if Turn(oneIn, "lane", fmt.Sprint("case_", c)) {
				turns++
			}
		}
		if turns != 1 {
			t.Errorf("case %d runs %d times", c, turns)
		}
	}
}
