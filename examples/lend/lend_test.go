package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// serving starts a server, and returns its address.
func serving(t *testing.T, tool, dir string) (address string) {
	t.Helper()
	address = "unix://" + filepath.Join(dir, "socket")
	cmd := exec.CommandContext(t.Context(), tool, "serve", "--listen", address)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Wait() })
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatalf("serve says %q, %v", line, err)
	}
	return address
}

// check looks for the deadlock in what an example prints.
func check(t *testing.T, printed string, err error) {
	t.Helper()
	for _, want := range []string{"deadlock: 2 threads wait for each other", "thread 1, wait_lock first"} {
		if err != nil || !strings.Contains(printed, want) {
			t.Errorf("%v: it prints no %q:\n%s", err, want, printed)
		}
	}
}

// TestLend runs the debuggers on a deadlock: that in Go, and that in Python with Debian's gRPC and what its protoc
// makes of the definitions.
func TestLend(t *testing.T) {
	omptest.Needs(t, "a compiler")
	dir := t.TempDir()
	if out, err := exec.Command("go", "build", "-o", dir, "../../cmd/ompd-inspect", ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	address := serving(t, filepath.Join(dir, "ompd-inspect"), dir)
	exe := omptest.Compile(t, omptest.Build{Program: "lock_cycle"})
	p := omptest.Start(t, omptest.Run{Exe: exe, Runtime: omptest.RuntimeOf(t, 16), Mode: omptest.Live})
	pid := fmt.Sprint(p.PID)
	out, err := exec.Command(filepath.Join(dir, "lend"), address, pid).CombinedOutput()
	check(t, string(out), err)

	environment, root := omptest.PythonGrpc(t)
	protos, _ := filepath.Glob("../../proto/ompd/v1/*.proto")
	protoc := exec.Command(filepath.Join(root, "usr/bin/protoc"), append([]string{
		"-I", "../../proto", "-I", filepath.Join(root, "usr/include"), "--python_out=" + dir,
	}, protos...)...)
	protoc.Env = append(os.Environ(), environment...)
	if out, err := protoc.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	python := exec.Command(omptest.Program(t, "python3"), "lend.py", address, pid)
	python.Env = append(os.Environ(), environment...)
	for i, e := range python.Env {
		if strings.HasPrefix(e, "PYTHONPATH=") {
			python.Env[i] = e + ":" + dir
		}
	}
	out, err = python.CombinedOutput()
	check(t, string(out), err)
}
