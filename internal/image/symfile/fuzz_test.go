package symfile_test

import (
	"debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/image/symfile"
)

// smallLibrary is the header of a library with one segment of size bytes in memory.
func smallLibrary(f testing.TB, size uint64) []byte {
	f.Helper()
	le := binary.LittleEndian
	h := elf.Header64{
		Ident: [16]byte{0x7f, 'E', 'L', 'F', 2, 1, 1}, Type: uint16(elf.ET_DYN), Machine: uint16(elf.EM_X86_64),
		Version: 1, Phoff: 64, Ehsize: 64, Phentsize: 56, Phnum: 1,
	}
	b, err := binary.Append(nil, le, h)
	if err != nil {
		f.Fatal(err)
	}
	segment := elf.Prog64{Type: uint32(elf.PT_LOAD), Flags: 6, Filesz: 120, Memsz: size}
	if b, err = binary.Append(b, le, segment); err != nil {
		f.Fatal(err)
	}
	return b
}

// FuzzLoad maps bytes as a library, like the loader: reads must be complete or a fault.
func FuzzLoad(f *testing.F) {
	for _, size := range []uint64{120, 4096, 119, 1 << 62} {
		f.Add(smallLibrary(f, size))
	}
	name := filepath.Join(f.TempDir(), "library")
	f.Fuzz(func(t *testing.T, b []byte) {
		if err := os.WriteFile(name, b, 0o600); err != nil {
			t.Fatal(err)
		}
		img, err := symfile.Load(name, nil, nil)
		if (img == nil) == (err == nil) {
			t.Fatalf("%v and %v", img, err)
		}
		if img == nil {
			return
		}
		defer img.Close()
		img.Symbol("main", "")
		for _, m := range img.Mappings() {
			for _, a := range []callbacks.Address{m.Low, m.High.Add(^uint64(7))} {
				img.ReadMemory(a, make([]byte, 8))
			}
			if img.ReadMemory(m.High.Add(^uint64(0)), make([]byte, 1<<16)) == nil && len(img.Mappings()) == 1 {
				t.Fatalf("64 KiB behind %+v", m)
			}
		}
	})
}
