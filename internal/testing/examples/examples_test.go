// Package examples runs the programs of examples/, a module of its own, as a user of the Go API does.
package examples

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// root is the directory of the repository.
const root = "../../../"

// serving starts a server with more flags and returns its address.
func serving(t *testing.T, tool, dir string, flags ...string) (address string) {
	t.Helper()
	address = "unix://" + filepath.Join(dir, "socket")
	cmd := exec.CommandContext(t.Context(), tool, append([]string{"serve", "--listen", address}, flags...)...)
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

// check compares the output of an example with the one on the page of debuggers. LWPs differ from run to run.
func check(t *testing.T, printed string, err error) {
	t.Helper()
	page, err2 := os.ReadFile(root + "docs/guide/debuggers.md")
	if err != nil || err2 != nil {
		t.Fatalf("%v, %v\n%s", err, err2, printed)
	}
	_, block, _ := strings.Cut(string(page), "\n```\n$ ompd-inspect serve ")
	block, _, _ = strings.Cut(block, "\n```\n")
	lwp := regexp.MustCompile(`\bLWP \d+`)
	sorted := func(text string) []string {
		lines := strings.Split(strings.TrimSpace(lwp.ReplaceAllString(text, "LWP N")), "\n")
		slices.Sort(lines)
		return lines
	}
	var want []string
	for line := range strings.SplitSeq(block, "\n") {
		if !strings.HasPrefix(line, "$ ") {
			want = append(want, line)
		}
	}
	omptest.Equal(t, "the output, as docs/guide/debuggers.md has it", strings.Join(sorted(printed), "\n"),
		strings.Join(sorted(strings.Join(want[1:], "\n")), "\n"))
}

// build builds the examples into dir.
func build(t *testing.T, dir string) {
	t.Helper()
	if out, err := exec.Command("go", "build", "-C", root+"examples", "-o", dir, "./...").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// TestReport runs the example of package session on a core.
func TestReport(t *testing.T) {
	dir := t.TempDir()
	build(t, dir)
	g, err := omptest.UnpackGolden(root+"testdata/golden", "gnu-barrier", dir)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(dir, "report"), "-exe", g.Exe, "-sysroot", g.Sysroot, g.Core)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	omptest.Equal(t, "the report", string(out), `
crash (certain): thread 3 (LWP 5801) called abort in truth_end truth.h:378
barrier_missing (possible): 3 of 4 arrived at a barrier (barrier.c:12): thread 3 (LWP 5801) is in truth_end truth.h:378
thread 3: work_parallel in truth_end (/src/truth.h:378)
thread 0: wait_barrier_explicit in main._omp_fn.0 (/src/barrier.c:12)
thread 2: wait_barrier_explicit in main._omp_fn.0 (/src/barrier.c:12)
thread 1: wait_barrier_explicit in main._omp_fn.0 (/src/barrier.c:12)
`[1:])
}

// TestLendMemory runs both debuggers on a deadlock: the one in Go, and the one in Python with Debian's gRPC and the
// code that its protoc generates.
func TestLendMemory(t *testing.T) {
	omptest.Needs(t, "a compiler")
	dir := t.TempDir()
	build(t, dir)
	if out, err := exec.Command("go", "build", "-o", dir, root+"cmd/ompd-inspect").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	address := serving(t, filepath.Join(dir, "ompd-inspect"), dir)
	exe := omptest.Compile(t, omptest.Build{Program: "lock_cycle"})
	p := omptest.Start(t, omptest.Run{Exe: exe, Runtime: omptest.RuntimeOf(t, 16), Mode: omptest.Live})
	pid := fmt.Sprint(p.PID)
	out, err := exec.Command(filepath.Join(dir, "lend"), address, pid).CombinedOutput()
	check(t, string(out), err)

	python := exec.Command(omptest.Program(t, "python3"), root+"examples/lend/lend.py", address, pid)
	python.Env = pythonEnvironment(t, dir)
	out, err = python.CombinedOutput()
	check(t, string(out), err)
}

// pythonEnvironment returns the environment in which Python has Debian's gRPC, and the messages that its protoc
// generates into dir.
func pythonEnvironment(t *testing.T, dir string) []string {
	t.Helper()
	environment, grpc := omptest.PythonGrpc(t)
	protos, _ := filepath.Glob(root + "proto/ompd/v1/*.proto")
	protoc := exec.Command(filepath.Join(grpc, "usr/bin/protoc"), append([]string{
		"-I", root + "proto", "-I", filepath.Join(grpc, "usr/include"), "--python_out=" + dir,
	}, protos...)...)
	protoc.Env = append(os.Environ(), environment...)
	if out, err := protoc.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	all := append(os.Environ(), environment...)
	for i, e := range all {
		if strings.HasPrefix(e, "PYTHONPATH=") {
			all[i] = e + ":" + dir
		}
	}
	return all
}

// TestClients runs the clients in Python and Go on a process, by a server with a token, and compares them with the page
// that shows them.
func TestClients(t *testing.T) {
	omptest.Needs(t, "a compiler")
	dir := t.TempDir()
	build(t, dir)
	if out, err := exec.Command("go", "build", "-o", dir, root+"cmd/ompd-inspect").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	exe := omptest.Compile(t, omptest.Build{Program: "lock_cycle"})
	p := omptest.Start(t, omptest.Run{Exe: exe, Runtime: omptest.RuntimeOf(t, 16), Mode: omptest.Live})
	pid := fmt.Sprint(p.PID)
	page, err := os.ReadFile(root + "docs/guide/clients.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"client.py", "main.go"} {
		text, err := os.ReadFile(root + "examples/client/" + file)
		if err != nil || !strings.Contains(string(page), "\n"+string(text)+"```\n") {
			t.Errorf("docs/guide/clients.md does not show examples/client/%s: %v", file, err)
		}
	}
	const token = "0123456789abcdef-of-this-test"
	secret := filepath.Join(dir, "token")
	if err := os.WriteFile(secret, []byte(token), 0o600); err != nil {
		t.Fatal(err)
	}
	address := serving(t, filepath.Join(dir, "ompd-inspect"), dir, "--token-file", secret)
	environment := append(pythonEnvironment(t, dir), "OMPD_TOKEN="+token)
	for name, cmd := range map[string]*exec.Cmd{
		"Go":     exec.Command(filepath.Join(dir, "client"), address, pid),
		"Python": exec.Command(omptest.Program(t, "python3"), root+"examples/client/client.py", address, pid),
	} {
		cmd.Env = environment
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
		want := "2 threads wait for each other and can never proceed\n"
		if !strings.HasPrefix(string(out), want) ||
			!strings.Contains(string(out), "LWP "+pid+" STATE_NAME_WAIT_LOCK second\n") {
			t.Errorf("%s prints %s", name, out)
		}
	}
}

// reason matches the reason of an error in the code of the server.
var reason = regexp.MustCompile(`codes\.\w+, "([A-Z_]+)"|reasonNoTarget = "([A-Z_]+)"`)

// TestReasons compares the reasons of errors that the page lists with those in the code of the server.
func TestReasons(t *testing.T) {
	page, err := os.ReadFile(root + "docs/guide/clients.md")
	if err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob(root + "server/*.go")
	found := 0
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		code, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range reason.FindAllStringSubmatch(string(code), -1) {
			found++
			if name := m[1] + m[2]; !strings.Contains(string(page), "`"+name+"`") {
				t.Errorf("docs/guide/clients.md does not list %s of %s", name, file)
			}
		}
	}
	if found < 30 {
		t.Errorf("%d reasons were found", found)
	}
}
