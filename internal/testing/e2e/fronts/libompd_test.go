package fronts

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// buildLibompd builds the C library and the program that it starts, as `make libompd.so` does, and returns their
// directory.
func buildLibompd(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	for _, args := range [][]string{
		{"go", "build", "-trimpath", "-ldflags", "-s -w", "-o", filepath.Join(dir, "ompd-inspect"), e2e.CommandPackage},
		{"make", "-s", "-C", e2e.Root, "-o", "build", "libompd.so", "LIBOMPD=" + filepath.Join(dir, "libompd.so")},
	} {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%q: %v\n%s", args, err, out)
		}
	}
	return dir
}

// TestLibompdServesThePlugin replaces LLVM's library by ours under LLVM's gdb plugin, on stripped runtimes, for
// cores and a process.
func TestLibompdServesThePlugin(t *testing.T) {
	exe := omptest.Compile(t, omptest.Build{Program: "barrier"})
	env := []string{"OMP_DEBUG=enabled"}
	for _, s := range settings {
		env = append(env, s.env)
	}
	library := buildLibompd(t)
	for _, major := range []int{16, 19} {
		rt := omptest.RuntimeOf(t, major)
		dir, _ := symbolFile(t, rt.Lib)
		p := plugin{major: major, library: library, symbols: dir, runtime: rt}
		t.Run(rt.Name+"/core", func(t *testing.T) {
			core := omptest.Dump(t, omptest.Run{Exe: exe, Runtime: rt, Mode: omptest.Kernel, Env: env})
			p.args = []string{exe, core.Core}
			checkPlugin(t, p)
			if loaded := p.run(t, "python print(open('/proc/self/maps').read())"); !strings.Contains(loaded,
				filepath.Join(library, "libompd.so")) {
				t.Error("gdb has not loaded our library")
			}
		})
		t.Run(rt.Name+"/process", func(t *testing.T) {
			proc := omptest.Start(t, omptest.Run{Exe: exe, Runtime: rt, Mode: omptest.Live, Env: env})
			p.args = []string{"-p", fmt.Sprint(proc.PID)}
			checkPlugin(t, p)
		})
	}
}

// TestLibompdStepsWithThePlugin runs a program from its start under LLVM's gdb plugin with our library: the
// plugin loads it before the runtime has initialized itself, and queries each thread while that thread starts.
func TestLibompdStepsWithThePlugin(t *testing.T) {
	exe := omptest.Compile(t, omptest.Build{Program: "stepping", Flags: []string{"-O0", "-g"}})
	library := buildLibompd(t)
	for _, major := range []int{16, 19} {
		rt := omptest.RuntimeOf(t, major)
		t.Run(rt.Name, func(t *testing.T) {
			dir, _ := symbolFile(t, rt.Lib)
			t.Setenv("OMP_DEBUG", "enabled")
			out := plugin{major: major, library: library, symbols: dir, runtime: rt, args: []string{exe}}.run(t,
				"break work", "continue", "ompd threads", "ompd icvs", "ompd parallel", "ompd bt on", "bt",
				"ompd bt off", "ompd taskframes", "continue", "ompd icvs", "ompd step", "delete", "continue")
			for _, want := range []string{
				"Loaded OMPD lib successfully!", "is an OpenMP thread; state: ompt_state_",
				"Parallel Region: Nesting Level 1: Team Size: 3",
				"ompt_state_work_parallel", `work "#pragma omp task" (n=7)`,
				"team-size-var                   parallel                   3", "exited normally",
				"implicit-task-var               task                       0", // at the first stop
				"implicit-task-var               task                       1", // at the second, in the same function
			} {
				if !strings.Contains(out, want) {
					t.Errorf("the plugin does not say %q", want)
				}
			}
			for _, bad := range []string{"Traceback", "SystemError", "rror code"} {
				if strings.Contains(out, bad) {
					t.Errorf("the plugin says %q", bad)
				}
			}
			if t.Failed() {
				t.Log(out)
			}
		})
	}
}

