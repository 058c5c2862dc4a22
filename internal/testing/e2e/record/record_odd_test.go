package record

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/cli"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// compileText compiles a C program or a library with GCC.
func compileText(t *testing.T, name, text string, flags ...string) string {
	t.Helper()
	omptest.Needs(t, "gcc")
	exe := filepath.Join(t.TempDir(), name)
	compile := exec.Command("gcc", append([]string{"-g", "-x", "c", "-o", exe, "-"}, flags...)...)
	compile.Stdin = strings.NewReader(text)
	if out, err := compile.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return exe
}

// checkHistory records the program history, built by a compiler with flags, and requires all events.
func checkHistory(t *testing.T, compiler omptest.Compiler, flags []string, env ...string) {
	t.Helper()
	runtime := omptest.RuntimeOf(t, 16)
	if compiler == omptest.GCC {
		runtime = omptest.Libgomp(t)
	}
	exe := omptest.Compile(t, omptest.Build{Program: "history", Compiler: compiler,
		Flags: append([]string{"-g", "-O1"}, flags...)})
	file := filepath.Join(t.TempDir(), "events")
	cmd := e2e.Process("record", "--library", omptest.Recorder(t), "--save", file, "--", exe, "0")
	cmd.Env = append(append(os.Environ(), "LD_LIBRARY_PATH="+runtime.Dir), env...)
	if status, text := e2e.RunCommand(t, cmd); status != 0 {
		t.Fatalf("exit status %d: %s", status, text)
	}
	status, out, errs := e2e.Output(t, "trace", "--all", "--events", "0", file)
	if status != 0 || strings.Count(out, "acquires lock debit ") != 2 ||
		strings.Count(out, "acquires critical ") != 4*32 {
		t.Errorf("trace: exit status %d, %s%.3000s", status, errs, out)
	}
}

// TestRecordAllocators records programs that another library allocates memory for.
func TestRecordAllocators(t *testing.T) {
	const dir = "usr/lib/x86_64-linux-gnu/"
	for pkg, file := range map[string]string{
		"libjemalloc2": "libjemalloc.so.2", "libtcmalloc-minimal4": "libtcmalloc_minimal.so.4",
	} {
		preload := "LD_PRELOAD=" + omptest.PackageFile(t, pkg, dir+file)
		for _, compiler := range []omptest.Compiler{omptest.GCC, omptest.LLVM} {
			t.Run(fmt.Sprintf("%s/%q", pkg, compiler), func(t *testing.T) { checkHistory(t, compiler, nil, preload) })
		}
	}
}

// TestRecordSanitized records programs that were built with sanitizers. GCC's address sanitizer would refuse to start
// after another library. The one for leaks cannot work under ptrace.
func TestRecordSanitized(t *testing.T) {
	compilers := []omptest.Compiler{omptest.GCC}
	if !omptest.Quick() {
		compilers = append(compilers, omptest.LLVM) // its sanitizers are a package of their own
	}
	for _, compiler := range compilers {
		for _, kind := range []string{"address", "thread", "undefined"} {
			t.Run(fmt.Sprintf("%s/%q", kind, compiler), func(t *testing.T) {
				checkHistory(t, compiler, []string{"-fsanitize=" + kind}, "ASAN_OPTIONS=detect_leaks=0",
					"TSAN_OPTIONS=report_bugs=0") // it does not know of OpenMP's synchronization
			})
		}
	}
}

const unloads = `#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char **argv) {
  for (int i = 0; i < 3; i++) {
    void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    int (*work)(void) = library ? (int (*)(void))dlsym(library, "work") : NULL;
    if (!work || work() != 3 || dlclose(library)) return 1;
  }
  return 0;
}
`

const unloaded = `int work(void) {
  int n = 0;
#pragma omp parallel num_threads(3)
#pragma omp critical
  n++;
  return n;
}
`

// TestRecordUnloads records a program that loads a library with OpenMP, and unloads it, several times.
func TestRecordUnloads(t *testing.T) {
	exe := compileText(t, "unloads", unloads, "-ldl")
	library := compileText(t, "libwork.so", unloaded, "-shared", "-fPIC", "-fopenmp")
	file := filepath.Join(t.TempDir(), "events")
	status, _, errs := e2e.Output(t, "record", "--library", omptest.Recorder(t), "--save", file, "--", exe, library)
	if status != cli.ExitOK || errs != "" {
		t.Fatalf("exit status %d: %s", status, errs)
	}
	status, out, errs := e2e.Output(t, "trace", "--all", "--events", "0", file)
	if n := strings.Count(out, "acquires critical "); status != cli.ExitOK || n != 9 {
		t.Errorf("exit status %d, %d critical sections: %s%.2000s", status, n, errs, out)
	}
}

// TestRecordNotLoaded records programs for which the loader loads no recorder: the message names the reason for the
// missing file.
func TestRecordNotLoaded(t *testing.T) {
	const text = "int main(void) { return 3; }\n"
	privileged := compileText(t, "privileged", text)
	if err := os.Chmod(privileged, os.ModeSetuid|0o755); err != nil {
		t.Fatal(err)
	}
	for exe, says := range map[string]string{
		compileText(t, "static", text, "-static"): "is linked statically, so that the recorder is not loaded",
		privileged: "has set-user-ID or set-group-ID, so that the recorder is not loaded",
	} {
		file := filepath.Join(t.TempDir(), "events")
		status, _, errs := e2e.Output(t, "record", "--library", omptest.Recorder(t), "--save", file, "--", exe)
		if status != 3 || !strings.Contains(errs, says) {
			t.Errorf("exit status %d: %s", status, errs)
		}
	}
}

