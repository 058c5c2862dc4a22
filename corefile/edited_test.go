package corefile

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/guard/budget"
	"github.com/ompd-inspect/ompd-inspect/internal/image/elfx"
	"github.com/ompd-inspect/ompd-inspect/internal/image/modules"
)

// TestUnusualCores rewrites a kernel core in the formats of other programs, and checks the same
// answers.
func TestUnusualCores(t *testing.T) {
	p := runPlain(t, "abort")
	for _, tt := range []struct {
		name   string
		change func(t *testing.T, e *edit)
		warns  string
	}{
		{"headers behind the data", func(*testing.T, *edit) {}, ""},
		{"notes without owner", func(_ *testing.T, e *edit) { e.changeNotes(func(n *elfx.Note) { n.Owner = "" }) }, ""},
		{"no list of files", func(_ *testing.T, e *edit) {
			e.keepNotes(func(n elfx.Note) bool { return n.Type != ntFILE })
		}, "NT_FILE"},
		{"only registers and auxiliary vector", func(_ *testing.T, e *edit) {
			e.keepNotes(func(n elfx.Note) bool { return n.Type == ntPRSTATUS || n.Type == ntAUXV })
		}, "NT_FILE"},
		{"no auxiliary vector", func(_ *testing.T, e *edit) {
			e.keepNotes(func(n elfx.Note) bool { return n.Type != ntAUXV })
		}, "auxiliary vector"},
		{"two note segments", func(_ *testing.T, e *edit) {
			half := len(e.notes[0]) / 2
			e.notes = [][]elfx.Note{e.notes[0][:half], e.notes[0][half:]}
		}, ""},
		{"foreign notes between", func(_ *testing.T, e *edit) {
			someone := elfx.Note{Owner: "SOMEONE", Type: ntPRSTATUS, Desc: make([]byte, 99)}
			e.notes[0] = append([]elfx.Note{someone, {Owner: "LONGER THAN ANY OWNER", Type: 1}}, e.notes[0]...)
		}, ""},
		{"70,000 program headers", func(_ *testing.T, e *edit) {
			for i := range uint64(70000) {
				e.loads = append(e.loads, elf.Prog64{Type: uint32(elf.PT_LOAD), Vaddr: 1<<46 + i*8192, Memsz: 4096})
			}
		}, ""},
		{"no ELF headers in the core", func(t *testing.T, e *edit) {
			for _, m := range modulesOf(t, p.core) {
				if m.Path != "[vdso]" {
					e.drop(m.Low.Offset)
				}
			}
		}, ""},
		{"the loader's list is lost", func(t *testing.T, e *edit) {
			e.poke(t, open(t, p.core, Options{}).mods.LinkMapAddresses()[1]+24, 0x1234)
		}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := newEdit(t, p.core)
			tt.change(t, e)
			c := open(t, e.write(t), Options{})
			checkSymbols(t, c, p)
			checkThreads(t, c, p)
			if w := strings.Join(c.Info().Warnings, "; "); !strings.Contains(w, tt.warns) || tt.warns == "" && w != "" {
				t.Errorf("warnings %q, want %q", w, tt.warns)
			}
			want, got := modulesOf(t, p.core), modulesIn(c)
			if !slices.EqualFunc(want, got, sameModule) {
				t.Errorf("modules %v\nwant %v", pathsOf(got), pathsOf(want))
			}
		})
	}
}

func sameModule(a, b *callbacks.Module) bool {
	return a.Low == b.Low && a.Bias == b.Bias && (a.Image == nil) == (b.Image == nil) &&
		filepath.Base(a.File) == filepath.Base(b.File)
}

func modulesIn(c *Core) []*callbacks.Module {
	list, _ := c.Modules()
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b *callbacks.Module) int { return int(int64(a.Low.Sub(b.Low)) >> 12) })
	return list
}

func modulesOf(t testing.TB, core string) []*callbacks.Module {
	t.Helper()
	return modulesIn(open(t, core, Options{}))
}

func pathsOf(list []*callbacks.Module) (paths []string) {
	for _, m := range list {
		paths = append(paths, m.Low.String()+" "+m.Path+" "+m.File)
	}
	return paths
}

