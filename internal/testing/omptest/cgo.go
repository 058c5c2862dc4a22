package omptest

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// CompileGo builds the Go program testdata/programs/cgo, with OpenMP in its C code, with a C compiler and with
// flags of go build, and returns its path.
func CompileGo(tb testing.TB, compiler Compiler, flags ...string) string {
	tb.Helper()
	cc := compiler.forSource(tb, "team.c")
	env := []string{"CC=" + cc}
	if compiler == GCC {
		env = append(env, "CGO_CFLAGS=-g -O1 "+strings.Join(gccMacros, " "))
	}
	return compileGo(tb, env, cc+versionOf(tb, cc), flags...)
}

// CompileGoForMachine builds the Go program for a [Machine].
func CompileGoForMachine(tb testing.TB, compiler Compiler, flags ...string) string {
	tb.Helper()
	env := []string{"GOARCH=arm64", "CC=" + CrossCC, "CGO_CFLAGS=-g -O1 " + strings.Join(gccMacros, " ")}
	if compiler != GCC {
		lib := filepath.Join(tb.TempDir(), "libomp.so") // the name that the compiler links
		must(tb, os.Symlink(crossLibomp(tb, 16), lib))
		include := filepath.Join(crossRoot, "include")
		env = []string{"GOARCH=arm64", "CC=clang-16 --target=aarch64-linux-gnu", "CGO_LDFLAGS=-L" + filepath.Dir(lib),
			"CGO_CFLAGS=-g -O1 -isystem " + clangHeaders + " -isystem " + include}
	}
	return compileGo(tb, env, string(compiler)+"aarch64", flags...)
}

// compileGo builds the Go program with variables of the environment that select the C compiler. version distinguishes
// two compilers of the same name.
func compileGo(tb testing.TB, env []string, version string, flags ...string) string {
	tb.Helper()
	programs := Programs(tb)
	source := filepath.Join(programs, "cgo")
	inputs := []any{source, flags, version, runtime.Version(), hashFile(tb, filepath.Join(programs, "truth.h"))}
	files, _ := filepath.Glob(filepath.Join(source, "*"))
	for _, file := range files {
		inputs = append(inputs, hashFile(tb, file))
	}
	dir := cached(tb, "executables", keyOf(inputs...), func(dir string) {
		args := append([]string{"build", "-o", filepath.Join(dir, "cgo")}, flags...)
		cmd := exec.Command("go", append(args, ".")...)
		cmd.Dir = source
		cmd.Env = append(os.Environ(), "CGO_ENABLED=1", "GOFLAGS=") // a -trimpath would hide the sources
		cmd.Env = append(cmd.Env, env...)
		if out, err := cmd.CombinedOutput(); err != nil {
			tb.Fatalf("%v: %v\n%s", cmd.Args, err, out)
		}
	})
	return filepath.Join(dir, "cgo")
}

// delveTool returns the path of a Delve, built at the version of tools/go.mod.
func delveTool(tb testing.TB) string {
	tb.Helper()
	NeedsMore(tb, "Delve")
	tools := filepath.Join(filepath.Dir(filepath.Dir(Programs(tb))), "tools")
	key := keyOf("dlv", hashFile(tb, filepath.Join(tools, "go.mod")), runtime.Version())
	dir := cached(tb, "tools", key, func(dir string) {
		command(tb, tools, "go", "build", "-ldflags", "-s -w", "-o", filepath.Join(dir, "dlv"),
			"github.com/go-delve/delve/cmd/dlv")
	})
	return filepath.Join(dir, "dlv")
}

// Delve returns the path of a Delve, built at the version of tools/go.mod.
func Delve(tb testing.TB) string {
	tb.Helper()
	return delveTool(tb)
}

// Held is a program that a headless Delve holds.
type Held struct {
	*Process
	Socket string // path of Delve's unix socket
}

// StartUnderDelve runs a program under a headless Delve that accepts several clients, and returns when the
// program is ready for a look; the program runs. Both end with the test.
func StartUnderDelve(tb testing.TB, r Run) *Held {
	tb.Helper()
	dir := tb.TempDir()
	socket := filepath.Join(dir, "delve")
	r.delve = delveLine(tb, socket, "exec", "--accept-multiclient", "--continue")
	p := start(tb, r, dir)
	tb.Cleanup(func() { _ = syscall.Kill(p.Truth.Program.PID, syscall.SIGKILL) })
	return &Held{p, socket}
}

// AttachDelve attaches a headless Delve to a running process, which Delve halts, and returns the path of its
// socket. Delve ends with the test.
func AttachDelve(tb testing.TB, p *Process, flags ...string) (socket string) {
	tb.Helper()
	socket = filepath.Join(tb.TempDir(), "delve")
	line := append(delveLine(tb, socket, "attach"), append(flags, strconv.Itoa(p.PID))...)
	cmd := exec.Command(line[0], line[1:]...)
	output, err := cmd.StdoutPipe()
	must(tb, err)
	must(tb, cmd.Start())
	tb.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	if text, err := bufio.NewReader(output).ReadString('\n'); err != nil {
		tb.Fatalf("%v: %v\n%s", line, err, text)
	}
	return socket
}

// delveLine returns the command line of a headless Delve up to its target.
func delveLine(tb testing.TB, socket, verb string, flags ...string) []string {
	tb.Helper()
	return append([]string{delveTool(tb), verb, "--headless", "--api-version=2", "--listen=unix:" + socket}, flags...)
}