// TestLibompdAfterFork follows a fork of a program under LLVM's gdb plugin with our library. The plugin shows the team
// of the process in which gdb stops next: the parent if gdb lets the child go, else the child.
func TestLibompdAfterFork(t *testing.T) {
	exe := omptest.Compile(t, omptest.Build{Program: "forks", Flags: []string{"-O0", "-g"}})
	library, rt := buildLibompd(t), omptest.RuntimeOf(t, 16)
	dir, _ := symbolFile(t, rt.Lib)
	t.Setenv("OMP_DEBUG", "enabled")
	for _, tt := range []struct {
		follow, detach string
		threads        int
	}{{"parent", "on", 4}, {"child", "on", 2}, {"child", "off", 2}} {
		t.Run(tt.follow+"/"+tt.detach, func(t *testing.T) {
			out := plugin{major: 16, library: library, symbols: dir, runtime: rt, args: []string{exe}}.run(t,
				"set follow-fork-mode "+tt.follow, "set detach-on-fork "+tt.detach, "set schedule-multiple on",
				"break stop_here", "continue", "ompd parallel", "echo FORK\\n", "continue", "ompd parallel",
				"ompd threads", "delete", "continue")
			before, after, _ := strings.Cut(out, "FORK\n")
			const team = "Parallel Region: Nesting Level 1: Team Size: "
			if !strings.Contains(before, team+"3") || !strings.Contains(after, team+strconv.Itoa(tt.threads)) ||
				strings.Count(after, "is an OpenMP thread; state: ompt_state_") != tt.threads ||
				!strings.Contains(after, "exited normally") || strings.Contains(out, "Traceback") ||
				strings.Contains(out, "rror code") {
				t.Errorf("the plugin does not show %d threads after the fork:\n%s", tt.threads, out)
			}
		})
	}
}

// TestLibompdOnIdleThread queries the plugin about a thread that is in no team; with LLVM's library, that ends
// gdb.
func TestLibompdOnIdleThread(t *testing.T) {
	exe := omptest.Compile(t, omptest.Build{Program: "idle"})
	rt := omptest.RuntimeOf(t, 19)
	dir, _ := symbolFile(t, rt.Lib)
	core := omptest.Dump(t, omptest.Run{Exe: exe, Runtime: rt, Mode: omptest.Kernel,
		Env: []string{"OMP_DEBUG=enabled"}})
	out := plugin{major: 19, library: buildLibompd(t), symbols: dir, runtime: rt, args: []string{exe, core.Core}}.run(t,
		"thread 2", "ompd icvs", "ompd parallel", "echo still here\\n")
	if !strings.Contains(out, "still here") {
		t.Errorf("gdb did not come to the end:\n%s", out)
	}
}

// TestLibompdByRelativePath makes the loader use relative names of the libraries.
func TestLibompdByRelativePath(t *testing.T) {
	exe := omptest.Compile(t, omptest.Build{Program: "stepping", Flags: []string{"-O0", "-g"}})
	rt := omptest.RuntimeOf(t, 19)
	symbols, _ := symbolFile(t, rt.Lib)
	library, dir := buildLibompd(t), t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "lib"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{
		rt.Lib, filepath.Join(library, "libompd.so"), filepath.Join(library, "ompd-inspect"),
	} {
		if err := os.Symlink(file, filepath.Join(dir, "lib", filepath.Base(file))); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("OMP_DEBUG", "enabled")
	p := plugin{major: 19, library: library, symbols: symbols, runtime: rt, args: []string{exe}, dir: dir}
	out := p.run(t, "break work", "continue", "ompd threads", "ompd icvs", "kill")
	for _, want := range []string{
		"Loaded OMPD lib successfully!", "is an OpenMP thread; state: ompt_state_", "team-size-var",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the plugin does not say %q", want)
		}
	}
	if strings.Contains(out, "Traceback") {
		t.Error("our library asks for symbols, though the files are at hand")
	}
	if t.Failed() {
		t.Log(out)
	}
}
