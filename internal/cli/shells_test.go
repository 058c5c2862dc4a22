package cli

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// completed lists typed command lines, with the last word after a TAB.
var completed = []struct{ typed, word string }{
	{"ompd-inspect core.5", "core.5607"},
	{"ompd-inspect core.", "core.5607"},
	{"ompd-inspect thr", "threads"},
	{"ompd-inspect threads cor", "core.5607"},
	{"ompd-inspect job cor", "core.5607"},
	{"ompd-inspect sub/c", "sub/core.7"},
	{"ompd-inspect su", "sub/"},
	{`ompd-inspect a\ c`, "a core"},
	{"ompd-inspect core.5607 --form", "--format"},
	{"ompd-inspect core.5607 --format spee", "speedscope"},
	{"ompd-inspect --color al", "always"},
	{"ompd-inspect --color=al", "--color=always"},
	{"ompd-inspect diagnose --fail-on hang,self", "hang,self_deadlock"},
	{"ompd-inspect layout --source deb", "debuginfo"},
	{"ompd-inspect record --events default,-disp", "default,-dispatch"},
	{"ompd-inspect record --runtime libo", "libomp"},
	{"ompd-inspect core.5607 --html pag", "page.html"},
	{"ompd-inspect core.5607 --exe prog", "program"},
	{"ompd-inspect --sysroot su", "sub/"},
	{"ompd-inspect run -- ./prog", "./program"},
	{"ompd-inspect pag", "page.html"}, // no target matches: a file
}

