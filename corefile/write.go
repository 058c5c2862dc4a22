package corefile

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"io"
	"os"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/code/arch"
)

// Contents is the input of Write.
type Contents struct {
	Arch    callbacks.Arch
	Process ProcessContents
	Threads []ThreadContents // the one that got the signal first
	// Signal is siginfo_t of the signal that ends the process; nil if the process is alive.
	Signal []byte
	Auxv   []byte // the auxiliary vector
	// Memory contains the segments' pieces.
	Memory   callbacks.Memory
	Segments []Segment // ascending
	// Recording means that the core holds only the memory that a recorder wrote.
	Recording bool
	// Moment is the time of the recording, in nanoseconds of CLOCK_MONOTONIC; 0 if unknown.
	Moment int64
}

// ProcessContents is the content of NT_PRPSINFO.
type ProcessContents struct {
	PID, PPID, PGID, SID int
	UID, GID             int
	State                byte   // as in ps(1)
	Name                 string // 15 bytes are kept
	Args                 string // 79 bytes are kept
}

// ThreadContents are the registers of a thread.
type ThreadContents struct {
	LWP    int
	Signal int    // that the thread got; 0 without one
	Regs   []byte // user_regs_struct
	Sets   []RegisterSet
}

// RegisterSet is a set of registers in the format of PTRACE_GETREGSET, with its note type.
type RegisterSet struct {
	Type uint32
	Data []byte
}

// Segment is one mapping.
type Segment struct {
	callbacks.Mapping
	// Pieces are the ranges of written memory; gaps read as zeros. If it is empty, the core has no bytes of the
	// mapping.
	Pieces []Range
	// Late memory is written after that of all other segments, because the end of a file may be cut
	// off.
	Late bool
}

// Range is a range of addresses: [Low, High).
type Range struct{ Low, High uint64 }

// ownOwner is the owner of the note that names the writer of a core.
const (
	ownOwner  = "ompd-inspect"
	ntOwnMade = 0x4f4d5044 // unique, because gdb ignores owners
	// recordingMark precedes the time in the note of a recording.
	recordingMark = "recording"
)

// Types and owners of notes that are only written.
const (
	coreOwner  = "CORE"
	linuxOwner = "LINUX"
)

const (
	pageSize   = 4096
	headerSize = 64
	progSize   = 56
	// maxSegments is the largest number of program headers in an ELF header (PN_XNUM); Linux allows
	// 65,530 mappings (vm.max_map_count) by default.
	maxSegments = 0xffff - 2
	// copySize is the size of one read, in bytes.
	copySize = 1 << 20
)

// segmentOffsets returns the file offset of each segment's memory, starting at at, and then the end of the
// last.
func segmentOffsets(segments []Segment, at uint64) []uint64 {
	out := make([]uint64, len(segments)+1)
	for _, late := range []bool{false, true} {
		for i := range segments {
			if s := &segments[i]; s.Late == late {
				out[i] = at
				at += roundToPage(s.capturedSize())
			}
		}
	}
	out[len(segments)] = at
	return out
}

// Write writes a core, in the kernel's format, into an empty file. Zeros become holes of the file.
// Memory that cannot be read is written as zeros.
func Write(f *os.File, c *Contents) error {
	if len(c.Segments) > maxSegments {
		return fmt.Errorf("core: %d mappings, more than %d", len(c.Segments), maxSegments)
	}
	notes := c.encodeNotes()
	progs := uint64(headerSize + progSize*(len(c.Segments)+1))
	offsets := segmentOffsets(c.Segments, roundToPage(progs+uint64(len(notes))))
	le := binary.LittleEndian
	var head bytes.Buffer
	_ = binary.Write(&head, le, elf.Header64{
		Ident: elfIdent(), Type: uint16(elf.ET_CORE), Machine: uint16(arch.Of(c.Arch).Machine),
		Version: uint32(elf.EV_CURRENT),
		Phoff:   headerSize, Ehsize: headerSize, Phentsize: progSize, Phnum: uint16(len(c.Segments) + 1),
	})
	_ = binary.Write(&head, le, elf.Prog64{Type: uint32(elf.PT_NOTE), Off: progs, Filesz: uint64(len(notes)), Align: 4})
	for i, s := range c.Segments {
		at := offsets[i]
		p := elf.Prog64{
			Type: uint32(elf.PT_LOAD), Flags: uint32(s.Perm), Off: at, Vaddr: s.Low.Offset,
			Filesz: s.capturedSize(), Memsz: s.High.Offset - s.Low.Offset, Align: pageSize,
		}
		_ = binary.Write(&head, le, p)
		for _, r := range s.Pieces {
			if err := copyRange(f, int64(at+r.Low-s.Low.Offset), c.Memory, r); err != nil {
				return err
			}
		}
	}
	head.Write(notes)
	if _, err := f.WriteAt(head.Bytes(), 0); err != nil {
		return err
	}
	return f.Truncate(int64(offsets[len(c.Segments)])) // the file may end with a hole
}

// capturedSize returns the number of bytes of the segment in the core.
func (s Segment) capturedSize() uint64 {
	if len(s.Pieces) == 0 {
		return 0
	}
	return s.Pieces[len(s.Pieces)-1].High - s.Low.Offset
}

func roundToPage(n uint64) uint64 { return (n + pageSize - 1) &^ (pageSize - 1) }

