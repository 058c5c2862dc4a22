package fronts

import (
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/cli"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// askedByLibompd are the symbols that LLVM's libompd and its gdb plugin look up, besides the description.
var askedByLibompd = strings.Fields(`ompd_dll_locations ompd_state ompd_env_block ompd_env_block_size
	ompd_dll_locations_valid ompd_bp_thread_begin ompd_bp_thread_end ompd_bp_parallel_begin ompd_bp_parallel_end
	ompd_bp_task_begin ompd_bp_task_end __kmp_gtid __kmp_threads __kmp_openmp_version __kmp_stksize
	__kmp_omp_cancellation __kmp_max_task_priority __kmp_display_affinity __kmp_affinity_format __kmp_tool
	__kmp_tool_libraries __kmp_tool_verbose_init __kmp_avail_proc __kmp_nested_nth __kmp_nested_proc_bind`)

// described is the number of words of the runtime's description of itself.
const described = 145

// symbolFile runs the verb and returns the file that it wrote below a directory.
func symbolFile(t *testing.T, of string) (dir, path string) {
	t.Helper()
	dir = t.TempDir()
	status, out, errs := e2e.Output(t, "symbols", of, "-o", dir)
	if status != cli.ExitOK || errs != "" {
		t.Fatalf("exit status %d: %s", status, errs)
	}
	path, _, _ = strings.Cut(out, ": ")
	return dir, path
}

// symbolsIn returns the symbols of an ELF file, by name.
func symbolsIn(t *testing.T, path string) map[string]elf.Symbol {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	list, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]elf.Symbol{}
	for _, s := range list {
		out[s.Name] = s
	}
	return out
}

// TestSymbolsOfFileAndCore compares the symbols derived from the code of a file with those derived from the
// memory of a program: the addresses of all symbols that a debugger may look up are equal.
func TestSymbolsOfFileAndCore(t *testing.T) {
	exe := omptest.Compile(t, omptest.Build{Program: "barrier"})
	for _, rt := range omptest.Runtimes(t) {
		t.Run(rt.Name, func(t *testing.T) {
			core := omptest.Dump(t, omptest.Run{Exe: exe, Runtime: rt, Mode: omptest.Kernel})
			_, ofFile := symbolFile(t, rt.Lib)
			_, ofCore := symbolFile(t, core.Core)
			file, memory := symbolsIn(t, ofFile), symbolsIn(t, ofCore)
			for _, name := range askedByLibompd {
				if _, ok := file[name]; !ok {
					t.Errorf("%s was not found in the file", name)
				}
			}
			words := 0
			for name, s := range file {
				if strings.HasPrefix(name, "ompd_access__") || strings.HasPrefix(name, "ompd_sizeof__") ||
					strings.HasPrefix(name, "ompd_bitfield__") {
					words++
				}
				if m, ok := memory[name]; ok && m.Value != s.Value {
					t.Errorf("%s is at %#x by the file and at %#x by the memory", name, s.Value, m.Value)
				}
			}
			if words != described || len(memory) < len(file) {
				t.Errorf("%d words of the description, want %d; %d symbols by the file, %d by the memory", words,
					described, len(file), len(memory))
			}
		})
	}
}

// pluginDir returns the directory of LLVM's gdb plugin of a version.
func pluginDir(t *testing.T, major int) string {
	t.Helper()
	lib := filepath.Dir(omptest.UnstrippedOMPD(t, major))
	dir := filepath.Join(filepath.Dir(lib), "share/gdb/python/ompd")
	if _, err := os.Stat(dir); err != nil {
		t.Fatalf("LLVM %d has no gdb plugin: %v", major, err)
	}
	return dir
}

// plugin is a run of gdb with LLVM's plugin.
type plugin struct {
	major   int    // of the plugin
	library string // directory of the OMPD library
	symbols string // directory of debug files
	runtime omptest.Runtime
	args    []string // for gdb: the executable, core or process
	// dir is the directory in which gdb starts, with a relative LD_LIBRARY_PATH to the directory lib in it. If it
	// is empty, gdb starts elsewhere, with absolute paths.
	dir string
}

