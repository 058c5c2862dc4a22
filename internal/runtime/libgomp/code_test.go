package libgomp

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/image/elfx"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layoutcode"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// loadedFile is a target made of one file, loaded at its link addresses and relocated, without threads.
type loadedFile struct {
	file  *elfx.File
	words map[uint64]uint64 // words written by the loader
}

// tlsDistance is the distance of gomp_tls_data from the thread pointer that the loader of a loadedFile writes.
const tlsDistance = 1 << 12

func loadFile(t testing.TB, path string) (*loadedFile, *callbacks.Module) {
	t.Helper()
	f, c, err := elfx.OpenPath(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	l := &loadedFile{file: f, words: map[uint64]uint64{}}
	relocs, err := f.Relocations()
	if err != nil && !errors.Is(err, elfx.ErrNoSection) { // a static program may lack the section
		t.Fatal(err)
	}
	for _, r := range relocs {
		s, _ := f.LookupDynamic(r.Symbol)
		l.words[r.Offset] = s.Value + uint64(r.Addend)
		if r.Type == uint32(elf.R_X86_64_TPOFF64) || r.Type == uint32(elf.R_AARCH64_TLS_TPREL64) {
			l.words[r.Offset] = tlsDistance + uint64(r.Addend)
		}
	}
	mod := &callbacks.Module{Path: path}
	for _, p := range f.Progs() {
		if p.Type == elf.PT_LOAD {
			mod.High = callbacks.Addr(max(mod.High.Offset, p.Vaddr+p.Memsz))
		}
	}
	return l, mod
}

func (l *loadedFile) ReadMemory(a callbacks.Address, p []byte) error {
	if w, ok := l.words[a.Offset]; ok && len(p) == 8 {
		binary.LittleEndian.PutUint64(p, w)
		return nil
	}
	for len(p) > 0 {
		b, err := l.file.DataAt(a.Offset, len(p))
		if err != nil || len(b) == 0 {
			return &callbacks.FaultError{Address: a, Err: errors.Join(callbacks.ErrUnmapped, err)}
		}
		p, a = p[copy(p, b):], a.Add(uint64(len(b)))
	}
	return nil
}

func (l *loadedFile) Symbol(name, _ string) (callbacks.Address, error) {
	s, ok := l.file.Lookup(name)
	if !ok {
		return callbacks.Address{}, fmt.Errorf("%w: %s", callbacks.ErrNoSymbol, name)
	}
	return callbacks.Addr(s.Value), nil
}

func (l *loadedFile) ThreadSymbol(callbacks.ThreadID, string, string) (callbacks.Address, error) {
	return callbacks.Address{}, callbacks.ErrNoSymbol
}

func (l *loadedFile) ThreadIDs(callbacks.IDKind) ([]callbacks.ThreadID, error) { return nil, nil }

func (l *loadedFile) Arch() callbacks.Arch { return l.file.Arch() }

// rowFor returns the table's column for a release of GCC.
func (t *table) rowFor(major int) int {
	for i, r := range t.rows {
		if major >= r.Low && major <= r.High {
			return i
		}
	}
	return len(t.rows) - 1
}

// codeFiles returns shared and static runtimes for both architectures. The tests read their code.
func codeFiles(t *testing.T) map[string]int {
	files := map[string]int{}
	for _, rt := range omptest.Libgomps(t) {
		files[rt.Lib] = rt.Major
	}
	for major, path := range omptest.CrossLibgomps(t) {
		files[path] = major
	}
	for _, flags := range [][]string{{"-static"}, {"-static-pie"}} {
		files[omptest.Compile(t, omptest.Build{Program: "nested", Compiler: omptest.GCC,
			Flags: append(flags, "-O1")})] = 12
		flags = append(flags, "-O1", "-L"+omptest.StaticLibgomp(t))
		files[omptest.Compile(t, omptest.Build{Program: "nested", Compiler: omptest.GCC, Flags: flags})] = 11
	}
	return files
}

// TestCodeAgainstTable compares the offsets from the code of each available runtime with those from the headers
// of its release.
func TestCodeAgainstTable(t *testing.T) {
	tab, err := parseTable()
	if err != nil {
		t.Fatal(err)
	}
	for path, major := range codeFiles(t) {
		l, mod := loadFile(t, path)
		s := newCodeSource(l, mod)
		row := tab.rowFor(major)
		derived := 0
		var missing []string
		for _, n := range tab.Order {
			f, err := layout.Ask(s, n)
			want := tab.Places[n][row]
			switch {
			case err == nil && f != want:
				t.Errorf("%s: %s.%s is at %v by the code, at %v in GCC %d", path, n.Type, n.Field, f, want, major)
			case err == nil:
				derived++
			case !errors.Is(err, layout.ErrUnknown):
				t.Errorf("%s: %s.%s: %v", path, n.Type, n.Field, err)
			case n.Field != "" && want.Size != 0 && hasRule(n):
				missing = append(missing, n.Type+"."+n.Field)
			}
		}
		tls, err := s.Global("gomp_tls_data")
		if err != nil || strings.HasSuffix(path, ".so.1") && tls != tlsDistance {
			t.Errorf("%s: gomp_tls_data at %#x, %v", path, tls, err)
		}
		_, lockErr := s.Global("default_lock")
		_, icvErr := s.Global("gomp_global_icv")
		t.Logf("GCC %d %v: %d fields derived, 0 wrong, missing %v; locks %v, ICVs %v (%s)", major, l.Arch(), derived,
			missing, lockErr, icvErr, path)
		if derived < 25 || icvErr != nil {
			t.Errorf("%s: %d fields derived, want 25 or more; gomp_global_icv: %v", path, derived, icvErr)
		}
	}
}

// hasRule reports whether there is a rule for the field.
func hasRule(n fieldName) bool {
	rules := layoutcode.Rules{Rules: codeRules, Root: "gomp_thread", Pointees: pointees}
	return slices.Contains(rules.Fields(), n)
}
