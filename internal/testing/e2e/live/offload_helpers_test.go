package live

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

const helpersSource = "offload_helpers.c"

// awaitStates looks at a process until the given number of threads, without helpers, is in a state that starts with one
// of the words, and all helpers wait.
func awaitStates(t *testing.T, pid, threads int, states ...string) *picture.Picture {
	t.Helper()
	starts := func(th *picture.Thread, words ...string) bool {
		return th.State != nil && slices.ContainsFunc(words, func(w string) bool {
			return strings.HasPrefix(string(th.State.Name), w)
		})
	}
	for {
		_, pic := e2e.Diagnose(t, fmt.Sprint(pid))
		found, busy := 0, 0
		for i := range pic.Threads {
			switch th := &pic.Threads[i]; {
			case th.Hidden && !starts(th, "idle", "wait_barrier"):
				busy++
			case !th.Hidden && starts(th, states...):
				found++
			}
		}
		if found == threads && busy == 0 {
			return pic
		}
	}
}

// checkHelpers checks that all helper threads are idle, and that no verdict names one. It returns their number.
func checkHelpers(t *testing.T, pic *picture.Picture) (helpers int) {
	t.Helper()
	for _, th := range pic.Threads {
		if !th.Hidden {
			continue
		}
		helpers++
		if th.State.Name != picture.StateIdle || th.WaitID != nil || th.WaitKind != "" {
			t.Errorf("helper %d is in %+v, and waits for %s", th.LWP, th.State, th.WaitKind)
		}
		for _, v := range pic.Verdicts {
			if slices.Contains(v.Threads, th.LWP) {
				t.Errorf("helper %d is in the verdict %s", th.LWP, v.Summary)
			}
		}
	}
	return helpers
}

// doctorText returns what doctor prints about a process, as one line.
func doctorText(t *testing.T, pid int) string {
	t.Helper()
	_, text, _ := e2e.Output(t, "doctor", fmt.Sprint(pid))
	return strings.Join(strings.Fields(text), " ")
}

// TestOffloadHelpers looks at programs whose helper threads for deferred target regions have no work: beside threads
// that work, beside a deadlock, and beside a team that a plugin for the host executes within a target region.
func TestOffloadHelpers(t *testing.T) {
	for _, major := range []int{14, 16, 19, 22} {
		exe, runtime := omptest.CompileOffload(t, major, filepath.Join("testdata", helpersSource))
		t.Run(fmt.Sprintf("%d healthy", major), func(t *testing.T) {
			pid := startTarget(t, runtime, []string{exe, "0"})
			pic := awaitStates(t, pid, 2, "wait_barrier", "work_")
			if n := checkHelpers(t, pic); n != 8 {
				t.Errorf("%d helpers, want 8", n)
			}
			text := doctorText(t, pid)
			if !strings.Contains(text, "devices: through ") || !strings.Contains(text, "/libomptarget.so") {
				t.Errorf("doctor does not have the library:\n%s", text)
			}
			for _, v := range pic.Verdicts {
				if v.Severity == picture.SeverityHang {
					t.Errorf("a hang is reported: %s", v.Summary)
				}
			}
		})
		t.Run(fmt.Sprintf("%d deadlock", major), func(t *testing.T) {
			pic := awaitStates(t, startTarget(t, runtime, []string{exe, "1"}), 2, "wait_lock")
			if n := checkHelpers(t, pic); n != 8 {
				t.Errorf("%d helpers, want 8", n)
			}
			i := slices.IndexFunc(pic.Verdicts, func(v picture.Verdict) bool {
				return v.Kind == picture.VerdictDeadlock
			})
			if i < 0 || len(pic.Verdicts[i].Threads) != 2 {
				t.Errorf("no deadlock of two threads: %+v", pic.Verdicts)
			}
		})
		t.Run(fmt.Sprintf("%d within", major), func(t *testing.T) {
			pic := awaitStates(t, startTarget(t, runtime, []string{exe, "2"}), 3, "wait_barrier", "work_")
			checkHelpers(t, pic)
			line := lineOf(t, helpersSource, "#pragma omp target map(tofrom : sum)")
			want := fmt.Sprintf("target within %s:%d on the default device, executed by the thread itself",
				helpersSource, line)
			var got []string
			for i := range pic.Threads {
				if c := pic.Threads[i].Target; c != nil {
					got = append(got, phrase.TargetConstruct(c))
				}
			}
			if !slices.Equal(got, []string{want}) {
				t.Errorf("the constructs are %q, want %q", got, want)
			}
			for _, v := range pic.Verdicts {
				if v.Severity == picture.SeverityHang {
					t.Errorf("a hang is reported: %s", v.Summary)
				}
			}
		})
	}
}

