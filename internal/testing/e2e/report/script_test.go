package report

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// TestScripts runs the command lines of testdata/script. UPDATE=1 replaces the expected output by the tool's.
func TestScripts(t *testing.T) {
	cores := map[string]*omptest.Result{"STRIPPED": strippedCore(t), "PLAIN": plainCore(t)}
	for name, command := range map[string][]string{
		"HANG": {"lock_cycle"}, "CRASH": {"crash_task"}, "NESTED": {"nested"}, "IDLE": {"idle"}, "DEPS": {"tasks_deps"},
		"MANY": {"many", "40"}, "QUEUED": {"tasks_queued"}, "BEFORE": {"crash_before"}, "LONG": {"cxx_lambda"},
	} {
		cores[name] = e2e.DumpProgram(t, command[0], command[1:]...)
	}
	testscript.Run(t, testscript.Params{
		Dir:           filepath.Join(e2e.Root, "testdata", "script"),
		UpdateScripts: os.Getenv("UPDATE") != "",
		Setup: func(env *testscript.Env) error {
			env.Setenv("SOURCES", omptest.Programs(t))
			env.Setenv("LIBOMP", omptest.RuntimeOf(t, 16).Dir)
			for name, r := range cores {
				env.Setenv(name, r.Core)
				env.Setenv(name+"_EXE", r.Exe)
			}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":    omptest.Exits,
			"terminal": terminal,
			"plain": func(ts *testscript.TestScript, neg bool,
				args []string) {
				plain(ts, cores[args[0]], args[1:])
			},
		},
	})
}

// strippedCore returns a core of a program without symbols and debug information.
func strippedCore(t *testing.T) *omptest.Result {
	t.Helper()
	exe := omptest.Compile(t, omptest.Build{Program: "lock_cycle", Strip: true})
	return omptest.Dump(t, omptest.Run{Exe: exe, Runtime: omptest.RuntimeOf(t, 16), Mode: omptest.Kernel})
}

// plainCore returns a core of a program without OpenMP.
func plainCore(t *testing.T) *omptest.Result {
	t.Helper()
	dir := t.TempDir()
	source, exe := filepath.Join(dir, "plain.c"), filepath.Join(dir, "plain")
	const text = `#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(void) {
  FILE *truth = fopen(getenv("OMPD_TRUTH"), "w");
  fprintf(truth, "{\"kind\":\"program\",\"pid\":%d}\n", getpid());
  fclose(truth);
  abort();
}
`
	if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("gcc", "-g", "-o", exe, source).CombinedOutput(); err != nil {
		t.Fatalf("%v: apt-get install gcc\n%s", err, out)
	}
	return omptest.Dump(t, omptest.Run{Exe: exe, Mode: omptest.Kernel})
}

// terminal runs the tool with a terminal of some width as its standard output:
//
//	terminal COLUMNS args
func terminal(ts *testscript.TestScript, neg bool, args []string) {
	columns, err := strconv.Atoi(args[0])
	ts.Check(err)
	master, slave, err := omptest.OpenTerminal(columns)
	ts.Check(err)
	defer master.Close()
	cmd := exec.Command("ompd-inspect", args[1:]...)
	for dir := range strings.SplitSeq(ts.Getenv("PATH"), ":") {
		if p := filepath.Join(dir, "ompd-inspect"); isFile(p) {
			cmd.Path, cmd.Err = p, nil
			break
		}
	}
	cmd.Dir = ts.Getenv("WORK")
	cmd.Env = []string{"PATH=" + ts.Getenv("PATH"), "HOME=/no-home", "TERM=" + ts.Getenv("TERM"), "NO_COLOR=" +
		ts.Getenv("NO_COLOR")}
	cmd.Stdout, cmd.Stderr = slave, ts.Stderr()
	ts.Check(cmd.Start())
	slave.Close()
	// A read ends with an error (EIO) when the last user of the slave has closed it.
	out, _ := io.ReadAll(master)
	ts.Check(cmd.Wait())
	_, err = ts.Stdout().Write([]byte(strings.ReplaceAll(string(out), "\r\n", "\n")))
	ts.Check(err)
}

func isFile(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.Mode().IsRegular()
}

var (
	anyPath    = regexp.MustCompile(`/[^\s,;:]*/`)
	anyAddress = regexp.MustCompile(`0x[0-9a-f]+`)
	anySpace   = regexp.MustCompile(`(\S) {2,}`)
	anyRange   = regexp.MustCompile(`\d+-\d+`)
	processors = regexp.MustCompile(`on \d+ processors?`)
)

// spelledOut replaces a range of a program's threads by a list: the numbers of threads are contiguous only if no
// other process starts threads meanwhile.
func spelledOut(s string, lwps []int) string {
	from, to, _ := strings.Cut(s, "-")
	low, _ := strconv.Atoi(from)
	high, _ := strconv.Atoi(to)
	if !slices.Contains(lwps, low) || !slices.Contains(lwps, high) {
		return s
	}
	var list []string
	for lwp := low; lwp <= high; lwp++ {
		list = append(list, strconv.Itoa(lwp))
	}
	return strings.Join(list, ", ")
}

// plain makes the tool's output the same in all runs: numbers of threads, addresses, directories, the number
// of processors and the width of columns.
//
//	plain CORE LINES FILE
func plain(ts *testscript.TestScript, r *omptest.Result, args []string) {
	lines, err := strconv.Atoi(args[0])
	ts.Check(err)
	var pairs []string
	for i, lwp := range r.Truth.Program.LWPs {
		pairs = append(pairs, strconv.Itoa(lwp), "T"+strconv.Itoa(i))
	}
	words := strings.NewReplacer(pairs...)
	var out strings.Builder
	for i, line := range strings.Split(e2e.WithoutMade(ts.ReadFile("stdout")), "\n") {
		if i == lines {
			break
		}
		line = anyPath.ReplaceAllString(line, "")
		line = anyAddress.ReplaceAllString(line, "ADDRESS")
		line = processors.ReplaceAllString(line, "on P processors")
		line = anyRange.ReplaceAllStringFunc(line, func(s string) string { return spelledOut(s, r.Truth.Program.LWPs) })
		line = words.Replace(line)
		out.WriteString(anySpace.ReplaceAllString(line, "$1  ") + "\n")
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(out.String()), 0o600))
}
