package text

import (
	"fmt"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// ICVs prints the control variables: first the values in force, in the form of OMP_DISPLAY_ENV, then each variable by
// scope, one line for each different value with its places, and last the variables that could not be read.
func ICVs(p *Printer, pic *picture.Picture) {
	if PrintUnread(p, "CONTROL VARIABLES", pic.Runtimes) {
		return
	}
	if len(pic.ControlVars) > 0 {
		p.printHeading("CONTROL VARIABLES", "in force, as OMP_DISPLAY_ENV=true prints them at the start of a program")
		t := &table{head: []string{"VARIABLE", "READ FROM"}}
		if len(pic.Runtimes) == 1 && pic.Runtimes[0].OMPVersion != 0 {
			t.add(fmt.Sprintf("_OPENMP='%d'", pic.Runtimes[0].OMPVersion), "")
		}
		for _, v := range pic.ControlVars {
			t.add(displayed(v), p.dim(v.Source))
		}
		p.printTable(t)
	}
	var t *table
	flush := func() {
		if t != nil {
			p.printTable(t)
		}
	}
	scope := ""
	unread := &table{head: []string{"NAME", "WHERE", "REASON"}}
	for _, g := range groupICVs(pic.ICVs) {
		if g.Error != "" {
			unread.add(g.Name, g.where(), p.dim(g.Error))
			continue
		}
		if g.Scope != scope {
			flush()
			scope = g.Scope
			p.printHeading(strings.ToUpper(strings.ReplaceAll(scope, "_", " ")), "control variables of this scope")
			t = &table{head: []string{"NAME", "VALUE", "WHERE", "READ FROM"}}
		}
		t.add(g.Name, g.Value, g.where(), g.Source)
	}
	flush()
	if len(unread.rows) > 0 {
		p.printHeading("NOT READ", phrase.Count(len(unread.rows), "control variable"))
		p.printTable(unread)
	}
}

// displayed returns a control variable in the form of OMP_DISPLAY_ENV: "OMP_DYNAMIC='FALSE'".
func displayed(v picture.ControlVar) string {
	value := v.Value
	if value == "true" || value == "false" {
		value = strings.ToUpper(value)
	}
	return v.Name + "='" + value + "'"
}

// icvGroup is a variable with one value, and the places with that value.
type icvGroup struct {
	picture.ICV
	places []string
}

func (g icvGroup) where() string {
	const most = 4
	return phrase.Some(g.places, most, len(g.places))
}

// groupICVs groups equal values, in the order of scopes and names.
func groupICVs(icvs []picture.ICV) []icvGroup {
	var out []icvGroup
	at := map[string]int{}
	for _, scope := range picture.ICVScopes() {
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
