package compare_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/corefile"
	"github.com/ompd-inspect/ompd-inspect/internal/front/compare"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/live"
)

// buildHelper builds ompd-compare as the Makefile does, and returns its path.
func buildHelper(t *testing.T) string {
	t.Helper()
	omptest.Needs(t, "make and gcc")
	path := filepath.Join(t.TempDir(), "ompd-compare")
	cmd := exec.Command("make", "-s", "-C", "../../..", "ompd-compare", "COMPARE="+path)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return path
}

// explained are the differences between LLVM's libraries and ours, with their reasons. Each must be needed.
var explained = []struct {
	why                string
	name, ours, theirs string // regular expressions of the whole text
}{
	{"LLVM's library lacks the variable", `.*(def-allocator|explicit-task|kmp-blocktime|league-size|place-assignment|` +
		`place-partition|team-num|available-devices|num-devices|device-num|nteams|teams-thread-limit|wait-policy|` +
		`target-offload|def-sched|cancel|affinity-format|display-affinity|tool|tool-libraries|tool-verbose-init)-var`,
		`.*`, ``},
	{"LLVM's library has the variables of a task's data environment for the current task only",
		`thread \d+ task \d+: (dyn|nthreads|default-device)-var`, `.*`, ``},
	{"LLVM's library shows a chunk size of 0 for schedules that have none", `.*: run-sched-var`, `static`, `static,0`},
	{"LLVM's library needs OMP_DEBUG for the function of a task", `.*: function`, `.*`, `\(needs_state_tracking\)`},
	{"LLVM's library needs OMP_DEBUG for states", `.*: (state|wait identifier)`, `.*`, `\(needs_state_tracking\)`},
	{"LLVM's runtime tracks no wait identifier for barriers", `.*: wait identifier`, `0x.*`, `0x0`},
	{"before LLVM 17 the runtime tracks less exact states", `.*: state`, `wait_barrier_\w+`, `wait_barrier(_\w+)?`},
	{"the runtime tracks no taskwait", `.*: state`, `wait_taskwait`, `work_parallel`},
	{"LLVM's library gives a null function for tasks that have none", `.*: function`, `\(unavailable\)`, `0x0`},
}

// TestCompareWithLLVM compares LLVM's libraries with ours on programs with tasks and with nested regions, live and in
// cores.
// Answers are equal, or the difference is explained.
func TestCompareWithLLVM(t *testing.T) {
	program := buildHelper(t)
	same, used := 0, map[string]int{}
	for _, name := range []string{"taskwait", "nested"} {
		exe := omptest.Compile(t, omptest.Build{Program: name})
		for _, pair := range pairs(t) {
			for _, env := range [][]string{nil, {"OMP_DEBUG=enabled"}} {
				rt := pair.runtime
				check := func(c *compare.Comparison, err error) {
					if err != nil {
						t.Fatal(err)
					}
					if n := c.Count(compare.Same); n < enoughSame {
						t.Errorf("%d facts are the same, want at least %d", n, enoughSame)
					}
					same += c.Count(compare.Same)
					for _, f := range c.Facts {
						if f.Result != compare.Same {
							explain(t, f, used)
						}
					}
				}
				t.Setenv("LD_LIBRARY_PATH", rt.Dir) // LLVM's library is linked with the runtime in some releases
				library := omptest.UnstrippedOMPD(t, pair.library)
				run := fmt.Sprintf("%s/%s-%d%s/", name, rt.Name, pair.library, strings.Join(env, ""))
				t.Run(run+"core", func(t *testing.T) {
					r := omptest.Dump(t, omptest.Run{Exe: exe, Runtime: rt, Mode: omptest.Kernel, Env: env})
					check(compareCore(t, program, library, r.Core))
				})
				t.Run(run+"live", func(t *testing.T) {
					p := omptest.Start(t, omptest.Run{Exe: exe, Runtime: rt, Mode: omptest.Live, Env: env})
					check(compareProcess(t, program, library, p.PID))
				})
			}
		}
	}
	t.Logf("%d facts are the same", same)
	for _, e := range explained {
		t.Logf("%6d differences: %s", used[e.why], e.why)
		if used[e.why] == 0 && !omptest.Quick() {
			t.Errorf("no fact differs any more because %s: remove the entry", e.why)
		}
	}
}

// pair is a runtime, and the release of a library that reads it.
type pair struct {
	runtime omptest.Runtime
	library int
}

