package oracle

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/live"
)

// dormantProgram starts a program that is linked with a runtime and has not used it, and returns the facts about
// it.
func dormantProgram(t *testing.T, rt omptest.Runtime) string {
	t.Helper()
	dir := t.TempDir()
	exe := filepath.Join(dir, "dormant")
	if out, err := exec.Command("cc", "-Wall", "-Werror", "-o", exe, "testdata/dormant.c", rt.Lib, "-Wl,-rpath,"+
		rt.Dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cmd := exec.Command(exe)
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err1 != nil || err2 != nil || cmd.Start() != nil {
		t.Fatal(err1, err2, "the program does not start")
	}
	t.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the program ended with %v", err)
		}
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Fatalf("the program says %q, %v", line, err)
	}
	proc, err := live.Open(cmd.Process.Pid, live.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer proc.Close()
	var end callbacks.Address
	if _, err := proc.Look(t.Context(), func(target callbacks.Target) (err error) {
		end, err = target.Symbol("__libc_stack_end", "")
		return err
	}); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "facts")
	text := fmt.Sprintf("pid %d\ndormant\nversion 201611\nsymbol __libc_stack_end %#x\n", cmd.Process.Pid, end.Offset)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestDormantRuntime asks our library at the moment when debuggers load it: the runtime has not initialized
// itself.
func TestDormantRuntime(t *testing.T) {
	dir := makeLibraries(t, "")
	for _, major := range []int{16, 19} {
		rt := omptest.RuntimeOf(t, major)
		t.Run(rt.Name, func(t *testing.T) {
			path := dormantProgram(t, rt)
			for _, version := range []string{"201811", "202411"} {
				mustHold(t, dir, path, version)
			}
		})
	}
}
