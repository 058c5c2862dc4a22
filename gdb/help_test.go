package gdb_test

import (
	"strings"
	"testing"
)

// TestHelpAndCompletion checks gdb's help of each command, and the completion of their words.
func TestHelpAndCompletion(t *testing.T) {
	commands := []string{
		"report", "diagnose", "threads", "regions", "tasks", "icvs", "stacks", "layout", "doctor", "bt", "thread",
		"break", "step", "trace", "taskframes",
	}
	lines := []string{}
	for _, c := range commands {
		lines = append(lines, "echo HELP "+c+"\\n", "help omp "+c)
	}
	lines = append(lines, "echo COMPLETE\\n", "complete omp ", "complete omp break ", "complete omp break parallel ",
		"complete omp break task e",
		"complete omp break thread begin ", "complete omp bt o", "complete omp layout --s",
		"complete omp layout --source d", "complete omp icvs --th", "complete omp trace --l")
	text := script(t, nil, lines...)
	helps, completions, _ := strings.Cut(text, "COMPLETE\n")
	for _, c := range commands {
		_, help, _ := strings.Cut(helps, "HELP "+c+"\n")
		help, _, _ = strings.Cut(help, "HELP ")
		if !strings.Contains(help, "Usage: omp "+c) || len(help) < 60 {
			t.Errorf("help omp %s: %q", c, help)
		}
		if !strings.Contains(completions, "omp "+c+"\n") {
			t.Errorf("`omp ` is not completed to %s", c)
		}
	}
	for _, want := range []string{
		"omp break parallel\nomp break task\nomp break thread\n", "omp break parallel at\nomp break parallel " +
			"begin\nomp break parallel end\n",
		"omp break task end\n", "omp bt off\nomp bt on\n", "omp layout --source\n", "omp layout --source debuginfo\n",
		"omp icvs --thread\n", "omp trace --last\n",
	} {
		if !strings.Contains(completions, want) {
			t.Errorf("no completion %q in\n%s", want, completions)
		}
	}
	if strings.Contains(completions, "thread begin at") {
		t.Error("threads have no lines")
	}
}
