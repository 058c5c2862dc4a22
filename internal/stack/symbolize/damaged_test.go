package symbolize

import (
	"bytes"
	"debug/elf"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// inMemory makes a module of the bytes of a file.
func inMemory(m *callbacks.Module, b []byte) *callbacks.Module {
	c := *m
	c.Image = memoryImage{bytes.NewReader(b), b}
	return &c
}

// TestDamagedDWARF damages single bytes of each debug section, and checks that the symbol table's
// name is still found, without a panic or a hang.
func TestDamagedDWARF(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, build := range [][]string{{"g++", "-gdwarf-5"}, {"g++", "-gdwarf-4"}, {"clang++-16", "-gdwarf-5"},
		{"clang++-16", "-gdwarf-4", "-gdwarf-aranges"}} {
		file := compile(t, "small.cc", build[0], append(build[1:], "-O2")...)
		m := loadModule(t, file, bias)
		good, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		pcs := []uint64{addressOf(t, file, "main") + 4, addressOf(t, file, "c_name") + 3,
			addressOf(t, file, "_Z4walkPKii") +
				12}
		errors := 0
		for _, s := range debugSections(t, file) {
			step := max(1, s.Size/300)
			for at := uint64(0); at < s.Size; at += step {
				b := bytes.Clone(good)
				b[s.Offset+at] = byte(random.Uint32())
				if random.Uint32()%4 == 0 {
					b[s.Offset+at] = 0xff
				}
				sym := New([]*callbacks.Module{inMemory(m, b)}, Options{DebugDirs: []string{t.TempDir()}})
				for i, want := range []string{"main", "c_name", "walk(int const*, int)"} {
					frames, err := sym.Code(pcs[i])
					if len(frames) == 0 || frames[len(frames)-1].Function != want {
						t.Fatalf("%v %s+%#x: %+v, %v; want %s", build, s.Name, at, frames, err, want)
					}
					if err != nil {
						errors++
					}
					sym.DeclLine(pcs[i])
				}
			}
		}
		if errors == 0 {
			t.Errorf("%v: no damage was told", build)
		}
	}
}

// debugSections returns the sections of a file with debug information.
func debugSections(t testing.TB, file string) []elf.SectionHeader {
	t.Helper()
	f, err := elf.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var list []elf.SectionHeader
	for _, s := range f.Sections {
		if strings.HasPrefix(s.Name, ".debug_") && s.Size > 0 {
			list = append(list, s.SectionHeader)
		}
	}
	return list
}

// TestTruncatedFile cuts the file at several sizes, and checks for an answer or an error, without a
// panic.
func TestTruncatedFile(t *testing.T) {
	file := compile(t, "small.cc", "gcc", "-g", "-O2")
	m := loadModule(t, file, bias)
	good, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pc := addressOf(t, file, "c_name")
	for n := 0; n < len(good); n += 61 {
		s := New([]*callbacks.Module{inMemory(m, good[:n])}, Options{DebugDirs: []string{t.TempDir()}})
		if frames, err := s.Code(pc); len(frames) == 0 || err == nil && frames[0].Function == "" &&
			len(s.Warnings(nil)) == 0 {
			t.Fatalf("cut at %d: %+v without a word", n, frames)
		}
		s.DeclLine(pc)
		s.Data(pc)
		s.Exported(pc)
		s.SlotSymbol(pc)
		s.Lookup("main", "")
	}
}

// TestDamageIsTold checks the words of warnings about damage.
func TestDamageIsTold(t *testing.T) {
	file := compile(t, "small.cc", "gcc", "-g", "-O2")
	m := loadModule(t, file, bias)
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range debugSections(t, file) {
		if s.Name == ".debug_line" {
			b[s.Offset+4] = 77 // the version
		}
	}
	s := openWith(t, Options{DebugDirs: []string{t.TempDir()}}, inMemory(m, b))
	const want = "small: debug information: .debug_line: unknown version 77 of the table at 0x0"
	frames, err := s.Code(addressOf(t, file, "c_name"))
	if err == nil || err.Error() != want || frames[len(frames)-1].Function != "c_name" {
		t.Errorf("%+v, %v; want c_name, %s", frames, err, want)
	}
	if _, _, err := s.Line(addressOf(t, file, "c_name")); err == nil || err.Error() != want {
		t.Errorf("Line: %v, want %s", err, want)
	}
	wantWarning(t, s, "unknown version 77")
}
