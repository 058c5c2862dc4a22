package inspect

import (
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/internal/inspect/stacks"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// Picture reads the wanted parts of the target.
func (in *Inspector) Picture(want picture.Parts) *picture.Picture {
	p := &picture.Picture{Schema: picture.Schema, Target: in.cfg.About}
	p.Target.Threads = len(in.roster.All)
	p.Target.Rank = (&environment{in.cfg.Target, in.cfg.Symbolizer}).rank()
	for _, rt := range in.roster.Runtimes {
		p.Runtimes = append(p.Runtimes, runtimeOf(rt))
	}
	for _, d := range in.cfg.Dormant {
		r := identityOf(d.Identity)
		r.ID, r.Layout = d.Identity.Family, "none: not initialized, the program has made no OpenMP call yet"
		if why := in.inUse(d); why != "" {
			r.Layout = "none: " + picture.UnreadText + why
		}
		p.Runtimes = append(p.Runtimes, r)
	}
	for _, u := range in.threads.unread() {
		if u.all {
			reason := strings.TrimPrefix(u.why, picture.UnreadText)
			p.Runtimes = append(p.Runtimes, picture.UnreadRuntime(u.mod.Path, reason))
		}
	}
	in.code.ReadValues(want.Values && in.cfg.Only.LWP != 0, want.Request)
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
	if want.Devices {
		p.Devices = in.devices.list()
	}
	if want.Stacks {
		p.Stacks = stacks.Merge(p.Threads)
	}
	if !want.Threads {
		p.Threads = nil
	}
	p.Warnings = in.Warnings()
	return p
}

// Diagnosed returns the Picture of the wanted parts with its facts and the verdicts that run draws from them. It
// removes parts that only these need.
func (in *Inspector) Diagnosed(want picture.Parts, run func(*picture.Picture) []picture.Verdict) *picture.Picture {
	all := want
	all.Threads, all.Regions, all.Tasks = true, true, true
	pic := in.Picture(all)
	pic.Facts = in.Facts(pic)
	pic.Verdicts = run(pic)
	if !want.Threads {
		pic.Threads = nil
	}
	if !want.Regions {
		pic.Regions = nil
	}
	if !want.Tasks {
		pic.Tasks = nil
	}
	return pic
}

// Complete adds to a picture the data that changed after it was made: the cost of the snapshot, and the warnings
// since.
func (in *Inspector) Complete(p *picture.Picture) {
	p.Target.Pause = in.cfg.About.Pause
	p.Warnings, p.Incomplete = in.Warnings(), in.notes.Incomplete()
}

// someTasks returns the first MaxTasks tasks.
func (in *Inspector) someTasks() []picture.Task {
	var out []picture.Task
	for t := range in.Tasks() {
		if len(out) == MaxTasks {
			in.notes.Warn("more than %d tasks, the rest is left out here: `ompd-inspect tasks` lists all", MaxTasks)
			return out
		}
		out = append(out, t)
	}
	return out
}

// completeTarget adds the place of the crashed thread.
func (in *Inspector) completeTarget(p *picture.Picture) {
	for i := range p.Threads {
		t := &p.Threads[i]
		if !t.Crashed {
			continue
		}
		p.Target.Frames = t.UserStack
		if slices.ContainsFunc(p.Runtimes, func(r picture.Runtime) bool {
			return len(r.Damage) > 0 &&
				r.ID == t.Runtime
		}) {
			return // its data about the thread is not reliable
		}
		p.Target.Place = &picture.Place{Role: t.Role, ThreadNum: t.ThreadNum, TeamSize: t.TeamSize, Level: t.Level,
			Region: t.Region, Task: t.Task}
		if t.State != nil {
			p.Target.Place.State = t.State.Name
		}
		return
	}
}

// Warnings returns the reasons why data could not be read, each once.
func (in *Inspector) Warnings() []string {
	out := in.notes.Warnings()
	if why := in.roster.MissingStacks(); why != "" {
		out = append(out, why)
	}
	for _, rt := range in.roster.Runtimes {
		for _, w := range rt.Identity().Warnings {
			out = append(out, rt.ID+": "+w)
		}
	}
	for _, d := range in.cfg.Dormant {
		if why := in.inUse(d); why != "" {
			out = append(out, d.Identity.Name+" in "+d.Identity.Module.Path+": "+picture.UnreadText+why)
		}
	}
	if in.cfg.Symbolizer != nil {
		out = append(out, in.cfg.Symbolizer.Warnings(in.code.Lineless)...)
	}
	for _, py := range in.code.Interpreters() {
		if py.Err != nil {
			out = append(out, "Python in "+py.Module.Path+": its frames are incomplete: "+stacks.Message(py.Err))
		}
		if py.NamesErr != nil {
			out = append(out, "Python in "+py.Module.Path+": names of threads are incomplete: "+
				stacks.Message(py.NamesErr))
		}
	}
	for _, r := range in.code.RSessions() {
		if r.Err != nil {
			out = append(out, "R in "+r.Module.Path+": its frames are incomplete: "+stacks.Message(r.Err))
		}
	}
	return out
}

// Rehearse reads the data that Picture reads for the wanted parts, and, if verdicts are wanted, the data that
// Facts reads. On a running process, it finds the memory that the answer needs. It makes the answer without the
// names of code, which are in files.
func (in *Inspector) Rehearse(want picture.Parts, verdicts bool) {
	in.code.Rehearsing = true
	defer func() { in.code.Rehearsing = false }()
	want.Native = false // native stacks differ from others only by the names of their frames
	want.Threads = want.Threads || want.Stacks || verdicts
	want.Regions, want.Tasks = want.Regions || verdicts, want.Tasks || verdicts
	want.Stacks = false
	pic := in.Picture(want)
	if want.Threads || want.Regions || want.Tasks {
		in.readConstructs()
	}
	if verdicts {
		in.facts.gather(pic)
	}
}

// RehearseTasks reads the data that Tasks reads, in the same way.
func (in *Inspector) RehearseTasks() {
	in.code.Rehearsing = true
	defer func() { in.code.Rehearsing = false }()
	for range in.Tasks() {
	}
	in.readConstructs()
}

// readConstructs reads the data that names of frames need: the constructs of regions and tasks, and the stacks of
// the threads that forked the regions.
func (in *Inspector) readConstructs() {
	in.model.Constructs()
	for _, v := range in.regions.All() {
		if n := in.regions.Primary(v); v.Err == nil && n != nil {
			n.Stack()
		}
	}
}
