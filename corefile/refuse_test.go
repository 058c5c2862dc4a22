package corefile

import (
	"debug/elf"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	text := func(name, content string) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		return name
	}
	core, err := os.ReadFile(runPlain(t, "abort").core)
	if err != nil {
		t.Fatal(err)
	}
	header := func(name string, change func(b []byte)) string {
		b := append([]byte(nil), core[:4096]...)
		change(b)
		return text(name, string(b))
	}
	exe := compileC(t, filepath.Join(dir, "exe"), "testdata/plain.c")
	lib := compileC(t, filepath.Join(dir, "lib.so"), "-shared", "-fPIC", "testdata/library.c")
	obj := compileC(t, filepath.Join(dir, "lib.o"), "-c", "testdata/library.c")
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		path string
		want error
		says []string
	}{
		{filepath.Join(dir, "none"), os.ErrNotExist, nil},
		{dir, ErrNotCore, []string{"not a regular file"}},
		{pipe, ErrNotCore, []string{"not a regular file"}},
		{text("empty", ""), ErrNotCore, []string{"empty", "ulimit -c unlimited"}},
		{text("script", "#!/bin/sh\nexit\n"), ErrNotCore, []string{"a script", "gcore PID"}},
		{text("text", "Größe: 1\n"), ErrNotCore, []string{"a text file", "gcore PID"}},
		{text("bytes", "\x00\x01\x02\x03\x04"), ErrNotCore, []string{"not an ELF file"}},
		{text("mdmp", "MDMP\x93\xa7"), ErrNotCore, []string{"minidump"}},
		{text("magic", elf.ELFMAG), ErrNotCore, []string{"first bytes of an ELF file"}},
		{exe, ErrNotCore, []string{"an executable", "ulimit -c unlimited", "gcore PID"}},
		{lib, ErrNotCore, []string{"a shared library"}},
		{obj, ErrNotCore, []string{"an object file"}},
		{header("386", func(b []byte) { b[4], b[18] = 1, byte(elf.EM_386) }), ErrArch, []string{"32-bit", "386"}},
		{header("s390", func(b []byte) { b[5], b[18], b[19] = 2, 0, byte(elf.EM_S390) }), ErrArch,
			[]string{"big-endian", "s390"}},
		{header("riscv", func(b []byte) { b[18] = byte(elf.EM_RISCV) }), ErrArch, []string{"riscv"}},
		{header("no program headers", func(b []byte) { clear(b[56:58]) }), ErrNotCore, []string{"no threads"}},
	} {
		c, err := Open(tt.path, Options{})
		if c != nil || !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.path) {
			t.Errorf("%s: %v; want %v", tt.path, err, tt.want)
			continue
		}
		for _, s := range tt.says {
			if !strings.Contains(err.Error(), s) {
				t.Errorf("%s: %q; want %q in it", tt.path, err, s)
			}
		}
	}
}

// TestTruncated cuts a core at and around each boundary of its headers, its notes
// and its segments.
func TestTruncated(t *testing.T) {
	p := runPlain(t, "gcore", "-static")
	b, err := os.ReadFile(p.core)
	if err != nil {
		t.Fatal(err)
	}
	e := newEdit(t, p.core)
	e.b = e.b[:64] // notes and program headers are first, then memory
	for i := range e.loads {
		e.loads[i].Off += 1 << 20
	}
	front := e.assemble()
	core := append(front, make([]byte, 1<<20-len(front))...)
	core = append(core, b...)
	headers := 56 * (len(e.loads) + 1)
	notes := len(front) - headers

	for _, n := range []int{1, 3, 4, 15, 16, 20, 63, 64, 65, notes - 1, notes, notes + 55, notes + 56, len(front) - 1} {
		c, err := Open(writeCore(t, core[:n]), Options{})
		want := ErrTruncated
		if n < 16 {
			want = ErrNotCore
		}
		if c != nil || !errors.Is(err, want) || !strings.Contains(err.Error(), "ulimit -c unlimited") {
			t.Errorf("cut at %d: %v, want %v", n, err, want)
		}
	}
	whole := open(t, writeCore(t, core), Options{})
	if whole.Info().Truncated {
		t.Error("the whole core is said to be truncated")
	}
	cuts := []int{len(front), 1 << 20}
	for _, l := range e.loads {
		cuts = append(cuts, int(l.Off)+1, int(l.Off+l.Filesz)-1)
	}
	for _, n := range cuts {
		if n < len(core) {
			checkCut(t, whole, open(t, writeCore(t, core[:n]), Options{}), uint64(n))
		}
	}
}

