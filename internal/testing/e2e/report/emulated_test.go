package report

import (
	"bufio"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/cli"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// TestEmulated looks at an emulator (qemu-user) that executes a program for aarch64: the report explains that, and
// does not read the program's runtime as one of the emulator.
func TestEmulated(t *testing.T) {
	omptest.NeedsCross(t)
	exe, env := omptest.CompileCross(t, filepath.Join("testdata", "emulated.c"), 0)
	checkEmulated(t, "it is an emulated program for aarch64", omptest.Emulated(exe, env))
}

// TestEmulated386 looks at an emulator that executes a program for a machine whose programs are not read.
func TestEmulated386(t *testing.T) {
	exe := filepath.Join(t.TempDir(), "small")
	e2e.RunCompiler(t, exec.Command(omptest.Program(t, "gcc"), "-m32", "-nostdlib", "-static", "-o", exe,
		filepath.Join("testdata", "emulated386.s")))
	checkEmulated(t, "it is an emulated program for 386, executed by qemu-i386",
		[]string{omptest.Program(t, "qemu-i386"), exe})
}

// checkEmulated runs a program that prints READY and waits for the end of its input, and looks at its emulator.
func checkEmulated(t *testing.T, want string, argv []string) {
	t.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		cmd.Wait()
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "READY\n" {
		t.Fatalf("%q, %v", line, err)
	}
	status, text, errs := e2e.Output(t, "report", strconv.Itoa(cmd.Process.Pid))
	if status != cli.ExitOK || !strings.Contains(text+errs, want) {
		t.Errorf("exit status %d:\n%s%s", status, text, errs)
	}
	if strings.Contains(text, "of another kind") || strings.Contains(text, "no layout source") {
		t.Errorf("the runtime of the emulated program is read:\n%s", text)
	}
}