// completionPlace creates a directory with a core of each kind, and other files.
func completionPlace(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	core := unpackCore(t, "llvm-deadlock")
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"core.5607", "sub/core.7", "a core"} {
		if err := os.Symlink(core.Core, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"page.html", "program", "core.notes"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("text\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// needsShell skips a test if a shell is missing.
func needsShell(t *testing.T, name string, files ...string) {
	t.Helper()
	omptest.Needs(t, name)
	_, err := exec.LookPath(name)
	for _, file := range files {
		if err == nil {
			_, err = os.Stat(file)
		}
	}
	if err != nil {
		t.Skipf("it needs %s: %v", name, err)
	}
}

// bashCompletion is the file of Debian's package bash-completion, which the scripts for bash need.
const bashCompletion = "/usr/share/bash-completion/bash_completion"

// TestBash completes in an interactive bash.
func TestBash(t *testing.T) {
	needsShell(t, "bash", bashCompletion)
	s := startTerminal(t, completionPlace(t), "bash", "--norc", "--noprofile", "-i")
	s.run(". " + bashCompletion + " && . <(ompd-inspect completion bash)")
	for _, c := range completed {
		omptest.Equal(t, c.typed+"<TAB>", s.complete(c.typed), c.word)
	}
}

// TestZsh completes in an interactive zsh.
func TestZsh(t *testing.T) {
	needsShell(t, "zsh")
	s := startTerminal(t, completionPlace(t), "zsh", "-f", "-i")
	s.run("bindkey -e; unset zle_bracketed_paste; unsetopt prompt_sp; autoload -U compinit && compinit -u -D && " +
		". <(ompd-inspect completion zsh)")
	for _, c := range completed { // zsh removes the slash after a directory when a space follows
		omptest.Equal(t, c.typed+"<TAB>", strings.TrimSuffix(s.complete(c.typed), "/"), strings.TrimSuffix(c.word, "/"))
	}
}

// TestFish asks fish for its completions.
func TestFish(t *testing.T) {
	needsShell(t, "fish")
	dir := completionPlace(t)
	var script strings.Builder
	script.WriteString("ompd-inspect completion fish | source\n")
	for _, c := range completed {
		script.WriteString("complete -C '" + strings.ReplaceAll(c.typed, `\`, `\\`) + "'; echo END\n")
	}
	cmd := shellCommand(t, dir, "fish", "--no-config", "-c", script.String())
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	answers := strings.Split(string(out), "END\n")
	if len(answers) != len(completed)+1 {
		t.Fatalf("%d answers: %q", len(answers), out)
	}
	for i, c := range completed {
		var words []string
		for line := range strings.Lines(answers[i]) {
			word, _, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
			words = append(words, strings.ReplaceAll(word, `\`, ""))
		}
		if !slices.Equal(words, []string{c.word}) {
			t.Errorf("%s<TAB>: %q, want %q", c.typed, words, c.word)
		}
	}
}

// TestCompletedProcesses completes the number of a process that uses OpenMP, with its name, in bash, as the
// target and as the value of -p.
func TestCompletedProcesses(t *testing.T) {
	needsShell(t, "bash", bashCompletion)
	exe := omptest.Compile(t, omptest.Build{Program: "nested", Compiler: omptest.GCC})
	p := omptest.Start(t, omptest.Run{Exe: exe, Runtime: omptest.Libgomp(t), Mode: omptest.Live})
	const script = `. "$1"; . <(ompd-inspect completion bash); COLUMNS=200
for line in "ompd-inspect " "ompd-inspect threads " "ompd-inspect watch -p "; do
	read -ra COMP_WORDS <<<"$line"; COMP_WORDS+=(""); COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
	COMP_LINE=$line COMP_POINT=${#line} COMP_TYPE=63
	COMPREPLY=(); compopt() { :; }; __start_ompd-inspect
	printf 'REPLY[%s]\n' "${COMPREPLY[@]}"; echo END
done`
	cmd := shellCommand(t, t.TempDir(), "bash", "--norc", "-c", script, "bash", bashCompletion)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	answers := strings.Split(strings.TrimSuffix(string(out), "END\n"), "END\n")
	omptest.Equal(t, "answers", len(answers), 3)
	for i, answer := range answers {
		want, alone := "REPLY["+strconv.Itoa(p.PID)+"  ", "REPLY["+strconv.Itoa(p.PID)+"]"
		at := strings.Index(answer, want)
		if at < 0 && strings.Contains(answer, alone) { // a single match has no description
			continue
		}
		line, _, _ := strings.Cut(answer[max(at, 0):], "\n")
		if at < 0 || !strings.Contains(line, "("+filepath.Base(exe)) {
			t.Errorf("%d: %s, want process %d of %s", i, answer, p.PID, exe)
		}
	}
}

// TestFlagKinds finds flags without a registered completion of their values.
func TestFlagKinds(t *testing.T) {
	files := []string{
		"exe", "html", "output", "core", "report", "save", "library", "compare", "hostfile", "tool",
		"server-token-file", "secret-file", "server-ca", "server-cert", "server-key",
		"token-file", "tls-cert", "tls-key", "tls-client-ca",
	}
	a := &app{}
	root := a.command()
	a.registerCompletions(root)
	seen := map[string]bool{}
	for _, cmd := range append(allVerbs(root), root) {
		allFlags(cmd, func(f *pflag.Flag) {
			seen[f.Name] = true
			if a.flagCompletion(f) == nil && !slices.Contains(files, f.Name) {
				t.Errorf("%s --%s: neither a file nor anything that complete.go knows", cmd.Name(), f.Name)
			}
			if a.flagCompletion(f) != nil && slices.Contains(files, f.Name) {
				t.Errorf("%s --%s: it is not completed as a file", cmd.Name(), f.Name)
			}
		})
	}
	known := slices.Concat(files, directoryFlags, freeFlags)
	for name := range flagWords {
		known = append(known, name)
	}
	for name := range flagLists {
		known = append(known, name)
	}
	for _, name := range known {
		if !seen[name] {
			t.Errorf("no verb has a flag --%s", name)
		}
	}
}

// allVerbs returns the verbs below one, and the verbs below these.
func allVerbs(cmd *cobra.Command) (list []*cobra.Command) {
	for _, c := range cmd.Commands() {
		list = append(list, append(allVerbs(c), c)...)
	}
	return list
}

// allFlags calls f with each flag of a verb.
func allFlags(cmd *cobra.Command, f func(*pflag.Flag)) {
	cmd.PersistentFlags().VisitAll(f)
	cmd.Flags().VisitAll(f)
}

// shellCommand returns a shell with the tool in its path, and without this user's configuration.
func shellCommand(t *testing.T, dir, name string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Env = []string{
		"PATH=" + filepath.Dir(buildTool(t)) + ":" + os.Getenv("PATH"), "HOME=" + t.TempDir(),
		"TERM=dumb", "LC_ALL=C.UTF-8", "PS1=", "PROMPT=", "HISTFILE=",
	}
	return cmd
}

// terminal is an interactive shell in a terminal.
type terminal struct {
	t    *testing.T
	keys *os.File
	out  *bufio.Reader
	seen bytes.Buffer
}

// startTerminal starts a shell, which is killed when the test ends.
func startTerminal(t *testing.T, dir, name string, args ...string) *terminal {
	t.Helper()
	master, slave, err := omptest.OpenTerminal(200)
	if err != nil {
		t.Fatal(err)
	}
	s := &terminal{t: t, keys: master}
	s.out = bufio.NewReader(io.TeeReader(master, &s.seen))
	cmd := shellCommand(t, dir, name, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	slave.Close()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		master.Close()
	})
	return s
}

// typeText types into the terminal.
func (s *terminal) typeText(text string) {
	s.t.Helper()
	if _, err := s.keys.WriteString(text); err != nil {
		s.t.Fatal(err)
	}
}

// readUntil reads lines up to one that is exactly want, and returns the lines before it.
func (s *terminal) readUntil(want string) (lines []string) {
	s.t.Helper()
	for {
		line, err := s.out.ReadString('\n')
		if line = strings.TrimRight(line, "\r\n"); line == want {
			return lines
		}
		if err != nil {
			s.t.Fatalf("the shell ended before %q: %v\n%s", want, err, s.seen.Bytes())
		}
		lines = append(lines, line)
	}
}

// run runs a command and waits for its end.
func (s *terminal) run(command string) {
	s.t.Helper()
	s.typeText(command + "; printf 'WORD[%s]\\n' STATUS-$? \n")
	s.readUntil("WORD[STATUS-0]")
}

// complete types a command line and a TAB, and returns the last word of the resulting line.
func (s *terminal) complete(typed string) string {
	s.t.Helper()
	const first, last = "\x01", "\x05" // the keys for the ends of the line
	s.typeText(typed + "\t" + first + "printf 'WORD[%s]\\n' " + last + " END\n")
	word := ""
	for _, line := range s.readUntil("WORD[END]") {
		if w, ok := strings.CutPrefix(line, "WORD["); ok {
			word = strings.TrimSuffix(w, "]")
		}
	}
	return word
}
