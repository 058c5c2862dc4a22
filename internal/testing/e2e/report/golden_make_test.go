package report

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// remake makes TestRemakeGolden write the golden cores again.
var remake = flag.Bool("remake", false, "make the cores of testdata/golden again (needs what all tests need)")

// goldenHome is the directory of the golden programs and their libraries while they run: the cores have these
// paths.
const goldenHome = "/tmp/golden"

// goldenCase describes how one golden core is made.
type goldenCase struct {
	name    string
	program string
	runtime string // libomp-16, libgomp-12, or empty: the program brings its own
	flags   []string
	args    []string
	env     []string
	strip   bool
	mode    omptest.Mode // empty: the program hangs, and is ended by SIGABRT
}

// goldenCases returns the golden cores: each kind of wait, of verdict and of death, on the runtimes that differ
// most. Those for aarch64 are made on a machine of that kind (testdata/golden/README.md).
func goldenCases() []goldenCase {
	o0, o1, o2 := []string{"-O0", "-g"}, []string{"-O1", "-g"}, []string{"-O2", "-g"}
	small := []string{"OMP_STACKSIZE=256K"}
	return []goldenCase{
		{name: "llvm-barrier", program: "barrier", runtime: "libomp-16", flags: o1, mode: omptest.Kernel},
		{name: "llvm-taskwait", program: "taskwait", runtime: "libomp-16", flags: o2, mode: omptest.Kernel},
		{name: "llvm-tasks-deps", program: "tasks_deps", runtime: "libomp-16", flags: o1, mode: omptest.Kernel},
		{name: "llvm-nested", program: "nested", runtime: "libomp-19", flags: o2, mode: omptest.Kernel},
		{name: "llvm-stripped", program: "critical", runtime: "libomp-19", flags: []string{"-O2"}, strip: true,
			mode: omptest.Kernel},
		{name: "llvm-crash", program: "crash_task", runtime: "libomp-16", flags: o1, mode: omptest.Segv},
		{name: "llvm-deadlock", program: "lock_cycle", runtime: "libomp-16", flags: o1},
		{name: "llvm-deadlock-barrier", program: "verdict_critical_barrier", runtime: "libomp-16", flags: o0},
		{name: "llvm-deadlock-task", program: "verdict_task_lock", runtime: "libomp-19", flags: o2},
		{name: "llvm-lock-kept", program: "verdict_lock_kept", runtime: "libomp-16", flags: o1},
		{name: "llvm-barrier-left", program: "verdict_barrier_left", runtime: "libomp-16", flags: o1},
		{name: "llvm-task-starved", program: "verdict_tied", runtime: "libomp-16", flags: o1},
		{name: "llvm-healthy", program: "healthy_released", runtime: "libomp-16", flags: o1},
		{name: "gnu-barrier", program: "barrier", runtime: "libgomp-12", flags: o1, mode: omptest.Kernel},
		{name: "gnu-ordered", program: "ordered", runtime: "libgomp-12", flags: o2, mode: omptest.Kernel},
		{name: "gnu-nested", program: "nested", runtime: "libgomp-12", flags: o2, mode: omptest.Kernel},
		{name: "gnu-tasks-queued", program: "tasks_queued", runtime: "libgomp-12", flags: o0, mode: omptest.Kernel},
		{name: "gnu-stripped", program: "reduction", runtime: "libgomp-12", flags: []string{"-O2"}, strip: true,
			mode: omptest.Kernel},
		{name: "gnu-stack-overflow", program: "verdict_stack_array", runtime: "libgomp-12", flags: o2,
			env: []string{"OMP_STACKSIZE=2M"}, mode: omptest.Kernel},
		{name: "gnu-deadlock", program: "verdict_critical_cycle", runtime: "libgomp-12", flags: o2},
		{name: "gnu-deadlock-depend", program: "verdict_depend", runtime: "libgomp-12", flags: o2, args: []string{"1"}},
		{name: "gnu-deadlock-join", program: "verdict_join", runtime: "libgomp-12", flags: o1},
		{name: "gnu-old-nest-lock", program: "verdict_nest_cycle", runtime: "libgomp-10", flags: o1, env: small},
		{name: "gnu-lock-freed", program: "verdict_lock_freed", runtime: "libgomp-12", flags: o1, args: []string{"1"},
			env: []string{"GOMP_SPINCOUNT=0"}},
		{name: "gnu-one-thread", program: "verdict_one_thread", runtime: "libgomp-12", flags: o1,
			args: []string{"4", "1"}},
		{name: "foreign", program: "foreign", flags: o1, mode: omptest.Kernel},
	}
}

