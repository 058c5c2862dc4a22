package live

import (
	"fmt"
	"os"
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

// startTarget starts a program with target constructs, and waits until it prints READY. The end of the test kills it.
func startTarget(t *testing.T, r omptest.Runtime, argv []string, env ...string) (pid int) {
	t.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(env, "PATH="+os.Getenv("PATH"), "LD_LIBRARY_PATH="+r.Dir, "OMP_WAIT_POLICY=passive")
	if line, _ := omptest.StartReady(t, cmd); line != "READY\n" {
		t.Fatalf("the program printed %q", line)
	}
	return cmd.Process.Pid
}

// awaitTarget looks at a process until a thread is in a target construct and two threads wait at a barrier.
func awaitTarget(t *testing.T, pid int) (*picture.Picture, *picture.Thread) {
	t.Helper()
	for {
		_, pic := e2e.Diagnose(t, fmt.Sprint(pid))
		waiting := 0
		for _, th := range pic.Threads {
			if th.State == nil {
				continue
			}
			atBarrier := strings.HasPrefix(string(th.State.Name), "wait_barrier") && !th.Hidden
			if atBarrier || th.State.Name == picture.StateTaskwait {
				waiting++
			}
		}
		i := slices.IndexFunc(pic.Threads, func(th picture.Thread) bool { return th.Target != nil })
		if i >= 0 && waiting >= 2 {
			return pic, &pic.Threads[i]
		}
	}
}

// lineOf returns the number of the line with a text in a source of testdata.
func lineOf(t *testing.T, file, text string) int {
	t.Helper()
	return lineIn(t, filepath.Join("testdata", file), text)
}

// lineIn returns the number of the line with a text in a file.
func lineIn(t *testing.T, file, text string) int {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for i, line := range strings.Split(string(b), "\n") {
		if strings.HasPrefix(line, text) {
			return i + 1
		}
	}
	t.Fatalf("%s has no line %q", file, text)
	return 0
}

// TestTargetWaits looks at threads that wait in LLVM's offloading library for a device, in each kind of construct, with
// symbols and without: state, construct, line, device, and the verdict that names them.
func TestTargetWaits(t *testing.T) {
	for _, major := range []int{14, 16, 19, 22} {
		t.Run(fmt.Sprint(major), func(t *testing.T) { checkTargetWaits(t, major) })
	}
}

// checkTargetWaits is TestTargetWaits for a release of LLVM.
func checkTargetWaits(t *testing.T, major int) {
	t.Helper()
	const source = "target_constructs.c"
	exe, runtime := omptest.CompileOffload(t, major, filepath.Join("testdata", source))
	driver := filepath.Join(t.TempDir(), "libcuda.so.1")
	e2e.RunCompiler(t, exec.Command(omptest.Program(t, "gcc"), "-shared", "-fPIC", "-O1", "-fno-builtin", "-o", driver,
		filepath.Join("testdata", "device_driver.c")))
	stripped := exe + "-stripped"
	e2e.RunCompiler(t, exec.Command(omptest.Program(t, "strip"), "-o", stripped, exe))
	for _, c := range []struct {
		way       string
		exe       string
		state     picture.StateName
		construct string
		function  string
		line      string // the start of the construct's line
		device    string
		says      string
		helper    bool
	}{
		{way: "0", exe: exe, state: picture.StateTarget, construct: "target", function: "scale",
			line: "#pragma omp target map(to : data)", device: "on device 2",
			says: "waits in scale target_constructs.c:%[1]d for target region scale target_constructs.c:%[1]d " +
				"on device 2"},
		{way: "0", exe: stripped, state: picture.StateTarget, construct: "target", function: "scale",
			line: "#pragma omp target map(to : data)", device: "on device 2",
			says: "for target region scale line %d on device 2"},
		{way: "1", exe: exe, state: picture.StateTargetMap, construct: "target data", device: "on device 2",
			says: "waits in enter target_constructs.c:", function: "enter"},
		{way: "2", exe: exe, state: picture.StateTargetUpdate, construct: "target update", device: "on device 2",
			says: "for the update of mapped data on device 2", function: "refresh"},
		{way: "3", exe: exe, state: picture.StateTarget, construct: "target", function: "deferred",
			line: "#pragma omp target nowait", device: "on the default device", helper: true,
			says: "for target region deferred target_constructs.c:%d on the default device"},
	} {
		t.Run(c.way+" "+filepath.Base(c.exe), func(t *testing.T) {
			pic, th := awaitTarget(t, startTarget(t, runtime, []string{c.exe, c.way}, "LD_PRELOAD="+driver))
			line := 0
			if c.line != "" {
				line = lineOf(t, source, c.line)
			}
			got := th.Target
			if th.State.Name != c.state || got.Construct != c.construct || got.Function != c.function ||
				line != 0 && got.Line != line || !strings.HasSuffix(got.Place(), c.device) ||
				got.Executes || th.Hidden != c.helper || th.State.Standard != "" {
				t.Errorf("thread is in %+v with %+v", th.State, got)
			}
			if line != 0 && !strings.HasSuffix(got.Kernel, fmt.Sprintf("_%s_l%d", c.function, line)) {
				t.Errorf("the kernel is %q", got.Kernel)
			}
			for _, f := range th.UserStack {
				if strings.HasPrefix(f.Module, "libomptarget") || strings.HasPrefix(f.Module, "libcuda") {
					t.Errorf("the user's stack has %+v", f)
				}
			}
			says := c.says
			if line != 0 {
				says = fmt.Sprintf(says, line)
			}
			found := false
			for _, v := range pic.Verdicts {
				found = found || v.Kind == picture.VerdictBlockedOutside && strings.Contains(v.Summary, says)
				if v.Severity == picture.SeverityHang {
					t.Errorf("a hang is reported: %s", v.Summary)
				}
			}
			if !found {
				t.Errorf("no verdict says %q: %+v", says, pic.Verdicts)
			}
		})
	}
}

// TestTargetEntries looks at a stripped program with the table of target regions of LLVM 21, whose compiler Debian 12
// lacks: the table names the region.
func TestTargetEntries(t *testing.T) {
	runtime := omptest.Libgomp(t)
	gcc, dir := omptest.Program(t, "gcc"), t.TempDir()
	library, exe := filepath.Join(dir, "libomptarget.so"), filepath.Join(dir, "program")
	e2e.RunCompiler(t, exec.Command(gcc, "-shared", "-fPIC", "-O1", "-o", library,
		filepath.Join("testdata", "offload_library.c")))
	e2e.RunCompiler(t, exec.Command(gcc, "-O1", "-s", "-fopenmp", "-o", exe,
		filepath.Join("testdata", "offload_entries.c"), library, "-Wl,-rpath,"+dir))
	_, th := awaitTarget(t, startTarget(t, runtime, []string{exe}))
	if got := th.Target.Place(); th.State.Name != picture.StateTarget || got != "saxpy line 9 on device 2" {
		t.Errorf("the thread is in %s, in %q: %+v", th.State.Name, got, th.Target)
	}
}

// TestTargetWorks looks at threads that execute a target region themselves, on a device of LLVM's that is the host and
// on the host by GNU's runtime: they are at work, and no hang is reported.
func TestTargetWorks(t *testing.T) {
	const source = "target_constructs.c"
	llvm, runtime := omptest.CompileOffload(t, 19, filepath.Join("testdata", source))
	gnu := filepath.Join(t.TempDir(), "gnu")
	e2e.RunCompiler(t, exec.Command(omptest.Program(t, "gcc"), "-g", "-O1", "-fopenmp", "-foffload=disable", "-o", gnu,
		filepath.Join("testdata", source)))
	for _, c := range []struct {
		name, exe string
		runtime   omptest.Runtime
		onHost    bool
		says      string
	}{
		{"llvm", llvm, runtime, false, "on device 2, executed by the thread itself"},
		{"gnu", gnu, omptest.Libgomp(t), true, "on the host, executed by the thread itself: no device executes it " +
			"(libgomp found no device: no plugin is loaded)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			pic, th := awaitTarget(t, startTarget(t, c.runtime, []string{c.exe, "4"}))
			got, line := th.Target, lineOf(t, source, "#pragma omp target map(tofrom : rounds)")
			place := fmt.Sprintf("target work target_constructs.c:%d %s", line, c.says)
			if !got.Executes || got.OnHost != c.onHost || phrase.TargetConstruct(got) != place {
				t.Errorf("the construct is %q (%+v), want %q", phrase.TargetConstruct(got), got, place)
			}
			if f, ok := phrase.InnermostUser(th.UserStack); !ok || f.Construct != "target" || f.In != "work" {
				t.Errorf("the innermost frame is %+v", f)
			}
			if !strings.HasPrefix(string(th.State.Name), "work_") {
				t.Errorf("the thread is in %+v", th.State)
			}
			for _, v := range pic.Verdicts {
				if v.Severity == picture.SeverityHang {
					t.Errorf("a hang is reported: %s", v.Summary)
				}
			}
		})
	}
}
