package inspect

import (
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/stacks"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/teams"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// Breakpoints returns the breakpoint locations of all runtimes.
func (in *Inspector) Breakpoints() *picture.Breakpoints {
	p := in.Picture(picture.Parts{})
	out := &picture.Breakpoints{
		Schema: picture.BreakpointSchema, Target: p.Target, Runtimes: p.Runtimes, Locations: []picture.Breakpoint{},
	}
	for _, rt := range in.roster.Runtimes {
		r, ok := rt.Runtime.(handles.BreakpointReader)
		if !ok {
			in.notes.Warn("%s: breakpoint locations of this runtime are not known", rt.ID)
			continue
		}
		list, err := r.Breakpoints()
		if err != nil {
			in.notes.Warn("%s: %s", rt.ID, stacks.Message(err))
		}
		for _, b := range list {
			out.Locations = append(out.Locations, breakpointOf(rt, b))
		}
	}
	out.Warnings = in.Warnings()
	return out
}

func breakpointOf(rt *teams.Runtime, b handles.Breakpoint) picture.Breakpoint {
	out := picture.Breakpoint{
		Name: b.Name, Former: b.Former, Since: b.Since, Runtime: rt.ID, Address: picture.Address(b.Address.Offset),
		Source: string(b.How), Function: b.Function, Evidence: b.Evidence, Active: b.Active,
	}
	for _, a := range b.Sites {
		out.Sites = append(out.Sites, picture.Hex(a.Offset))
	}
	for _, e := range b.Entries {
		out.Entries = append(out.Entries, entryOf(e))
	}
	if b.Err != nil {
		out.Error = stacks.Reason(b.Err, b.Name)
	}
	return out
}

func entryOf(e handles.BodyEntry) picture.BodyEntry {
	out := picture.BodyEntry{Function: e.Function, Address: picture.Hex(e.Address.Offset), Argument: e.Argument}
	if e.Task {
		offset := int(e.BodyOffset)
		out.TaskOffset = &offset
	}
	if e.Task && e.TaskArgument >= 0 {
		out.TaskArgument = &e.TaskArgument
	}
	return out
}
