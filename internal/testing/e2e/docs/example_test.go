package docs

import (
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/cli"
	"github.com/ompd-inspect/ompd-inspect/internal/jobs/job"
	"github.com/ompd-inspect/ompd-inspect/internal/print/text"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// marker is the line before a block with the output of a command. A heading after the command selects one verdict, and
// "notes" the verdicts that are information, which have no heading.
var marker = regexp.MustCompile(`^<!-- output: ompd-inspect (.*?)(?:, only ([A-Z -]+|notes))? -->$`)

// gdbMarker is the line before a block with a session of gdb on a golden core.
var gdbMarker = regexp.MustCompile(`^<!-- gdb: testdata/golden/(\S+) -->$`)

// width is the number of columns of examples.
const width = "110"

// TestExamples compares the examples of output in the documents with the output of their commands.
func TestExamples(t *testing.T) {
	examples := 0
	for _, path := range documents(t) {
		text := readFile(t, path)
		if !strings.Contains(text, "\n<!-- output: ") && !strings.Contains(text, "\n<!-- gdb: ") {
			continue
		}
		t.Run(path, func(t *testing.T) {
			if strings.Contains(text, "\n<!-- gdb: ") {
				omptest.Needs(t, "gdb")
			}
			got, n := withOutput(t, text)
			compare(t, path, got)
			examples += n
		})
	}
	const least = 25 // fewer means that the markers were not found
	if examples < least {
		t.Errorf("%d examples in the documents, want at least %d", examples, least)
	}
}

// TestPictures checks that each saved picture has the form of this version, and is the source of an example.
func TestPictures(t *testing.T) {
	names, err := filepath.Glob(filepath.Join(e2e.Root, "testdata", "pictures", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	const least = 13
	if len(names) < least {
		t.Errorf("%d pictures, want at least %d", len(names), least)
	}
	text := ""
	for _, document := range documents(t) {
		text += readFile(t, document)
	}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		omptest.Validate(t, "picture", b)
		if source := "testdata/pictures/" + filepath.Base(name); !strings.Contains(text, source) {
			t.Errorf("%s is the source of no example", source)
		}
	}
}

// documents returns the paths of README.md and of the documents in docs.
func documents(t *testing.T) []string {
	t.Helper()
	list := []string{"README.md"}
	err := filepath.WalkDir(filepath.Join(e2e.Root, "docs"), func(path string, _ fs.DirEntry, err error) error {
		if filepath.Ext(path) == ".md" {
			rel, _ := filepath.Rel(e2e.Root, path)
			list = append(list, rel)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// withOutput returns a document with the present output of its commands, and the number of these.
func withOutput(t *testing.T, text string) (_ string, examples int) {
	t.Helper()
	var out []string
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		out = append(out, lines[i])
		m, session := marker.FindStringSubmatch(lines[i]), gdbMarker.FindStringSubmatch(lines[i])
		if m == nil && session == nil {
			if strings.HasPrefix(lines[i], "<!-- output") || strings.HasPrefix(lines[i], "<!-- gdb") {
				t.Errorf("line %d is no marker of an example: %s", i+1, lines[i])
			}
			continue
		}
		if i+1 >= len(lines) || lines[i+1] != "```" {
			t.Fatalf("line %d: no block follows the marker", i+1)
		}
		end := i + 2 + slices.Index(lines[i+2:], "```")
		if end < i+2 {
			t.Fatalf("line %d: the block has no end", i+1)
		}
		out = append(out, lines[i+1])
		if session != nil {
			out = append(out, gdbSession(t, session[1], lines[i+2:end])...)
		} else {
			out = append(out, block(lines[i+2:end], output(t, m[1], m[2]))...)
		}
		examples++
		i = end - 1
	}
	return strings.Join(out, "\n"), examples
}

// block returns the lines of a block: the shown command, and the output. An ellipsis at the end of the present block
// means that it has only as many lines of the output.
func block(was, output []string) []string {
	shown := 0
	for shown < len(was) && strings.HasPrefix(was[shown], "$ ") {
		shown++
	}
	if n := len(was) - shown - 1; n > 0 && was[len(was)-1] == "…" && n < len(output) {
		output = append(slices.Clone(output[:n]), "…")
	}
	return append(slices.Clone(was[:shown]), output...)
}

// gdbSession executes the commands of a block in gdb on a golden core, and returns the block with their output.
func gdbSession(t *testing.T, name string, was []string) (lines []string) {
	t.Helper()
	g, err := omptest.UnpackGolden(e2e.GoldenDir, name, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	core := filepath.Join(t.TempDir(), "core")
	if err := omptest.Unpack(g.Core, core); err != nil {
		t.Fatal(err)
	}
	const prompt = "(gdb) "
	args := []string{"-nx", "-batch", "-ex", "set width 0", "-ex", "set debug-file-directory /",
		"-ex", "set sysroot " + g.Sysroot,
		"-ex", "set solib-search-path " + filepath.Join(g.Sysroot, "usr/lib/x86_64-linux-gnu"),
		"-ex", "file " + g.Exe, "-ex", "core-file " + core}
	for _, line := range was {
		if command, ok := strings.CutPrefix(line, prompt); ok {
			args = append(args, "-ex", "echo "+prompt+command+"\\n", "-ex", command)
		}
	}
	cmd := exec.Command(omptest.Program(t, "gdb"), args...)
	cmd.Dir = e2e.Root
	tool, err := exec.LookPath("ompd-inspect") // this test binary
	if err != nil {
		t.Fatal(err)
	}
	cmd.Env = append(os.Environ(), "OMPD_INSPECT="+tool, "LC_ALL=C")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("gdb %q: %v", args, err)
	}
	_, text, found := strings.Cut("\n"+strings.ReplaceAll(string(out), g.Sysroot, ""), "\n"+prompt)
	if !found {
		t.Fatalf("gdb executed no command of the block:\n%s", out)
	}
	return strings.Split(strings.TrimRight(prompt+text, "\n"), "\n")
}

// output runs a command of the tool on a golden core, a saved picture, a saved page of a job or a recording, and
// returns the lines that it prints, or those of the verdict with a heading.
func output(t *testing.T, command, heading string) []string {
	t.Helper()
	args := []string{"--width", width}
	if name, ok := strings.CutPrefix(command, "job "); ok {
		return jobOutput(t, name)
	}
	for word := range strings.FieldsSeq(command) {
		if name, ok := strings.CutPrefix(word, "testdata/recordings/"); ok {
			dir, exe := filepath.Join(e2e.Root, "testdata", "recordings", name), filepath.Join(t.TempDir(), "exe")
			if err := omptest.Unpack(filepath.Join(dir, "exe.zst"), exe); err != nil {
				t.Fatal(err)
			}
			args = append(args, filepath.Join(dir, "core.zst"), "--exe", exe)
			continue
		}
		switch name, golden := strings.CutPrefix(word, "testdata/golden/"); {
		case golden && strings.HasSuffix(name, "/core.zst"):
			g, err := omptest.UnpackGolden(e2e.GoldenDir, filepath.Dir(name), t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			args = append(args, g.Core, "--exe", g.Exe, "--sysroot", g.Sysroot, "--no-debuginfod")
		case strings.HasPrefix(word, "testdata/"):
			args = append(args, filepath.Join(e2e.Root, word))
		default:
			args = append(args, word)
		}
	}
	stdout, err := os.CreateTemp(t.TempDir(), "out")
	if err != nil {
		t.Fatal(err)
	}
	defer stdout.Close()
	switch status := e2e.RunTool(args, stdout, os.Stderr); status {
	case cli.ExitOK, cli.ExitFound, cli.ExitCrash:
	default:
		t.Fatalf("ompd-inspect %s: exit status %d", command, status)
	}
	b, err := os.ReadFile(stdout.Name())
	if err != nil {
		t.Fatal(err)
	}
	text := made.ReplaceAllStringFunc(string(b), func(line string) string {
		if strings.Contains(line, "core written") {
			return madeThen + "; core written 2026-11-19 22:31:02 UTC\n"
		}
		return madeThen + "\n"
	})
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if heading == "" {
		return lines
	}
	start := heading + "  "
	if heading == "notes" {
		start = "  · "
	}
	from := slices.IndexFunc(lines, func(s string) bool { return strings.HasPrefix(s, start) })
	if from < 0 {
		t.Fatalf("ompd-inspect %s prints no verdict %s:\n%s", command, heading, text)
	}
	to := from + 1
	for to < len(lines) && (lines[to] == "" || lines[to][0] == ' ') &&
		(heading == "notes" || !strings.HasPrefix(lines[to], "  · ")) {
		to++
	}
	return strings.Split(strings.TrimRight(strings.Join(lines[from:to], "\n"), "\n"), "\n")
}

// launcherPID is the PID of the launcher on the page of jobs.
const launcherPID = 23363

// jobOutput returns the page of a job from its saved JSON.
func jobOutput(t *testing.T, name string) []string {
	t.Helper()
	saved := []byte(readFile(t, name))
	omptest.Validate(t, "job", saved)
	r := &job.Report{}
	if err := json.Unmarshal(saved, r); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	text.Job(text.New(&b, false, text.NoLimit), r, "--mpirun "+strconv.Itoa(launcherPID))
	return strings.Split(strings.TrimRight(b.String(), "\n"), "\n")
}

// made matches the lines with the time, the host and the version of the tool, which examples show as madeThen.
var made = regexp.MustCompile(`(?m)^report made \d{4}-.*\n(?: +.*\n)*`)

const madeThen = "report made 2026-11-20 09:12:44 UTC on node7 by ompd-inspect 0.1.0"
