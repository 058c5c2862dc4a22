package text

import (
	"fmt"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// Doctor prints the checks of a target.
func Doctor(p *Printer, pic *picture.Picture) {
	p.printLine(p.bold(pic.Target.Name()))
	for _, c := range pic.Checks {
		mark := "ok     "
		switch c.Status {
		case picture.CheckPartly:
			mark = p.amber("partly ")
		case picture.CheckMissing:
			mark = p.red("missing")
		}
		p.printWrapped("  "+mark+" "+c.Name+": ", c.Detail)
		if c.Fix != "" {
			p.printWrapped("          next: ", c.Fix)
		}
	}
}

// Layout prints the offset of each field and its source.
func Layout(p *Printer, pic *picture.Picture) {
	if PrintUnread(p, "LAYOUT", pic.Runtimes) {
		return
	}
	t := &table{head: []string{"FIELD", "OFFSET", "SIZE", "MASK", "SOURCE", "AGREED", "NOTES"}}
	for _, e := range pic.Layout {
		name := e.Type
		if e.Name != "" {
			name = strings.TrimPrefix(e.Type+"."+e.Name, ".")
		}
		offset, size, mask := "", "", ""
		switch {
		case e.Address != nil:
			offset = e.Address.String()
		case e.Offset != nil:
			offset = fmt.Sprint(*e.Offset)
		}
		if e.Size != 0 {
			size = fmt.Sprint(e.Size)
		}
		if e.Mask != nil {
			mask = e.Mask.String()
		}
		t.add(name, offset, size, mask, e.Source, strings.Join(e.Agreed, " "), layoutNote(p, e))
	}
	p.printTable(t)
}

func layoutNote(p *Printer, e picture.LayoutEntry) string {
	if len(e.Claims) > 1 {
		var parts []string
		for _, c := range e.Claims {
			parts = append(parts, c.Source+" says "+c.Value)
		}
		if e.Source == "" {
			return p.red("refused: ") + strings.Join(parts, ", ")
		}
		return strings.Join(parts, ", ")
	}
	return p.dim(e.Error)
}
