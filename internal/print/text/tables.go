package text

import (
	"fmt"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// ICVs prints the control variables by scope: one line for each value that
// differs, with the places that have it.
func ICVs(p *Printer, pic *picture.Picture) {
	if NotRead(p, "CONTROL VARIABLES", pic.Runtimes) {
		return
	}
	scope := ""
	var t *table
	flush := func() {
		if t != nil {
			p.table(t)
		}
	}
	for _, g := range groupICVs(pic.ICVs) {
		if g.Scope != scope {
			flush()
			scope = g.Scope
			p.heading(strings.ToUpper(strings.ReplaceAll(scope, "_", " ")), "control variables of this scope")
			t = &table{head: []string{"NAME", "VALUE", "WHERE", "READ FROM"}}
		}
		value := g.Value
		source := g.Source
		if g.Error != "" {
			value, source = p.dim("-"), p.dim(g.Error)
		}
		t.add(g.Name, value, g.where(), source)
	}
	flush()
	if len(pic.ControlVars) == 0 {
		return
	}
	p.heading("CONTROL VARIABLES", "as they are in force")
	t = &table{head: []string{"NAME", "VALUE", "READ FROM"}}
	for _, v := range pic.ControlVars {
		t.add(v.Name, v.Value, v.Source)
	}
	p.table(t)
}

// icvGroup is a variable with one value, and the places that have it.
type icvGroup struct {
	picture.ICV
	places []string
}

func (g icvGroup) where() string {
	const most = 4
	return phrase.Some(g.places, most, len(g.places))
}

// groupICVs keeps the order of scopes and names and puts equal values together.
func groupICVs(icvs []picture.ICV) []icvGroup {
	var out []icvGroup
	at := map[string]int{}
	for _, scope := range []string{"global", "address_space", "thread", "parallel", "implicit_task", "task"} {
		for _, v := range icvs {
			if v.Scope != scope {
				continue
			}
			key := fmt.Sprint(v.Runtime, "|", v.Name, "|", v.Scope, "|", v.Value, "|", v.Error)
			i, ok := at[key]
			if !ok {
				i = len(out)
				at[key] = i
				out = append(out, icvGroup{ICV: v})
			}
			if place := icvPlace(v); place != "" {
				out[i].places = append(out[i].places, place)
			}
		}
	}
	return out
}

func icvPlace(v picture.ICV) string {
	switch {
	case v.Thread != 0:
		return fmt.Sprintf("LWP %d", v.Thread)
	case v.Region != "":
		return "region " + string(v.Region)
	case v.Task != "":
		return "task " + string(v.Task)
	}
	return ""
}

// Layout prints where every field lies.
func Layout(p *Printer, pic *picture.Picture) {
	if NotRead(p, "LAYOUT", pic.Runtimes) {
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
	p.table(t)
}

func layoutNote(p *Printer, e picture.LayoutEntry) string {
	if len(e.Claims) > 1 {
		var parts []string
		for _, c := range e.Claims {
			parts = append(parts, c.Source+" says "+c.Value)
		}
		if e.Source == "" {
			return p.bad("refused: ") + strings.Join(parts, ", ")
		}
		return strings.Join(parts, ", ")
	}
	return p.dim(e.Error)
}

// Doctor prints what the target allows.
func Doctor(p *Printer, pic *picture.Picture) {
	p.line(p.bold(pic.Target.Name()))
	for _, c := range pic.Checks {
		mark := "ok     "
		switch c.Status {
		case picture.CheckPartly:
			mark = p.note("partly ")
		case picture.CheckMissing:
			mark = p.bad("missing")
		}
		p.wrapped("  "+mark+" "+c.Name+": ", c.Detail)
		if c.Fix != "" {
			p.wrapped("          next: ", c.Fix)
		}
	}
}
