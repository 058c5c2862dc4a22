package report

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/cli"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// TestBadFilesAreRefused gives the tool files that it must refuse with status 1, the file's name, the cause, and
// advice.
func TestBadFilesAreRefused(t *testing.T) {
	whole := e2e.DumpProgram(t, "tasks_queued")
	header := func(change func(b []byte)) func(string) error {
		return func(path string) error {
			b, err := os.ReadFile(whole.Core)
			if err != nil {
				return err
			}
			b = b[:1<<16]
			change(b)
			return os.WriteFile(path, b, 0o600)
		}
	}
	file := func(content string) func(string) error {
		return func(path string) error { return os.WriteFile(path, []byte(content), 0o600) }
	}
	const fix = "gcore PID"
	for _, tt := range []struct {
		name  string
		make  func(path string) error
		cause string
		fix   string
	}{
		{"missing", func(string) error { return nil }, "no such file", "--help"},
		{"directory", func(p string) error { return os.Mkdir(p, 0o700) }, "not a regular file", fix},
		{"empty", file(""), "it is empty", fix},
		{"text", file("hello\n"), "a text file", fix},
		{"script", file("#!/bin/sh\n"), "a script", fix},
		{"zeros", file(strings.Repeat("\x00", 4096)), "not an ELF file", fix},
		{"executable", func(p string) error { return os.Symlink(whole.Exe, p) }, "an executable",
			"`ompd-inspect "},
		{"library", func(p string) error { return os.Symlink(whole.Runtime.Lib, p) }, "a shared library", fix},
		{"one byte", file("\x7f"), "not a core", fix},
		{"32 bit", header(func(b []byte) { b[elf.EI_CLASS] = byte(elf.ELFCLASS32) }), "32-bit", "x86-64"},
		{"big endian", header(func(b []byte) { b[elf.EI_DATA] = byte(elf.ELFDATA2MSB) }), "big-endian", "x86-64"},
		{"s390", header(func(b []byte) { binary.LittleEndian.PutUint16(b[18:], uint16(elf.EM_S390)) }), "s390",
			"x86-64"},
		{"riscv", header(func(b []byte) { binary.LittleEndian.PutUint16(b[18:], uint16(elf.EM_RISCV)) }), "riscv",
			"x86-64"},
		{"zstd of nothing", file("\x28\xb5\x2f\xfd\x00"), "decompress", ""},
		{"gzip of nothing", file("\x1f\x8b\x08\x00"), "decompress", ""},
		{"xz of nothing", file("\xfd7zXZ\x00"), "decompress", ""},
		{"lz4 of nothing", file("\x04\x22\x4d\x18\x00"), "decompress", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "core.1234")
			if err := tt.make(path); err != nil {
				t.Fatal(err)
			}
			a := e2e.OutputInTime(t, path)
			if a.Status != cli.ExitError || a.Stdout != "" {
				t.Errorf("exit status %d, output %q", a.Status, a.Stdout)
			}
			for _, want := range []string{"ompd-inspect: ", path, tt.cause, tt.fix} {
				if !strings.Contains(a.Errs, want) {
					t.Errorf("%q; want %q in it", a.Errs, want)
				}
			}
			if strings.Count(a.Errs, "\n") > 2 {
				t.Errorf("too long: %s", a.Errs)
			}
		})
	}
}

