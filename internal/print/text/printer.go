// Package text prints a picture for people: verdict first, data second, in the
// width of the terminal, coloured only on a terminal. It reads plain structs of
// package inspect and nothing else.
package text

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// MinWidth is the narrowest output that tables are laid out for, in columns;
// narrower terminals wrap.
const MinWidth = 60

// NoLimit as a width leaves every line whole, as for a file or a pipe.
const NoLimit = 0

// Printer writes lines. After the first error of the writer nothing more is
// written; Err returns it.
type Printer struct {
	w     io.Writer
	color bool
	width int
	err   error

	numbers bool // regions have numbers
	all     bool // nothing is folded
}

// New returns a printer on w. color switches ANSI colours on; width is the number
// of columns of the terminal or NoLimit.
func New(w io.Writer, color bool, width int) *Printer {
	if width != NoLimit {
		width = max(width, MinWidth)
	}
	return &Printer{w: w, color: color, width: width}
}

// NumberRegions makes threads and regions be named by number: a region by its place
// in the picture's list, from 0, and a thread by region and number there, such as
// 2.1.
func (p *Printer) NumberRegions() { p.numbers = true }

// FoldNothing makes every thread, task, region and frame be printed, also where many
// are alike.
func (p *Printer) FoldNothing() { p.all = true }

// Err returns the first error of the writer.
func (p *Printer) Err() error { return p.err }

// line writes one line, cut to the width.
func (p *Printer) line(s string) {
	if p.err != nil {
		return
	}
	_, p.err = io.WriteString(p.w, p.cut(strings.TrimRight(p.harmless(s), " "))+"\n")
}

// row writes a line of text that is known to be harmless, and uses what is behind it.
func (p *Printer) row(b []byte) {
	if p.width != NoLimit {
		b = append(b[:0], p.cut(string(b))...)
	}
	if p.err == nil {
		_, p.err = p.w.Write(append(b, '\n'))
	}
}

func (p *Printer) linef(format string, args ...any) { p.line(fmt.Sprintf(format, args...)) }

// wrapped writes words behind a head, continued on further lines under the first
// word.
func (p *Printer) wrapped(head, words string) {
	indent := strings.Repeat(" ", visible(head))
	cur, used := head, visible(head)
	for _, w := range strings.Fields(words) {
		if p.width != NoLimit && used > len(indent) && used+visible(w) > p.width {
			open := openColor(cur)
			if open != "" {
				cur = strings.TrimRight(cur, " ") + ansiReset
			}
			p.line(cur)
			cur, used = indent+open, len(indent)
		}
		cur += w + " "
		used += visible(w) + 1
	}
	p.line(cur)
}

// heading starts a section.
func (p *Printer) heading(title, summary string) {
	p.line("")
	p.wrapped(p.bold(title)+"  ", summary)
}

// NotRead says in place of a part of the picture why nothing of OpenMP could be read; false if
// something could.
func NotRead(p *Printer, title string, runtimes []picture.Runtime) bool {
	why := picture.NoRuntime(runtimes)
	if why != "" {
		p.heading(title, picture.UnreadText+why)
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

func (p *Printer) paint(code, s string) string {
	if !p.color || s == "" {
		return s
	}
	return code + s + ansiReset
}

// openColor returns the colour that s ends in, or "".
func openColor(s string) string {
	at := strings.LastIndex(s, "\x1b[")
	if at < 0 || strings.HasPrefix(s[at:], ansiReset) {
		return ""
	}
	return s[at : at+strings.IndexByte(s[at:], 'm')+1]
}

func (p *Printer) bold(s string) string { return p.paint(ansiBold, s) }
func (p *Printer) bad(s string) string  { return p.paint(ansiRed, s) }
func (p *Printer) dim(s string) string  { return p.paint(ansiDim, s) }
func (p *Printer) name(s string) string { return p.paint(ansiCyan, s) }
func (p *Printer) note(s string) string { return p.paint(ansiAmber, s) }

// visible is the number of columns that s takes, colours not counted.
func visible(s string) int {
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

// cut shortens a line to the width, keeping colours closed.
func (p *Printer) cut(s string) string {
	if p.width == NoLimit || visible(s) <= p.width {
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

// table lays rows out in columns. The columns before the last are as wide as
// their widest cell; empty columns are left out.
type table struct {
	head []string
	rows [][]string
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

func (p *Printer) table(t *table) {
	width := make([]int, len(t.head))
	for _, r := range t.rows {
		for i, c := range r {
			if c != "" {
				width[i] = max(width[i], visible(c), visible(t.head[i]))
			}
		}
	}
	p.line(p.dim(row(t.head, width)))
	for _, r := range t.rows {
		p.line(row(r, width))
	}
}

func row(cells []string, width []int) string {
	var b strings.Builder
	b.WriteString("  ")
	for i, c := range cells {
		if width[i] == 0 {
			continue
		}
		b.WriteString(c)
		if i < len(cells)-1 {
			b.WriteString(strings.Repeat(" ", width[i]-visible(c)+2))
		}
	}
	return strings.TrimRight(b.String(), " ")
}
