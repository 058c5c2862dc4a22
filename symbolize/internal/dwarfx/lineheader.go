package dwarfx

import (
	"fmt"
	"path"

	"github.com/ompd-inspect/ompd-inspect/symbolize/internal/spans"
)

// lineTable is the line table of one unit.
type lineTable struct {
	u       *Unit
	c       cursor // the line program
	version uint16

	minInst    uint64  // bytes of the shortest instruction
	statements bool    // rows begin statements unless told otherwise
	lineBase   int64   // the least line advance of a special opcode
	lineSpan   uint8   // the number of line advances of special opcodes
	lengths    []uint8 // operands of the standard opcodes, from opcode 0

	dirs  []value
	files []lineFile

	ran  bool // rows and seqs are there
	rows []row
	seqs spans.Set[[2]int] // first and last row, exclusive
}

// lineFile is a file that a line table names.
type lineFile struct {
	name value
	dir  uint64
	path string // once it was asked for
}

// header reads the header of a line table that starts at c.
func (t *lineTable) header(c cursor) error {
	off := c.pos
	n, dw64 := c.unitLength()
	start := c.pos
	c.data = c.data[:start+len(c.take(n))]
	c.pos = start
	f := format{version: c.u16(), addrSize: 8, dw64: dw64}
	if f.version < 2 || f.version > 5 {
		return fmt.Errorf(".debug_line: unknown version %d of the table at %#x", f.version, off)
	}
	if f.version >= 5 {
		c.u8() // size of addresses
		c.u8() // size of segment selectors
	}
	program := c.offset(dw64)
	program += uint64(c.pos)
	t.version = f.version
	t.minInst = uint64(c.u8())
	if f.version >= 4 {
		c.u8() // operations per instruction, for VLIW machines
	}
	t.statements = c.u8() != 0
	t.lineBase = int64(int8(c.u8()))
	t.lineSpan = c.u8()
	t.lengths = append([]uint8{0}, c.take(uint64(max(c.u8(), 1)-1))...)
	if f.version >= 5 {
		t.entries5(&c, f)
	} else {
		t.entries(&c)
	}
	if c.bad || t.lineSpan == 0 || program > uint64(len(c.data)) {
		return fmt.Errorf(".debug_line: damaged header of the table at %#x", off)
	}
	t.c = at(c.data, program)
	return nil
}

// entries reads directories and files as DWARF 2 to 4 have them; number 0 is
// the compilation directory, and no file.
func (t *lineTable) entries(c *cursor) {
	t.dirs = []value{{}}
	for !c.bad && len(t.dirs) < maxFiles {
		pos := uint64(c.pos)
		if c.skipString(); uint64(c.pos) == pos+1 {
			break
		}
		t.dirs = append(t.dirs, value{formString, pos})
	}
	t.files = []lineFile{{}}
	for !c.bad && len(t.files) < maxFiles {
		pos := uint64(c.pos)
		if c.skipString(); uint64(c.pos) == pos+1 {
			return
		}
		t.file4(c, pos)
	}
}

// file4 takes the file whose name is at pos and whose numbers are at c.
func (t *lineTable) file4(c *cursor, pos uint64) {
	dir := c.uleb()
	c.uleb() // time
	c.uleb() // size
	t.files = append(t.files, lineFile{name: value{formString, pos}, dir: dir})
}

// entries5 reads directories and files as DWARF 5 has them.
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
	columns := make([]column, c.u8())
	for i := range columns {
		columns[i] = column{c.uleb(), uint16(c.uleb())}
	}
	n := c.uleb()
	if n > maxFiles || n > uint64(len(c.data)) || n > 0 && len(columns) == 0 {
		c.bad = true
		return nil
	}
	list := make([]lineFile, 0, n)
	for ; n > 0 && !c.bad; n-- {
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

// path puts the path of a file together.
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

// lineTable reads the header of the unit's line table; nil if it has none.
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
	if err := t.header(at(data, v.u)); err != nil {
		u.d.fail(err)
		return nil
	}
	u.lines = t
	return t
}
