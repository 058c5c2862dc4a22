// Package text prints a picture as text: verdicts first, data second, in the width of the terminal, in colour
// only on a terminal. It reads only the structs of package picture.
//
// Printer is the writer that all views share. Each view is one file: a function that prints it, and a type for
// its state.
package text

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// MinWidth is the narrowest output that tables are laid out for, in columns; narrower terminals wrap.
const MinWidth = 60

// NoLimit is the width of an output without a limit, such as a file or a pipe.
const NoLimit = 0

// Printer writes lines. After the first error of its writer it stops writing; Err returns that error.
type Printer struct {
	w     io.Writer
	color bool
	width int
	err   error

	numbers bool // regions have numbers
	all     bool // similar items are not folded
	made    string
}

// New returns a printer on w. color enables ANSI colours; width is the number of columns of the terminal, or NoLimit.
func New(w io.Writer, color bool, width int) *Printer {
	if width != NoLimit {
		width = max(width, MinWidth)
	}
	return &Printer{w: w, color: color, width: width}
}

// NumberRegions adds numbers to regions, their positions in the picture's list from 0, and to threads, such as 2.1 for
// thread 1 of region 2.
func (p *Printer) NumberRegions() { p.numbers = true }

// FoldNothing prints each thread, task, region and frame on its own, even if many are alike.
func (p *Printer) FoldNothing() { p.all = true }

// SetMade sets the time, the host and the version of the tool for the headers of reports; "": not printed.
func (p *Printer) SetMade(s string) { p.made = s }

// Err returns the first error of the writer.
func (p *Printer) Err() error { return p.err }

// printLine writes one line, truncated to the width.
func (p *Printer) printLine(s string) {
	if p.err != nil {
		return
	}
	_, p.err = io.WriteString(p.w, p.truncate(strings.TrimRight(p.escape(s), " "))+"\n")
}

// printBytes writes a line that needs no escaping, and overwrites the capacity after it.
func (p *Printer) printBytes(b []byte) {
	if p.width != NoLimit {
		b = append(b[:0], p.truncate(string(b))...)
	}
	if p.err == nil {
		_, p.err = p.w.Write(append(b, '\n'))
	}
}

// printf formats and writes one line.
func (p *Printer) printf(format string, args ...any) { p.printLine(fmt.Sprintf(format, args...)) }

// printWrapped writes words after a head, and continues on further lines below the first word.
func (p *Printer) printWrapped(head, words string) {
	indent := strings.Repeat(" ", columnsOf(head))
	cur, used := head, columnsOf(head)
	for _, w := range strings.Fields(words) {
		if p.width != NoLimit && used > len(indent) && used+columnsOf(w) > p.width {
			open := openColor(cur)
			if open != "" {
				cur = strings.TrimRight(cur, " ") + ansiReset
			}
			p.printLine(cur)
			cur, used = indent+open, len(indent)
		}
		cur += w + " "
		used += columnsOf(w) + 1
	}
	p.printLine(cur)
}

// printHeading starts a section.
func (p *Printer) printHeading(title, summary string) {
	p.printLine("")
	p.printWrapped(p.bold(title)+"  ", summary)
}

// PrintUnread prints, in place of a part of the picture, the reason why the state of OpenMP could not be read. It
// reports whether it did.
func PrintUnread(p *Printer, title string, runtimes []picture.Runtime) bool {
	why := picture.NoRuntime(runtimes)
	if why != "" {
		p.printHeading(title, picture.UnreadText+why)
	}
	return why != ""
}

const (
	ansiBold  = "\x1b[1m"
	ansiRed   = "\x1b[31m"
	ansiDim   = "\x1b[2m"
	ansiCyan  = "\x1b[36m"
	ansiAmber = "\x1b[33m"
	ansiReset = "\x1b[0m"
)

// paint returns s in a colour.
func (p *Printer) paint(code, s string) string {
	if !p.color || s == "" {
		return s
	}
	return code + s + ansiReset
}

// openColor returns the colour that is open at the end of s, or "".
func openColor(s string) string {
	at := strings.LastIndex(s, "\x1b[")
	if at < 0 || strings.HasPrefix(s[at:], ansiReset) {
		return ""
	}
	return s[at : at+strings.IndexByte(s[at:], 'm')+1]
}

func (p *Printer) bold(s string) string  { return p.paint(ansiBold, s) }
func (p *Printer) red(s string) string   { return p.paint(ansiRed, s) }
func (p *Printer) dim(s string) string   { return p.paint(ansiDim, s) }
func (p *Printer) cyan(s string) string  { return p.paint(ansiCyan, s) }
func (p *Printer) amber(s string) string { return p.paint(ansiAmber, s) }

// columnsOf returns the number of columns of s, without its colours.
func columnsOf(s string) int {
	n := 0
	for s != "" {
		if strings.HasPrefix(s, "\x1b[") {
			end := strings.IndexByte(s, 'm')
			if end < 0 {
				return n
			}
			s = s[end+1:]
			continue
		}
		_, size := utf8.DecodeRuneInString(s)
		s = s[size:]
		n++
	}
	return n
}

// truncate shortens a line to the width, and closes its colours.
func (p *Printer) truncate(s string) string {
	if p.width == NoLimit || columnsOf(s) <= p.width {
		return s
	}
	var b strings.Builder
	for n := 0; s != "" && n < p.width-1; {
		if strings.HasPrefix(s, "\x1b[") {
			end := strings.IndexByte(s, 'm')
			b.WriteString(s[:end+1])
			s = s[end+1:]
			continue
		}
		r, size := utf8.DecodeRuneInString(s)
		b.WriteRune(r)
		s = s[size:]
		n++
	}
	b.WriteString("…")
	if p.color {
		b.WriteString(ansiReset)
	}
	return b.String()
}

