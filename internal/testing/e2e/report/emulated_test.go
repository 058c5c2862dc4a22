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
	argv := omptest.Emulated(exe, env)
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
	if status != cli.ExitOK || !strings.Contains(text+errs, "it is an emulated program for aarch64") {
		t.Errorf("exit status %d:\n%s%s", status, text, errs)
	}
	if strings.Contains(text, "of another kind") || strings.Contains(text, "no layout source") {
		t.Errorf("the runtime of the emulated program is read:\n%s", text)
	}
}
