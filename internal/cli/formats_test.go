package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/print/report"
)

// runTool runs a command line and returns its exit status and its standard error.
func runTool(t *testing.T, args ...string) (int, string) {
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

// pictureFormats returns the formats that show a picture.
func pictureFormats() []report.Format {
	return slices.DeleteFunc(report.Formats(), func(f report.Format) bool {
		return report.Check(f, report.Whole) != nil
	})
}

// TestOutput writes each format to a file. A file that the tool wrote is replaced, another file is not.
func TestOutput(t *testing.T) {
	for _, f := range pictureFormats() {
		out := filepath.Join(t.TempDir(), "out")
		for range 2 { // in the second round, the file of the first exists
			args := []string{"report", savedDeadlock, "--format", string(f), "-o", out}
			if f == report.Text || f == report.Folded {
				args = append(args, "--force")
			}
			if status, msg := runTool(t, args...); status != ExitOK {
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
	if status, msg := runTool(t, "report", savedDeadlock, "-o", foreign); status != ExitError ||
		!strings.Contains(msg, "--force") {
		t.Errorf("a file of others: exit status %d, %s", status, msg)
	}
}

// TestUnshownWarnings requires the warnings of a picture on the standard error, in formats that have no place for them.
func TestUnshownWarnings(t *testing.T) {
	b, err := os.ReadFile(savedDeadlock)
	if err != nil {
		t.Fatal(err)
	}
	var pic map[string]any
	if err := json.Unmarshal(b, &pic); err != nil {
		t.Fatal(err)
	}
	const warning = "solver: its debug file is missing"
	pic["warnings"] = []string{warning}
	if b, err = json.Marshal(pic); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	saved := filepath.Join(dir, "saved.json")
	if err := os.WriteFile(saved, b, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, f := range pictureFormats() {
		out := filepath.Join(dir, string(f))
		args := []string{"report", saved, "--format", string(f), "-o", out}
		status, msg := runTool(t, args...)
		content, err := os.ReadFile(out)
		if status != ExitOK || err != nil {
			t.Fatalf("%s: exit status %d, %v, %s", f, status, err, msg)
		}
		inside := strings.Contains(string(content), warning)
		if want := "ompd-inspect: " + warning + "\n"; inside == (msg == want) || !inside && msg != want {
			t.Errorf("%s: the warning is in the file: %v; printed: %s", f, inside, msg)
		}
		if status, msg := runTool(t, append(args, "--quiet", "--force")...); status != ExitOK || msg != "" {
			t.Errorf("%s, quiet: exit status %d, %s", f, status, msg)
		}
	}
}

// TestFormatErrors checks that the error for a format that a verb does not have names the verb that has it.
func TestFormatErrors(t *testing.T) {
	for args, want := range map[string]string{
		"report --format pdf":           "one of text, json, html, dot",
		"regions --format dot":          "`ompd-inspect report --format dot`",
		"icvs --format folded":          "`ompd-inspect stacks --format folded`",
		"report --json --format folded": "one format at a time",
	} {
		status, msg := runTool(t, append(strings.Fields(args), savedDeadlock)...)
		if status != ExitUsage || !strings.Contains(msg, want) {
			t.Errorf("%s: exit status %d, %s", args, status, msg)
		}
	}
}
