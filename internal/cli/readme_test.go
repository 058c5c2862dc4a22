package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// TestReadmeSample compares the sample in README.md with the tool's output for the same core.
func TestReadmeSample(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, sample, found := strings.Cut(string(readme), "```\n$ ompd-inspect core.5607\n")
	sample, _, ends := strings.Cut(sample, "…\n```")
	if !found || !ends || strings.Count(sample, "\n") < 10 {
		t.Fatalf("README.md has no sample of core.5607 that ends with …: %q", sample)
	}
	g, err := omptest.UnpackGolden("../../testdata/golden", "llvm-deadlock", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	c := Command{Version: "test", Stdin: os.Stdin, Stdout: out, Stderr: os.Stderr}
	args := []string{g.Core, "--exe", g.Exe, "--sysroot", g.Sysroot, "--no-debuginfod", "--width", "120"}
	if status := c.Run(t.Context(), args); status != ExitOK {
		t.Fatalf("exit status %d", status)
	}
	printed, err := os.ReadFile(out.Name())
	if err != nil {
		t.Fatal(err)
	}
	made := regexp.MustCompile(`report made \d{4}-\d\d-\d\d \d\d:\d\d:\d\d \w+ on \S+ by\s+ompd-inspect \S+;\s+core\s+` +
		`written \d{4}-\d\d-\d\d\s+\d\d:\d\d:\d\d\s+\w+\n`)
	sample, now := made.ReplaceAllString(sample, "MADE\n"), made.ReplaceAllString(string(printed), "MADE\n")
	if !strings.HasPrefix(now, sample) || strings.Count(sample, "MADE\n") != 1 {
		t.Errorf("README.md shows\n%s\nand the tool prints\n%s", sample, now)
	}
}
