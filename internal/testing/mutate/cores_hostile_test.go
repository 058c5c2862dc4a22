package mutate

import (
	"bytes"
	"compress/gzip"
	"debug/elf"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"

	"github.com/ompd-inspect/ompd-inspect/internal/cli"
)

// bomb is a core that is small on disk and claims to be huge.
type bomb struct {
	name     string
	progs    []elf.Prog64
	sections []elf.Section64
	size     int64            // of the file; unwritten parts are holes
	parts    map[int64][]byte // by offset
	pack     func(t *testing.T, to io.Writer, core *os.File)
	refused  bool // the tool cannot read any of it
}

// Types of notes.
const (
	ntPRSTATUS = 1
	ntAUXV     = 6
	ntFILE     = 0x46494c45
)

// noteHead is the header of a note of CORE with a descriptor of n bytes.
func noteHead(typ, n uint32) []byte {
	b, _ := binary.Append(nil, binary.LittleEndian, []uint32{5, n, typ})
	return append(b, "CORE\x00\x00\x00\x00"...)
}

func repeated[T any](n int, v T) []T {
	out := make([]T, n)
	for i := range out {
		out[i] = v
	}
	return out
}

// Offsets in a bomb: sections follow the program headers, then notes of some threads, and then the hostile part.
const (
	sectionsAt = 4 << 20
	threadsAt  = 9 << 20
	hostileAt  = 10 << 20
)

// coreBombs returns cores that took memory or time without bound in an earlier version, or similar ones: D3 to D6
// of the review that found them, and later additions.
func coreBombs() []bomb {
	threads := bytes.Repeat(append(noteHead(ntPRSTATUS, 336), make([]byte, 336)...), 1000)
	some := elf.Prog64{Type: uint32(elf.PT_NOTE), Off: threadsAt, Filesz: uint64(len(threads))}
	with := func(n int, p elf.Prog64) []elf.Prog64 { return append([]elf.Prog64{some}, repeated(n, p)...) }
	note := func(size uint64) elf.Prog64 {
		return elf.Prog64{Type: uint32(elf.PT_NOTE), Off: hostileAt, Filesz: size}
	}
	load := elf.Prog64{Type: uint32(elf.PT_LOAD), Flags: 6, Off: 4096, Vaddr: 1 << 20, Filesz: 60 << 20, Memsz: 1 << 46}
	long := append(repeated(65000, elf.Section64{Type: uint32(elf.SHT_PROGBITS)}),
		elf.Section64{Type: uint32(elf.SHT_STRTAB), Off: 12 << 20, Size: 1 << 20})
	parts := func(hostile []byte) map[int64][]byte { return map[int64][]byte{threadsAt: threads, hostileAt: hostile} }
	return []bomb{
		{name: "overlapping notes of 60 MiB", progs: with(1000, note(60<<20+20)), size: 80 << 20,
			parts: parts(noteHead(ntPRSTATUS, 60<<20))},
		{name: "NT_FILE of NULs", progs: with(40, note(16<<20+20)), size: 80 << 20,
			parts: parts(noteHead(ntFILE, 16<<20))},
		{name: "NT_FILE of many files", progs: with(1, note(48<<20+20)), size: 64 << 20,
			parts: parts(binary.LittleEndian.AppendUint64(noteHead(ntFILE, 48<<20), 2<<20))},
		{name: "auxiliary vectors without end", progs: with(1000, note(16<<20+20)), size: 80 << 20,
			parts: parts(append(noteHead(ntAUXV, 16<<20), bytes.Repeat([]byte{1}, 1<<20)...))},
		{name: "notes without a size", progs: with(1, note(4<<20)), size: 64 << 20,
			parts: parts(bytes.Repeat(noteHead(0, 0), 200_000))},
		{name: "1,000 segments of the same 1,000 threads", progs: with(1000, some), size: 16 << 20, parts: parts(nil)},
		{name: "65,000 sections of one long name", size: 16 << 20, progs: with(0, some), sections: long,
			parts: parts(bytes.Repeat([]byte("x"), 3<<20))},
		{name: "60,000 segments of all of the file", size: 64 << 20, progs: with(60000, load), parts: parts(nil)},
		{name: "2,097,151 segments", size: 130 << 20, progs: with(maxProgs-1, load), parts: parts(nil),
			sections: []elf.Section64{{Info: maxProgs}}},
		{name: "zstd of zeros", size: 8 << 30, progs: with(0, some), parts: parts(nil), pack: packZstd},
		{name: "gzip of zeros", size: 512 << 20, progs: with(0, some), parts: parts(nil), pack: packGzip},
		{name: "xz that asks for 4 GiB", size: 10 << 20, progs: with(0, some), parts: parts(nil),
			pack: packXZ, refused: true},
	}
}