// TestRemakeGolden makes the golden cores again. Read the tool's output on them before you store it by -update.
func TestRemakeGolden(t *testing.T) {
	if !*remake {
		t.Skip("golden cores are made again with -remake only")
	}
	sysroot := filepath.Join(e2e.GoldenDir, "sysroot")
	for _, dir := range []string{goldenHome, sysroot + goldenHome, filepath.Join(sysroot, "usr/lib/x86_64-linux-gnu")} {
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range goldenCases() {
		t.Run(c.name, c.make)
	}
}

// make makes one core, and keeps its executable and its libraries.
func (c goldenCase) make(t *testing.T) {
	run := c.run(t)
	t.Setenv("HOME", "/")
	t.Setenv("PATH", "/usr/bin:/bin")
	dir := filepath.Join(e2e.GoldenDir, c.name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	core := c.core(t, run)
	pack(t, core, filepath.Join(dir, "core.zst"))
	pack(t, run.Exe, filepath.Join(dir, "exe.zst"))
	for _, file := range mappedFiles(t, core) {
		if file != run.Exe {
			pack(t, file, filepath.Join(e2e.GoldenDir, "sysroot", file+".zst"))
		}
	}
}

// run builds the program, copies it and its runtime below goldenHome, and returns how to run it there.
func (c goldenCase) run(t *testing.T) omptest.Run {
	t.Helper()
	flags := append(slices.Clone(c.flags), "-ffile-prefix-map="+omptest.Programs(t)+"=/src")
	r := omptest.Run{Args: c.args, Env: c.env, Mode: c.mode}
	family, release, _ := strings.Cut(c.runtime, "-")
	switch major, _ := strconv.Atoi(release); family {
	case "libomp":
		r.Runtime = omptest.RuntimeOf(t, major)
		r.Exe = omptest.Compile(t, omptest.Build{Program: c.program, Flags: flags, Strip: c.strip})
	case "libgomp":
		all := omptest.Libgomps(t)
		r.Runtime = all[slices.IndexFunc(all, func(r omptest.Runtime) bool { return r.Major == major })]
		r.Exe = omptest.Compile(t, omptest.Build{Program: c.program, Compiler: omptest.GCC, Flags: flags,
			Strip: c.strip})
	default:
		exe := omptest.Foreign(t, false, flags...)
		r.Runtime.Lib = filepath.Join(filepath.Dir(exe), "libcrew.so")
		r.Exe = exe
	}
	lib := r.Runtime.Lib
	r.Exe = copyTo(t, r.Exe, filepath.Join(goldenHome, c.name, c.program))
	r.Runtime.Dir = filepath.Join(goldenHome, c.runtime)
	if c.runtime == "" {
		r.Runtime.Dir = filepath.Dir(r.Exe)
	}
	r.Runtime.Lib = copyTo(t, lib, filepath.Join(r.Runtime.Dir, filepath.Base(lib)))
	return r
}

// core runs the program and returns the path of the core that it leaves.
func (c goldenCase) core(t *testing.T, r omptest.Run) string {
	t.Helper()
	defer omptest.CoresInPlace(t)()
	dir := t.TempDir()
	if r.Mode == "" {
		p := omptest.Start(t, r)
		cwd, err := os.Readlink("/proc/" + strconv.Itoa(p.PID) + "/cwd")
		if err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(p.PID, syscall.SIGABRT); err != nil {
			t.Fatal(err)
		}
		p.Wait()
		dir = cwd
	} else if out, err := r.Command(dir, string(r.Mode)).CombinedOutput(); err == nil {
		t.Fatalf("it did not die\n%s", out)
	}
	cores, _ := filepath.Glob(filepath.Join(dir, "core*"))
	if len(cores) != 1 {
		t.Fatalf("%d cores in %s", len(cores), dir)
	}
	return cores[0]
}

// copyTo copies an executable file.
func copyTo(t *testing.T, from, to string) string {
	t.Helper()
	data, err := os.ReadFile(from)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(to), 0o755)
	}
	if err == nil {
		err = os.WriteFile(to, data, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	return to
}

// pack compresses a file.
func pack(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBestCompression))
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, e.EncodeAll(data, nil), 0o644); err != nil {
		t.Fatal(err)
	}
}

// mappedFiles returns the paths of the files that a core's process had mapped (NT_FILE).
func mappedFiles(t *testing.T, core string) []string {
	t.Helper()
	const ntFile = 0x46494c45
	f, err := elf.Open(core)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type != elf.PT_NOTE {
			continue
		}
		notes := make([]byte, p.Filesz)
		if _, err := p.ReadAt(notes, 0); err != nil {
			t.Fatal(err)
		}
		for len(notes) > 12 {
			name, size := align4(binary.LittleEndian.Uint32(notes)), align4(binary.LittleEndian.Uint32(notes[4:]))
			desc := notes[12+name:][:size]
			if binary.LittleEndian.Uint32(notes[8:]) == ntFile {
				count := binary.LittleEndian.Uint64(desc)
				names := strings.Split(string(bytes.TrimRight(desc[16+24*count:], "\x00")), "\x00")
				slices.Sort(names)
				return slices.Compact(names)
			}
			notes = notes[12+name+size:]
		}
	}
	t.Fatalf("%s names no files", core)
	return nil
}

// align4 rounds up to a multiple of 4, as in notes.
func align4(n uint32) uint32 { return (n + 3) &^ 3 }
