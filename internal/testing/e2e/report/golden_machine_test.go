package report

import (
	"bytes"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// machineGolden describes how a golden core of a machine for aarch64 is made.
type machineGolden struct {
	name    string
	program string // cgo: the Go program
	family  string // of the runtime
	major   int
	flags   []string
	args    []string
	strip   bool
}

// guarded are the flags of code that signs return addresses and marks branch targets.
var guarded = []string{"-O2", "-march=armv8.3-a", "-mbranch-protection=standard"}

// machineGoldens returns the golden cores for aarch64 that a test can make: other releases of the runtimes, and other
// waits, than those of the older cores.
func machineGoldens() []machineGolden {
	const gnu, llvm = "libgomp", "libomp"
	return []machineGolden{
		{name: "aarch64-tail-regions", program: "serialized_nested", family: gnu, major: 12,
			flags: []string{"-O2", "-g"}},
		{name: "aarch64-16-tasks", program: "tasks_queued", family: gnu, major: 16, flags: append(guarded, "-g")},
		{name: "aarch64-llvm-14-tasks", program: "tasks_deps", family: llvm, major: 14, flags: append(guarded, "-g")},
		{name: "aarch64-14-barrier-left", program: "verdict_barrier_left", family: gnu, major: 14,
			flags: []string{"-O1", "-g"}},
		{name: "aarch64-llvm-15-cycle", program: "verdict_critical_cycle", family: llvm, major: 15,
			flags: []string{"-O1", "-g"}},
		{name: "aarch64-llvm-17-ordered", program: "ordered", family: llvm, major: 17, flags: append(guarded, "-g")},
		{name: "aarch64-llvm-18-doacross", program: "verdict_doacross", family: llvm, major: 18,
			flags: []string{"-O2", "-g"}, args: []string{"0"}},
		{name: "aarch64-llvm-16-critical", program: "critical", family: llvm, major: 16, flags: []string{"-O1", "-g"}},
		{name: "aarch64-llvm-16-stripped", program: "barrier", family: llvm, major: 16, flags: guarded, strip: true},
		{name: "aarch64-llvm-23-nested", program: "nested", family: llvm, major: 23, flags: []string{"-O0", "-g"}},
		{name: "aarch64-go", program: "cgo", family: gnu, major: 12, flags: []string{"-trimpath", "-ldflags=-s -w"},
			strip: true},
	}
}

// TestRemakeMachineGolden makes the golden cores for aarch64 again. Libraries that are there stay as they are, and must
// be those of the machine.
func TestRemakeMachineGolden(t *testing.T) {
	if !*remake {
		t.Skip("golden cores are made again with -remake only")
	}
	m := omptest.StartMachine(t, omptest.MachineOptions{CPUs: 2})
	for _, c := range machineGoldens() {
		t.Run(c.name, func(t *testing.T) { c.make(t, m) })
	}
}

// make runs the program in the machine, and keeps its core, its executable and its libraries.
func (c machineGolden) make(t *testing.T, m *omptest.Machine) {
	b := omptest.Build{Program: c.program, Strip: c.strip,
		Flags: append(c.flags[:len(c.flags):len(c.flags)], "-ffile-prefix-map="+omptest.Programs(t)+"=/src")}
	if c.family == "libgomp" {
		b.Compiler = omptest.GCC
	}
	home := path.Join(goldenHome, c.name)
	rt, flags := omptest.MachineRuntime(c.family, c.major)
	b.Flags = append(b.Flags, flags...)
	var exe string
	if c.program == "cgo" {
		exe = omptest.CompileGoForMachine(t, b.Compiler, c.flags...)
	} else {
		exe = omptest.CompileForMachine(t, b)
	}
	look := m.Run(t, home, omptest.Run{Exe: exe, Args: c.args, Runtime: rt,
		Env: []string{"OMP_STACKSIZE=256k", "GOMP_SPINCOUNT=0"}})
	dir := filepath.Join(e2e.GoldenDir, c.name)
	pack(t, look.Core, filepath.Join(dir, "core.zst"))
	pack(t, look.Exe, filepath.Join(dir, "exe.zst"))
	for _, file := range mappedFiles(t, look.Core) {
		if strings.HasPrefix(file, home) {
			continue
		}
		own, kept := filepath.Join(m.Root, file), filepath.Join(t.TempDir(), "kept")
		to := filepath.Join(e2e.GoldenDir, "sysroot", file+".zst")
		if _, err := os.Stat(to); err != nil {
			pack(t, own, to)
		} else if err := omptest.Unpack(to, kept); err != nil || !sameContent(t, own, kept) {
			t.Errorf("%s is another one than that of the machine (%v)", to, err)
		}
	}
}

// sameContent reports whether two files are equal.
func sameContent(t *testing.T, a, b string) bool {
	t.Helper()
	x, err := os.ReadFile(a)
	if err != nil {
		t.Fatal(err)
	}
	y, err := os.ReadFile(b)
	return err == nil && bytes.Equal(x, y)
}
