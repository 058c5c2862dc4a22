package report

import (
	"bytes"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/corefile"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// privately returns a runtime with a library of its own, which a test can remove.
func privately(t *testing.T, rt omptest.Runtime) omptest.Runtime {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "lib")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	rt.Dir, rt.Lib = dir, filepath.Join(dir, filepath.Base(rt.Lib))
	return rt
}

// TestRuntimeFileMissing reads cores of programs without the runtime's file: the facts from the runtime's memory
// are right, and a state is that of the truth or a less specific one that includes it.
func TestRuntimeFileMissing(t *testing.T) {
	for _, rt := range []omptest.Runtime{
		omptest.RuntimeOf(t, 9), omptest.RuntimeOf(t, 11), omptest.RuntimeOf(t, 16), omptest.Libgomp(t),
	} {
		compiler := omptest.LLVM
		if strings.HasPrefix(rt.Name, "libgomp") {
			compiler = omptest.GCC
		}
		for _, program := range []string{"critical", "lock", "nest_lock", "barrier", "taskwait", "ordered", "nested",
			"tasks_deps", "idle"} {
			t.Run(rt.Name+"/"+program, func(t *testing.T) {
				private := privately(t, rt)
				e2e.CopyFile(t, rt.Lib, private.Lib)
				exe := omptest.Compile(t, omptest.Build{Program: program, Compiler: compiler})
				r := omptest.Dump(t, omptest.Run{Exe: exe, Runtime: private, Mode: omptest.Kernel})
				hide(t, private.Lib)
				pic := partial(t, r.Core)
				if !strings.Contains(complaints(pic), private.Lib) {
					t.Errorf("nothing says that %s is missing", private.Lib)
				}
				for _, want := range r.Truth.Threads {
					got := e2e.FindThread(pic, want.LWP)
					if got == nil || got.State == nil && want.OpenMP {
						t.Errorf("LWP %d: %+v", want.LWP, got)
						continue
					}
					got.Errors = nil // stacks end in the runtime
					state := want.State
					want.State, want.WaitID = "", 0
					e2e.CheckThread(t, pic, want, false)
					if state != "" && !slices.Contains(vaguer(state), string(got.State.Name)) &&
						!slices.Contains(vaguer(state), string(got.State.Standard)) {
						t.Errorf("LWP %d: %s (%s), the program says %s", want.LWP, got.State.Name, got.State.Evidence,
							state)
					}
				}
				e2e.CheckTasks(t, pic, r.Truth, true)
			})
		}
	}
}

