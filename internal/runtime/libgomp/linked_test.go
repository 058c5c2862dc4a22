package libgomp

import (
	"debug/elf"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/image/elfx"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/unwind"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// TestLinked finds functions of runtimes that are linked into executables without using the symbols, and
// compares the names with the symbols.
func TestLinked(t *testing.T) {
	omptest.Needs(t, "static runtimes")
	for release, dir := range omptest.StaticLibgomps(t) {
		for _, kind := range []string{"-static", "-static-pie", "-no-pie", "-pie"} {
			t.Run(fmt.Sprintf("%d%s", release, kind), func(t *testing.T) {
				flags := []string{"-O1", kind, "-L" + dir}
				if static := strings.HasPrefix(kind, "-static"); static {
					flags = append(flags, omptest.NewerLibc()...)
				} else if release > 12 {
					t.Skip("it is for a newer C library than the system's")
				}
				for _, program := range []string{"lock_cycle", "critical", "nested"} {
					checkLinked(t, omptest.Compile(t, omptest.Build{Program: program, Compiler: omptest.GCC,
						Flags: flags}))
				}
			})
		}
	}
}

// checkLinked searches an executable for the functions of the runtime.
func checkLinked(t *testing.T, exe string) {
	target, mod := loadFile(t, exe)
	img, c, err := elfx.OpenFile(nil).Map(exe)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	mod.Main, mod.Image = true, img
	tls := tlsOf(t, target.file)
	functions := unwind.New(target, target.Arch(), []*callbacks.Module{mod}).Functions(mod)
	l := newLinked(sketches(target, functions, tls))
	if l == nil {
		t.Fatalf("nothing found among %d functions", len(functions))
	}
	names := map[uint64][]string{}
	list, err := target.file.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range list {
		if s.Type == elf.STT_FUNC {
			names[s.Value] = append(names[s.Value], s.Name)
		}
		if want, ok := l.locks[s.Name]; ok && s.Value != want {
			t.Errorf("%s is at %#x, want %#x", s.Name, want, s.Value)
		}
	}
	var found []string
	for _, s := range l.functions {
		found = append(found, s.Name)
		if !slices.Contains(names[s.Address.Offset], s.Name) {
			t.Errorf("%s is at %#x: that is %v", s.Name, s.Address.Offset, names[s.Address.Offset])
		}
	}
	t.Logf("%v, %#x-%#x, %v", found, l.code.low, l.code.high, l.locks)
	for at, all := range names {
		inside := at >= l.code.low && at < l.code.high
		for _, n := range all {
			ours := strings.HasPrefix(n, "GOMP_") || strings.HasPrefix(n, "gomp_") || strings.HasPrefix(n, "omp_")
			if ours && !inside && !strings.Contains(n, ".cold") {
				t.Logf("outside: %s %#x", n, at)
			}
		}
	}
}

func tlsOf(t *testing.T, f *elfx.File) uint64 {
	s, ok := f.Lookup("gomp_tls_data")
	if !ok {
		t.Fatal("no gomp_tls_data")
	}
	for _, p := range f.Progs() {
		if p.Type == elf.PT_TLS {
			return s.Value - (p.Memsz+p.Align-1)/p.Align*p.Align
		}
	}
	t.Fatal("no thread-local variables")
	return 0
}
