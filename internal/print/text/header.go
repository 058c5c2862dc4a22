package text

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// header prints the target of a picture, its runtimes, and its rank.
type header struct {
	*Printer
	pic *picture.Picture
}

// Header prints the target, the signal that ended it, and the runtimes.
func Header(p *Printer, pic *picture.Picture) {
	h := header{p, pic}
	h.printTarget()
	h.printSetting()
	h.printRuntimes()
	h.printRank()
	h.printMade()
}

// printTarget prints the name of the target and its state.
func (p header) printTarget() {
	t := p.pic.Target
	what := string(t.Kind) + " of " + cmp.Or(t.Executable, t.Command, t.Path)
	if t.PID != 0 {
		what += fmt.Sprintf(" (pid %d)", t.PID)
	}
	switch {
	case t.Pause != nil && t.Pause.Suspended:
		p.printState(what, p.red("stopped by a signal"))
	case t.Pause != nil:
		p.printState(what, pauseText(*t.Pause))
	case t.Signal != "" && t.CrashedLWP != 0:
		s := p.red(t.Signal)
		if t.FaultAddress != nil {
			s += " at address " + t.FaultAddress.String()
		}
		p.printState(what, fmt.Sprintf("%s in LWP %d", s, t.CrashedLWP))
	case t.Signal != "":
		p.printState(what, t.Signal)
	case t.Kind == picture.TargetProcess: // without a debugger, a process has a pause
		p.printState(what, "held by a debugger, no signal")
	default:
		p.printState(what, "taken while it ran, no signal")
	}
	if t.Pause != nil {
		p.printStandstill(t.Pause.Standstill)
	}
}

// printState prints the state of the target.
func (p header) printState(target, state string) { p.printWrapped("", p.bold(target)+": "+state) }

// printSetting prints the program with its arguments, the numbers of threads and processors, the time of the process,
// and the variables of OpenMP that are set in its environment, as far as they are known.
func (p header) printSetting() {
	pic, t := p.pic, p.pic.Target
	var parts []string
	procs, set := phrase.Processors(pic), phrase.Environment(pic)
	if n := len(pic.Threads); n > 0 && procs > 0 {
		parts = append(parts, phrase.Count(n, "thread")+" on "+phrase.Count(procs, "processor"))
	}
	if s := phrase.Times(t.Elapsed, t.CPU); s != "" {
		parts = append(parts, s)
	}
	if len(set) > 0 {
		parts = append(parts, strings.Join(set, " "))
	}
	if name := programName(t); name != "" && (len(parts) > 0 || strings.Contains(name, " ")) {
		p.printWrapped(p.bold("program")+" ", strings.Join(append([]string{name}, parts...), "; "))
	}
}

// programName returns the base name of the program with its arguments; "" if it is unknown.
func programName(t picture.Target) string {
	name, args := cmp.Or(t.Executable, t.Command), ""
	if t.Executable == "" {
		name, args, _ = strings.Cut(t.Command, " ")
	} else if rest, ok := strings.CutPrefix(t.Command, t.Executable+" "); ok {
		args = rest
	} else if t.Command != t.Executable && t.Command != "" {
		return t.Command
	}
	if name == "" {
		return ""
	}
	return strings.TrimSpace(filepath.Base(name) + " " + args)
}

// printMade prints the time, the host and the version of the tool.
func (p header) printMade() {
	if p.made != "" {
		p.printWrapped(p.bold("report")+" ", p.made)
	}
}

// printStandstill prints the time without progress, if that is the reason for the report, and the threads that
// used CPU time meanwhile.
func (p header) printStandstill(s *picture.Standstill) {
	if s == nil {
		return
	}
	text := fmt.Sprintf("for %.1f s, which is why this report was written: ", s.Seconds)
	if len(s.Spinning) == 0 {
		text += "no thread ran"
	} else {
		var lwps []int
		used := 0.0
		for _, t := range s.Spinning {
			lwps, used = append(lwps, t.LWP), used+t.CPUSeconds
		}
		text += fmt.Sprintf("%s used %.1f s of CPU time without making progress: %s",
			phrase.Count(len(lwps), "thread"), used, p.namesOf(threadsByLWP(p.pic), lwps))
	}
	if s.WaitsOutside {
		text += "; it waits for another process, or for input"
	}
	p.printWrapped(p.red("no progress")+" ", text)
}

