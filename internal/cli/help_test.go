package cli

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestHelpExamples checks that the help of each verb has at least two examples, and that the flags in them exist.
func TestHelpExamples(t *testing.T) {
	root := Command{}.Tree()
	for _, name := range visible(root) {
		cmd, _, err := root.Find(strings.Fields(name))
		if err != nil {
			t.Fatal(err)
		}
		examples := 0
		for line := range strings.SplitSeq(cmd.Long+"\n"+cmd.Example, "\n") {
			words := strings.Fields(line)
			if !strings.HasPrefix(line, "  "+cmd.CommandPath()) {
				continue
			}
			examples++
			for _, word := range words {
				flag, long := strings.CutPrefix(word, "--")
				if word == "--" {
					break
				}
				if long && cmd.Flag(flag) == nil {
					t.Errorf("%s: its example has the unknown flag %s: %s", name, word, line)
				}
			}
		}
		if examples < 2 {
			t.Errorf("%s: %d examples in its help", name, examples)
		}
	}
}

// TestHelpGroups checks that each verb is in one group of the help.
func TestHelpGroups(t *testing.T) {
	root := Command{}.Tree()
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	var grouped, verbs []string
	for _, g := range verbGroups {
		grouped = append(grouped, g.verbs...)
	}
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() || c.Name() == "help" {
			verbs = append(verbs, c.Name())
		}
	}
	slices.Sort(grouped)
	slices.SortFunc(verbs, strings.Compare)
	if !slices.Equal(grouped, verbs) {
		t.Errorf("the groups have %q, the tool has %q", grouped, verbs)
	}
	for name := range sectionOf {
		if !hasFlag(root, name) {
			t.Errorf("no verb has the flag --%s, which has a section", name)
		}
	}
}

// hasFlag reports whether a verb has a flag.
func hasFlag(cmd *cobra.Command, name string) bool {
	return cmd.Flag(name) != nil || slices.ContainsFunc(cmd.Commands(), func(c *cobra.Command) bool {
		return hasFlag(c, name)
	})
}

// TestAutoColor checks the variables that switch colors on and off.
func TestAutoColor(t *testing.T) {
	for _, c := range []struct {
		env  string
		tty  bool
		want bool
	}{
		{"", true, true}, {"", false, false}, {"NO_COLOR=1", true, false}, {"CLICOLOR=0", true, false},
		{"CLICOLOR=1", true, true}, {"CLICOLOR=1", false, false}, {"CLICOLOR_FORCE=1", false, true},
		{"CLICOLOR_FORCE=0", false, false}, {"NO_COLOR=1 CLICOLOR_FORCE=1", true, false}, {"TERM=dumb", true, false},
	} {
		for _, name := range []string{"NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE"} {
			t.Setenv(name, "")
			os.Unsetenv(name)
		}
		t.Setenv("TERM", "xterm")
		for _, v := range strings.Fields(c.env) {
			name, value, _ := strings.Cut(v, "=")
			t.Setenv(name, value)
		}
		if got := autoColor(c.tty); got != c.want {
			t.Errorf("%q, terminal %v: color %v", c.env, c.tty, got)
		}
	}
}