// run runs commands after "ompd init" and returns gdb's output.
func (p plugin) run(t *testing.T, commands ...string) string {
	t.Helper()
	args := []string{"-q", "-nx", "-batch", "-iex", "set debuginfod enabled off", "-iex", "set pagination off", "-iex",
		"set auto-load safe-path /",
		"-iex", "set debug-file-directory " + p.symbols}
	args = append(args, p.args...)
	for _, c := range append([]string{"source " + filepath.Join(pluginDir(t, p.major), "__init__.py"), "ompd init"},
		commands...) {
		args = append(args, "-ex", c)
	}
	cmd := exec.Command("gdb", args...)
	cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+p.library+":"+p.runtime.Dir)
	if p.dir != "" {
		cmd.Dir, cmd.Env = p.dir, append(os.Environ(), "LD_LIBRARY_PATH=lib")
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("gdb %q: %v: apt-get install gdb\n%s", args, err, out)
	}
	return string(out)
}

// settings are the environment of the program of the next test, and the plugin's output for each variable inside
// a region: the lists have advanced there, to 3,2 and close.
var settings = []struct{ env, variable, value string }{
	{"OMP_NUM_THREADS=4,3,2", "nthreads-var", "3,2"},
	{"OMP_TOOL=disabled", "tool-var", "0"},
	{"OMP_TOOL_LIBRARIES=/nowhere/tool.so", "tool-libraries-var", "/nowhere/tool.so"},
	{"OMP_TOOL_VERBOSE_INIT=/dev/null", "tool-verbose-init-var", "/dev/null"},
	{"OMP_DISPLAY_AFFINITY=true", "display-affinity-var", "1"},
	{"OMP_AFFINITY_FORMAT=thread %n", "affinity-format-var", "thread %n"},
	{"OMP_PROC_BIND=spread,close", "bind-var", "3"},
	{"OMP_CANCELLATION=true", "cancel-var", "1"},
	{"OMP_MAX_TASK_PRIORITY=7", "max-task-priority-var", "7"},
	{"OMP_STACKSIZE=3M", "stacksize-var", "3145728"},
}

// TestSymbolsServeThePlugin runs LLVM's gdb plugin and libompd on stripped runtimes, which they do not support
// otherwise, on cores and on a process.
func TestSymbolsServeThePlugin(t *testing.T) {
	exe := omptest.Compile(t, omptest.Build{Program: "barrier"})
	env := []string{"OMP_DEBUG=enabled"}
	for _, s := range settings {
		env = append(env, s.env)
	}
	for _, major := range []int{16, 19} {
		rt := omptest.RuntimeOf(t, major)
		dir, _ := symbolFile(t, rt.Lib)
		p := plugin{major: major, library: filepath.Dir(omptest.UnstrippedOMPD(t, major)), symbols: dir, runtime: rt}
		t.Run(rt.Name+"/core", func(t *testing.T) {
			core := omptest.Dump(t, omptest.Run{Exe: exe, Runtime: rt, Mode: omptest.Kernel, Env: env})
			p.args = []string{exe, core.Core}
			if out := (plugin{major, p.library, t.TempDir(), rt, p.args, ""}).run(t); !strings.Contains(out,
				"No ompd_dll_locations symbol") {
				t.Errorf("without the symbol file the plugin says:\n%s", out)
			}
			checkPlugin(t, p)
		})
		t.Run(rt.Name+"/process", func(t *testing.T) {
			proc := omptest.Start(t, omptest.Run{Exe: exe, Runtime: rt, Mode: omptest.Live, Env: env})
			p.args = []string{"-p", fmt.Sprint(proc.PID)}
			checkPlugin(t, p)
		})
	}
}

// checkPlugin checks the plugin's output for the variables and the region.
func checkPlugin(t *testing.T, p plugin) {
	t.Helper()
	out := p.run(t, "thread 1", "ompd icvs", "ompd parallel", "info symbol ompd_bp_parallel_begin")
	for _, s := range settings {
		line := regexp.MustCompile(`(?m)^` + s.variable + ` +\w+ +(.*)$`).FindStringSubmatch(out)
		if line == nil || line[1] != s.value {
			t.Errorf("started with %s, the plugin shows %q", s.env, line)
		}
	}
	for _, want := range []string{"Loaded OMPD lib successfully!", "Parallel Region: Nesting Level 1: Team Size: 4",
		"ompt_state_wait_barrier", "ompd_bp_parallel_begin in section .text of "} {
		if !strings.Contains(out, want) {
			t.Errorf("the plugin does not say %q", want)
		}
	}
	if t.Failed() {
		t.Log(out)
	}
}
