package gdb_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// tool is the path of ompd-inspect, built for these tests.
var tool string

func TestMain(m *testing.M) {
	if flag.Parse(); testing.Short() {
		os.Exit(m.Run())
	}
	dir, err := os.MkdirTemp("", "ompd-inspect-gdb")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	tool = filepath.Join(dir, "ompd-inspect")
	build := exec.Command("go", "build", "-o", tool, "../cmd/ompd-inspect")
	build.Stderr = os.Stderr
	status := 1
	if build.Run() == nil {
		status = m.Run()
	}
	os.RemoveAll(dir)
	os.Exit(status)
}

// gdbTime limits the run of one gdb. Only an endless one, due to a defect, reaches it.
const gdbTime = 20 * time.Minute

// script runs gdb with arguments and then a script of commands, with the OpenMP commands loaded. In all cases,
// gdb's output must have no traceback.
func script(t testing.TB, args []string, commands ...string) string {
	t.Helper()
	omptest.Needs(t, "gdb")
	file := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(file, []byte(strings.Join(commands, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), gdbTime)
	defer cancel()
	line := []string{"-nx", "-batch", "-iex", "set debuginfod enabled off", "-iex", "set width 0", "-iex",
		"set confirm off"}
	line = append(append(line, args...), "-x", "ompd_inspect.py", "-x", file)
	cmd := exec.CommandContext(ctx, "gdb", line...)
	cmd.Env = append(os.Environ(), "OMPD_INSPECT="+tool)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	_ = cmd.Run() // the output shows a failed command
	text := out.String()
	for _, bad := range []string{"Traceback", "Python Exception", "a defect in this script", "Fatal signal",
		"internal-error"} {
		if strings.Contains(text, bad) {
			t.Errorf("gdb says %q:\n%s", bad, text)
		}
	}
	return text
}

// facts is the output of testdata/facts.py.
type facts struct {
	Threads  []picture.Thread
	Regions  []picture.Region
	Places   []place
	Names    map[int]string // by LWP
	Kept     bool           // the selection is unchanged by all commands
	Stacks   map[int]string
	Filtered map[int]string
	Verbs    map[string]string
}

// place is a thread that one of its names selects.
type place struct {
	Name        string
	LWP         int
	Tells       string
	Function    int
	ThreadNum   *int `json:"thread_num"`
	NumThreads  *int `json:"num_threads"`
	Level       *int
	ActiveLevel *int `json:"active_level"`
	Region      *int
	Role, State string
}

// factsOf parses the facts in gdb's output.
func factsOf(t testing.TB, text string) *facts {
	t.Helper()
	_, line, ok := strings.Cut(text, "\nFACTS ")
	if !ok {
		t.Fatalf("no facts:\n%s", text)
	}
	f := new(facts)
	line, _, _ = strings.Cut(line, "\n")
	if err := json.Unmarshal([]byte(line), f); err != nil {
		t.Fatalf("%v in %s", err, line)
	}
	return f
}

// way is a way in which gdb gets a program.
type way struct {
	name string
	hold func(t *testing.T, r omptest.Run) (*facts, omptest.Truth)
}

const factsScript = "source testdata/facts.py"

var ways = []way{
	{"core", func(t *testing.T, r omptest.Run) (*facts, omptest.Truth) {
		r.Mode = omptest.Kernel
		c := omptest.Dump(t, r)
		return factsOf(t, script(t, []string{r.Exe, c.Core}, factsScript)), c.Truth
	}},
	{"gcore", func(t *testing.T, r omptest.Run) (*facts, omptest.Truth) {
		r.Mode = omptest.Gcore
		c := omptest.Dump(t, r)
		return factsOf(t, script(t, []string{r.Exe}, "core-file "+c.Core, factsScript)), c.Truth
	}},
	{"attach", func(t *testing.T, r omptest.Run) (*facts, omptest.Truth) {
		r.Mode = omptest.Live
		p := omptest.Start(t, r)
		return factsOf(t, script(t, []string{"-p", fmt.Sprint(p.PID)}, factsScript, "detach")), p.Truth
	}},
	{"start", func(t *testing.T, r omptest.Run) (*facts, omptest.Truth) {
		truth := filepath.Join(t.TempDir(), "truth.jsonl")
		f := factsOf(t, script(t, []string{r.Exe}, append(environment(r, truth), "run abort", factsScript, "kill")...))
		return f, truthOf(t, truth)
	}},
	{"gdbserver", func(t *testing.T, r omptest.Run) (*facts, omptest.Truth) {
		omptest.Program(t, "gdbserver")
		truth := filepath.Join(t.TempDir(), "truth.jsonl")
		f := factsOf(t, script(t, []string{r.Exe}, gdbserver(r, truth), "continue", factsScript, "kill"))
		return f, truthOf(t, truth)
	}},
}

// environment returns gdb's commands for the environment of a run.
func environment(r omptest.Run, truth string) []string {
	out := []string{"set startup-with-shell off", "set environment OMPD_TRUTH " + truth}
	if r.Runtime.Dir != "" {
		out = append(out, "set environment LD_LIBRARY_PATH "+r.Runtime.Dir)
	}
	for _, e := range r.Env {
		out = append(out, "set environment "+strings.Replace(e, "=", " ", 1))
	}
	return out
}

func truthOf(t *testing.T, path string) omptest.Truth {
	t.Helper()
	truth, err := omptest.ReadTruth(path)
	if err != nil {
		t.Fatal(err)
	}
	return truth
}

// gdbserver returns the command that starts a program under a gdbserver and connects to it.
func gdbserver(r omptest.Run, truth string) string {
	words := []string{"target remote | exec env", "OMPD_TRUTH=" + truth}
	if r.Runtime.Dir != "" {
		words = append(words, "LD_LIBRARY_PATH="+r.Runtime.Dir)
	}
	words = append(append(words, r.Env...), "gdbserver --once --no-startup-with-shell -", r.Exe, "abort")
	return strings.Join(words, " ")
}

// runs returns the programs and runtimes that are inspected in all ways.
func runs(t *testing.T) map[string]omptest.Run {
	out := map[string]omptest.Run{}
	for _, rt := range omptest.Runtimes(t) {
		out[rt.Name] = omptest.Run{Exe: omptest.Compile(t, omptest.Build{Program: "nested"}), Runtime: rt}
	}
	out["libgomp"] = omptest.Run{Exe: omptest.Compile(t, omptest.Build{Program: "nested", Compiler: omptest.GCC}),
		Runtime: omptest.Libgomp(t)}
	out["stripped"] = omptest.Run{Exe: omptest.Compile(t, omptest.Build{Program: "nested", Strip: true}),
		Runtime: omptest.RuntimeOf(t, 16)}
	out["tracked"] = omptest.Run{
		Exe: omptest.Compile(t, omptest.Build{Program: "nested"}), Runtime: omptest.RuntimeOf(t, 19),
		Env: []string{"OMP_DEBUG=enabled"},
	}
	return out
}

// TestFacts compares the output of the commands with the program's truth, in each way in which gdb can get it:
// with two of the runtimes always, with the others by turns.
func TestFacts(t *testing.T) {
	for name, r := range runs(t) {
		for _, w := range ways {
			if name != "libomp-16" && name != "libgomp" && !omptest.Turn(3, name, w.name) {
				continue
			}
			t.Run(name+"/"+w.name, func(t *testing.T) {
				f, truth := w.hold(t, r)
				checkThreads(t, f, truth)
				checkNames(t, f, truth)
				checkStacks(t, f, truth, !strings.HasPrefix(name, "stripped"))
				checkVerbs(t, f)
			})
		}
	}
}
