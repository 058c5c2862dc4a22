package report

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/cli"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// Bounds on the memory of one run of the tool: the most resident memory, in MiB, with the pages of the files that
// it maps.
const (
	hugeCoreMiB = 64
	millionMiB  = 128
)

// million is the number of tasks that the tool must be able to list.
const million = 1_000_000

// residentOf runs the tool as a process and returns its most resident memory, in MiB.
func residentOf(t *testing.T, stdout io.Writer, command ...string) int {
	t.Helper()
	return int(spentOn(t, spender(t), stdout, command...).kib) >> 10
}

// A spent has the resources that a run of a program used.
type spent struct {
	kib, us float64 // most resident memory, and CPU time
}

// spentOn runs a program under that of testdata/spent.c.
func spentOn(tb testing.TB, spender string, stdout io.Writer, command ...string) (s spent) {
	tb.Helper()
	var errs bytes.Buffer
	cmd := exec.CommandContext(tb.Context(), spender, command...)
	cmd.Stdout, cmd.Stderr = stdout, &errs
	err := cmd.Run()
	lines := strings.Split(strings.TrimSpace(errs.String()), "\n") // the lines before the last one are progress
	if n, scanErr := fmt.Sscanf(lines[len(lines)-1], "%g KiB, %g µs", &s.kib, &s.us); err != nil || n != 2 {
		tb.Fatalf("%v: %v, %v\n%s", command, err, scanErr, errs.String())
	}
	return s
}

// spender builds testdata/spent.c.
func spender(tb testing.TB) string {
	tb.Helper()
	omptest.Needs(tb, "compilers")
	exe := filepath.Join(tb.TempDir(), "spent")
	if out, err := exec.Command("gcc", "-O1", "-o", exe,
		filepath.Join("testdata", "spent.c")).CombinedOutput(); err != nil {
		tb.Fatalf("%v: apt-get install gcc\n%s", err, out)
	}
	return exe
}

// TestMillionTasks lists a million queued tasks, in every form, and counts them. It sets no limit of processor time:
// they take nearly as much as a look may spend.
func TestMillionTasks(t *testing.T) {
	bin := e2e.BuildTool(t)
	core := e2e.DumpProgram(t, "million_tasks").Core
	run := func(check func(io.Reader) error, args ...string) {
		t.Helper()
		r, w := io.Pipe()
		done := make(chan error, 1)
		go func() {
			err := check(r)
			r.CloseWithError(err)
			done <- err
		}()
		mib := residentOf(t, w, append(append([]string{bin}, args...), "--budget", "0", core)...)
		w.Close()
		if err := <-done; err != nil || mib >= millionMiB {
			t.Errorf("%v: %d MiB, %v", args, mib, err)
		}
		t.Logf("%v: %d MiB", args, mib)
	}
	run(contains(fmt.Sprintf("%d×", million), fmt.Sprintf("%d explicit (%d queued)", million, million)), "tasks")
	run(countTasks, "tasks", "--json")
	run(contains("20000 tasks, the rest is left out here: `ompd-inspect tasks` lists all"), "report")
}

// contains returns a check that a text contains all of wants.
func contains(wants ...string) func(io.Reader) error {
	return func(r io.Reader) error {
		text, err := io.ReadAll(r)
		for _, want := range wants {
			if !bytes.Contains(text, []byte(want)) {
				return fmt.Errorf("no %q in %.2000s", want, text)
			}
		}
		return err
	}
}

// countTasks reads the JSON of `tasks`, one task a line, and counts the distinct queued ones.
func countTasks(r io.Reader) error {
	seen := map[string]bool{}
	queued, last := 0, ""
	for lines := bufio.NewScanner(r); lines.Scan(); last = lines.Text() {
		_, task, ok := bytes.Cut(lines.Bytes(), []byte(`    {"id":`))
		if !ok {
			continue
		}
		id, rest, ok := bytes.Cut(task, []byte(","))
		if !ok || seen[string(id)] {
			return fmt.Errorf("task %s comes twice", id)
		}
		seen[string(id)] = true
		if bytes.Contains(rest, []byte(`"kind":"explicit","state":"queued"`)) {
			queued++
		}
	}
	if queued != million || last != "}" {
		return fmt.Errorf("%d tasks are queued, want %d; the last line is %q", queued, million, last)
	}
	return nil
}

// hugeCore returns a core of more than 5 GiB: its threads have large stacks that they do not use.
func hugeCore(tb testing.TB) string {
	tb.Helper()
	exe := omptest.Compile(tb, omptest.Build{Program: "barrier"})
	core := omptest.Dump(tb, omptest.Run{
		Exe: exe, Runtime: omptest.RuntimeOf(tb, 16), Mode: omptest.Kernel, Env: []string{"OMP_STACKSIZE=2G"},
	}).Core
	if st, err := os.Stat(core); err != nil || st.Size() < 5<<30 {
		tb.Fatalf("the core has only %d bytes, %v", st.Size(), err)
	}
	return core
}

// TestHugeCore reports on a core of several GiB with a large hole.
func TestHugeCore(t *testing.T) {
	var out bytes.Buffer
	mib := residentOf(t, &out, e2e.BuildTool(t), hugeCore(t))
	if mib >= hugeCoreMiB || !strings.Contains(out.String(), "3 of 4 arrived at a barrier (barrier.c:12)") {
		t.Errorf("%d MiB, report:\n%s", mib, &out)
	}
	t.Logf("%d MiB", mib)
}

// BenchmarkHugeCore measures the report of a core of several GiB: it takes as long as that of a small one.
func BenchmarkHugeCore(b *testing.B) {
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		b.Fatal(err)
	}
	defer null.Close()
	core := hugeCore(b)
	for b.Loop() {
		if e2e.RunTool([]string{core}, null, os.Stderr) != cli.ExitOK {
			b.Fatal("no report")
		}
	}
}
