package elfx

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"os"
	"strings"
	"testing"
)

// smallELF is the header of an x86-64 executable with n program headers and one section header that contains
// the true number if n does not fit.
func smallELF(n int) []byte {
	var b bytes.Buffer
	h := elf.Header64{
		Ident: [16]byte{0x7f, 'E', 'L', 'F', 2, 1, 1}, Type: uint16(elf.ET_EXEC), Machine: uint16(elf.EM_X86_64),
		Version: 1, Phoff: ehdrSize + shdrSize, Shoff: ehdrSize, Ehsize: ehdrSize, Phentsize: phdrSize,
		Phnum: uint16(min(n, pnXNum)), Shentsize: shdrSize, Shnum: 1,
	}
	binary.Write(&b, binary.LittleEndian, h)
	binary.Write(&b, binary.LittleEndian, elf.Section64{Info: uint32(n)})
	for i := range n {
		binary.Write(&b, binary.LittleEndian, elf.Prog64{Type: uint32(elf.PT_LOAD), Vaddr: uint64(i) << 12,
			Memsz: 4096})
	}
	return b.Bytes()
}

func TestManyProgramHeaders(t *testing.T) {
	for name, img := range images(smallELF(70000)) {
		f, err := Open(img)
		if err != nil {
			t.Fatal(name, err)
		}
		if n := len(f.Progs()); n != 70000 || f.Progs()[n-1].Vaddr != 69999<<12 {
			t.Errorf("%s: %d program headers, want 70000", name, n)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	edit := func(change func(b []byte)) []byte {
		b := smallELF(3)
		change(b)
		return b
	}
	for _, tt := range []struct {
		name string
		b    []byte
		want error
		says string
	}{
		{"empty", nil, ErrNotELF, "not an ELF"},
		{"text", []byte("#!/bin/sh\necho hello, this is text and not a program\n"), ErrNotELF, "not an ELF"},
		{"magic only", []byte(elf.ELFMAG), ErrNotELF, "not an ELF"},
		{"half a header", smallELF(3)[:40], ErrTruncated, "its header needs 64"},
		{"headers cut", smallELF(3)[:ehdrSize+shdrSize+phdrSize], ErrTruncated, "program headers"},
		{"32-bit", edit(func(b []byte) { b[4] = 1; b[18] = byte(elf.EM_386) }), ErrClass,
			"32-bit little-endian for 386"},
		{"big-endian", edit(func(b []byte) { b[5] = 2; b[18], b[19] = 0, byte(elf.EM_S390) }), ErrClass,
			"64-bit big-endian for s390"},
		{"riscv", edit(func(b []byte) { b[18] = byte(elf.EM_RISCV) }), ErrClass, "riscv"},
		{"odd entry size", edit(func(b []byte) { b[54] = 32 }), ErrDamaged, "32 bytes"},
		{"XNUM without section", edit(func(b []byte) { b[56], b[57] = 0xff, 0xff; clear(b[40:48]) }), ErrDamaged,
			"section header 0"},
	} {
		for kind, img := range images(tt.b) {
			f, err := Open(img)
			if f != nil || !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%s, %s: %v; want %v with %q", tt.name, kind, err, tt.want, tt.says)
			}
		}
	}
}

// exercise calls everything that reads a file; it must not panic.
func exercise(f *File) {
	f.Symbols()
	f.DynamicSymbols()
	f.Relocations()
	f.BuildID()
	f.DebugLink()
	f.Needed()
	f.Soname()
	f.Interp()
	f.DataAt(f.Entry(), 16)
	f.Lookup("main")
	for range fewSearches + 1 { // the last searches use the index
		f.Lookup("puts")
	}
	if d, err := f.DWARF(); err == nil {
		r := d.Reader()
		for range 10 {
			if _, err := r.Next(); err != nil {
				break
			}
		}
	}
	for i := range f.Sections() {
		if i > 64 {
			break
		}
		f.Section(f.Sections()[i].Name)
	}
}

func TestTruncatedAnywhere(t *testing.T) {
	b, err := os.ReadFile(build(t, "-g", "-gz"))
	if err != nil {
		t.Fatal(err)
	}
	for n := 0; n < len(b); n += 97 {
		for _, img := range images(b[:n]) {
			if f, err := Open(img); err == nil {
				exercise(f)
			} else if f != nil {
				t.Fatalf("cut at %d: both a file and the error %v", n, err)
			}
		}
	}
}

func FuzzOpen(f *testing.F) {
	f.Add(smallELF(2))
	if !testing.Short() {
		for _, flags := range [][]string{{"-s"}, {"-shared", "-fPIC", "-DLIB"}} {
			if b, err := os.ReadFile(build(f, append(flags, "-Wl,-z,noseparate-code", "-nostartfiles",
				"-Wl,-e,0")...)); err == nil {
				f.Add(b)
			}
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, img := range images(b) {
			file, err := Open(img)
			if (file == nil) == (err == nil) {
				t.Fatalf("file %v and error %v", file, err)
			}
			if file != nil {
				exercise(file)
			}
		}
	})
}

func BenchmarkLookup(b *testing.B) {
	f := open(b, build(b, "-static"))
	f.Lookup("main")
	for b.Loop() {
		if _, ok := f.Lookup("shared_function"); !ok {
			b.Fatal("not found")
		}
	}
}
