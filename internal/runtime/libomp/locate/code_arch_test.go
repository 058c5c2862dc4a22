package locate

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/image/elfx"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// loadedFile is a target that consists of a library, loaded at its own addresses
// and relocated.
type loadedFile struct {
	file  *elfx.File
	words map[uint64]uint64 // words that the loader writes
}

func loadFile(t *testing.T, path string) (*loadedFile, *callbacks.Module) {
	t.Helper()
	f, c, err := elfx.OpenPath(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	l := &loadedFile{file: f, words: map[uint64]uint64{}}
	relocs, err := f.Relocations()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range relocs {
		s, _ := f.LookupDynamic(r.Symbol)
		l.words[r.Offset] = s.Value + uint64(r.Addend)
	}
	mod := &callbacks.Module{Path: path}
	for _, p := range f.Progs() {
		if p.Type == elf.PT_LOAD {
			mod.High = callbacks.Addr(p.Vaddr + p.Memsz)
		}
	}
	return l, mod
}

func (l *loadedFile) ReadMemory(a callbacks.Address, p []byte) error {
	if w, ok := l.words[a.Offset]; ok && len(p) == 8 {
		binary.LittleEndian.PutUint64(p, w)
		return nil
	}
	b, err := l.file.DataAt(a.Offset, len(p))
	if err != nil || len(b) < len(p) {
		return &callbacks.FaultError{Address: a, Err: errors.Join(callbacks.ErrUnmapped, err)}
	}
	copy(p, b)
	return nil
}

func (l *loadedFile) Symbol(name, _ string) (callbacks.Address, error) {
	if s, ok := l.file.LookupDynamic(name); ok {
		return callbacks.Addr(s.Value), nil
	}
	return callbacks.Address{}, callbacks.ErrNoSymbol
}

func (l *loadedFile) ThreadSymbol(callbacks.ThreadID, string, string) (callbacks.Address, error) {
	return callbacks.Address{}, callbacks.ErrNoSymbol
}

func (l *loadedFile) ThreadIDs(callbacks.IDKind) ([]callbacks.ThreadID, error) { return nil, nil }
func (l *loadedFile) Arch() callbacks.Arch                                     { return l.file.Arch() }

// TestCodeOtherLayout reads a runtime with a layout that no table has, on both architectures, with variables
// that are reached directly and through the global offset table.
func TestCodeOtherLayout(t *testing.T) {
	omptest.Needs(t, "a C compiler")
	for _, build := range []string{
		"--target=x86_64-linux-gnu -O2", "--target=x86_64-linux-gnu -O0",
		"--target=x86_64-linux-gnu -O2 -fvisibility=hidden -Wl,-Bsymbolic",
		"--target=aarch64-linux-gnu -O2", "--target=aarch64-linux-gnu -O1 -mbranch-protection=standard",
	} {
		t.Run(build, func(t *testing.T) {
			lib := filepath.Join(t.TempDir(), "libomp.so")
			args := append(strings.Fields(build), "-shared", "-fPIC", "-ffreestanding", "-nostdlib", "-fuse-ld=lld",
				"-o", lib, "testdata/accessors.c")
			if out, err := exec.Command("clang-16", args...).CombinedOutput(); err != nil {
				t.Fatalf("clang-16 %v: %v\n%s", args, err, out)
			}
			target, mod := loadFile(t, lib)
			checkOtherLayout(t, newCodeSource(target, mod), target)
		})
	}
}

func checkOtherLayout(t *testing.T, src layout.Source, target *loadedFile) {
	for name, want := range map[fieldName]layout.Field{
		fieldOf("kmp_base_info_t", "th_info.ds.ds_tid"):        {Offset: 4, Size: 4},
		fieldOf("kmp_base_info_t", "th_root"):                  {Offset: 8, Size: 8},
		fieldOf("kmp_base_info_t", "th_teams_microtask"):       {Offset: 16, Size: 8},
		fieldOf("kmp_base_info_t", "th_team"):                  {Offset: 24, Size: 8},
		fieldOf("kmp_base_info_t", "th_current_task"):          {Offset: 32, Size: 8},
		fieldOf("kmp_base_info_t", "th_set_nproc"):             {Offset: 40, Size: 4},
		fieldOf("kmp_base_root_t", "r_in_parallel"):            {Offset: 12, Size: 4},
		fieldOf("kmp_base_team_t", "t_parent"):                 {Offset: 40, Size: 8},
		fieldOf("kmp_base_team_t", "t_nproc"):                  {Offset: 48, Size: 4},
		fieldOf("kmp_base_team_t", "t_level"):                  {Offset: 52, Size: 4},
		fieldOf("kmp_base_team_t", "t_serialized"):             {Offset: 56, Size: 4},
		fieldOf("kmp_taskdata_t", "td_flags.final"):            {Offset: 8, Size: 4, Mask: 0x20},
		fieldOf("kmp_taskdata_t", "td_icvs.dynamic"):           {Offset: 48, Size: 1},
		fieldOf("kmp_taskdata_t", "td_icvs.max_active_levels"): {Offset: 52, Size: 4},
		fieldOf("kmp_taskdata_t", "td_icvs.sched.chunk"):       {Offset: 56, Size: 4},
	} {
		if got, err := src.Field(name.Type, name.Field); err != nil || got != want {
			t.Errorf("%v at %v, error %v, want %v", name, got, err, want)
		}
	}
	for _, name := range []string{"__kmp_threads", "__kmp_all_nth"} {
		want, err := target.Symbol(name, "")
		if err != nil {
			t.Fatal(err)
		}
		if got, err := src.Global(name); err != nil || got != want.Offset {
			t.Errorf("%s at %#x, error %v, want %v", name, got, err, want)
		}
	}
}