// table is rows of cells. The columns before the last are as wide as their widest cell; empty columns are left out.
// A row that is too wide is broken at the columns of breaks, the last ones first; without any, it is cut.
type table struct {
	head   []string
	rows   [][]string
	breaks []lineBreak
}

// lineBreak is a column from which on a row that is too wide continues on the next line, and the word before its cell
// there.
type lineBreak struct {
	column int
	word   string
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

// widths returns the width of each column, 0 for an empty one.
func (t *table) widths() []int {
	width := make([]int, len(t.head))
	for _, r := range t.rows {
		for i, c := range r {
			if c != "" {
				width[i] = max(width[i], columnsOf(c), columnsOf(t.head[i]))
			}
		}
	}
	return width
}

// printTable lays out and writes a table.
func (p *Printer) printTable(t *table) {
	width := t.widths()
	head, _ := p.breakRow(t, t.head, width)
	p.printLine(p.dim(layOutRow(head, width)))
	for _, r := range t.rows {
		row, rest := p.breakRow(t, r, width)
		p.printLine(layOutRow(row, width))
		if len(rest) > 0 {
			p.printWrapped("          ", strings.Join(rest, ", "))
		}
	}
}

// breakRow returns the cells of a row that fit the width, and the others with the words before them.
func (p *Printer) breakRow(t *table, row []string, width []int) (fits, rest []string) {
	for _, b := range t.breaks {
		if p.fits(row, width) {
			break
		}
		for i := len(row) - 1; i >= b.column; i-- {
			if row[i] != "" {
				rest = append([]string{strings.TrimSpace(b.word + " " + row[i])}, rest...)
			}
		}
		row = row[:b.column]
	}
	return row, rest
}

// fits reports whether a row fits the width.
func (p *Printer) fits(row []string, width []int) bool {
	return p.width == NoLimit || columnsOf(layOutRow(row, width)) <= p.width
}

// narrow calls steps that shorten the cells of a table, only as many as it takes until all rows fit the width.
func (p *Printer) narrow(t *table, steps ...func()) {
	for _, step := range steps {
		width := t.widths()
		if !slices.ContainsFunc(t.rows, func(r []string) bool { return !p.fits(r, width) }) {
			return
		}
		step()
	}
}

// changeColumn replaces the cells of a column.
func (t *table) changeColumn(column int, change func(string) string) {
	for _, r := range t.rows {
		r[column] = change(r[column])
	}
}

func layOutRow(cells []string, width []int) string {
	var b strings.Builder
	b.WriteString("  ")
	for i, c := range cells {
		if width[i] == 0 {
			continue
		}
		b.WriteString(c)
		if i < len(cells)-1 {
			b.WriteString(strings.Repeat(" ", width[i]-columnsOf(c)+2))
		}
	}
	return strings.TrimRight(b.String(), " ")
}

// ownColors are the sequences of the printer itself.
var ownColors = []string{ansiBold, ansiRed, ansiDim, ansiCyan, ansiAmber, ansiReset}

// escape replaces the characters of a line that could control a terminal by Go's escapes, except for the printer's own
// colours.
func (p *Printer) escape(s string) string {
	written := phrase.Printable(s)
	if written == s || !p.color {
		return written
	}
	var b strings.Builder
	for s != "" {
		if code := colorPrefix(s); code != "" {
			b.WriteString(code)
			s = s[len(code):]
			continue
		}
		_, size := utf8.DecodeRuneInString(s)
		b.WriteString(phrase.Printable(s[:size]))
		s = s[size:]
	}
	return b.String()
}

// colorPrefix returns the printer's own sequence at the start of s, or "".
func colorPrefix(s string) string {
	i := slices.IndexFunc(ownColors, func(code string) bool { return strings.HasPrefix(s, code) })
	if i < 0 {
		return ""
	}
	return ownColors[i]
}

// maxPieces bounds the numbers and ranges in one line; the rest is counted.
const maxPieces = 16

// formatLWPs formats a list of threads.
func (p *Printer) formatLWPs(ids []int) string {
	if p.all {
		return phrase.Ranges(ids, 0)
	}
	return phrase.Ranges(ids, maxPieces)
}

// formatFew formats a list of numbers, at most the given pieces unless nothing is folded.
func (p *Printer) formatFew(ids []int, most int) string {
	if p.all {
		return phrase.Ranges(ids, 0)
	}
	return phrase.Ranges(ids, most)
}

// extent is the range of some numbers.
type extent struct{ low, high, n int }

func (e *extent) add(v int) {
	if e.n == 0 {
		e.low, e.high = v, v
	}
	e.low, e.high, e.n = min(e.low, v), max(e.high, v), e.n+1
}

// String returns "3" or "0-7", "0..7" if some in between are missing, or "" for no numbers.
func (e extent) String() string {
	switch {
	case e.n == 0:
		return ""
	case e.low == e.high:
		return strconv.Itoa(e.low)
	}
	if e.n < e.high-e.low+1 {
		return fmt.Sprintf("%d..%d", e.low, e.high)
	}
	return fmt.Sprintf("%d-%d", e.low, e.high)
}

// maxInCell bounds the numbers and ranges in a cell of a table.
const maxInCell = 4

// printOmitted prints that n things are not printed.
func (p *Printer) printOmitted(n int, noun string) {
	if n > 0 && !p.all {
		p.printf("  … %s; --all shows them", phrase.Count(n, noun))
	}
}

// captureLines returns the lines that print writes.
func (p *Printer) captureLines(print func(*Printer)) []string {
	var b strings.Builder
	print(&Printer{w: &b, color: p.color, width: p.width})
	return strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
}
