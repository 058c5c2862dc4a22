package symfile_test

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ompd-inspect/ompd-inspect/internal/guard/budget"
	"github.com/ompd-inspect/ompd-inspect/internal/image/symfile"
)

// library is a file with some segments, and a list of relocations in bit maps at listAt.
func library(t *testing.T, segments []elf.Prog64, list []byte) string {
	t.Helper()
	const dynAt = 0x800
	h := elf.Header64{
		Ident: [16]byte{0x7f, 'E', 'L', 'F', 2, 1, 1}, Type: uint16(elf.ET_DYN), Machine: uint16(elf.EM_X86_64),
		Version: 1, Phoff: 64, Ehsize: 64, Phentsize: 56, Phnum: uint16(len(segments) + 1),
	}
	dynamic := []uint64{36, listAt, 35, uint64(len(list)), 0, 0} // DT_RELR, DT_RELRSZ
	segments = append(segments, elf.Prog64{Type: uint32(elf.PT_DYNAMIC), Off: dynAt, Vaddr: dynAt, Filesz: 48,
		Memsz: 48})
	b := make([]byte, listAt, listAt+len(list))
	for at, v := range map[int]any{0: h, 64: segments, dynAt: dynamic} {
		part, err := binary.Append(nil, binary.LittleEndian, v)
		if err != nil || at+len(part) > listAt {
			t.Fatal(at, len(part), err)
		}
		copy(b[at:], part)
	}
	name := filepath.Join(t.TempDir(), "library")
	if err := os.WriteFile(name, append(b, list...), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

const listAt = 0x20000

// TestBounds loads libraries with false large sizes: each is an error, without using the memory or the time.
func TestBounds(t *testing.T) {
	load := func(filesz, memsz uint64) elf.Prog64 {
		return elf.Prog64{Type: uint32(elf.PT_LOAD), Flags: 6, Filesz: filesz, Memsz: memsz}
	}
	ones := bytes.Repeat([]byte{0xff}, 16<<20)
	many := make([]elf.Prog64, 1025)
	for i := range many {
		many[i] = load(0, 4096)
	}
	for _, tt := range []struct {
		name     string
		segments []elf.Prog64
		list     []byte
		fits     bool
		want     error // nil: any
	}{
		{"a small one", []elf.Prog64{load(listAt, 1<<20)}, nil, true, nil},
		{"64 MiB of the 64 that are left", []elf.Prog64{load(listAt, 64<<20)}, nil, false, budget.ErrMemory},
		{"a segment of 4 EiB", []elf.Prog64{load(listAt, 1<<62)}, nil, false, nil},
		{"two that are too large together", []elf.Prog64{load(0, 40<<20), load(0, 40<<20)}, nil, false,
			budget.ErrMemory},
		{"1,025 segments", many, nil, false, nil},
		{"132 million relocations", []elf.Prog64{load(listAt+16<<20, 32<<20)}, ones, false, budget.ErrSpent},
	} {
		name := library(t, tt.segments, tt.list)
		img, err := symfile.Load(name, budget.NewLedger(96<<20), budget.New(t.Context(), 200*time.Millisecond))
		if (err == nil) != tt.fits || tt.want != nil && !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
		}
		if err == nil {
			img.Close()
		}
	}
}