const idleChildren = `#include <omp.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void) {
  int n = 0;
#pragma omp parallel num_threads(2)
#pragma omp critical
  n++;
  for (int i = 0; i < 10; i++)
    if (!fork()) _exit(0);
  while (wait(NULL) > 0) continue;
  return n - 2;
}
`

// TestRecordIdleChildren saves the events of a program whose children use no OpenMP: there is one file.
func TestRecordIdleChildren(t *testing.T) {
	dir := t.TempDir()
	exe := compileText(t, "children", idleChildren, "-fopenmp")
	status, _, errs := e2e.Output(t, "record", "--library", omptest.Recorder(t), "--save", filepath.Join(dir, "events"),
		"--", exe)
	list, err := os.ReadDir(dir)
	if status != cli.ExitOK || err != nil || len(list) != 1 {
		t.Errorf("exit status %d, files %v, %v: %s", status, list, err, errs)
	}
}

// TestFullFileSystems runs the tool where no file can be written: the program is not disturbed, the message names the
// reason, and no part of a file remains. A full /dev/shm does not matter to the recorder.
func TestFullFileSystems(t *testing.T) {
	dir := t.TempDir()
	exe := compileText(t, "children", idleChildren, "-fopenmp")
	golden, err := filepath.Abs(filepath.Join(e2e.GoldenDir, "gnu-barrier", "core.zst"))
	if err != nil {
		t.Fatal(err)
	}
	inside := func(full string, args ...string) (int, string) {
		tool := e2e.Process(args...)
		script := fmt.Sprintf("mount -t tmpfs -o size=4k none %[1]s && { echo >%[1]s/x; exec -a ompd-inspect \"$@\"; "+
			"echo fails; }", full)
		cmd := exec.Command(omptest.Program(t, "bash"), append([]string{"-c", script, "bash", tool.Path},
			tool.Args[1:]...)...)
		// In a mount namespace of its own, as root there.
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWUSER,
			UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}}
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState == nil {
			t.Skipf("this machine allows no user namespaces: %v", err)
		}
		return cmd.ProcessState.ExitCode(), string(out)
	}
	const full = "no space left on device"
	status, text := inside(dir, "record", "--library", omptest.Recorder(t), "--save", dir+"/events", "--", exe)
	if status != cli.ExitOK || !strings.Contains(text, full) || strings.Contains(text, "SIGKILL") {
		t.Errorf("record: exit status %d: %s", status, text)
	}
	if status, text := inside(dir, "report", golden, "-o", dir+"/report"); status != cli.ExitError ||
		!strings.Contains(text, full) {
		t.Errorf("report: exit status %d: %s", status, text)
	}
	file := filepath.Join(dir, "events")
	status, text = inside("/dev/shm", "record", "--library", omptest.Recorder(t), "--save", file, "--", exe)
	if _, err := os.Stat(file); status != cli.ExitOK || text != "" || err != nil {
		t.Errorf("a full /dev/shm: exit status %d: %s%v", status, text, err)
	}
}

// TestFewOpenFiles starts the tool with few open files. With less than 18, each verb says so, as files would seem to
// be missing; with more, it works. With 6 and 7, Go's runtime would end before main.
func TestFewOpenFiles(t *testing.T) {
	golden, err := filepath.Abs(filepath.Join(e2e.GoldenDir, "gnu-barrier", "core.zst"))
	if err != nil {
		t.Fatal(err)
	}
	asleep := exec.Command("cat")
	if _, err := asleep.StdinPipe(); err != nil { // which stays open
		t.Fatal(err)
	}
	if err := asleep.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = asleep.Process.Kill()
		_ = asleep.Wait()
	}()
	pid := strconv.Itoa(asleep.Process.Pid)
	verbs := [][]string{
		{"report", golden}, {"report", pid}, {"run", "--", "true"},
		{"record", "--library", omptest.Recorder(t), "--", "true"}, {"serve", "--stdio"}, {"version"},
		{"ps", "--sample", "0"},
	}
	start := func(limit int, before string, args []string) (status int, text string) {
		tool := e2e.Process(args...)
		cmd := exec.Command(omptest.Program(t, "bash"), append([]string{"-c",
			before + `ulimit -n "$0"; exec -a ompd-inspect "$@"`, strconv.Itoa(limit), tool.Path}, tool.Args[1:]...)...)
		return e2e.RunCommand(t, cmd)
	}
	const least = 18
	for limit := 3; limit <= 22; limit++ {
		tried := verbs
		if limit > 7 && limit != least {
			tried = verbs[limit%len(verbs):][:1]
		}
		for _, args := range tried {
			status, text := start(limit, "", args)
			want := fmt.Sprintf("the number of open files is limited to %d (ulimit -n): this program needs %d: "+
				"ulimit -n 1024", limit, least)
			switch {
			case limit == 3 && strings.Contains(text, "cannot open shared object file: Error 24"):
				// The dynamic loader's text, as this test is linked dynamically.
			case limit < least && (status != cli.ExitError || !strings.Contains(text, want) ||
				strings.Count(text, "\n") != 1), limit >= least && status != cli.ExitOK:
				t.Errorf("%d files, %s: exit status %d: %s", limit, args, status, text)
			}
		}
	}
	// The parent left too few of them.
	before := "for fd in 3 4 5 6 7 8 9 10 11; do eval \"exec $fd</dev/null\"; done; "
	if status, text := start(least, before, verbs[0]); status != cli.ExitError ||
		!strings.Contains(text, "its parent left it") {
		t.Errorf("files of the parent: exit status %d: %s", status, text)
	}
}
