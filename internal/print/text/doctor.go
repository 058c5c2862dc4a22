package text

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
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

// Layout prints, for each runtime, the offset of each field and its source: first the fields on which sources
// disagree, and last those that no source knows.
func Layout(p *Printer, pic *picture.Picture) {
	if PrintUnread(p, "LAYOUT", pic.Runtimes) {
		return
	}
	var order []string
	runtimes := map[string][]picture.LayoutEntry{}
	for _, e := range pic.Layout {
		if runtimes[e.Runtime] == nil {
			order = append(order, e.Runtime)
		}
		runtimes[e.Runtime] = append(runtimes[e.Runtime], e)
	}
	for _, id := range order {
		title := id
		if i := slices.IndexFunc(pic.Runtimes, func(r picture.Runtime) bool { return r.ID == id }); i >= 0 {
			r := pic.Runtimes[i]
			title = strings.TrimSpace(r.Name+" "+r.Version) + ": " + r.Layout
		}
		p.printHeading("LAYOUT", title)
		p.printFields(runtimes[id])
	}
}

// printFields prints the fields of one runtime.
func (p *Printer) printFields(list []picture.LayoutEntry) {
	absent := func(e picture.LayoutEntry) bool { return e.Source == "" && len(e.Claims) < 2 }
	t := &table{head: []string{"FIELD", "OFFSET", "SIZE", "MASK", "SOURCE", "AGREED", "NOTES"}}
	for _, disputed := range []bool{true, false} {
		for _, e := range list {
			if absent(e) || (len(e.Claims) > 1) != disputed {
				continue
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
			t.add(fieldName(e), offset, size, mask, e.Source, strings.Join(e.Agreed, " "), layoutNote(p, e))
		}
	}
	p.printTable(t)
	names, order := map[string][]string{}, []string{}
	for _, e := range list {
		if !absent(e) {
			continue
		}
		name := fieldName(e)
		why := cmp.Or(strings.TrimPrefix(e.Error, "layout of "+name+": "), "no source has it")
		if names[why] == nil {
			order = append(order, why)
		}
		names[why] = append(names[why], name)
	}
	for _, why := range order {
		p.printLine("")
		p.printWrapped("  "+p.amber("absent")+" ", fmt.Sprintf("%s (%s): %s",
			phrase.Count(len(names[why]), "field"), why, strings.Join(names[why], ", ")))
	}
}

// fieldName returns the name of a field with its type, or of a type or a variable.
func fieldName(e picture.LayoutEntry) string {
	if e.Name == "" {
		return e.Type
	}
	return strings.TrimPrefix(e.Type+"."+e.Name, ".")
}

// layoutNote returns the values of sources that differ.
func layoutNote(p *Printer, e picture.LayoutEntry) string {
	if len(e.Claims) < 2 {
		return p.dim(e.Error)
	}
	var parts []string
	for _, c := range e.Claims {
		parts = append(parts, c.Source+" says "+c.Value)
	}
	if e.Source == "" {
		return p.red("refused: ") + strings.Join(parts, ", ")
	}
	return strings.Join(parts, ", ")
}
