package symfile_test

import (
	"bytes"
	"debug/elf"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/image/elfx"
	"github.com/ompd-inspect/ompd-inspect/internal/image/symfile"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

func libomp(t *testing.T) (string, *elfx.File) {
	t.Helper()
	path := omptest.RuntimeOf(t, 16).Lib
	f, closer, err := elfx.OpenPath(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closer.Close() })
	return path, f
}

// section returns a section of the file by name.
func section(t *testing.T, f *elfx.File, name string) elf.SectionHeader {
	t.Helper()
	for _, s := range f.Sections() {
		if s.Name == name {
			return s
		}
	}
	t.Fatalf("no section %s", name)
	return elf.SectionHeader{}
}

// TestWrite reads a written file with the standard library and with elfx.
func TestWrite(t *testing.T) {
	_, of := libomp(t)
	text, bss, tdata := section(t, of, ".text"), section(t, of, ".bss"), section(t, of, ".tdata")
	want := []symfile.Symbol{
		{Name: "a_function", Value: text.Addr + 16, Size: 1, Type: elf.STT_FUNC},
		{Name: "a_variable", Value: bss.Addr + bss.Size - 8, Size: 8, Type: elf.STT_OBJECT},
		{Name: "a_thread's", Value: 0, Size: 4, Type: elf.STT_TLS},
	}
	var b bytes.Buffer
	if err := symfile.Write(&b, of, want); err != nil {
		t.Fatal(err)
	}
	f, err := elf.NewFile(bytes.NewReader(b.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	symbols, err := f.Symbols()
	if err != nil || len(symbols) != len(want) {
		t.Fatalf("%d symbols, want %d: %v", len(symbols), len(want), err)
	}
	for i, in := range []string{text.Name, bss.Name, tdata.Name} {
		s, w := symbols[i], want[i]
		if s.Name != w.Name || s.Value != w.Value || s.Size != w.Size || elf.ST_TYPE(s.Info) != w.Type ||
			elf.ST_BIND(s.Info) != elf.STB_GLOBAL {
			t.Errorf("%+v was written as %+v", w, s)
		}
		if got := f.Sections[s.Section].Name; got != in {
			t.Errorf("%s is in section %s, want %s", s.Name, got, in)
		}
	}
	path := filepath.Join(t.TempDir(), "it.debug")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	got, closer, err := elfx.OpenPath(path)
	if err != nil {
		t.Fatal(err)
	}
	defer closer.Close()
	if !bytes.Equal(got.BuildID(), of.BuildID()) || len(of.BuildID()) == 0 {
		t.Errorf("build ID %x, want %x", got.BuildID(), of.BuildID())
	}
	if !strings.HasSuffix(symfile.Path("/d", of.BuildID()), ".debug") || symfile.Path("/d", nil) != "" {
		t.Errorf("path %q", symfile.Path("/d", of.BuildID()))
	}
	for _, s := range of.Sections() {
		if s.Flags&elf.SHF_ALLOC != 0 && section(t, got, s.Name).Addr != s.Addr {
			t.Errorf("section %s has moved", s.Name)
		}
	}
}

// TestWriteRefuses refuses a symbol outside of all sections.
func TestWriteRefuses(t *testing.T) {
	_, of := libomp(t)
	err := symfile.Write(&bytes.Buffer{}, of, []symfile.Symbol{{Name: "lost", Value: 1 << 50}})
	if err == nil || !strings.Contains(err.Error(), "lost at 0x4000000000000") {
		t.Errorf("error %v", err)
	}
}

// TestLoad reads a library in the form in which the loader would map it.
func TestLoad(t *testing.T) {
	path, of := libomp(t)
	img, err := symfile.Load(path, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer img.Close()
	mods, err := img.Modules()
	if err != nil || len(mods) != 1 {
		t.Fatalf("%d modules: %v", len(mods), err)
	}
	relocs, err := of.Relocations()
	if err != nil {
		t.Fatal(err)
	}
	relative, defined := 0, 0
	var word [8]byte
	for _, r := range relocs {
		if err := img.ReadMemory(callbacks.Addr(mods[0].Bias+r.Offset), word[:]); err != nil {
			t.Fatal(err)
		}
		switch elf.R_X86_64(r.Type) {
		case elf.R_X86_64_RELATIVE:
			relative++
			if got, want := callbacks.Word(word[:]), mods[0].Bias+uint64(r.Addend); got != want {
				t.Fatalf("word at %#x is %#x, want %#x", r.Offset, got, want)
			}
		case elf.R_X86_64_JMP_SLOT:
			if a, err := img.Symbol(r.Symbol, ""); err == nil {
				defined++
				if got := callbacks.Word(word[:]); got != a.Offset {
					t.Errorf("slot of %s is %#x, want %v", r.Symbol, got, a)
				}
			}
		}
	}
	if relative < 500 || defined < 10 {
		t.Errorf("only %d relative words and %d slots of its own functions", relative, defined)
	}
	var fault *callbacks.FaultError
	if err := img.ReadMemory(mods[0].High, word[:]); !errors.As(err, &fault) || fault.Address != mods[0].High {
		t.Errorf("past the end: %v", err)
	}
	if _, err := img.ThreadIDs(callbacks.ThreadIDLWP); !errors.Is(err, callbacks.ErrUnsupportedKind) {
		t.Errorf("threads: %v", err)
	}
}

// TestLoadRefuses refuses files that are not programs.
func TestLoadRefuses(t *testing.T) {
	core := omptest.Dump(t, omptest.Run{Exe: omptest.Compile(t, omptest.Build{Program: "barrier"}),
		Runtime: omptest.RuntimeOf(t, 16), Mode: omptest.Kernel})
	for path, says := range map[string]string{core.Core: "but ET_CORE", "symfile.go": "not an ELF file"} {
		img, err := symfile.Load(path, nil, nil)
		if err == nil {
			img.Close()
			t.Errorf("%s was loaded", path)
		} else if !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", path, err, says)
		}
	}
}
