package dwarfx

import (
	"cmp"
	"slices"
	"sort"
	"unsafe"
)

// row maps the code starting at addr to a source position.
type row struct {
	addr       uint64
	file, line uint32
	column     uint32
	statement  bool // the row starts a statement
}

// Position is a source position. Line 0 means that the code belongs to no line.
type Position struct {
	File         string
	Line, Column int
}

// Line returns the source position of the code at pc.
func (u *Unit) Line(pc uint64) (Position, bool) {
	rows := u.sequence(pc)
	i := sort.Search(len(rows), func(i int) bool { return rows[i].addr > pc }) - 1
	if i < 0 {
		return Position{}, false
	}
	return u.position(rows[i]), true
}

// LineBefore returns the source position of the nearest code from low to pc with a line, and its address.
func (u *Unit) LineBefore(low, pc uint64) (Position, uint64, bool) {
	rows := u.sequence(pc)
	i := sort.Search(len(rows), func(i int) bool { return rows[i].addr > pc }) - 1
	for ; i >= 0 && rows[i].addr >= low; i-- {
		if rows[i].line != 0 {
			return u.position(rows[i]), rows[i].addr, true
		}
	}
	return Position{}, 0, false
}

// FirstLine returns the first source position of the code from low to high. Of several rows for the
// first address it returns the first that starts a statement, or otherwise the first: at the entry
// of a function that is the function's own row, before those of moved or inlined code, and past the
// end of the preceding code.
func (u *Unit) FirstLine(low, high uint64) (Position, bool) {
	rows := u.sequence(low)
	i := sort.Search(len(rows), func(i int) bool { return rows[i].addr >= low })
	for k := i; k < len(rows) && rows[k].addr == low; k++ {
		if rows[k].statement && rows[k].line != 0 {
			return u.position(rows[k]), true
		}
	}
	for ; i < len(rows) && rows[i].addr < high; i++ {
		if rows[i].line != 0 {
			return u.position(rows[i]), true
		}
	}
	return u.Line(low)
}

// sequence returns the rows of the sequence that covers pc.
func (u *Unit) sequence(pc uint64) []row {
	t := u.lineTable()
	if t == nil {
		return nil
	}
	t.run()
	s, ok := t.seqs.Find(pc)
	if !ok {
		return nil
	}
	return t.rows[s.Value[0]:s.Value[1]]
}

// position resolves the file of a row.
func (u *Unit) position(r row) Position {
	return Position{u.file(uint64(r.file)), int(r.line), int(r.column)}
}

// Standard opcodes of the line program.
const (
	lnsCopy          = 1
	lnsAdvancePC     = 2
	lnsAdvanceLine   = 3
	lnsSetFile       = 4
	lnsSetColumn     = 5
	lnsNegateStmt    = 6
	lnsConstAddPC    = 8
	lnsFixedAdvance  = 9
	lneEndSequence   = 1
	lneSetAddress    = 2
	lneDefineFile    = 3
	maxAddressLength = 8
)

// run runs the line program once and keeps its rows by sequence. Sequences of
// discarded code and unfinished ones are dropped.
func (t *lineTable) run() {
	if t.ran {
		return
	}
	t.ran = true
	// The rows are counted first: a growing list takes three times the memory, and new memory costs more than the
	// program.
	counter, c := machine{t: t, counting: true}, t.c
	for counter.reset(); counter.runs(&c) && counter.count < maxRows; {
		counter.step(&c)
	}
	if t.u.d.take(uintptr(counter.count) * unsafe.Sizeof(row{})) {
		t.rows = make([]row, 0, counter.count)
		m := machine{t: t}
		for m.reset(); m.runs(&t.c) && len(t.rows) < maxRows; {
			m.step(&t.c)
		}
	}
	t.seqs.Seal()
	t.c = cursor{}
}

// machine is the state of a running line program.
type machine struct {
	t *lineTable
	// counting is set to only count the rows, without keeping anything.
	counting bool
	count    int
	first    int // index of the sequence's first row
	row      row
	line     int64
}

// runs reports whether the program continues at c.
func (m *machine) runs(c *cursor) bool { return !c.Bad && c.Pos < len(c.Data) && !m.t.u.d.full }

// reset starts a sequence.
func (m *machine) reset() {
	m.first = len(m.t.rows)
	m.row = row{file: 1, statement: m.t.statements}
	m.line = 1
}

// emit adds a row.
func (m *machine) emit() {
	m.count++
	if !m.counting {
		m.row.line = uint32(clampInt(uint64(m.line)))
		m.t.rows = append(m.t.rows, m.row)
	}
}

// end closes a sequence at the current address. Rows should ascend; if not, they are sorted, stably for equal
// addresses.
func (m *machine) end() {
	t := m.t
	rows := t.rows[m.first:]
	byAddr := func(a, b row) int { return cmp.Compare(a.addr, b.addr) }
	if !slices.IsSortedFunc(rows, byAddr) {
		slices.SortStableFunc(rows, byAddr)
	}
	if len(rows) == 0 || discarded(rows[0].addr) || rows[0].addr >= m.row.addr {
		t.rows = t.rows[:m.first]
	} else {
		t.seqs.Add(rows[0].addr, m.row.addr, [2]int{m.first, len(t.rows)})
	}
	m.reset()
}

// step runs one instruction. Opcodes at and above opcode_base advance address and line together and add a row.
func (m *machine) step(c *cursor) {
	t := m.t
	op := c.U8()
	if int(op) >= len(t.lengths) {
		adjusted := op - uint8(len(t.lengths))
		m.row.addr += uint64(adjusted/t.lineSpan) * t.minInst
		m.line += t.lineBase + int64(adjusted%t.lineSpan)
		m.emit()
		return
	}
	switch op {
	case 0:
		m.extended(c)
	case lnsCopy:
		m.emit()
	case lnsAdvancePC:
		m.row.addr += c.Uleb() * t.minInst
	case lnsAdvanceLine:
		m.line += c.Sleb()
	case lnsSetFile:
		m.row.file = uint32(c.Uleb())
	case lnsSetColumn:
		m.row.column = uint32(clampInt(c.Uleb()))
	case lnsNegateStmt:
		m.row.statement = !m.row.statement
	case lnsConstAddPC:
		m.row.addr += uint64((255-uint8(len(t.lengths)))/t.lineSpan) * t.minInst
	case lnsFixedAdvance:
		m.row.addr += uint64(c.U16())
	default:
		for range t.lengths[op] {
			c.Uleb()
		}
	}
}

// extended runs one extended instruction.
func (m *machine) extended(c *cursor) {
	n := c.Uleb()
	start := uint64(c.Pos)
	args := c.Take(n)
	if len(args) == 0 {
		return
	}
	if m.counting {
		return
	}
	switch args[0] {
	case lneEndSequence:
		m.end()
	case lneSetAddress:
		a := newCursor(args, 1)
		m.row.addr = a.Uint(min(len(args)-1, maxAddressLength))
	case lneDefineFile:
		if a := newCursor(args, 1); len(m.t.files) < maxFiles {
			a.SkipString()
			m.t.file4(&a, start+1)
		}
	}
}