// isRunning reports whether a process continues to run; else it had been stopped before, or is being held.
func isRunning(s picture.Pause) bool { return s.Threads == 0 || s.Stops > 0 }

// pauseText returns the cost of a snapshot for its process.
func pauseText(s picture.Pause) string {
	if s.Threads == 0 {
		return "running, no thread was stopped"
	}
	if !isRunning(s) {
		return "stopped, with " + phrase.Count(s.Threads, "thread")
	}
	out := fmt.Sprintf("running, stopped %s for %.1f ms", phrase.Count(s.Threads, "thread"),
		float64(s.Microseconds)/1000)
	if s.Stops > 1 {
		out += fmt.Sprintf(" in %d stops", s.Stops)
	}
	return out
}

// printRuntimes prints the runtimes, or without any, the next command.
func (p header) printRuntimes() {
	pic := p.pic
	if len(pic.Runtimes) == 0 {
		hint := ""
		if pic.Target.Signal == "" || pic.Target.Path != "" { // the process still exists
			hint = fmt.Sprintf("; `ompd-inspect doctor %s` says why", pic.Target.Name())
		}
		if name := launcher(pic); name != "" {
			hint = fmt.Sprintf("; %s starts ranks: `ompd-inspect job --mpirun %d` inspects them", name, pic.Target.PID)
		}
		p.printf("%s none known in this %s%s", p.bold("runtime"), pic.Target.Kind, hint)
	}
	for _, r := range pic.Runtimes {
		if strings.HasPrefix(r.Layout, "none") {
			p.printWrapped(p.bold("runtime")+" ",
				fmt.Sprintf("%s, %s: %s", r.Name, r.Path, strings.TrimPrefix(r.Layout, "none: ")))
			continue
		}
		name := r.Name
		if r.Version != "" {
			name += " " + r.Version
		}
		line := name + ", " + r.Path
		if r.Tracking {
			line += "; states tracked"
		}
		if !isFieldCount(r.Layout) {
			line += "; layout: " + r.Layout
		}
		p.printWrapped(p.bold("runtime")+" ", line)
	}
}

// isFieldCount reports whether a line on a layout only counts the fields of each source, which doctor prints.
func isFieldCount(layout string) bool {
	return layout == "" || layout[0] >= '0' && layout[0] <= '9'
}

// printRank prints the rank of a process in its job, and the calls of MPI in which its threads wait.
func (p header) printRank() {
	pic := p.pic
	if r := pic.Target.Rank; r != nil {
		s := fmt.Sprintf("%d", r.Rank)
		if r.Size != 0 {
			s += fmt.Sprintf(" of %d", r.Size)
		}
		if r.Job != "" {
			s += ", job " + r.Job
		}
		if r.Host != "" {
			s += ", host " + r.Host
		}
		p.printf("rank %s (%s)", s, r.Source)
	}
	for _, t := range pic.Threads {
		if t.MPI != nil {
			p.printWrapped("in MPI  ", p.threadNames([]picture.Thread{t})+": "+mpiCall(t.MPI))
		}
	}
}

// mpiCall formats a call of MPI, and names its lost arguments.
func mpiCall(c *picture.MPICall) string {
	var args []string
	add := func(format string, value any) { args = append(args, fmt.Sprintf(format, value)) }
	if c.Count != nil {
		add("count %d", *c.Count)
	}
	for _, s := range []string{c.Type, c.Op} {
		if s != "" {
			args = append(args, s)
		}
	}
	switch {
	case c.AnySource:
		args = append(args, "from any rank")
	case c.Peer != nil:
		add("rank %d", *c.Peer)
	}
	switch {
	case c.AnyTag:
		args = append(args, "any tag")
	case c.Tag != nil:
		add("tag %d", *c.Tag)
	}
	if c.Communicator != "" {
		args = append(args, c.Communicator)
	}
	s := c.Routine
	if len(args) > 0 {
		s += "(" + strings.Join(args, ", ") + ")"
	}
	if len(c.Lost) > 0 {
		s += "; lost: " + strings.Join(c.Lost, ", ")
	}
	return s
}