// maxProgs is the largest number of program headers in a core: a number above 65,534 is in its first section
// header, and the ELF header then has 65,535.
const maxProgs = 1<<21 - 1

// maxPackedText bounds the size of a compressed bomb without its zeros.
const maxPackedText = 16 << 20

// packZstd compresses a core, with separate frames for its zeros, 32 KiB for each 1 GiB of them.
func packZstd(t *testing.T, to io.Writer, core *os.File) {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	text := make([]byte, maxPackedText)
	_, err1 := io.ReadFull(core, text)
	_, err2 := to.Write(w.EncodeAll(text, nil))
	zeros := w.EncodeAll(make([]byte, 64<<20), nil)
	info, err3 := core.Stat()
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	for n := info.Size() - maxPackedText; n > 0; n -= 64 << 20 {
		if _, err := to.Write(zeros); err != nil {
			t.Fatal(err)
		}
	}
}

func packGzip(t *testing.T, to io.Writer, core *os.File) {
	t.Helper()
	w, err := gzip.NewWriterLevel(to, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.Copy(w, core)
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
}

// packXZ compresses a core, and declares a dictionary of 4 GiB.
func packXZ(t *testing.T, to io.Writer, core *os.File) {
	t.Helper()
	var packed bytes.Buffer
	w, err := xz.NewWriter(&packed)
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.Copy(w, core)
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	const header, largest, filter = 12, 40, 0x21
	b := packed.Bytes()
	block := b[header : header+4*(int(b[header])+1)]
	block[bytes.IndexByte(block[1:], filter)+3] = largest
	binary.LittleEndian.PutUint32(block[len(block)-4:], crc32.ChecksumIEEE(block[:len(block)-4]))
	if _, err := to.Write(b); err != nil {
		t.Fatal(err)
	}
}

// write writes the file, sparse, and compresses it.
func (b bomb) write(t *testing.T) string {
	t.Helper()
	h := elf.Header64{
		Type: uint16(elf.ET_CORE), Machine: uint16(elf.EM_X86_64), Version: 1, Ehsize: 64, Phentsize: 56, Shentsize: 64,
		Phoff: 64, Phnum: uint16(len(b.progs)), Shoff: sectionsAt, Shnum: uint16(len(b.sections)),
	}
	if len(b.sections) > 0 {
		h.Shstrndx = uint16(len(b.sections) - 1)
	}
	copy(h.Ident[:], "\x7fELF\x02\x01\x01")
	name := filepath.Join(t.TempDir(), "core")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	put := func(at int64, v any) {
		raw, err := binary.Append(nil, binary.LittleEndian, v)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteAt(raw, at); err != nil {
			t.Fatal(err)
		}
	}
	put(0, h)
	put(64, b.progs)
	put(sectionsAt, b.sections)
	for at, part := range b.parts {
		put(at, part)
	}
	if err := f.Truncate(b.size); err != nil {
		t.Fatal(err)
	}
	if b.pack == nil {
		return name
	}
	packed, err := os.Create(name + ".packed")
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	b.pack(t, packed, f)
	return packed.Name()
}

// TestCoreBombs looks at cores that claim far more data than they have.
func TestCoreBombs(t *testing.T) {
	m := newMeasure(t)
	for _, b := range coreBombs() {
		status := m.report(t, b.name, b.write(t))
		if want := map[bool]int{true: cli.ExitError}[b.refused]; status != want {
			t.Errorf("%s: exit status %d, want %d", b.name, status, want)
		}
	}
}
