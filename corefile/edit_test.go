package corefile

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/image/elfx"
)

// edit is a core that was taken apart, to be written again with changes.
type edit struct {
	b     []byte // the file, without what write appends
	loads []elf.Prog64
	notes [][]elfx.Note // one list for each note segment
}

func newEdit(t testing.TB, path string) *edit {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	e := &edit{b: b}
	phoff, n := binary.LittleEndian.Uint64(b[32:]), int(binary.LittleEndian.Uint16(b[56:]))
	list := make([]elf.Prog64, n)
	if err := binary.Read(bytes.NewReader(b[phoff:]), binary.LittleEndian, list); err != nil {
		t.Fatal(err)
	}
	for _, p := range list {
		if elf.ProgType(p.Type) != elf.PT_NOTE {
			e.loads = append(e.loads, p)
			continue
		}
		var notes []elfx.Note
		for note := range elfx.Notes(b[p.Off:p.Off+p.Filesz], 4) {
			notes = append(notes, note)
		}
		e.notes = append(e.notes, notes)
	}
	return e
}

// keepNotes leaves only the notes that keep accepts.
func (e *edit) keepNotes(keep func(elfx.Note) bool) {
	for i, list := range e.notes {
		var kept []elfx.Note
		for _, n := range list {
			if keep(n) {
				kept = append(kept, n)
			}
		}
		e.notes[i] = kept
	}
}

// changeNotes changes each note in place; descriptors are copied first.
func (e *edit) changeNotes(change func(*elfx.Note)) {
	for _, list := range e.notes {
		for i := range list {
			list[i].Desc = bytes.Clone(list[i].Desc)
			change(&list[i])
		}
	}
}

// assemble returns the assembled core, with notes and program headers at its end. More than 65,534
// program headers are counted in a section header.
func (e *edit) assemble() []byte {
	b := bytes.Clone(e.b)
	var progs []elf.Prog64
	for _, list := range e.notes {
		start := len(b)
		for _, n := range list {
			b = appendNote(b, n)
		}
		progs = append(progs, elf.Prog64{Type: uint32(elf.PT_NOTE), Off: uint64(start), Filesz: uint64(len(b) - start)})
	}
	progs = append(progs, e.loads...)
	phoff := len(b)
	b, _ = binary.Append(b, binary.LittleEndian, progs)
	le := binary.LittleEndian
	le.PutUint64(b[32:], uint64(phoff))
	le.PutUint16(b[56:], uint16(min(len(progs), 0xffff)))
	if len(progs) >= 0xffff {
		le.PutUint64(b[40:], uint64(len(b)))
		le.PutUint16(b[58:], 64)
		le.PutUint16(b[60:], 1)
		b, _ = binary.Append(b, binary.LittleEndian, elf.Section64{Info: uint32(len(progs))})
	}
	return b
}

func appendNote(b []byte, n elfx.Note) []byte {
	owner := n.Owner
	if owner != "" {
		owner += "\x00"
	}
	b = binary.LittleEndian.AppendUint32(b, uint32(len(owner)))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(n.Desc)))
	b = binary.LittleEndian.AppendUint32(b, n.Type)
	pad := func() {
		for len(b)%4 != 0 {
			b = append(b, 0)
		}
	}
	b = append(b, owner...)
	pad()
	b = append(b, n.Desc...)
	pad()
	return b
}

// write writes the core into a file.
func (e *edit) write(t testing.TB) string { return writeCore(t, e.assemble()) }

func writeCore(t testing.TB, b []byte) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "core")
	if err := os.WriteFile(name, b, 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}

// poke changes the 8-byte word of the program's memory at address a.
func (e *edit) poke(t testing.TB, a, v uint64) {
	t.Helper()
	for _, p := range e.loads {
		if a >= p.Vaddr && a+8 <= p.Vaddr+p.Filesz {
			binary.LittleEndian.PutUint64(e.b[p.Off+a-p.Vaddr:], v)
			return
		}
	}
	t.Fatalf("%#x is not in the core", a)
}

// drop removes the captured bytes of the segment at address a from the core.
func (e *edit) drop(a uint64) {
	for i, p := range e.loads {
		if a >= p.Vaddr && a < p.Vaddr+p.Memsz {
			e.loads[i].Filesz = 0
		}
	}
}

// trim returns a core of the same program that is small enough for a fuzzer. It keeps the loader's
// lists, the headers of files and two threads, without vector registers.
func trim(t testing.TB, p *program) []byte {
	t.Helper()
	c := open(t, p.core, Options{})
	e := newEdit(t, p.core)
	threads := 0
	e.keepNotes(func(n elfx.Note) bool {
		if n.Type == ntPRSTATUS {
			threads++
		}
		return n.Type == ntPRSTATUS && threads <= 2 || n.Type == ntAUXV || n.Type == ntFILE || n.Type == ntPRPSINFO ||
			n.Type == ntSIGINFO
	})
	mods, _ := c.Modules()
	small := &edit{b: bytes.Clone(e.b[:64]), notes: e.notes}
	keep := map[uint64]bool{c.notes.auxv[31] &^ 4095: true}
	for _, m := range mods {
		keep[m.Low.Offset] = true
	}
	for _, a := range c.mods.LinkMapAddresses() {
		keep[a&^4095], keep[(a+1100)&^4095] = true, true
	}
	for _, l := range e.loads {
		for at := l.Vaddr; at < l.Vaddr+l.Filesz; at += 4096 {
			if !keep[at] {
				continue
			}
			off := uint64(len(small.b))
			small.b = append(small.b, e.b[l.Off+at-l.Vaddr:][:4096]...)
			small.loads = append(small.loads, elf.Prog64{Type: l.Type, Flags: l.Flags, Off: off, Vaddr: at,
				Filesz: 4096, Memsz: 4096})
		}
	}
	return small.assemble()
}

// lwpsOf returns the thread ids as numbers.
func lwpsOf(t testing.TB, c *Core) []uint64 {
	t.Helper()
	ids, err := c.ThreadIDs(callbacks.ThreadIDLWP)
	if err != nil {
		t.Fatal(err)
	}
	var list []uint64
	for _, id := range ids {
		list = append(list, id.Value)
	}
	return list
}
