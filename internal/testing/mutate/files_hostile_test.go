package mutate

import (
	"bytes"
	"compress/zlib"
	"debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"
	"time"

	"github.com/ompd-inspect/ompd-inspect/internal/cli"
)

// mostBombTime is the limit of CPU time for a hostile file of 64 MB. Most take 0.1 s, and one that unpacks to 8
// GiB takes 10 s; without a bound, a file would take hours.
const mostBombTime = 5 * time.Minute

// section is a section that is added to an executable, in place of those of that name.
type section struct {
	name string
	head elf.Section64 // Type, Flags, Addr, Entsize; Link is counted from the first added one
	data []byte
}

// withSections returns an executable with other sections. The parts for the loader stay the same.
func withSections(t *testing.T, exe []byte, add []section) []byte {
	t.Helper()
	le := binary.LittleEndian
	old := int(le.Uint16(exe[60:]))
	heads := make([]elf.Section64, old, old+len(add)+1)
	if _, err := binary.Decode(exe[le.Uint64(exe[40:]):], le, heads); err != nil {
		t.Fatal(err)
	}
	strings := heads[le.Uint16(exe[62:])]
	names := bytes.Clone(exe[strings.Off : strings.Off+strings.Size])
	for _, s := range add {
		for i := range heads[:old] {
			name, _, _ := bytes.Cut(names[heads[i].Name:], []byte{0})
			if string(name) == s.name || heads[i].Type == s.head.Type && s.head.Type == uint32(elf.SHT_SYMTAB) {
				heads[i] = elf.Section64{}
			}
		}
		h := s.head
		h.Name, h.Off, h.Size = uint32(len(names)), uint64(len(exe)), uint64(len(s.data))
		h.Link += uint32(old)
		names = append(append(names, s.name...), 0)
		exe = append(exe, s.data...)
		heads = append(heads, h)
	}
	heads = append(heads, elf.Section64{Type: uint32(elf.SHT_STRTAB), Off: uint64(len(exe)), Size: uint64(len(names))})
	exe = append(exe, names...)
	le.PutUint64(exe[40:], uint64(len(exe)))
	le.PutUint16(exe[60:], uint16(len(heads)))
	le.PutUint16(exe[62:], uint16(len(heads)-1))
	out, err := binary.Append(exe, le, heads)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// packed returns a compressed section of n zeros that claims a size of n bytes.
func packed(t *testing.T, n int64) []byte {
	t.Helper()
	head := elf.Chdr64{Type: uint32(elf.COMPRESS_ZLIB), Size: uint64(n), Addralign: 1}
	b, _ := binary.Append(nil, binary.LittleEndian, head)
	buf := bytes.NewBuffer(b)
	z := zlib.NewWriter(buf)
	zeros := make([]byte, 1<<20)
	for ; n > 0; n -= int64(len(zeros)) {
		if _, err := z.Write(zeros); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// debugSection returns a section of debug information.
func debugSection(name string, data []byte) section {
	return section{".debug_" + name, elf.Section64{Type: uint32(elf.SHT_PROGBITS)}, data}
}

// bombs returns executables that provoke high use of memory or time.
func bombs(t *testing.T) map[string][]section {
	t.Helper()
	const large = 48 << 20
	unit := func(abbrevs uint32) []byte { // DWARF 4, with the entry 1 of its table
		b, _ := binary.Append(nil, binary.LittleEndian, []uint32{8, 4 | abbrevs<<16, abbrevs>>16 | 8<<16 | 1<<24})
		return b
	}
	var overlapping []byte
	for i := range uint32(200_000) {
		overlapping = append(overlapping, unit(5*i)...)
	}
	abbrevs := append(bytes.Repeat([]byte{2, 0x11, 0, 0, 0}, 200_000), 1, 0x11, 0, 0, 0, 0)
	compileUnit := []byte{1, 0x11, 0, 0x10, 0x17, 0x11, 0x01, 0x12, 0x07, 0, 0, 0} // stmt_list, low_pc, high_pc
	info, _ := binary.Append(nil, binary.LittleEndian, struct {
		Size    uint32
		Version uint16
		Abbrevs uint32
		Address uint8
		Code    uint8
		Lines   uint32
		Low     uint64
		High    uint64
	}{8 + 4 + 16, 4, 0, 8, 1, 0, 2, 1 << 47})
	lines, _ := binary.Append(nil, binary.LittleEndian, struct {
		Size    uint32
		Version uint16
		Header  uint32
		Rest    [8]uint8
	}{large + 14, 4, 8, [8]uint8{1, 1, 1, 0, 1, 1, 0, 0}})
	symbol := append([]byte{1, 0, 0, 0, 2, 0, 1, 0, 0, 0x10, 0, 0, 0, 0, 0, 0}, make([]byte, 8)...)
	symbols := bytes.Repeat(symbol, large/24)
	text := append(bytes.Repeat([]byte("x"), 1<<20), 0)
	return map[string][]section{
		"units without entries": {
			debugSection("info", bytes.Repeat(unit(0), large/12)),
			debugSection("abbrev", []byte{1, 0x11, 0, 0, 0, 0}),
		},
		"abbreviations that overlap": {debugSection("info", overlapping), debugSection("abbrev", abbrevs)},
		"lines without end": {
			debugSection("info", info), debugSection("abbrev", compileUnit),
			debugSection("line", append(lines, bytes.Repeat([]byte{0x20}, large)...)),
		},
		"a section that unpacks to 1 GiB": {{
			".debug_info", elf.Section64{Type: uint32(elf.SHT_PROGBITS), Flags: uint64(elf.SHF_COMPRESSED)},
			packed(t, 1<<30),
		}},
		"symbols of one long name": {
			{".symtab", elf.Section64{Type: uint32(elf.SHT_SYMTAB), Entsize: 24, Link: 1}, symbols},
			{".strtab", elf.Section64{Type: uint32(elf.SHT_STRTAB)}, text},
		},
		"relocations": {{".rela.plt", elf.Section64{Type: uint32(elf.SHT_RELA), Entsize: 24},
			bytes.Repeat([]byte{8, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, large/24)}},
		"one long string": {
			debugSection("info", info), debugSection("abbrev", compileUnit),
			debugSection("str", bytes.Repeat([]byte("x"), large)),
		},
	}
}

// measure looks at bombs, and compares the resources used with their limits.
type measure struct{ out *os.File }

// newMeasure sets up memory limits as the command does, for the duration of a test.
func newMeasure(t *testing.T) measure {
	t.Helper()
	if testing.Short() {
		t.Skip("files of 64 MB")
	}
	percent, limit := debug.SetGCPercent(1600), debug.SetMemoryLimit(96<<20)
	t.Cleanup(func() {
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
	})
	out, err := os.CreateTemp(t.TempDir(), "out")
	if err != nil {
		t.Fatal(err)
	}
	return measure{out}
}

// report reports on a core: an answer or an error message, in bounded time and memory.
func (m measure) report(t *testing.T, name string, args ...string) (status int) {
	t.Helper()
	debug.FreeOSMemory()
	resetPeak()
	before, own := processorTime(), peak()
	status, stdout, stderr, panicked := run(t, m.out, append([]string{"report", "--json", "--no-debuginfod"}, args...))
	used, rss := processorTime()-before, peak()-own
	t.Logf("%s: %v, %d MiB, exit status %d", name, used.Round(time.Millisecond), rss>>20, status)
	if panicked != "" || used > mostBombTime || rss > mostMemory {
		t.Errorf("%s: exit status %d, %v, %d MiB: %s%s", name, status, used, rss>>20, panicked, stderr)
	} else if why := wrong(status, "report", stdout, stderr); why != "" {
		t.Errorf("%s: %s", name, why)
	}
	return status
}

// TestFileBombs looks at a core with executables that claim huge sizes: the report has all threads, in bounded
// time and memory.
func TestFileBombs(t *testing.T) {
	m := newMeasure(t)
	var s *subject
	for _, other := range open(t) {
		if other.name == "llvm-deadlock" {
			s = other
		}
	}
	exe, err := os.ReadFile(s.files.Exe)
	if err != nil {
		t.Fatal(err)
	}
	for name, sections := range bombs(t) {
		path := filepath.Join(t.TempDir(), "exe")
		if err := os.WriteFile(path, withSections(t, bytes.Clone(exe), sections), 0o755); err != nil {
			t.Fatal(err)
		}
		if status := m.report(t, name, "--sysroot", s.files.Sysroot, "--exe", path, s.path); status != cli.ExitOK {
			t.Errorf("%s: exit status %d", name, status)
		}
	}
}
