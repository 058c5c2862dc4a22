package dwarfx

import (
	"fmt"
	"path"
	"unsafe"

	"github.com/ompd-inspect/ompd-inspect/internal/image/spans"
)

// lineTable is the line table of one unit.
type lineTable struct {
	u       *Unit
	c       cursor // the line program
	version uint16

	minInst    uint64  // bytes of the shortest instruction
	statements bool    // default: rows start statements
	lineBase   int64   // the lowest line advance of a special opcode
	lineSpan   uint8   // the number of line advances of special opcodes
	lengths    []uint8 // operands of the standard opcodes, from opcode 0

	dirs  []value
	files []lineFile

	ran  bool // rows and seqs are filled in
	rows []row
	seqs spans.Set[[2]int] // first and last row, exclusive
}

// lineFile is a file in a line table.
type lineFile struct {
	name value
	dir  uint64
	path string // set on first use
}

// header reads the header of a line table that starts at c.
func (t *lineTable) header(c cursor) error {
	off := c.Pos
	n, dw64 := c.unitLength()
	start := c.Pos
	c.Data = c.Data[:start+len(c.Take(n))]
	c.Pos = start
	f := format{version: c.U16(), addrSize: 8, dw64: dw64}
	if f.version < 2 || f.version > 5 {
		return fmt.Errorf(".debug_line: unknown version %d of the table at %#x", f.version, off)
	}
	if f.version >= 5 {
		c.U8() // size of addresses
		c.U8() // size of segment selectors
	}
	program := c.offset(dw64)
	program += uint64(c.Pos)
	t.version = f.version
	t.minInst = uint64(c.U8())
	if f.version >= 4 {
		c.U8() // operations per instruction, for VLIW machines
	}
	t.statements = c.U8() != 0
	t.lineBase = int64(int8(c.U8()))
	t.lineSpan = c.U8()
	t.lengths = append([]uint8{0}, c.Take(uint64(max(c.U8(), 1)-1))...)
	if f.version >= 5 {
		t.entries5(&c, f)
	} else {
		t.entries(&c)
	}
	if c.Bad || t.lineSpan == 0 || program > uint64(len(c.Data)) {
		return fmt.Errorf(".debug_line: damaged header of the table at %#x", off)
	}
	t.c = newCursor(c.Data, program)
	return nil
}

// entries reads directories and files in the format of DWARF 2 to 4; number 0 is the compilation directory, and
// no file.
func (t *lineTable) entries(c *cursor) {
	t.dirs = []value{{}}
	for !c.Bad && len(t.dirs) < maxFiles && t.u.d.take(unsafe.Sizeof(value{})) {
		pos := uint64(c.Pos)
		if c.SkipString(); uint64(c.Pos) == pos+1 {
			break
		}
		t.dirs = append(t.dirs, value{formString, pos})
	}
	t.files = []lineFile{{}}
	for !c.Bad && len(t.files) < maxFiles && t.u.d.take(unsafe.Sizeof(lineFile{})) {
		pos := uint64(c.Pos)
		if c.SkipString(); uint64(c.Pos) == pos+1 {
			return
		}
		t.file4(c, pos)
	}
}

// file4 adds the file with its name at pos and its numbers at c.
func (t *lineTable) file4(c *cursor, pos uint64) {
	dir := c.Uleb()
	c.Uleb() // time
	c.Uleb() // size
	t.files = append(t.files, lineFile{name: value{formString, pos}, dir: dir})
}

// entries5 reads directories and files in the format of DWARF 5.
func (t *lineTable) entries5(c *cursor, f format) {
	for _, e := range t.list5(c, f) {
		t.dirs = append(t.dirs, e.name)
	}
	t.files = t.list5(c, f)
}

// list5 reads one self-describing list.
func (t *lineTable) list5(c *cursor, f format) []lineFile {
	type column struct {
		kind uint64
		form uint16
	}
	columns := make([]column, c.U8())
	for i := range columns {
		columns[i] = column{c.Uleb(), uint16(c.Uleb())}
	}
	n := c.Uleb()
	if n > maxFiles || n > uint64(len(c.Data)) || n > 0 && len(columns) == 0 ||
		!t.u.d.take(uintptr(n)*unsafe.Sizeof(lineFile{})) {
		c.Fail()
		return nil
	}
	list := make([]lineFile, 0, n)
	for ; n > 0 && !c.Bad; n-- {
		var e lineFile
		for _, col := range columns {
			switch v := f.read(c, col.form); col.kind {
			case 1: // path
				e.name = v
			case 2: // directory
				e.dir = v.u
			}
		}
		list = append(list, e)
	}
	return list
}

// file returns the path of a file by its number in the unit's line table.
func (u *Unit) file(n uint64) string {
	t := u.lineTable()
	if t == nil || n >= uint64(len(t.files)) {
		return ""
	}
	e := &t.files[n]
	if e.path == "" {
		e.path = t.path(e)
	}
	return e.path
}

// path returns the full path of a file.
func (t *lineTable) path(e *lineFile) string {
	u := t.u
	name := u.strIn(e.name, ".debug_line")
	if name == "" {
		return ""
	}
	if path.IsAbs(name) {
		return path.Clean(name)
	}
	var dir string
	if e.dir < uint64(len(t.dirs)) {
		dir = u.strIn(t.dirs[e.dir], ".debug_line")
	}
	// Directory 0 is the compilation directory itself, which may be relative if
	// the build mapped its path away.
	if !path.IsAbs(dir) && (e.dir != 0 || dir == "") {
		dir = path.Join(u.compDir(), dir)
	}
	return path.Join(dir, name)
}

// lineTable reads the header of the unit's line table; nil if it is missing.
func (u *Unit) lineTable() *lineTable {
	if u.haveLines {
		return u.lines
	}
	u.haveLines = true
	v := u.rootEntry().vals[keepStmtList]
	data := u.d.section(".debug_line")
	if v.form == 0 || len(data) == 0 {
		return nil
	}
	t := &lineTable{u: u}
	if err := t.header(newCursor(data, v.u)); err != nil {
		u.d.fail(err)
		return nil
	}
	u.lines = t
	return t
}
