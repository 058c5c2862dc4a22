package cli

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// docCommand is a command line of this tool in a document.
type docCommand struct {
	place string // file and line
	words []string
}

// Code in documents that may start with a command line: a line of a block, or a span in a line.
var (
	docBlockLine = regexp.MustCompile(`^(?:\$ )?(?:sudo )?(?:bin/)?ompd-inspect(?: |$)`)
	docSpan      = regexp.MustCompile("`(?:[^`]*\\| |sudo )?ompd-inspect( [^`]*)?`")
)

// docCommands returns the command lines of this tool in README.md, SECURITY.md, CONTRIBUTING.md and docs, except in the
// page that is the help of the verbs.
func docCommands(t *testing.T) (list []docCommand) {
	t.Helper()
	files := []string{"../../README.md", "../../SECURITY.md", "../../CONTRIBUTING.md"}
	err := filepath.WalkDir("../../docs", func(path string, _ fs.DirEntry, err error) error {
		if filepath.Ext(path) == ".md" && !strings.HasSuffix(path, "/reference/cli.md") {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		block := false
		for n, line := range strings.Split(string(b), "\n") {
			place := fmt.Sprintf("%s:%d", filepath.Base(file), n+1)
			if strings.HasPrefix(line, "```") {
				block = !block
				continue
			}
			var found []string
			if block {
				if head := docBlockLine.FindString(line); head != "" {
					found = []string{line[len(head):]}
				}
			} else {
				for _, m := range docSpan.FindAllStringSubmatch(line, -1) {
					found = append(found, m[1])
				}
			}
			for _, text := range found {
				for _, words := range docWords(text) {
					list = append(list, docCommand{place, words})
				}
			}
		}
	}
	return list
}

// docWords splits a command line of a document. Words such as threads\|regions are alternatives, of which each makes
// a command line of its own. A pipe, a redirection or a comment ends the command.
func docWords(text string) (lines [][]string) {
	lines = [][]string{nil}
	text = strings.NewReplacer("[", "", "]", "", `\\|`, `\|`).Replace(text)
	for _, word := range strings.Fields(text) {
		if slices.Contains([]string{"|", `\|`, "&", "&&", "||", "#"}, word) || strings.HasPrefix(word, ">") {
			break
		}
		word = strings.Trim(word, `"')`)
		var next [][]string
		for alternative := range strings.SplitSeq(word, `\|`) {
			for _, line := range lines {
				next = append(next, append(slices.Clone(line), alternative))
			}
		}
		lines = next
	}
	return lines
}

// docValues are values for the placeholders of documents that a flag does not accept as they are.
var docValues = map[string]string{"D": "1m", "N": "1", "PID": "1", "…": "x", "SECONDS": "1"}

// TestDocCommandsParse checks that each command line in the documents has a verb and flags that exist, and arguments
// that the verb accepts.
func TestDocCommandsParse(t *testing.T) {
	list := docCommands(t)
	const least = 60
	if len(list) < least {
		t.Errorf("%d command lines in the documents: too few are found", len(list))
	}
	for _, c := range list {
		words := slices.Clone(c.words)
		for i, w := range words {
			if value, ok := docValues[w]; ok {
				words[i] = value
			}
		}
		root := Command{}.Tree()
		root.InitDefaultCompletionCmd()
		cmd, rest, err := root.Find(withDefaultVerb(root, words))
		if err == nil {
			err = cmd.ParseFlags(rest)
		}
		if args := cmd.Flags().Args(); err == nil && len(args) > 0 && cmd.HasParent() {
			err = cmd.ValidateArgs(args)
		}
		if err != nil {
			t.Errorf("%s: ompd-inspect %s: %v", c.place, strings.Join(c.words, " "), err)
		}
	}
}

// docVerbs are the verbs whose command lines in documents are executed, with the exit statuses for a core and for a
// process of a program with a deadlock. The other verbs wait for clients, start programs or need data that this core
// has not: they have tests of their own.
var docVerbs = map[string]int{
	"report": ExitOK, "diagnose": ExitFound, "threads": ExitOK, "regions": ExitOK, "tasks": ExitOK, "stacks": ExitOK,
	"icvs": ExitOK, "devices": ExitOK, "breakpoints": ExitOK, "layout": ExitOK, "doctor": ExitOK, "ps": ExitOK,
	"cores": ExitOK, "version": ExitOK, "watch": ExitStuck, "release": ExitOK,
}

// docCore and docPID match the targets of documents.
var (
	docCore = regexp.MustCompile(`^(CORE|core\.\d+)$`)
	docPID  = regexp.MustCompile(`^(PID|1234|4711)$`)
)

// runDocCommands executes the command lines of documents with a target that matches, and returns their number. own
// are further arguments for the target.
func runDocCommands(t *testing.T, pattern *regexp.Regexp, target string, own ...string) (n int) {
	t.Helper()
	list := docCommands(t)
	t.Chdir(t.TempDir()) // for the files that they write
	for _, c := range list {
		root := Command{}.Tree()
		words := withDefaultVerb(root, c.words)
		if len(words) == 0 || !slices.ContainsFunc(words, pattern.MatchString) {
			continue
		}
		want, ok := docVerbs[words[0]]
		if !ok {
			continue
		}
		words = slices.Clone(words)
		for i, w := range words {
			if pattern.MatchString(w) {
				words[i] = target
			}
		}
		if words[0] == "watch" {
			words = append(words, "--count", "2", "--interval", "200ms")
		}
		n++
		if status, msg := runTool(t, append(words, own...)...); status != want {
			t.Errorf("%s: ompd-inspect %s: exit status %d, want %d: %s", c.place, strings.Join(words, " "),
				status, want, msg)
		}
	}
	return n
}

// TestDocCommandsCore executes the command lines of documents that inspect a core.
func TestDocCommandsCore(t *testing.T) {
	dir, err := filepath.Abs("../../testdata/golden")
	if err != nil {
		t.Fatal(err)
	}
	g, err := omptest.UnpackGolden(dir, "llvm-deadlock", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	const least = 12
	if n := runDocCommands(t, docCore, g.Core, "--exe", g.Exe, "--sysroot", g.Sysroot, "--no-debuginfod"); n < least {
		t.Errorf("%d command lines were executed", n)
	}
}

// TestDocCommandsProcess executes the command lines of documents that inspect a process.
func TestDocCommandsProcess(t *testing.T) {
	exe := omptest.Compile(t, omptest.Build{Program: "lock_cycle", Compiler: omptest.GCC})
	p := omptest.Start(t, omptest.Run{Exe: exe, Runtime: omptest.Libgomp(t), Mode: omptest.Live})
	const least = 5
	if n := runDocCommands(t, docPID, strconv.Itoa(p.PID)); n < least {
		t.Errorf("%d command lines were executed", n)
	}
}

// TestDocCommandsAlone executes the command lines of documents that need no target.
func TestDocCommandsAlone(t *testing.T) {
	n := 0
	for _, c := range docCommands(t) {
		if len(c.words) != 1 || !slices.Contains([]string{"ps", "cores", "version"}, c.words[0]) {
			continue
		}
		n++
		if status, msg := runTool(t, c.words...); status != docVerbs[c.words[0]] {
			t.Errorf("%s: ompd-inspect %s: exit status %d: %s", c.place, c.words[0], status, msg)
		}
	}
	if n < 2 {
		t.Errorf("%d command lines were executed", n)
	}
}
