package text

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
)

// ownColors are the sequences that the printer itself writes.
var ownColors = []string{ansiBold, ansiRed, ansiDim, ansiCyan, ansiAmber, ansiReset}

// harmless is a line in which what could control a terminal is written out, as in Go's
// strings, but for the printer's own colors.
func (p *Printer) harmless(s string) string {
	written := phrase.Printable(s)
	if written == s || !p.color {
		return written
	}
	var b strings.Builder
	for s != "" {
		if code := colorAt(s); code != "" {
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

// colorAt is the printer's own sequence that s begins with, "" if it begins with none.
func colorAt(s string) string {
	i := slices.IndexFunc(ownColors, func(code string) bool { return strings.HasPrefix(s, code) })
	if i < 0 {
		return ""
	}
	return ownColors[i]
}