// TestTwoOffloadLibraries checks that doctor warns of a process with two of LLVM's offloading libraries.
func TestTwoOffloadLibraries(t *testing.T) {
	exe, runtime := omptest.CompileOffload(t, 16, filepath.Join("testdata", helpersSource))
	other := omptest.PackageFile(t, "libomp-14-dev", "usr/lib/llvm-14/lib/libomptarget.so")
	text := doctorText(t, startTarget(t, runtime, []string{exe, "0"}, "LD_PRELOAD="+other))
	if !strings.Contains(text, "partly devices: 2 offloading libraries, "+other+" and ") {
		t.Errorf("doctor does not warn of two libraries:\n%s", text)
	}
}

// TestHostFallback looks at target regions that no device executes, and at the reasons: the user disabled offloading,
// the program has no code for devices, or there is no plugin.
func TestHostFallback(t *testing.T) {
	source := filepath.Join("testdata", helpersSource)
	build := func(compiler string, flags ...string) string {
		exe := filepath.Join(t.TempDir(), "program")
		e2e.RunCompiler(t, exec.Command(omptest.Program(t, compiler), append(flags, "-g", "-O1", "-fopenmp", "-o", exe,
			source)...))
		return exe
	}
	type fallback struct {
		name, exe string
		runtime   omptest.Runtime
		env       []string
		reason    string
	}
	var all []fallback
	for _, major := range []int{14, 16, 19, 22} {
		exe, runtime := omptest.CompileOffload(t, major, source)
		all = append(all, fallback{fmt.Sprintf("disabled %d", major), exe, runtime,
			[]string{"OMP_TARGET_OFFLOAD=DISABLED"}, "OMP_TARGET_OFFLOAD=disabled"})
		if major != 16 {
			continue
		}
		alone := runtime // without the directory with the plugin
		_, alone.Dir, _ = strings.Cut(runtime.Dir, ":")
		all = append(all, fallback{"no plugin", exe, alone, nil,
			"LLVM's offloading library found no device: no plugin is loaded"})
	}
	all = append(all,
		fallback{"no code", build("clang-16"), omptest.RuntimeOf(t, 16), nil,
			"the program has no code for devices: it was not compiled for any (-fopenmp-targets)"},
		fallback{"gnu", build("gcc", "-foffload=disable"), omptest.Libgomp(t), nil,
			"libgomp found no device: no plugin is loaded"})
	for _, c := range all {
		t.Run(c.name, func(t *testing.T) {
			pid := startTarget(t, c.runtime, []string{c.exe, "3"}, c.env...)
			pic := awaitStates(t, pid, 2, "wait_barrier", "work_")
			checkHelpers(t, pic)
			if c.name == "no plugin" {
				text := doctorText(t, pid)
				if !strings.Contains(text, "devices: "+c.reason+", so the host executes target regions") {
					t.Errorf("doctor does not have the reason:\n%s", text)
				}
			}
			i := slices.IndexFunc(pic.Threads, func(th picture.Thread) bool { return th.Target != nil })
			if i < 0 {
				t.Fatalf("no thread is in a target construct: %+v", pic.Threads)
			}
			got := pic.Threads[i].Target
			if !got.OnHost || !got.Executes || got.HostReason != c.reason || got.Function != "fallback" {
				t.Errorf("the construct is %+v, want the reason %q", got, c.reason)
			}
			for _, v := range pic.Verdicts {
				if v.Severity == picture.SeverityHang {
					t.Errorf("a hang is reported: %s", v.Summary)
				}
			}
		})
	}
}