// pairs returns each runtime with the library of its release, and 19 with that of 22: Debian 12 has no runtime of 22.
func pairs(t *testing.T) (all []pair) {
	for _, rt := range omptest.Runtimes(t) {
		all = append(all, pair{rt, rt.Major})
		if rt.Major == 19 && !omptest.Quick() {
			all = append(all, pair{rt, 22})
		}
	}
	return all
}

// enoughSame is the least number of equal answers about one program of at least three threads.
const enoughSame = 60

// explain counts an explained difference, and fails the test for another.
func explain(t *testing.T, f compare.Fact, used map[string]int) {
	t.Helper()
	matches := func(pattern, s string) bool { return regexp.MustCompile("^(" + pattern + ")$").MatchString(s) }
	for _, e := range explained {
		if matches(e.name, f.Name) && matches(e.ours, f.Ours) && matches(e.theirs, f.Theirs) {
			used[e.why]++
			return
		}
	}
	t.Errorf("%s: %s: ours %q, theirs %q", f.Name, f.Result, f.Ours, f.Theirs)
}

func compareCore(t *testing.T, program, library, path string) (*compare.Comparison, error) {
	t.Helper()
	core, err := corefile.Open(path, corefile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer core.Close()
	h, err := compare.Start(program, library)
	if err != nil {
		return nil, err
	}
	defer h.Close()
	return h.Compare(core)
}

func compareProcess(t *testing.T, program, library string, pid int) (c *compare.Comparison, err error) {
	t.Helper()
	p, err := live.Open(pid, live.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	h, err := compare.Start(program, library)
	if err != nil {
		return nil, err
	}
	defer h.Close()
	_, err = p.Look(t.Context(), func(target callbacks.Target) (err error) {
		c, err = h.Compare(target)
		return err
	})
	return c, err
}

// hostile are libraries that misbehave: the code of ompd_process_initialize, or of a constructor, and the message.
var hostile = []struct{ name, start, code, want string }{
	{"crash", "", "*(volatile int *)8 = 1;", "the library crashed: signal: segmentation fault"},
	{"abort", "", "abort();", "the library crashed: signal: aborted"},
	{"crash in constructor", "*(volatile int *)8 = 1;", "", "the library crashed: signal: segmentation fault"},
	{"loop", "", "for (;;) __asm__ volatile(\"\");", "used more than 5 s of CPU time"},
	{"exit", "", "_exit(0);", "the library ended its process: exit status 0"},
	{"exit in constructor", "_exit(3);", "", "the library ended its process: exit status 3"},
	{"fork", "", "for (;;) fork();", "made system call"},
	{"fork in constructor", "fork();", "", "made system call"},
	{"exec", "", "execl(\"/bin/true\", \"true\", NULL);", "made system call"},
	{"open", "", "open(\"/etc/passwd\", O_RDONLY);", "made system call"},
	{"create in constructor", "open(\"/tmp/ompd-compare-test\", O_CREAT | O_WRONLY, 0600);", "", "made system call"},
	{"socket", "", "socket(AF_INET, SOCK_STREAM, 0);", "made system call"},
	{"kill", "", "kill(getppid(), SIGKILL);", "made system call"},
	{"memory", "", "for (;;) *(volatile char *)malloc(1 << 24) = 1;",
		"the library crashed: signal: segmentation fault"},
	{"forged output", "", "for (int fd = 3; fd < 10; fd++) write(fd, \"fact x\\n\", 7);", "disturbs the output"},
	{"endless line", "", "for (;;) for (int fd = 3; fd < 10; fd++) write(fd, \"xxxx\", 4);", "disturbs the output"},
	{"refusal", "", "return 4;", "ompd_process_initialize returns 4"},
	{"huge read", "", "return table->read_memory(0, 0, &nowhere, 1ull << 40, line) == 3 ? 4 : 0;",
		"ompd_process_initialize returns 4"},
}

// library is a library in C that answers little. Each region has 2^31-1 threads and encloses itself.
const library = `
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "omp-tools.h"
static const ompd_callbacks_t *table;
static char line[4096];
static ompd_address_t nowhere;
__attribute__((constructor)) static void start(void) { (void)line, (void)nowhere; %s }
ompd_rc_t ompd_get_api_version(ompd_word_t *v) { *v = 201811; return ompd_rc_ok; }
ompd_rc_t ompd_initialize(ompd_word_t v, const ompd_callbacks_t *c) { (void)v; table = c; return ompd_rc_ok; }
ompd_rc_t ompd_process_initialize(ompd_address_space_context_t *c, ompd_address_space_handle_t **h) {
    (void)c; *h = (void *)1;
    printf("fact forged\n"), fflush(stdout);
    { %s }
    return ompd_rc_ok;
}
ompd_rc_t ompd_get_thread_handle(ompd_address_space_handle_t *s, ompd_thread_id_t k, ompd_size_t n, const void *id,
                                 ompd_thread_handle_t **t) { (void)s, (void)k, (void)n, (void)id; *t = (void *)1; return ompd_rc_ok; }
ompd_rc_t ompd_get_thread_id(ompd_thread_handle_t *t, ompd_thread_id_t k, ompd_size_t n, void *id) {
    (void)t, (void)k; memset(id, 0xff, n); return ompd_rc_ok; }
ompd_rc_t ompd_get_curr_parallel_handle(ompd_thread_handle_t *t, ompd_parallel_handle_t **p) { (void)t; *p = (void *)1; return ompd_rc_ok; }
ompd_rc_t ompd_get_enclosing_parallel_handle(ompd_parallel_handle_t *r, ompd_parallel_handle_t **p) { *p = r; return ompd_rc_ok; }
ompd_rc_t ompd_get_thread_in_parallel(ompd_parallel_handle_t *r, int n, ompd_thread_handle_t **t) { (void)r, (void)n; *t = (void *)1; return ompd_rc_ok; }
ompd_rc_t ompd_enumerate_icvs(ompd_address_space_handle_t *s, ompd_icv_id_t i, ompd_icv_id_t *next, const char **name,
                              ompd_scope_t *scope, int *more) {
    (void)s; *next = i + 1; *name = i ? "\033[31mred\n-var" : "team-size-var"; *scope = ompd_scope_parallel; *more = 1; return ompd_rc_ok; }
ompd_rc_t ompd_get_icv_from_scope(void *h, ompd_scope_t s, ompd_icv_id_t i, ompd_word_t *v) { (void)h, (void)s, (void)i; *v = 0x7fffffff; return ompd_rc_ok; }
`

// compileLibrary builds the library with code of a constructor and of ompd_process_initialize.
func compileLibrary(t *testing.T, start, code string) string {
	t.Helper()
	dir := t.TempDir()
	source, path := filepath.Join(dir, "library.c"), filepath.Join(dir, "libother.so")
	if err := os.WriteFile(source, fmt.Appendf(nil, library, start, code), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("gcc", "-w", "-fPIC", "-shared", "-I../../../libompd", "-o", path, source).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return path
}

// someCore returns a core of LLVM's runtime.
func someCore(t *testing.T) string {
	t.Helper()
	exe := omptest.Compile(t, omptest.Build{Program: "taskwait"})
	return omptest.Dump(t, omptest.Run{Exe: exe, Runtime: omptest.RuntimeOf(t, 16), Mode: omptest.Kernel}).Core
}

// TestHostileLibraries requires that a library that misbehaves ends with a clear message.
func TestHostileLibraries(t *testing.T) {
	program, core := buildHelper(t), someCore(t)
	for _, c := range hostile {
		t.Run(c.name, func(t *testing.T) {
			got, err := compareCore(t, program, compileLibrary(t, c.start, c.code), core)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the comparison is %v, %v; want the error %q", got, err, c.want)
			}
		})
	}
	if _, err := os.Stat("/tmp/ompd-compare-test"); err == nil {
		t.Error("the library wrote a file")
	}
}

// TestGarbage requires that the answers of a library with huge teams, endless chains and lists, and control characters
// are bounded and printable.
func TestGarbage(t *testing.T) {
	c, err := compareCore(t, buildHelper(t), compileLibrary(t, "", ""), someCore(t))
	if err != nil {
		t.Fatal(err)
	}
	huge := 0
	for _, f := range c.Facts {
		if strings.ContainsAny(f.Name+f.Ours+f.Theirs, "\033\n") {
			t.Errorf("control characters: %q", f)
		}
		if strings.HasSuffix(f.Name, "team-size-var") && f.Theirs == "2147483647" && f.Result != compare.Same {
			huge++
		}
	}
	if huge == 0 || len(c.Facts) > 10_000 {
		t.Errorf("%d facts, %d huge teams", len(c.Facts), huge)
	}
}

// TestWrongInput requires clear errors for files that are not libraries.
func TestWrongInput(t *testing.T) {
	program, core := buildHelper(t), someCore(t)
	text := filepath.Join(t.TempDir(), "libompd.so")
	if err := os.WriteFile(text, []byte(strings.Repeat("no library ", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"/nowhere/libompd.so": "no such file", t.TempDir(): "is not a file", text: "invalid ELF header",
	} {
		if _, err := compareCore(t, program, path, core); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
}
