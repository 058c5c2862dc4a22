package elfx

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"iter"
)

// Note is an entry of a note segment. Its slices are parts of the segment.
type Note struct {
	Owner string // "CORE", "GNU"; some writers leave it empty
	Type  uint32
	Desc  []byte
}

// Notes yields the entries of a note segment until its end, or until an entry
// that does not fit. Both names and descriptors are padded to align bytes; an
// align that is not 8 means 4, as in every core.
func Notes(b []byte, align uint64) iter.Seq[Note] {
	if align != 8 {
		align = 4
	}
	return func(yield func(Note) bool) {
		const head = 12
		for len(b) >= head {
			owner := uint64(binary.LittleEndian.Uint32(b))
			desc := uint64(binary.LittleEndian.Uint32(b[4:]))
			typ := binary.LittleEndian.Uint32(b[8:])
			at := (head + owner + align - 1) &^ (align - 1)
			end := at + desc
			if end > uint64(len(b)) {
				return
			}
			name := bytes.TrimRight(b[head:head+owner], "\x00")
			if !yield(Note{string(name), typ, b[at:end:end]}) {
				return
			}
			b = b[min(uint64(len(b)), (end+align-1)&^(align-1)):]
		}
	}
}

// BuildIDNote returns the GNU build identifier among the notes in b; nil without one.
func BuildIDNote(b []byte, align uint64) []byte {
	const ntGNUBuildID = 3
	for n := range Notes(b, align) {
		if n.Owner == "GNU" && n.Type == ntGNUBuildID && len(n.Desc) > 0 {
			return n.Desc
		}
	}
	return nil
}

// BuildID returns the GNU build identifier; nil without one.
func (f *File) BuildID() []byte {
	for i := range f.progs {
		p := &f.progs[i]
		if p.Type != elf.PT_NOTE {
			continue
		}
		if b, err := f.bytesAt(p.Off, p.Filesz); err == nil {
			if id := BuildIDNote(b, p.Align); id != nil {
				return id
			}
		}
	}
	b, h, err := f.Section(".note.gnu.build-id")
	if err != nil {
		return nil
	}
	return BuildIDNote(b, h.Addralign)
}

// DebugLink returns the name and the CRC-32 of the separate debug file in .gnu_debuglink.
func (f *File) DebugLink() (name string, crc uint32, ok bool) {
	b, _, err := f.Section(".gnu_debuglink")
	if err != nil {
		return "", 0, false
	}
	n := cString(b, 0)
	at := (len(n) + 1 + 3) &^ 3
	if len(n) == 0 || at+4 > len(b) {
		return "", 0, false
	}
	return string(n), binary.LittleEndian.Uint32(b[at:]), true
}

// Interp returns the path of the program interpreter; "" without one.
func (f *File) Interp() string {
	for i := range f.progs {
		p := &f.progs[i]
		if p.Type != elf.PT_INTERP {
			continue
		}
		if b, err := f.bytesAt(p.Off, min(p.Filesz, maxName)); err == nil {
			return string(cString(b, 0))
		}
	}
	return ""
}