// TestCircularList makes the loader's list point back to its head.
func TestCircularList(t *testing.T) {
	p := runPlain(t, "abort")
	list := open(t, p.core, Options{}).mods.LinkMapAddresses()
	for _, next := range []uint64{list[0], list[len(list)-1], list[1]} {
		e := newEdit(t, p.core)
		e.poke(t, list[len(list)-1]+24, next)
		c := open(t, e.write(t), Options{})
		if got := c.mods.LinkMapAddresses(); !slices.Equal(got, list) {
			t.Errorf("%d entries of a circular list, want %d", len(got), len(list))
		}
		checkThreads(t, c, p)
	}
}

// TestAbsurdNumbers puts impossible numbers into notes.
func TestAbsurdNumbers(t *testing.T) {
	p := runPlain(t, "abort")
	for _, v := range []uint64{1 << 31, 1 << 62, ^uint64(0)} {
		e := newEdit(t, p.core)
		e.changeNotes(func(n *elfx.Note) {
			switch n.Type {
			case ntFILE:
				putWord(n.Desc, v) // the number of files
			case ntAUXV:
				for b := n.Desc; len(b) >= 16; b = b[16:] {
					if k := callbacks.Word(b[:8]); k == 5 || k == 31 { // AT_PHNUM, AT_EXECFN
						putWord(b[8:], v)
					}
				}
			}
		})
		c := open(t, e.write(t), Options{})
		checkSymbols(t, c, p)
		checkThreads(t, c, p)
	}
}

func putWord(b []byte, v uint64) {
	for i := range 8 {
		b[i] = byte(v >> (8 * i))
	}
}

// TestFilesNotAtHand moves, replaces and forges the executable.
func TestFilesNotAtHand(t *testing.T) {
	p := runPlain(t, "abort", "-Wl,--build-id=0xfeedfacefeedface")
	dir := t.TempDir()
	kept := copyFile(t, p.exe, filepath.Join(dir, "kept"))
	rooted := filepath.Join(dir, "root")
	copyFile(t, p.exe, filepath.Join(rooted, p.exe))
	debug := filepath.Join(dir, "debug")
	copyFile(t, p.exe, filepath.Join(debug, ".build-id", "fe", "edfacefeedface"))
	other := compileC(t, filepath.Join(dir, "other"), "testdata/plain.c", "-O0", "-Wl,--build-id=0x1111")

	check := func(name string, o Options, want error, says ...string) {
		t.Helper()
		c := open(t, p.core, o)
		list, _ := c.Modules()
		m := list[0]
		if !errors.Is(m.Err, want) || (m.Image == nil) != (want != nil) {
			t.Errorf("%s: image %v, error %v; want %v", name, m.Image != nil, m.Err, want)
		}
		for _, s := range says {
			if m.Err == nil || !strings.Contains(m.Err.Error(), s) {
				t.Errorf("%s: %v; want %q in it", name, m.Err, s)
			}
		}
		if want == nil {
			checkSymbols(t, c, p)
			return
		}
		// Bytes in the core can be read; bytes that only the file had cannot.
		var b [4]byte
		if err := c.ReadMemory(callbacks.Addr(p.globalData), b[:]); err != nil || b[0] != 77 {
			t.Errorf("%s: data: %v", name, err)
		}
		if err := c.ReadMemory(callbacks.Addr(p.constant+4096), b[:]); !errors.Is(err, callbacks.ErrNotCaptured) {
			t.Errorf("%s: a constant: %v, want ErrNotCaptured", name, err)
		}
		if _, err := c.Symbol("global_data", ""); !errors.Is(err, callbacks.ErrNoSymbol) {
			t.Errorf("%s: a symbol: %v, want ErrNoSymbol", name, err)
		}
	}
	check("in its place", Options{}, nil)
	check("another by --exe", Options{Exe: other}, modules.ErrMismatch, "1111", "feedfacefeedface", "--exe PATH", other)
	if err := os.Remove(p.exe); err != nil {
		t.Fatal(err)
	}
	check("missing", Options{}, modules.ErrNoFile, p.exe, "--exe PATH")
	check("the right one by --exe", Options{Exe: kept}, nil)
	check("below a system root", Options{Sysroot: rooted}, nil)
	check("by build ID", Options{DebugDirs: []string{debug}}, nil)
	copyFile(t, other, p.exe)
	check("replaced", Options{}, modules.ErrMismatch, "1111", "feedfacefeedface", "--exe PATH")

	if _, err := Open(p.core, Options{Exe: filepath.Join(dir, "none")}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an --exe that is not there: %v", err)
	}
}