// TestRuntimeMemoryLost looks at a core in which the runtime's variables are zeros, as in a program without
// OpenMP calls; but threads are in the runtime's code.
func TestRuntimeMemoryLost(t *testing.T) {
	exe := omptest.Compile(t, omptest.Build{Program: "barrier"})
	r := omptest.Dump(t, omptest.Run{Exe: exe, Runtime: omptest.RuntimeOf(t, 16), Mode: omptest.Kernel})
	core, err := os.ReadFile(r.Core)
	if err != nil {
		t.Fatal(err)
	}
	open, err := corefile.Open(r.Core, corefile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	mods, _ := open.Modules()
	i := slices.IndexFunc(mods, func(m *callbacks.Module) bool {
		return strings.HasPrefix(filepath.Base(m.Path), "libomp.so")
	})
	f, err := elf.NewFile(bytes.NewReader(core))
	if err != nil || i < 0 {
		t.Fatalf("%v, module %d of %d", err, i, len(mods))
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD && p.Flags&elf.PF_W != 0 && mods[i].Contains(callbacks.Addr(p.Vaddr)) {
			clear(core[p.Off : p.Off+p.Filesz])
		}
	}
	lost := filepath.Join(t.TempDir(), "core")
	if err := os.WriteFile(lost, core, 0o600); err != nil {
		t.Fatal(err)
	}
	e2e.CheckUnreadable(t, lost, "threads are in its code")
}

// TestRuntimeFileLost looks at cores of a program without usable file and memory of the runtime: it has made no
// OpenMP call, and the file is missing.
func TestRuntimeFileLost(t *testing.T) {
	for _, rt := range []omptest.Runtime{omptest.RuntimeOf(t, 11), omptest.Libgomp(t)} {
		t.Run(rt.Name, func(t *testing.T) {
			compiler := omptest.LLVM
			if strings.HasPrefix(rt.Name, "libgomp") {
				compiler = omptest.GCC
			}
			private := privately(t, rt)
			e2e.CopyFile(t, rt.Lib, private.Lib)
			exe := omptest.Compile(t, omptest.Build{Program: "crash_before", Compiler: compiler})
			r := omptest.Dump(t, omptest.Run{Exe: exe, Runtime: private, Mode: omptest.Kernel})
			hide(t, private.Lib)
			_, out, _ := e2e.Output(t, "doctor", r.Core)
			flat := strings.Join(strings.Fields(out), " ")
			if !strings.Contains(flat, "could not be read: ") || !strings.Contains(flat, "the file is not at hand") ||
				strings.Contains(flat, "no module of this program") {
				t.Errorf("doctor does not say that a runtime could not be read:\n%s", out)
			}
			saysUnread(t, r.Core)
		})
	}
}

// saysUnread requires that each verb reports an unreadable runtime in a core, instead of a core without a
// runtime or threads.
func saysUnread(t *testing.T, core string) {
	t.Helper()
	for _, verb := range []string{"report", "diagnose", "threads", "regions", "tasks", "icvs", "layout",
		"breakpoints"} {
		_, out, _ := e2e.Output(t, verb, core)
		flat := strings.Join(strings.Fields(out), " ")
		if !strings.Contains(flat, "could not be read: ") || !strings.Contains(flat, "the file is not at hand") {
			t.Errorf("%s does not say that the runtime could not be read:\n%s", verb, out)
		}
		for _, s := range []string{"not OpenMP", "0 parallel regions", "TASKS 0", "none known", "no cause of a hang"} {
			if strings.Contains(out, s) {
				t.Errorf("%s says %q:\n%s", verb, s, out)
			}
		}
	}
	_, out, _ := e2e.Output(t, "--json", core)
	pic := e2e.Decode(t, out)
	if len(pic.Runtimes) != 1 || !pic.Runtimes[0].Unread() {
		t.Errorf("runtimes %+v, want one that could not be read", pic.Runtimes)
	}
	for _, th := range pic.Threads {
		if th.Role != "unknown" {
			t.Errorf("LWP %d is %s, though the runtime could not be read", th.LWP, th.Role)
		}
	}
}

// vaguer returns the states that may replace one if the code in which a thread waits is unknown.
func vaguer(state string) []string {
	all := []string{state, "undefined"}
	switch state {
	case "wait_lock", "wait_critical":
		all = append(all, "wait_mutex")
	case "wait_barrier_explicit", "wait_barrier_implicit_workshare", "wait_barrier_implicit_parallel":
		all = append(all, "wait_barrier")
	}
	return all
}

// TestPatchedRuntime looks at a program whose runtime patchelf has changed, as auditwheel does for Python's wheels: its
// build ID is in another segment. The file is still proven to be the mapped one, in a core as in a process.
func TestPatchedRuntime(t *testing.T) {
	omptest.NeedsMore(t, "patchelf")
	patchelf := omptest.Program(t, "patchelf")
	exe := omptest.Compile(t, omptest.Build{Program: "barrier", Compiler: omptest.GCC})
	rt := omptest.Libgomp(t)
	private := privately(t, rt)
	e2e.CopyFile(t, rt.Lib, private.Lib)
	if out, err := exec.Command(patchelf, "--add-needed", "libm.so.6", "--set-rpath",
		"$ORIGIN/"+strings.Repeat("deep/", 100), private.Lib).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	run := omptest.Run{Exe: exe, Runtime: private, Mode: omptest.Kernel}
	if text := complaints(partial(t, omptest.Dump(t, run).Core)); strings.Contains(text, "without proof") {
		t.Errorf("core: %s", text)
	}
	_, out, _ := e2e.Output(t, "report", strconv.Itoa(omptest.Start(t, run).PID))
	if strings.Contains(out, "without proof") || !strings.Contains(out, "3 of 4 arrived at a barrier") {
		t.Errorf("process: %s", out)
	}
}
