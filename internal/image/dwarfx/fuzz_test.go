package dwarfx

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// sectionNames are the sections that the package reads, in the order of the fuzzer's arguments.
var sectionNames = [...]string{
	".debug_info", ".debug_abbrev", ".debug_line", ".debug_str", ".debug_line_str", ".debug_aranges",
	".debug_ranges", ".debug_rnglists", ".debug_addr", ".debug_str_offsets",
}

// sections compiles a small program and returns its debug sections and an
// address of its code.
func sections(t testing.TB, compiler string, flags ...string) (list [][]byte, pc uint64) {
	t.Helper()
	omptest.Needs(t, "compilers")
	dir := t.TempDir()
	out, object := filepath.Join(dir, "small"), filepath.Join(dir, "small.o")
	source := "../../stack/symbolize/testdata/small.cc"
	for _, args := range [][]string{append(flags, "-O2", "-c", "-o", object, source), {"-o", out, object}} {
		cmd := exec.Command(compiler, args...)
		if b, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", cmd, err, b)
		}
	}
	b, err := os.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	f, err := elf.NewFile(b)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range sectionNames {
		var data []byte
		if s := f.Section(name); s != nil {
			if data, err = s.Data(); err != nil {
				t.Fatal(err)
			}
		}
		list = append(list, data)
	}
	syms, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range syms {
		if strings.HasPrefix(s.Name, "_Z4walk") {
			pc = s.Value + s.Size/2
		}
	}
	return list, pc
}

// ask calls every lookup for an address.
func ask(d *Data, pc uint64) (p Position, f Func, calls []Inline) {
	u := d.Unit(pc)
	if u == nil {
		return p, f, nil
	}
	p, _ = u.Line(pc)
	f, ok := u.Func(pc)
	if !ok {
		return p, f, nil
	}
	f.Names()
	f.Decl()
	u.FirstLine(f.Low, f.High)
	u.IsFortran()
	return p, f, f.Inlined(pc)
}

func FuzzData(f *testing.F) {
	if !testing.Short() {
		for _, build := range [][]string{
			{"g++", "-gdwarf-5"}, {"g++", "-gdwarf-4"}, {"clang++-16", "-gdwarf-5"},
			{"clang++-16", "-gdwarf-4", "-gdwarf-aranges"},
			{"clang++-16", "-gdwarf-5", "-gsplit-dwarf"},
		} {
			s, pc := sections(f, build[0], build[1:]...)
			f.Add(s[0], s[1], s[2], s[3], s[4], s[5], s[6], s[7], s[8], s[9], pc)
		}
	}
	f.Fuzz(func(t *testing.T, s0, s1, s2, s3, s4, s5, s6, s7, s8, s9 []byte, pc uint64) {
		list := [][]byte{s0, s1, s2, s3, s4, s5, s6, s7, s8, s9}
		load := func(name string) ([]byte, error) {
			for i, n := range sectionNames {
				if n == name {
					return list[i], nil
				}
			}
			return nil, nil
		}
		d := New(load, New(load, nil, nil), nil)
		p, fn, calls := ask(d, pc)
		if p.Line < 0 || p.Column < 0 || len(calls) > maxInlined || fn.u != nil && fn.High <= pc {
			t.Errorf("%#x: %+v, %+v, %d calls", pc, p, fn, len(calls))
		}
		ask(d, pc+1)
	})
}
