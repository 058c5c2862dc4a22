package symbolize

import (
	"debug/elf"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/image/elfx"
)

func TestFunctionNames(t *testing.T) {
	file := compile(t, "symbols.c", "gcc", "-O1", "-rdynamic")
	s := openSymbolizer(t, file)
	for _, tt := range []struct {
		symbol string
		offset uint64
		want   string
	}{
		{"hidden", 1, "hidden"},
		{"__internal_name", 2, "public_name"}, // the alias without underscores
		{"public_name", 0, "public_name"},
		{"by_cpu", 0, "by_cpu"}, // its resolver is at the same address
		{"chosen", 1, "chosen"},
		{"asm_first", 0, "asm_first"},
		{"asm_first", 1, "asm_first"},
		{"asm_first", 2, "asm_second"}, // the next symbol ends one without a size
		{"asm_second", 2, "asm_second"},
		{"asm_sized", 0, "asm_sized"},
		{"label_inside", 0, "asm_sized"}, // a label does not end a function
		{"_start", 3, "_start"},
		{"main", 5, "main"},
	} {
		f, err := s.Function(addressOf(t, file, tt.symbol) + tt.offset)
		if err != nil || f.Function != tt.want || f.Source != SourceSymtab {
			t.Errorf("%s+%d: %+v, %v; want %s from symtab", tt.symbol, tt.offset, f, err, tt.want)
		}
		if low := addressOf(t, file, tt.want); f.Low != low && tt.want != "by_cpu" {
			t.Errorf("%s+%d: entered at %#x, want %#x", tt.symbol, tt.offset, f.Low, low)
		}
	}
	noWarnings(t, s)
}

func TestDataSymbols(t *testing.T) {
	file := compile(t, "symbols.c", "gcc", "-O1", "-rdynamic")
	s := openSymbolizer(t, file)
	for _, tt := range []struct {
		symbol string
		offset uint64
		want   string
	}{
		{"exported_data", 0, "data_alias"}, // the shortest of two at one address
		{"exported_data", 15, "data_alias"},
		{"local_data", 8, "local_data"},
	} {
		d, ok := s.Data(addressOf(t, file, tt.symbol) + tt.offset)
		if !ok || d.Name != tt.want || d.Offset != tt.offset || d.Module.Path != file {
			t.Errorf("%s+%d: %+v, %v; want %s+%d", tt.symbol, tt.offset, d, ok, tt.want, tt.offset)
		}
	}
	for _, name := range []string{"main", "_end", "__bss_start"} {
		if d, ok := s.Data(addressOf(t, file, name)); ok && d.Name == name {
			t.Errorf("%s is given as data: %+v", name, d)
		}
	}
}

func TestLookup(t *testing.T) {
	file := compile(t, "symbols.c", "gcc", "-O1", "-rdynamic")
	lib := compile(t, "symbols.c", "gcc", "-O1", "-shared", "-fPIC")
	const second = bias + 1<<32
	s := openWith(t, Options{DebugDirs: []string{t.TempDir()}}, loadModule(t, file, bias), loadModule(t, lib, second))
	want := addressOf(t, file, "public_name")
	for _, module := range []string{"", "symbols", file} {
		if a, ok := s.Lookup("public_name", module); !ok || a != want {
			t.Errorf("Lookup in %q = %#x, %v; want %#x", module, a, ok, want)
		}
	}
	if a, ok := s.Lookup("public_name", lib); !ok || a != addressOf(t, lib, "public_name")-bias+second {
		t.Errorf("Lookup in the library = %#x, %v", a, ok)
	}
	for _, tt := range [][2]string{{"no_such", ""}, {"public_name", "libother.so"}, {"thread_data", ""}, {"puts", ""}} {
		if a, ok := s.Lookup(tt[0], tt[1]); ok {
			t.Errorf("Lookup(%q, %q) = %#x, want nothing", tt[0], tt[1], a)
		}
	}
}

// TestSlotSymbol compares with readelf, for programs with lazy and immediate binding.
func TestSlotSymbol(t *testing.T) {
	for _, flags := range [][]string{{"-Wl,-z,lazy"}, {"-Wl,-z,now"}, {"-fno-plt"}, {"-no-pie"}} {
		file := compile(t, "symbols.c", "gcc", append(flags, "-O1")...)
		base := uint64(bias)
		s := openSymbolizer(t, file)
		found := map[string]bool{}
		for line := range strings.Lines(runTool(t, "readelf", "-rW", file)) {
			f := strings.Fields(line)
			if len(f) < 5 || f[2] != "R_X86_64_JUMP_SLOT" && f[2] != "R_X86_64_JUMP_SLO" &&
				f[2] != "R_X86_64_GLOB_DAT" {
				continue
			}
			var offset uint64
			fmt.Sscanf(f[0], "%x", &offset)
			want, _, _ := strings.Cut(f[4], "@")
			if name, ok := s.SlotSymbol(base + offset); !ok || name != want {
				t.Errorf("%v: slot %#x is bound to %q, %v; want %q", flags, offset, name, ok, want)
			}
			found[want] = true
		}
		if !found["puts"] || !found["__libc_start_main"] {
			t.Errorf("%v: slots of %v, want puts among them", flags, found)
		}
		if name, ok := s.SlotSymbol(addressOf(t, file, "exported_data")); ok {
			t.Errorf("a variable is a slot for %q", name)
		}
	}
}