// TestAArch64Notes reads the notes that exist only on aarch64.
func TestAArch64Notes(t *testing.T) {
	status := make([]byte, 112+34*8+8)
	status[32] = 99 // pr_pid
	word := func(v uint64) []byte {
		b := make([]byte, 8)
		putWord(b, v)
		return b
	}
	for i := range 33 { // x0 … x30, sp, pc
		putWord(status[112+8*i:], uint64(1000+i))
	}
	const mask = 0x007f << 48
	putWord(status[112+8*32:], 0x4000|mask)
	header := make([]byte, 64)
	copy(header, "\x7fELF\x02\x01\x01")
	header[16], header[18], header[54] = byte(elf.ET_CORE), byte(elf.EM_AARCH64), 56
	e := &edit{b: header, notes: [][]elfx.Note{{
		{Owner: "CORE", Type: ntPRSTATUS, Desc: status},
		{Owner: "LINUX", Type: ntARMTLS, Desc: append(word(0x7000), word(0)...)},
		{Owner: "LINUX", Type: ntARMSyscall, Desc: []byte{98, 0, 0, 0}},
		{Owner: "LINUX", Type: ntARMPACMask, Desc: append(word(1), word(mask)...)},
	}}}
	c := open(t, e.write(t), Options{})
	r, err := c.Registers(callbacks.LWP(99))
	if err != nil || c.Arch() != callbacks.ArchAArch64 {
		t.Fatalf("%v, %v", c.Arch(), err)
	}
	if r.PC() != 0x4000 || r.SP() != 1031 || r.ThreadPointer != 0x7000 || r.Syscall != 98 || r.SyscallArgs[1] != 1001 {
		t.Errorf("pc %#x, sp %d, tp %#x, system call %d %v", r.PC(), r.SP(), r.ThreadPointer, r.Syscall, r.SyscallArgs)
	}
	if _, err := c.ThreadIDs(callbacks.ThreadIDPthread); !errors.Is(err, callbacks.ErrUnsupportedKind) {
		t.Errorf("pthread_t without a libc at hand: %v, want ErrUnsupportedKind", err)
	}
}

// TestMoreThreadsThanMemory opens a core with more threads than fit half of the limit of memory: it names their number,
// the first ones are read, and so are the files of the program.
func TestMoreThreadsThanMemory(t *testing.T) {
	const many, limit = 8000, 24 << 20
	e := newEdit(t, runPlain(t, "abort").core)
	var first elfx.Note
	own := 0
	e.keepNotes(func(n elfx.Note) bool {
		if n.Type == ntPRSTATUS {
			own++
			first = n
		}
		return true
	})
	for i := range many - own {
		n := first
		n.Desc = bytes.Clone(n.Desc)
		binary.LittleEndian.PutUint32(n.Desc[statusLWP:], uint32(1<<20+i))
		e.notes[0] = append(e.notes[0], n)
	}
	c := open(t, e.write(t), Options{Memory: budget.NewLedger(limit)})
	read := len(lwpsOf(t, c))
	want := fmt.Sprintf("%d threads, only the first %d are read, within the limit of memory", many, read)
	if read < 3000 || read > 4000 || !strings.HasPrefix(strings.Join(c.Info().Warnings, ""), want) {
		t.Errorf("%d threads are read: %q, want %q", read, c.Info().Warnings, want)
	}
	whole := open(t, c.path, Options{Memory: budget.NewLedger(0)})
	if got, want := pathsOf(modulesIn(c)), pathsOf(modulesIn(whole)); !slices.Equal(got, want) {
		t.Errorf("modules %q, want %q", got, want)
	}
	if n := len(lwpsOf(t, whole)); n != many || len(whole.Info().Warnings) != 0 {
		t.Errorf("without a limit, %d threads are read: %q", n, whole.Info().Warnings)
	}
}