// TestTruncatedCores truncates a core at each boundary of its headers and in 50 other places. Each is refused
// with a cause, or gives a picture that names the missing parts.
func TestTruncatedCores(t *testing.T) {
	e, _ := coreFor(t, "tasks_queued")
	var cuts []int
	for i := range len(e.elf.Progs) + 1 {
		cuts = append(cuts, 64+56*i)
	}
	for _, p := range e.elf.Progs {
		cuts = append(cuts, int(p.Off), int(p.Off+p.Filesz)-1)
	}
	for i := range 50 {
		cuts = append(cuts, i*len(e.data)/50+i)
	}
	slices.Sort(cuts)
	slices.Reverse(cuts)
	path := e.write()
	pictures, refusals := 0, 0
	for _, n := range slices.Compact(cuts) {
		if n < 0 || n >= len(e.data) {
			continue
		}
		if err := os.Truncate(path, int64(n)); err != nil {
			t.Fatal(err)
		}
		a := e2e.OutputInTime(t, "report", path)
		switch {
		case a.Status == cli.ExitOK && strings.Contains(a.Stdout, "truncated") && a.Errs == "":
			pictures++
		case a.Status == cli.ExitError && a.Stdout == "" && strings.Contains(a.Errs, path) &&
			strings.Contains(a.Errs, "ulimit -c unlimited"):
			refusals++
		default:
			t.Errorf("cut at %d of %d: exit status %d, %s\n%.400s", n, len(e.data), a.Status, a.Errs, a.Stdout)
		}
	}
	if pictures < 20 || refusals < len(e.elf.Progs) {
		t.Errorf("%d pictures, %d refusals", pictures, refusals)
	}
}

// TestProgramFilesMissing removes files of the core's program.
func TestProgramFilesMissing(t *testing.T) {
	dir := t.TempDir()
	exe := filepath.Join(dir, "program")
	lib := filepath.Join(dir, "lib")
	built := e2e.DumpProgram(t, "critical")
	e2e.CopyFile(t, built.Exe, exe)
	if err := os.Mkdir(lib, 0o700); err != nil {
		t.Fatal(err)
	}
	rt := built.Runtime
	e2e.CopyFile(t, rt.Lib, filepath.Join(lib, "libomp.so.5"))
	r := omptest.Dump(t, omptest.Run{Exe: exe,
		Runtime: omptest.Runtime{Name: rt.Name, Lib: filepath.Join(lib, "libomp.so.5"), Dir: lib},
		Mode:    omptest.Kernel})
	whole := partial(t, r.Core)
	if s := complaints(whole); s != "" || len(whole.Regions) < 2 {
		t.Fatalf("whole: %s", s)
	}

	t.Run("executable", func(t *testing.T) {
		hide(t, exe)
		pic := partial(t, r.Core)
		wantPicture(t, pic, len(whole.Threads), len(whole.Regions), exe)
		wantDoctor(t, r.Core, "program", "--exe")
		wantPicture(t, partial(t, r.Core, "--exe", built.Exe), len(whole.Threads), len(whole.Regions), "")
	})
	t.Run("wrong executable", func(t *testing.T) {
		hide(t, exe)
		e2e.CopyFile(t, omptest.Compile(t, omptest.Build{Program: "barrier"}), exe)
		defer os.Remove(exe)
		wantPicture(t, partial(t, r.Core), len(whole.Threads), len(whole.Regions), "build ID")
		other := omptest.Compile(t, omptest.Build{Program: "nested"})
		wantPicture(t, partial(t, r.Core, "--exe", other), len(whole.Threads), len(whole.Regions), "build ID")
	})
	t.Run("runtime", func(t *testing.T) {
		hide(t, r.Runtime.Lib)
		pic := partial(t, r.Core)
		if len(pic.Threads) != len(whole.Threads) || !strings.Contains(complaints(pic), r.Runtime.Lib) {
			t.Errorf("%d threads, %s", len(pic.Threads), complaints(pic))
		}
		wantDoctor(t, r.Core, "libomp.so.5", "--sysroot")
	})
	t.Run("sysroot", func(t *testing.T) {
		root := t.TempDir()
		for _, f := range []string{exe, r.Runtime.Lib} {
			if err := os.MkdirAll(filepath.Join(root, filepath.Dir(f)), 0o700); err != nil {
				t.Fatal(err)
			}
			e2e.CopyFile(t, f, filepath.Join(root, f))
			hide(t, f)
		}
		pic := partial(t, r.Core, "--sysroot", root)
		if len(pic.Regions) != len(whole.Regions) || pic.Regions[1].Function.Line != whole.Regions[1].Function.Line {
			t.Errorf("%d regions, %s", len(pic.Regions), complaints(pic))
		}
	})
}

