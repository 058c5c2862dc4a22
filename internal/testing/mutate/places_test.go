package mutate

import (
	"debug/elf"
	"encoding/binary"
	"os"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/corefile"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/extended"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/readers"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// kind is the structure that contains a place.
type kind string

// The kinds of places.
const (
	inHeader   kind = "ELF header"
	inSegments kind = "program headers"
	inNotes    kind = "note headers"
	inThreads  kind = "NT_PRSTATUS"
	inFiles    kind = "NT_FILE"
	inAuxv     kind = "auxiliary vector"
	inLoader   kind = "r_debug and link maps"
	inRuntime  kind = "structures of the runtime"
	inStacks   kind = "stacks"

	inInterpreter kind = "structures of an interpreter"
)

// place is a number in a core.
type place struct {
	off  int64 // in the file
	size int   // 1, 2, 4 or 8 bytes
	addr uint64
}

// subject is a core that is changed and looked at.
type subject struct {
	name   string
	files  omptest.Golden
	path   string // of the core, unpacked
	file   *os.File
	size   int64
	progs  []elf.Prog64
	places map[kind][]place
	bases  []uint64 // addresses of structures, for misdirected pointers
}

// add adds a place, if it is in the file.
func (s *subject) add(k kind, off int64, size int, addr uint64) {
	if off >= 0 && off+int64(size) <= s.size {
		s.places[k] = append(s.places[k], place{off, size, addr})
	}
}

// offsetOf returns the file offset of the memory at an address, -1 if the file lacks it.
func (s *subject) offsetOf(addr uint64) int64 {
	for _, p := range s.progs {
		if elf.ProgType(p.Type) == elf.PT_LOAD && addr >= p.Vaddr && addr-p.Vaddr < p.Filesz {
			return int64(p.Off + addr - p.Vaddr)
		}
	}
	return -1
}

// word reads a number of the program's memory, 0 if it is missing.
func (s *subject) word(addr uint64) uint64 {
	var b [8]byte
	if off := s.offsetOf(addr); off >= 0 {
		_, _ = s.file.ReadAt(b[:], off)
	}
	return binary.LittleEndian.Uint64(b[:])
}

// find lists the places of a core.
func (s *subject) find(t *testing.T) {
	t.Helper()
	s.places = map[kind][]place{}
	raw := make([]byte, 1<<16)
	_, _ = s.file.ReadAt(raw, 0)
	var h elf.Header64
	if _, err := binary.Decode(raw, binary.LittleEndian, &h); err != nil {
		t.Fatal(err)
	}
	for _, f := range []struct{ off, size int }{
		{4, 1}, {5, 1}, {16, 2}, {18, 2}, {32, 8}, {40, 8}, {54, 2}, {56, 2}, {58, 2}, {60, 2}, {62, 2},
	} {
		s.add(inHeader, int64(f.off), f.size, 0)
	}
	s.progs = make([]elf.Prog64, h.Phnum)
	if _, err := binary.Decode(raw[h.Phoff:], binary.LittleEndian, s.progs); err != nil {
		t.Fatal(err)
	}
	for i := range s.progs {
		at := int64(h.Phoff) + int64(i)*56
		s.add(inSegments, at, 4, 0)
		s.add(inSegments, at+4, 4, 0)
		for _, off := range []int64{8, 16, 32, 40} {
			s.add(inSegments, at+off, 8, 0)
		}
	}
	auxv := map[uint64]uint64{}
	for _, p := range s.progs {
		if elf.ProgType(p.Type) == elf.PT_NOTE {
			s.notes(int64(p.Off), int64(p.Off+p.Filesz), auxv)
		}
	}
	s.loader(auxv)
	s.runtimes(t)
}

// notes lists the places in a note segment.
func (s *subject) notes(off, end int64, auxv map[uint64]uint64) {
	for off+12 <= end {
		var head [3]uint32
		b := make([]byte, 12)
		_, _ = s.file.ReadAt(b, off)
		_, _ = binary.Decode(b, binary.LittleEndian, &head)
		for i := range int64(3) {
			s.add(inNotes, off+4*i, 4, 0)
		}
		desc := off + 12 + int64(head[0]+3)&^3
		size := int64(head[1])
		k := map[uint32]kind{1: inThreads, 6: inAuxv, 0x46494c45: inFiles}[head[2]]
		for i := int64(0); k != "" && i+8 <= size; i += 8 {
			s.add(k, desc+i, 8, 0)
		}
		b = make([]byte, size)
		_, _ = s.file.ReadAt(b, desc)
		switch k {
		case inAuxv:
			for ; len(b) >= 16; b = b[16:] {
				auxv[binary.LittleEndian.Uint64(b)] = binary.LittleEndian.Uint64(b[8:])
			}
		case inThreads: // the stack at the stack pointer
			if len(b) >= 112+160 {
				sp := binary.LittleEndian.Uint64(b[112+152:])
				for i := uint64(0); i < 2048; i += 8 {
					s.add(inStacks, s.offsetOf(sp+i), 8, sp+i)
				}
			}
		}
		off = desc + (size+3)&^3
	}
}

// loader lists the loader's structures: the dynamic section of the executable points to r_debug, and that to the
// link maps.
func (s *subject) loader(auxv map[uint64]uint64) {
	const atPHDR, atPHNUM = 3, 5
	phdr, bias, dynamic := auxv[atPHDR], uint64(0), uint64(0)
	for i := range min(auxv[atPHNUM], 64) {
		switch h := phdr + 56*i; elf.ProgType(s.word(h) & 0xffffffff) {
		case elf.PT_PHDR:
			bias = phdr - s.word(h+16)
		case elf.PT_DYNAMIC:
			dynamic = s.word(h + 16)
		}
		for off := uint64(0); off < 56; off += 8 {
			s.add(inLoader, s.offsetOf(phdr+56*i+off), 8, phdr+56*i+off)
		}
	}
	debug := uint64(0)
	for at := dynamic + bias; dynamic != 0 && s.word(at) != 0; at += 16 {
		s.add(inLoader, s.offsetOf(at), 8, at)
		s.add(inLoader, s.offsetOf(at+8), 8, at+8)
		if elf.DynTag(s.word(at)) == elf.DT_DEBUG {
			debug = s.word(at + 8)
		}
	}
	for off := uint64(0); debug != 0 && off < 48; off += 8 {
		s.add(inLoader, s.offsetOf(debug+off), 8, debug+off)
	}
	for m, n := s.word(debug+8), 0; debug != 0 && m != 0 && n < 32; m, n = s.word(m+24), n+1 {
		s.bases = append(s.bases, m)
		for off := uint64(0); off < 40; off += 8 {
			s.add(inLoader, s.offsetOf(m+off), 8, m+off)
		}
	}
}

// runtimes lists the fields of the runtimes' threads, teams and tasks, by the layout.
func (s *subject) runtimes(t *testing.T) {
	t.Helper()
	c, err := corefile.Open(s.path, corefile.Options{Exe: s.files.Exe, Sysroot: s.files.Sysroot})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	procs, _ := extended.Open(c, readers.Options{})
	for _, p := range procs {
		rt := rtl.Runtime(p)
		bases := structures(rt)
		s.bases = append(s.bases, bases...)
		for _, e := range rt.Layout().Entries {
			if e.Err != nil {
				continue
			}
			if e.Type == "" {
				s.add(inRuntime, s.offsetOf(e.Global), 8, e.Global)
				continue
			}
			for _, b := range bases {
				if size := int(e.Field.Size); size == 1 || size == 2 || size == 4 || size == 8 {
					s.add(inRuntime, s.offsetOf(b+e.Field.Offset), size, b+e.Field.Offset)
				}
			}
		}
	}
}

// structures returns the addresses of a runtime's threads, teams and tasks.
func structures(rt rtl.Runtime) (list []uint64) {
	seen := map[uint64]bool{}
	add := func(a callbacks.Address) {
		if a.Offset != 0 && !seen[a.Offset] && len(list) < 256 {
			seen[a.Offset] = true
			list = append(list, a.Offset)
		}
	}
	n := 0
	for h, err := range rt.Threads() {
		if n++; err != nil || n > 64 {
			break
		}
		add(h.Info)
		region, err := rt.CurrentParallel(h)
		for depth := 0; err == nil && depth < 4; depth++ {
			add(region.Team)
			for task, err := range rt.ExplicitTasks(region) {
				if err != nil || len(list) > 200 {
					break
				}
				add(task.Data)
			}
			region, err = rt.EnclosingParallel(region)
		}
		if task, err := rt.CurrentTask(h); err == nil {
			add(task.Data)
		}
	}
	return list
}
