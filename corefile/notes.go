package corefile

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"io"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/code/arch"
	"github.com/ompd-inspect/ompd-inspect/internal/guard/budget"
	"github.com/ompd-inspect/ompd-inspect/internal/image/elfx"
)

// Types of the notes that are read, from <linux/elf.h>.
const (
	ntPRSTATUS   = 1
	ntPRFPREG    = 2
	ntPRPSINFO   = 3
	ntAUXV       = 6
	ntSIGINFO    = 0x53494749
	ntFILE       = 0x46494c45
	ntARMTLS     = 0x401
	ntARMSyscall = 0x404
	ntARMPACMask = 0x406
)

// auxvVDSO is AT_SYSINFO_EHDR.
const auxvVDSO = 33

// maxNotes bounds the notes of a core: four for each of the four million
// threads that the kernel can have (PID_MAX_LIMIT).
const maxNotes = 1 << 24

// Bounds on the notes that are read, in bytes.
const (
	// maxFiles bounds NT_FILE: core_file_note_size_limit, 4 MiB by default, is at
	// most 16 MiB.
	maxFiles = 16 << 20
	// maxDesc bounds every other note; the largest, NT_PRSTATUS, has some 400 bytes.
	maxDesc = 4 << 10
)

// threadCost is the approximate memory of a thread in addition to its note, in bytes. filesCost is
// the memory for NT_FILE as a multiple of its size: a copy, the names, and the list with two
// regions for each file.
const (
	threadCost = 2 << 10
	filesCost  = 12
)

// noteWindow is the size of one read, in bytes: a thread's registers arrive with the header of the
// next note, and the 11 KiB of vector registers are skipped.
const noteWindow = 1024

// notes is the content of a core's note segments.
type notes struct {
	first  uint32 // type of the first note
	named  bool   // the notes have owners
	memory *budget.Ledger
	// room is the part of memory for threads: the files of the program must be readable too.
	room *budget.Ledger
	lost bool // a note segment ends past the end of the file
	own  bool // Write made them
	// recording means that Write made the notes for a recording.
	recording bool
	moment    int64
	threads   []threadNotes
	unread    int // threads whose notes did not fit the memory
	process   *processNote
	signal    *arch.SignalInfo // of the thread that got the fatal signal
	auxv      map[uint64]uint64
	files     []callbacks.Mapping
}

// threadNotes are the notes of one thread, undecoded.
type threadNotes struct {
	status           []byte // NT_PRSTATUS
	tls, syscall, pa []byte // aarch64
	vectors          noteRange
}

// noteRange is the content of a note in the file.
type noteRange struct{ off, n uint64 }

// processNote is NT_PRPSINFO.
type processNote struct {
	pid        int
	name, args string
	forked     bool // it is a fork of another process, and has executed no program since
}

// readNotes reads all note segments. A damaged note ends its segment.
func readNotes(f *elfx.File, img callbacks.Image, l *budget.Ledger) *notes {
	n := &notes{memory: l, room: l.Half()}
	left := maxNotes
	whole := uint64(img.Size()) // bounds segments that overlap
	for _, p := range f.Progs() {
		if p.Type != elf.PT_NOTE {
			continue
		}
		r := &noteReader{r: img, off: p.Off, end: p.Off + p.Filesz}
		if size := uint64(img.Size()); p.Filesz > size || p.Off > size-p.Filesz {
			n.lost, r.end = true, size
		}
		if claimed := r.end - min(r.off, r.end); claimed > whole {
			n.lost, r.end = true, r.off+whole
		}
		whole -= r.end - min(r.off, r.end)
		for left > 0 && r.next() {
			left--
			n.addNote(r)
		}
	}
	return n
}

// momentSize is the size of the time after recordingMark, in bytes.
const momentSize = 8

// addOwn decodes Write's own note.
func (n *notes) addOwn(desc []byte) {
	rest, ok := bytes.CutPrefix(desc, []byte(recordingMark))
	n.recording = n.recording || ok
	if ok && len(rest) == momentSize {
		n.moment = int64(binary.LittleEndian.Uint64(rest))
	}
}

// addNote decodes the current note of r.
func (n *notes) addNote(r *noteReader) {
	if n.first == 0 {
		n.first, n.named = r.typ, r.owner != ""
	}
	switch r.owner {
	case coreOwner, linuxOwner, "":
	case ownOwner:
		n.own = true
		n.addOwn(r.readDesc(uint64(len(recordingMark) + momentSize)))
		return
	default:
		return
	}
	switch r.typ {
	case ntPRSTATUS:
		if n.unread > 0 || n.room.Try("threads", threadCost+min(r.n, maxDesc)) != nil {
			n.unread++
			return
		}
		n.threads = append(n.threads, threadNotes{status: r.readDesc(maxDesc)})
	case ntPRPSINFO:
		n.process = decodeProcess(r.readDesc(maxDesc))
	case ntSIGINFO:
		if n.signal == nil { // gcore writes one for each thread
			if s, ok := arch.ParseSignalInfo(r.readDesc(maxDesc)); ok {
				n.signal = &s
			}
		}
	case ntAUXV:
		n.auxv = decodeAuxv(r.readDesc(maxDesc))
	case ntFILE:
		if n.files == nil && n.memory.Take("list of mapped files", filesCost*min(r.n, maxFiles)) == nil {
			n.files = decodeFiles(r.readDesc(maxFiles))
		}
	case ntARMTLS, ntARMSyscall, ntARMPACMask, ntPRFPREG:
		n.addToThread(r)
	}
}