// hide removes a file for the duration of a test.
func hide(t *testing.T, path string) {
	t.Helper()
	if err := os.Rename(path, path+".hidden"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.Rename(path+".hidden", path); err != nil {
			t.Error(err)
		}
	})
}

// wantPicture requires numbers of threads and regions in a picture, and words in its complaints.
func wantPicture(t *testing.T, pic *picture.Picture, threads, regions int, says string) {
	t.Helper()
	if len(pic.Threads) != threads || len(pic.Regions) != regions {
		t.Errorf("%d threads and %d regions, want %d and %d", len(pic.Threads), len(pic.Regions), threads, regions)
	}
	got := complaints(pic)
	if !strings.Contains(got, says) || says == "" && got != "" {
		t.Errorf("complaints %q, want %q", got, says)
	}
}

// wantDoctor requires that doctor names the missing file and the next command.
func wantDoctor(t *testing.T, core, name, fix string) {
	t.Helper()
	a := e2e.OutputInTime(t, "doctor", core)
	at := strings.Index(a.Stdout, name)
	if a.Status != cli.ExitOK || at < 0 || !strings.Contains(a.Stdout[at:], fix) {
		t.Errorf("doctor does not say %q and %q:\n%s%s", name, fix, a.Stdout, a.Errs)
	}
}

// TestCoresWithoutRuntimeData gives the tool cores without the memory of the runtime's data: written under a
// coredump_filter that omits it, or changed so.
func TestCoresWithoutRuntimeData(t *testing.T) {
	e, r := coreFor(t, "tasks_deps")
	mapped := func(p *elf.Prog) bool { return p.Type == elf.PT_LOAD && p.Filesz > 0 }
	pool := e.global("__kmp_thread_pool")
	heap := idAddress(t, e.pic.Regions[0].ID)
	for name, drop := range map[string]func(p *elf.Prog) bool{
		"runtime's data": func(p *elf.Prog) bool { return pool-p.Vaddr < p.Filesz },
		"heap":           func(p *elf.Prog) bool { return heap-p.Vaddr < p.Filesz },
		"everything":     func(p *elf.Prog) bool { return true },
	} {
		t.Run(name, func(t *testing.T) {
			c := e.copy()
			dropped := 0
			for i, p := range c.elf.Progs {
				if mapped(p) && drop(p) {
					binary.LittleEndian.PutUint64(c.data[64+56*i+32:], 0) // p_filesz
					dropped++
				}
			}
			pic := partial(t, c.write())
			if dropped == 0 || len(pic.Threads) < len(e.pic.Threads) || complaints(pic) == "" {
				t.Errorf("%d segments dropped, %d threads, complaints %q", dropped, len(pic.Threads), complaints(pic))
			}
		})
	}
	t.Run("coredump_filter", func(t *testing.T) {
		pic := partial(t, filteredCore(t, r, "0"))
		if pic.Target.PID == 0 || pic.Target.Signal == "" || complaints(pic) == "" {
			t.Errorf("pid %d, signal %q, complaints %q", pic.Target.PID, pic.Target.Signal, complaints(pic))
		}
	})
}

// filteredCore runs a program again with another coredump_filter.
func filteredCore(t *testing.T, r *omptest.Result, filter string) string {
	t.Helper()
	dir := t.TempDir()
	sh := filepath.Join(dir, "run")
	script := fmt.Sprintf("#!/bin/sh\necho %s >/proc/self/coredump_filter\nexec %s \"$@\"\n", filter, r.Exe)
	if err := os.WriteFile(sh, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := exec.LookPath("sh"); err != nil {
		t.Fatal(err)
	}
	return omptest.Dump(t, omptest.Run{Exe: sh, Runtime: r.Runtime, Mode: omptest.Kernel}).Core
}
