package layout

import (
	"cmp"
	"debug/dwarf"
	"debug/elf"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// program has the constructs of LLVM's runtime: a union padded around a base structure, bit fields, unnamed
// members, nested structures, typedefs and arrays.
const program = `
typedef struct kmp_task_team kmp_task_team_t;
typedef struct { int r_sched_type, chunk; } kmp_r_sched_t;
typedef struct { unsigned tiedness : 1, final : 1, merged_if0 : 14, tasktype : 1, rest : 15; } kmp_tasking_flags_t;
typedef struct kmp_icvs { signed char dynamic; int nproc; kmp_r_sched_t sched; } kmp_icvs_t;
struct kmp_taskdata { int td_task_id; kmp_tasking_flags_t td_flags; struct kmp_taskdata *td_parent; _Alignas(64) kmp_icvs_t td_icvs; void *td_many[5]; };
typedef struct kmp_taskdata kmp_taskdata_t;
typedef union kmp_team { double align; char pad[128]; struct { void *t_parent; const volatile int t_level; union { int t_a; long t_b; }; } t; } kmp_team_t;
kmp_taskdata_t *__kmp_tasks;
static kmp_team_t team;
kmp_task_team_t *declared_only;
void *use(void) { return &team; }
`

// second completes the type that the first file only declares.
const second = `struct kmp_task_team { int tt_nproc; char pad[60]; }; typedef struct kmp_task_team kmp_task_team_t; kmp_task_team_t a_task_team;`

// clang returns the compiler of the tests' programs.
func clang() string { return cmp.Or(os.Getenv("OMPD_CLANG"), "clang-16") }

// compile builds the two files with debug information.
func compile(t *testing.T, compiler string, flags ...string) (*dwarf.Data, *elf.File) {
	t.Helper()
	omptest.Needs(t, "a C compiler")
	dir := t.TempDir()
	for name, text := range map[string]string{"a.c": program, "b.c": second} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(compiler, append(flags, "-shared", "-fPIC", "-o", "lib.so", "a.c", "b.c")...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: apt-get install clang-16 gcc\n%s", compiler, err, out)
	}
	f, err := elf.Open(filepath.Join(dir, "lib.so"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	d, err := f.DWARF()
	if err != nil {
		t.Fatal(err)
	}
	return d, f
}

func TestDWARF(t *testing.T) {
	for _, build := range [][2]string{
		{clang(), "-gdwarf-3"}, {clang(), "-gdwarf-4"}, {clang(), "-gdwarf-5"}, {"gcc", "-gdwarf-3"},
		{"gcc", "-gdwarf-5"},
	} {
		version := strings.Join(build[:], " ")
		data, file := compile(t, build[0], build[1])
		calls := 0
		s := fromDWARF(func() (*dwarf.Data, error) { calls++; return data, nil }, 0x1000)
		for name, want := range map[[2]string]Field{
			{"kmp_taskdata_t", "td_flags"}:                 {Offset: 4, Size: 4},
			{"kmp_taskdata_t", "td_flags.final"}:           {Offset: 4, Size: 4, Mask: 2},
			{"kmp_taskdata_t", "td_flags.tasktype"}:        {Offset: 4, Size: 4, Mask: 1 << 16},
			{"kmp_taskdata_t", "td_parent"}:                {Offset: 8, Size: 8},
			{"kmp_taskdata_t", "td_icvs.nproc"}:            {Offset: 68, Size: 4},
			{"kmp_taskdata_t", "td_icvs.sched.chunk"}:      {Offset: 76, Size: 4},
			{"kmp_taskdata_t", "td_many"}:                  {Offset: 80, Size: 40},
			{"kmp_tasking_flags_t", "merged_if0"}:          {Offset: 0, Size: 4, Mask: 0xfffc},
			{"kmp_team_t", "t.t_level"}:                    {Offset: 8, Size: 4},
			{"kmp_team_t", "t.t_b"}:                        {Offset: 16, Size: 8},
			{"kmp_team_t", "t"}:                            {Offset: 0, Size: 24},
			{"kmp_task_team_t", "tt_nproc"}:                {Offset: 0, Size: 4},
			{"kmp_taskdata", "td_icvs.sched.r_sched_type"}: {Offset: 72, Size: 4},
		} {
			if f, err := s.Field(name[0], name[1]); err != nil || f != want {
				t.Errorf("%s: %v is %v, %v; want %v", version, name, f, err, want)
			}
		}
		for name, want := range map[string]uint64{"kmp_taskdata_t": 128, "kmp_team_t": 128, "kmp_task_team_t": 64,
			"kmp_icvs": 16} {
			if got, err := s.Type(name); err != nil || got.Size != want {
				t.Errorf("%s: %s has %d bytes, %v; want %d", version, name, got.Size, err, want)
			}
		}
		for _, unknown := range []string{"td_none", "td_icvs.none", "td_parent.td_flags", "td_task_id.x", ""} {
			if f, err := s.Field("kmp_taskdata_t", unknown); !errors.Is(err, ErrUnknown) {
				t.Errorf("%s: field %q is %v, %v", version, unknown, f, err)
			}
		}
		if _, err := s.Type("kmp_none_t"); !errors.Is(err, ErrUnknown) {
			t.Errorf("%s: unknown type: %v", version, err)
		}
		if version != clang()+" -gdwarf-5" { // which has the address in a separate table
			checkGlobal(t, s, file, "__kmp_tasks")
		}
		if calls != 1 {
			t.Errorf("%s: debug information was loaded %d times", version, calls)
		}
	}
}

func checkGlobal(t *testing.T, s Source, file *elf.File, name string) {
	t.Helper()
	syms, err := file.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	for _, sym := range syms {
		if sym.Name == name {
			if a, err := s.Global(name); err != nil || a != sym.Value+0x1000 {
				t.Errorf("%s at %#x, %v; want %#x", name, a, err, sym.Value+0x1000)
			}
			return
		}
	}
	t.Fatalf("the program has no %s", name)
}

func TestDWARFIsReadLazily(t *testing.T) {
	s := fromDWARF(func() (*dwarf.Data, error) { return nil, errors.New("no debug file") }, 0)
	if s.Name() != "debuginfo" {
		t.Error(s.Name())
	}
	for range 2 {
		if _, err := s.Field("kmp_team_t", "t"); !errors.Is(err, ErrUnknown) {
			t.Errorf("without debug information: %v", err)
		}
	}
	data, _ := compile(t, clang(), "-gdwarf-4")
	d := fromDWARF(func() (*dwarf.Data, error) { return data, nil }, 0).(*dwarfSource)
	if _, err := d.Type("kmp_team_t"); err != nil {
		t.Fatal(err)
	}
	if _, ok := d.types["kmp_task_team"]; ok || d.reader == nil {
		t.Error("the second unit was read for a type of the first")
	}
}

func TestDWARFDamage(t *testing.T) {
	_, file := compile(t, clang(), "-gdwarf-4")
	info, err := file.Section(".debug_info").Data()
	if err != nil {
		t.Fatal(err)
	}
	abbrev, err := file.Section(".debug_abbrev").Data()
	if err != nil {
		t.Fatal(err)
	}
	str, err := file.Section(".debug_str").Data()
	if err != nil {
		t.Fatal(err)
	}
	answers := 0
	for i := range info {
		bad := append([]byte(nil), info...)
		bad[i] ^= 0x5a
		d, err := dwarf.New(abbrev, nil, nil, bad, nil, nil, nil, str)
		if err != nil {
			continue
		}
		s := fromDWARF(func() (*dwarf.Data, error) { return d, nil }, 0)
		for _, q := range []string{"td_flags.final", "td_icvs.sched.chunk"} {
			f, err := s.Field("kmp_taskdata_t", q)
			if (err == nil) != f.IsKnown() || f.End() > MaxRecord {
				t.Fatalf("byte %d changed: %v, %v", i, f, err)
			}
			answers++
		}
	}
	if answers < len(info) {
		t.Errorf("only %d answers out of %d damaged copies", answers, len(info))
	}
}

// debugger implements type callbacks.
type debugger struct{}

func (debugger) TypeSize(typ, file string) (uint64, error) {
	if typ != "kmp_team_t" || file != "libomp.so" {
		return 0, callbacks.ErrNoType
	}
	return 2048, nil
}

func (debugger) FieldOffset(typ, field, file string) (uint64, uint64, error) {
	switch field {
	case "t_level":
		return 848, 4, nil
	case "t_lost":
		return 0, 0, errors.New("connection lost")
	}
	return 0, 0, callbacks.ErrNoType
}

func TestTypes(t *testing.T) {
	s := fromTypes(debugger{}, "libomp.so")
	if f, err := s.Field("kmp_team_t", "t_level"); err != nil || f != (Field{Offset: 848, Size: 4}) {
		t.Errorf("%v, %v", f, err)
	}
	if n, err := s.Type("kmp_team_t"); err != nil || n.Size != 2048 {
		t.Errorf("%v, %v", n, err)
	}
	if _, err := s.Type("none"); !errors.Is(err, ErrUnknown) {
		t.Error(err)
	}
	if _, err := s.Field("kmp_team_t", "t_lost"); err == nil || errors.Is(err, ErrUnknown) {
		t.Errorf("an error of the debugger: %v", err)
	}
}