// addToThread adds a note to the thread of the preceding NT_PRSTATUS.
func (n *notes) addToThread(r *noteReader) {
	if len(n.threads) == 0 || n.unread > 0 {
		return
	}
	t := &n.threads[len(n.threads)-1]
	switch r.typ {
	case ntPRFPREG: // read when they are needed
		t.vectors = noteRange{r.descOff, r.n}
	case ntARMTLS:
		t.tls = r.readDesc(maxDesc)
	case ntARMSyscall:
		t.syscall = r.readDesc(maxDesc)
	case ntARMPACMask:
		t.pa = r.readDesc(maxDesc)
	}
}

// noteReader iterates over the notes of a segment and reads only the requested ones.
type noteReader struct {
	r        io.ReaderAt
	off, end uint64 // next note, end of the segment
	window   []byte // file content from start on
	start    uint64

	owner      string
	typ        uint32
	descOff, n uint64
}

// next advances to the next note. It returns false at the end.
func (r *noteReader) next() bool {
	const head = 12
	b, ok := r.readBytes(r.off, head)
	if !ok {
		return false
	}
	le := binary.LittleEndian
	owner, desc := uint64(le.Uint32(b)), uint64(le.Uint32(b[4:]))
	r.typ = le.Uint32(b[8:])
	if owner == 0 && desc == 0 && r.typ == 0 {
		return false // padding after the last note
	}
	name, ok := r.readBytes(r.off+head, min(owner, 16))
	if !ok {
		return false
	}
	r.owner = strings.TrimRight(string(name), "\x00")
	r.descOff, r.n = r.off+align4(head+owner), desc
	if r.descOff > r.end || desc > r.end-r.descOff {
		return false
	}
	r.off = r.descOff + align4(desc)
	return true
}

// align4 rounds up to the alignment of notes, which is 4 in every core.
func align4(n uint64) uint64 { return (n + 3) &^ 3 }

// readDesc returns a copy of the note's content; nil if it has more than most bytes or cannot be read.
func (r *noteReader) readDesc(most uint64) []byte {
	if r.n > most {
		return nil
	}
	b, ok := r.readBytes(r.descOff, r.n)
	if !ok {
		return nil
	}
	return append([]byte(nil), b...)
}

// readBytes returns n bytes of the segment at off, from the window if it contains them.
func (r *noteReader) readBytes(off, n uint64) ([]byte, bool) {
	if off > r.end || n > r.end-off {
		return nil, false
	}
	if off < r.start || off+n > r.start+uint64(len(r.window)) {
		size := min(max(n, noteWindow), r.end-off)
		if uint64(cap(r.window)) < size {
			r.window = make([]byte, size)
		}
		r.window, r.start = r.window[:size], off
		if got, _ := r.r.ReadAt(r.window, int64(off)); uint64(got) < size {
			r.window = r.window[:got]
		}
		if uint64(len(r.window)) < n {
			return nil, false
		}
	}
	return r.window[off-r.start:][:n], true
}

// decodeProcess reads struct elf_prpsinfo.
func decodeProcess(b []byte) *processNote {
	const size, flags, pid, name, args = 136, 8, 24, 40, 56
	const forkNoExec = 0x40 // PF_FORKNOEXEC of linux/sched.h
	if len(b) < size {
		return nil
	}
	return &processNote{
		pid:    int(int32(callbacks.Word(b[pid : pid+4]))),
		name:   cString(b[name:args]),
		args:   strings.TrimRight(cString(b[args:size]), " "),
		forked: callbacks.Word(b[flags:flags+8])&forkNoExec != 0,
	}
}

// cString returns the string in a NUL-terminated array of bytes.
func cString(b []byte) string {
	s, _, _ := strings.Cut(string(b), "\x00")
	return s
}

// decodeAuxv reads pairs of numbers up to AT_NULL.
func decodeAuxv(b []byte) map[uint64]uint64 {
	const maxAuxv = 256 // the kernel has some 20
	m := map[uint64]uint64{}
	for ; len(b) >= 16 && len(m) < maxAuxv; b = b[16:] {
		key := callbacks.Word(b[:8])
		if key == 0 {
			break
		}
		m[key] = callbacks.Word(b[8:16])
	}
	return m
}

// decodeFiles decodes the list of mapped files: a count, a page size, for each file start, end and
// offset in pages, and then the names. It skips entries that are not ascending.
func decodeFiles(b []byte) []callbacks.Mapping {
	const head, entry = 16, 24
	if len(b) < head {
		return nil
	}
	count, page := callbacks.Word(b[:8]), callbacks.Word(b[8:16])
	if count > uint64(len(b)-head)/entry {
		return nil
	}
	names := strings.SplitN(string(b[head+count*entry:]), "\x00", int(count)+1)
	list := make([]callbacks.Mapping, 0, count)
	last := uint64(0)
	for i := range min(int(count), len(names)) {
		e := b[head+i*entry:]
		low, high := callbacks.Word(e[:8]), callbacks.Word(e[8:16])
		if low < last || high <= low {
			continue
		}
		last = high
		list = append(list, callbacks.Mapping{
			Low: callbacks.Addr(low), High: callbacks.Addr(high),
			File: names[i], FileOffset: callbacks.Word(e[16:24]) * page,
		})
	}
	return list
}