func elfIdent() (id [elf.EI_NIDENT]byte) {
	copy(id[:], elf.ELFMAG)
	id[elf.EI_CLASS], id[elf.EI_DATA], id[elf.EI_VERSION] = byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB),
		byte(elf.EV_CURRENT)
	return id
}

// copyRange writes a range of memory at offset off of a file, without pages of zeros.
func copyRange(f io.WriterAt, off int64, mem callbacks.Memory, r Range) error {
	buf := make([]byte, min(copySize, r.High-r.Low))
	for a := r.Low; a < r.High; a += uint64(len(buf)) {
		buf = buf[:min(uint64(len(buf)), r.High-a)]
		if mem.ReadMemory(callbacks.Addr(a), buf) != nil {
			readPages(mem, a, buf)
		}
		for n := 0; n < len(buf); {
			end := n
			for end < len(buf) && !isZero(buf[end:min(end+pageSize, len(buf))]) {
				end = min(end+pageSize, len(buf))
			}
			if end > n {
				if _, err := f.WriteAt(buf[n:end], off+int64(a-r.Low)+int64(n)); err != nil {
					return err
				}
			}
			n = max(end, n+pageSize)
		}
	}
	return nil
}

// readPages reads all readable pages; the rest is zeros.
func readPages(mem callbacks.Memory, a uint64, buf []byte) {
	for n := 0; n < len(buf); n += pageSize {
		page := buf[n:min(n+pageSize, len(buf))]
		if mem.ReadMemory(callbacks.Addr(a+uint64(n)), page) != nil {
			clear(page)
		}
	}
}

func isZero(b []byte) bool {
	for len(b) >= 8 {
		if binary.LittleEndian.Uint64(b) != 0 {
			return false
		}
		b = b[8:]
	}
	return bytes.Count(b, []byte{0}) == len(b)
}

// encodeNotes returns the notes in the kernel's order, then Write's own note.
func (c *Contents) encodeNotes() []byte {
	var out []byte
	for i, t := range c.Threads {
		out = addNote(out, coreOwner, ntPRSTATUS, c.encodeStatus(t))
		if i == 0 {
			out = addNote(out, coreOwner, ntPRPSINFO, c.Process.encode())
			if c.Signal != nil {
				out = addNote(out, coreOwner, ntSIGINFO, c.Signal)
			}
			out = addNote(out, coreOwner, ntAUXV, c.Auxv)
			out = addNote(out, coreOwner, ntFILE, c.encodeFiles())
		}
		for _, s := range t.Sets {
			owner := linuxOwner
			if s.Type == ntPRFPREG {
				owner = coreOwner
			}
			out = addNote(out, owner, s.Type, s.Data)
		}
	}
	var desc []byte
	if c.Recording {
		desc = []byte(recordingMark)
		if c.Moment > 0 {
			desc = binary.LittleEndian.AppendUint64(desc, uint64(c.Moment))
		}
	}
	return addNote(out, ownOwner, ntOwnMade, desc)
}

func addNote(out []byte, owner string, typ uint32, desc []byte) []byte {
	le := binary.LittleEndian
	out = le.AppendUint32(out, uint32(len(owner)+1))
	out = le.AppendUint32(out, uint32(len(desc)))
	out = le.AppendUint32(out, typ)
	out = pad4(append(append(out, owner...), 0))
	return pad4(append(out, desc...))
}

func pad4(b []byte) []byte { return append(b, make([]byte, align4(uint64(len(b)))-uint64(len(b)))...) }

// encodeStatus encodes struct elf_prstatus.
func (c *Contents) encodeStatus(t ThreadContents) []byte {
	const ppid, pgid, sid, tail = 36, 40, 44, 8
	b := make([]byte, statusRegs, statusRegs+len(t.Regs)+tail)
	le := binary.LittleEndian
	le.PutUint32(b, uint32(t.Signal))
	le.PutUint16(b[statusSignal:], uint16(t.Signal))
	for at, v := range map[int]int{statusLWP: t.LWP, ppid: c.Process.PPID, pgid: c.Process.PGID, sid: c.Process.SID} {
		le.PutUint32(b[at:], uint32(v))
	}
	b = append(b, t.Regs...)
	return append(b, 1, 0, 0, 0, 0, 0, 0, 0) // there are floating-point registers
}

// encode returns struct elf_prpsinfo.
func (p ProcessContents) encode() []byte {
	const size, stateName, uid, name, args = 136, 1, 16, 40, 56
	b := make([]byte, size)
	b[stateName] = p.State
	for i, v := range []int{p.UID, p.GID, p.PID, p.PPID, p.PGID, p.SID} {
		binary.LittleEndian.PutUint32(b[uid+4*i:], uint32(v))
	}
	copy(b[name:args-1], p.Name)
	copy(b[args:size-1], p.Args)
	return b
}

// encodeFiles returns the content of NT_FILE.
func (c *Contents) encodeFiles() []byte {
	var names []byte
	out := make([]byte, 16)
	le := binary.LittleEndian
	count := uint64(0)
	for _, s := range c.Segments {
		if s.File == "" {
			continue
		}
		count++
		for _, v := range []uint64{s.Low.Offset, s.High.Offset, s.FileOffset / pageSize} {
			out = le.AppendUint64(out, v)
		}
		names = append(append(names, s.File...), 0)
	}
	le.PutUint64(out, count)
	le.PutUint64(out[8:], pageSize)
	return append(out, names...)
}