// TestExportedFew compares the names of the first addresses of a module, found before its symbols
// are sorted, with the names found after.
func TestExportedFew(t *testing.T) {
	libc := strings.TrimSpace(runTool(t, "gcc", "-print-file-name=libc.so.6"))
	f, closer, err := elfx.OpenPath(libc)
	if err != nil {
		t.Fatal(err)
	}
	defer closer.Close()
	var text elf.SectionHeader
	for _, s := range f.Sections() {
		if s.Name == ".text" {
			text = s
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	sorted := openSymbolizer(t, libc)
	for range maxAsked {
		sorted.Exported(bias + text.Addr + random.Uint64N(text.Size))
	}
	named := 0
	for range 40 {
		s := openSymbolizer(t, libc)
		for range maxAsked {
			pc := bias + text.Addr + random.Uint64N(text.Size+100) - 50
			name, low, ok := s.Exported(pc)
			wantName, wantLow, want := sorted.Exported(pc)
			if name != wantName || low != wantLow || ok != want {
				t.Fatalf("Exported(%#x) = %q at %#x, %v; when sorted %q at %#x, %v", pc-bias, name, low, ok, wantName,
					wantLow, want)
			}
			if ok {
				named++
			}
		}
	}
	if named < 100 {
		t.Errorf("%d of %d addresses have a name", named, 40*maxAsked)
	}
}

// TestExported looks up each function of the C library, which is stripped and has aliases, versions
// and indirect functions.
func TestExported(t *testing.T) {
	libc := strings.TrimSpace(runTool(t, "gcc", "-print-file-name=libc.so.6"))
	f, closer, err := elfx.OpenPath(libc)
	if err != nil {
		t.Fatal(err)
	}
	defer closer.Close()
	list, err := f.DynamicSymbols()
	if err != nil {
		t.Fatal(err)
	}
	names := map[uint64]map[string]bool{}
	for _, s := range list {
		if s.Defined() && (s.Type == elf.STT_FUNC || s.Type == elf.STT_GNU_IFUNC) {
			if names[s.Value] == nil {
				names[s.Value] = map[string]bool{}
			}
			names[s.Value][s.Name] = true
		}
	}
	s := openSymbolizer(t, libc)
	if len(names) < 1000 {
		t.Fatalf("libc exports %d functions", len(names))
	}
	for low, want := range names {
		name, got, ok := s.Exported(low + bias)
		if !ok || got != low+bias || !want[name] {
			t.Errorf("%#x: %q at %#x, %v; want one of %v", low, name, got-bias, ok, want)
		}
	}
	for _, name := range []string{"write", "pthread_cond_wait", "sleep"} {
		sym, _ := f.LookupDynamic(name)
		if got, _, ok := s.Exported(sym.Value + bias + 1); !ok || got != name {
			t.Errorf("Exported(%s+1) = %q, %v", name, got, ok)
		}
		if f, err := s.Function(sym.Value + bias + 1); err != nil || f.Function != name || f.Source != SourceDynsym {
			t.Errorf("Function(%s+1) = %+v, %v", name, f, err)
		}
	}
}

func TestModules(t *testing.T) {
	at := func(path string, low, high uint64) *callbacks.Module {
		return &callbacks.Module{Path: path, Low: callbacks.Addr(low), High: callbacks.Addr(high)}
	}
	outer, inner, other := at("outer", 0x1000, 0x9000), at("inner", 0x3000, 0x4000), at("other", 0xa000, 0xb000)
	s := openWith(t, Options{}, other, outer, inner)
	for _, tt := range []struct {
		addr uint64
		want *callbacks.Module
	}{{0xfff, nil}, {0x1000, outer}, {0x3000, inner}, {0x3fff, inner}, {0x4000, outer}, {0x9000, nil}, {0xa000, other},
		{0xb000, nil}} {
		if got := s.Module(tt.addr); got != tt.want {
			t.Errorf("Module(%#x) = %v, want %v", tt.addr, got, tt.want)
		}
	}
	if _, err := s.Code(0x20000); !errors.Is(err, ErrNoModule) {
		t.Errorf("Code outside of all modules: %v", err)
	}
	if _, err := s.Function(0x1000); err == nil || !strings.Contains(err.Error(), "outer: the file is not at hand") {
		t.Errorf("Function in a module without a file: %v", err)
	}
}

// TestConcurrent looks up addresses from several goroutines at once, for the race detector.
func TestConcurrent(t *testing.T) {
	file := compile(t, "symbols.c", "gcc", "-g", "-O1")
	s := openSymbolizer(t, file)
	pcs := codeAddresses(t, file, 50)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for _, pc := range pcs {
				s.Code(pc + bias)
				s.Function(pc + bias)
				s.DeclLine(pc + bias)
				s.Data(pc + bias)
				s.Exported(pc + bias)
				s.SlotSymbol(pc + bias)
				s.Lookup("main", "")
				s.Warnings(nil)
			}
		})
	}
	wg.Wait()
	if f, err := s.Code(addressOf(t, file, "main")); err != nil || f[0].Function != "main" || f[0].Line == 0 {
		t.Errorf("main: %+v, %v", f, err)
	}
}
