package inspect

import (
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/layout"
	"github.com/ompd-inspect/ompd-inspect/rtl"
	"github.com/ompd-inspect/ompd-inspect/unwind"
)

// Picture reads the wanted parts of the target.
func (in *Inspector) Picture(want Parts) *Picture {
	p := &Picture{Schema: Schema, Target: in.cfg.About}
	p.Target.Threads = len(in.natives)
	for _, rt := range in.runtimes {
		p.Runtimes = append(p.Runtimes, runtimeOf(rt))
	}
	for _, d := range in.cfg.Dormant {
		r := identityOf(d.Identity)
		r.ID, r.Layout = d.Identity.Family, "none: not initialised, the program has made no OpenMP call yet"
		p.Runtimes = append(p.Runtimes, r)
	}
	if want.Threads || want.Stacks {
		p.Threads = in.Threads(want.Native)
		in.completeTarget(p)
	}
	if want.Regions {
		p.Regions = in.Regions()
	}
	if want.Tasks {
		p.Tasks = in.someTasks()
	}
	if want.ICVs {
		p.ICVs, p.ControlVars = in.ICVs(), in.ControlVars()
	}
	if want.Stacks {
		p.Stacks = mergeStacks(p.Threads)
	}
	if !want.Threads {
		p.Threads = nil
	}
	p.Warnings = in.Warnings()
	return p
}

// Complete adds to a picture what became known after it was made: what looking at
// the target cost, and the warnings since.
func (in *Inspector) Complete(p *Picture) {
	p.Target.Pause = in.cfg.About.Pause
	p.Warnings = in.Warnings()
}

// someTasks are the first MaxTasks tasks.
func (in *Inspector) someTasks() []Task {
	var out []Task
	for t := range in.Tasks() {
		if len(out) == MaxTasks {
			in.warn("more than %d tasks, the rest is left out here: `ompd-inspect tasks` lists all", MaxTasks)
			return out
		}
		out = append(out, t)
	}
	return out
}

// completeTarget adds where the crashed thread was.
func (in *Inspector) completeTarget(p *Picture) {
	for i := range p.Threads {
		t := &p.Threads[i]
		if !t.Crashed {
			continue
		}
		p.Target.Place = &Place{Role: t.Role, ThreadNum: t.ThreadNum, TeamSize: t.TeamSize, Level: t.Level, Region: t.Region, Task: t.Task}
		if t.State != nil {
			p.Target.Place.State = t.State.Name
		}
		p.Target.Frames = t.UserStack
		return
	}
}

// Warnings are what could not be read, and why; each once.
func (in *Inspector) Warnings() []string {
	out := in.warnings
	for _, rt := range in.runtimes {
		for _, w := range rt.Identity().Warnings {
			out = append(out, rt.id+": "+w)
		}
	}
	if in.cfg.Symbolizer != nil {
		out = append(out, in.cfg.Symbolizer.Warnings()...)
	}
	return out
}

// runtimeOf describes a runtime and where its layout came from.
func runtimeOf(rt *runtimeView) Runtime {
	r := identityOf(rt.Identity())
	r.ID, r.Layout = rt.id, layoutLine(rt.Layout())
	return r
}

func identityOf(id rtl.Identity) Runtime {
	r := Runtime{Name: id.Name, Version: id.Version, VersionBy: id.VersionBy, OMPVersion: id.OMPVersion, Tracking: id.Tracking}
	if id.Module != nil {
		r.Path, r.BuildID = id.Module.Path, hex.EncodeToString(id.Module.BuildID)
	}
	return r
}

// layoutLine says in one line which sources gave how many names.
func layoutLine(rep layout.Report) string {
	if rep.Instead != "" {
		return rep.Instead
	}
	count := map[string]int{}
	var order []string
	agreed, refused := 0, 0
	for _, e := range rep.Entries {
		switch {
		case e.Source != "":
			if count[e.Source] == 0 {
				order = append(order, e.Source)
			}
			count[e.Source]++
			if len(e.Agreed) > 0 {
				agreed++
			}
		case len(e.Claims) > 1:
			refused++
		}
	}
	var parts []string
	for _, s := range order {
		parts = append(parts, fmt.Sprintf("%d from %s", count[s], s))
	}
	line := strings.Join(parts, ", ")
	if line == "" {
		return "none"
	}
	if agreed > 0 {
		line += fmt.Sprintf("; %d agreed by a second source", agreed)
	}
	if refused > 0 {
		line += fmt.Sprintf("; %d refused, sources differ", refused)
	}
	return line
}

// howGuessed says by what a frame was guessed; "" for a frame that unwind tables
// gave.
func howGuessed(h unwind.How) string {
	if h.Guessed() {
		return h.String()
	}
	return ""
}

var _ rtl.Runtime = runtimeView{}
