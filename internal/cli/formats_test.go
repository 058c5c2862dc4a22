package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/print/report"
)

// ran runs a command line and returns its exit status and what it said on its standard error.
func ran(t *testing.T, args ...string) (int, string) {
	t.Helper()
	msg, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	defer msg.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	status := Command{Version: "test", Stdin: null, Stdout: null, Stderr: msg}.Run(t.Context(), args)
	b, err := os.ReadFile(msg.Name())
	if err != nil {
		t.Fatal(err)
	}
	return status, string(b)
}

const savedDeadlock = "../../testdata/golden/llvm-deadlock/picture.json"

// TestOutput: each format goes to a file, a file that the tool wrote is replaced, and
// another is not.
func TestOutput(t *testing.T) {
	for _, f := range report.Formats() {
		out := filepath.Join(t.TempDir(), "out")
		for range 2 { // the second time, the first's file is there
			args := []string{"report", savedDeadlock, "--format", string(f), "-o", out}
			if f == report.Text || f == report.Folded {
				args = append(args, "--force")
			}
			if status, msg := ran(t, args...); status != ExitOK {
				t.Errorf("%s: exit status %d, %s", f, status, msg)
			}
		}
		if b, err := os.ReadFile(out); err != nil || !strings.Contains(string(b), "deposit") {
			t.Errorf("%s: %v\n%s", f, err, b)
		}
	}
	foreign := filepath.Join(t.TempDir(), "README.md")
	if err := os.WriteFile(foreign, []byte("# ompd-inspect\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if status, msg := ran(t, "report", savedDeadlock, "-o", foreign); status != ExitError ||
		!strings.Contains(msg, "--force") {
		t.Errorf("a file of others: exit status %d, %s", status, msg)
	}
}

// TestFormatErrors: a format that cannot show what was asked for says which verb it is for.
func TestFormatErrors(t *testing.T) {
	for args, want := range map[string]string{
		"report --format pdf":           "one of text, json, html, dot",
		"regions --format dot":          "`ompd-inspect report --format dot`",
		"icvs --format folded":          "`ompd-inspect stacks --format folded`",
		"report --json --format folded": "one format at a time",
	} {
		status, msg := ran(t, append(strings.Fields(args), savedDeadlock)...)
		if status != ExitUsage || !strings.Contains(msg, want) {
			t.Errorf("%s: exit status %d, %s", args, status, msg)
		}
	}
}