// checkCut compares a cut core with the whole one at the edges of all regions.
func checkCut(t *testing.T, whole, cut *Core, n uint64) {
	t.Helper()
	info := cut.Info()
	if !info.Truncated || len(info.Warnings) != 1 ||
		!strings.Contains(info.Warnings[0], "bytes of memory are missing") {
		t.Errorf("cut at %d: truncated %v, warnings %q", n, info.Truncated, info.Warnings)
	}
	if len(cut.threads) != len(whole.threads) {
		t.Errorf("cut at %d: %d threads, want %d", n, len(cut.threads), len(whole.threads))
	}
	for _, r := range whole.regions {
		for _, at := range []uint64{0, r.captured - 8} {
			if r.captured == 0 {
				continue
			}
			var want, got [8]byte
			a := callbacks.Addr(r.low + at)
			if err := whole.ReadMemory(a, want[:]); err != nil {
				t.Fatal(err)
			}
			err := cut.ReadMemory(a, got[:])
			lost := r.offset+at+8 > n
			if err == nil && got != want || err != nil &&
				(!lost || !errors.Is(err, ErrTruncated) || !errors.Is(err, callbacks.ErrNotCaptured)) {
				t.Errorf("cut at %d: %v is %x, %v; want %x", n, a, got, err, want)
			}
		}
	}
}

// TestTruncatedNotes cuts a core within the notes of its threads.
func TestTruncatedNotes(t *testing.T) {
	p := runPlain(t, "abort")
	e := newEdit(t, p.core)
	e.loads = nil
	e.b = e.b[:64]
	b := e.assemble() // notes, then one program header
	head := len(b) - 56
	moved := append(append(append([]byte(nil), b[:64]...), b[head:]...), b[64:head]...)
	putWord(moved[32:40], 64)    // e_phoff
	putWord(moved[64+8:], 64+56) // p_offset
	cut := writeCore(t, moved[:len(moved)*2/3])
	c := open(t, cut, Options{})
	if n := len(c.threads); n == 0 || n >= len(p.threads) || !c.Info().Truncated {
		t.Errorf("%d threads of %d, truncated %v", n, len(p.threads), c.Info().Truncated)
	}
}

// TestMemoryLaws checks memory that must not be readable: holes, address 0, and memory that the
// program excluded from the core.
func TestMemoryLaws(t *testing.T) {
	p := runPlain(t, "abort")
	e := newEdit(t, p.core)
	last := e.loads[0]
	last.Vaddr, last.Memsz, last.Filesz, last.Flags = 1<<40, 1<<20, 0, uint32(elf.PF_R|elf.PF_W)
	e.loads = append(e.loads, last)
	c := open(t, e.write(t), Options{})
	for _, tt := range []struct {
		at   uint64
		want error
	}{
		{0, callbacks.ErrUnmapped}, {1<<40 - 1, callbacks.ErrUnmapped}, {1<<40 + 1<<20, callbacks.ErrUnmapped},
		{1 << 40, callbacks.ErrNotCaptured}, {1<<40 + 1<<20 - 1, callbacks.ErrNotCaptured},
	} {
		var f *callbacks.FaultError
		err := c.ReadMemory(callbacks.Addr(tt.at), make([]byte, 1))
		if !errors.As(err, &f) || f.Address.Offset != tt.at || !errors.Is(err, tt.want) {
			t.Errorf("%#x: %v, want %v", tt.at, err, tt.want)
		}
	}
}

// TestNothingWritten checks a core without private memory (coredump_filter 0x10): data that the
// program may have written is not read from the file.
func TestNothingWritten(t *testing.T) {
	p := runPlain(t, "abort")
	e := newEdit(t, p.core)
	for i, l := range e.loads {
		if elf.ProgFlag(l.Flags)&elf.PF_W != 0 {
			e.loads[i].Filesz = 0
		}
	}
	c := open(t, e.write(t), Options{})
	for _, a := range []uint64{p.globalData, p.untouched} {
		if err := c.ReadMemory(callbacks.Addr(a), make([]byte, 4)); !errors.Is(err, callbacks.ErrNotCaptured) {
			t.Errorf("data at %#x: %v, want ErrNotCaptured", a, err)
		}
	}
	var b [8]byte
	if err := c.ReadMemory(callbacks.Addr(p.constant), b[:]); err != nil || string(b[:]) != "constant" {
		t.Errorf("a constant: %q, %v", b, err)
	}
}

// TestDeletedWhileRunning makes a core of a program after its file was deleted.
func TestDeletedWhileRunning(t *testing.T) {
	exe := compileC(t, filepath.Join(t.TempDir(), "plain"), "testdata/plain.c")
	kept := copyFile(t, exe, filepath.Join(t.TempDir(), "kept"))
	script := filepath.Join(t.TempDir(), "run")
	// The program aborts only after the shell has removed its file.
	if err := os.WriteFile(script, []byte("#!/bin/sh\nexec 3<"+exe+"\nrm "+exe+"\nexec /proc/self/fd/3 \"$@\"\n"),
		0o755); err != nil {
		t.Fatal(err)
	}
	p := runExe(t, script, "abort")
	p.exe = exe
	c := open(t, p.core, Options{})
	list, _ := c.Modules()
	if err := list[0].Err; err == nil || !strings.Contains(err.Error(), "deleted or replaced") ||
		!strings.Contains(list[0].Path, exe) {
		t.Errorf("%s: %v", list[0].Path, err)
	}
	checkSymbols(t, open(t, p.core, Options{Exe: kept}), p)
	copyFile(t, kept, exe)
	checkSymbols(t, open(t, p.core, Options{}), p)
}
