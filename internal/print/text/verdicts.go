package text

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/diagnose"
	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

const (
	maxCycleFrames = 12 // frames that are shown of each thread of a deadlock
	maxCycle       = 3  // threads of a deadlock of more than these and one that are shown with their frames
	maxEvidence    = 8  // lines of evidence
)

// maxVerdicts bounds the verdicts that are printed, and maxNotes the lines of
// information after them: there may be one for each of a thousand teams.
const (
	maxVerdicts = 8
	maxNotes    = 8
)

// Verdicts prints what is wrong, the worst first. Information that is no verdict
// of a fault comes after, in one line each.
func Verdicts(p *Printer, pic *picture.Picture) {
	hangs := slices.ContainsFunc(pic.Verdicts, func(v picture.Verdict) bool {
		return v.Severity.Rank() <= picture.SeverityHang.Rank()
	})
	if !hangs {
		p.printContention("  ", pic)
	}
	var faults, notes []picture.Verdict
	deadlocks := 0
	for _, v := range pic.Verdicts {
		if v.Kind == picture.VerdictDeadlock {
			deadlocks++
		}
		if isNote(v) {
			notes = append(notes, v)
		} else {
			faults = append(faults, v)
		}
	}
	for _, v := range p.atMost(faults, maxVerdicts) {
		printVerdict(p, v)
	}
	p.leftOut(len(faults)-maxVerdicts, "more verdict")
	if hangs {
		p.printContention("  ", pic)
	}
	if deadlocks > 0 {
		p.line("")
		p.line("  " + p.bold("Found "+phrase.Count(deadlocks, "OpenMP deadlock")+"."))
	}
	if len(faults) == 0 {
		if s := NoVerdict(pic); s != "" {
			p.line("")
			p.wrapped("  ", s)
		}
		if pause := pic.Target.Pause; pause != nil && pause.Standstill != nil {
			p.printEnds(pic)
		}
	}
	for i, v := range p.atMost(notes, maxNotes) {
		if i == 0 {
			p.line("")
		}
		p.wrapped("  "+p.note("·")+" ", v.Summary)
	}
	p.leftOut(len(notes)-maxNotes, "more fact")
}

// atMost is the first n verdicts, or all if nothing is folded.
func (p *Printer) atMost(list []picture.Verdict, n int) []picture.Verdict {
	if p.all {
		return list
	}
	return list[:min(len(list), n)]
}

// leftOut says that n of something are not printed, if they are not.
func (p *Printer) leftOut(n int, noun string) {
	if n > 0 && !p.all {
		p.linef("  … %s; --all shows them", phrase.Count(n, noun))
	}
}

// isNote reports whether one line is enough: it is information, or a consequence of
// what another verdict says.
func isNote(v picture.Verdict) bool {
	return v.Severity == picture.SeverityInfo || v.Kind == picture.VerdictBarrierMissing
}

func printVerdict(p *Printer, v picture.Verdict) {
	title := cmp.Or(diagnose.Heading(&v), strings.ToUpper(string(v.Kind)))
	paint := p.bad
	if v.Severity == picture.SeverityWarning {
		paint = p.note
	}
	p.line("")
	p.wrapped(p.bold(paint(title))+"  ", fmt.Sprintf("%s (%s)", v.Summary, v.Certainty))
	if v.Explanation != "" {
		p.wrapped("  ", v.Explanation)
	}
	if v.Fix != "" {
		p.wrapped("  "+p.bold("fix:")+" ", v.Fix)
	}
	if len(v.Waiting) > 0 {
		p.wrapped("  "+p.dim("waiting behind them:")+" ", "LWP "+p.lwps(v.Waiting))
	}
	if len(v.Cycle) == 0 {
		for i, e := range v.Evidence {
			if i == maxEvidence && !p.all {
				p.leftOut(len(v.Evidence)-i, "more line")
				break
			}
			p.wrapped("  "+p.dim("evidence:")+" ", e)
		}
	}
	cycle(p, v)
}

// cycle prints the threads of a deadlock, of a large one the first of them.
func cycle(p *Printer, v picture.Verdict) {
	for i, s := range v.Cycle {
		if i == maxCycle && len(v.Cycle) > maxCycle+1 && !p.all {
			var rest []int
			for _, s := range v.Cycle[i:] {
				rest = append(rest, s.Thread)
			}
			p.line("")
			p.wrapped("  ", fmt.Sprintf("… and so on: LWP %s; --all shows them", p.lwps(rest)))
			return
		}
		cycleStep(p, s)
	}
}

// cycleStep prints one thread of a deadlock as people know it from jstack.
func cycleStep(p *Printer, s picture.CycleStep) {
	who := fmt.Sprintf("LWP %d", s.Thread)
	if s.Place != nil && s.Place.TeamSize > 1 {
		who = fmt.Sprintf("thread %d of %d (LWP %d)", s.Place.ThreadNum, s.Place.TeamSize, s.Thread)
	}
	p.line("")
	p.linef("  %s waits for %s", p.bold(who), p.name(phrase.Target(s.WaitsFor)))
	for i, part := range fold(s.Frames) {
		f := s.Frames[part.at]
		switch {
		case i == maxCycleFrames && !p.all:
			p.linef("      … %s", phrase.Count(len(s.Frames)-part.at, "more frame"))
		case i > maxCycleFrames && !p.all:
		case part.times > 1:
			p.linef("      %s %s", at(f), p.recursionLine(s.Frames, part))
		default:
			p.linef("      %s %s", at(f), phrase.Where(f))
		}
	}
	held := "depends on"
	switch kind := s.WaitsFor.Kind; {
	case s.MayRelease:
		held = "may be released by"
	case kind.Exclusive():
		held = "held by"
	case kind == picture.WaitBarrier:
		held = "not reached by"
	}
	by := fmt.Sprintf("LWP %d", s.HeldBy)
	if s.HeldBy == s.Thread {
		by = "itself"
	}
	p.wrapped("    "+held+" ", p.bold(by)+": "+s.HeldEvidence)
}

func at(f picture.Frame) string {
	if f.Kind == picture.FramePseudo {
		return "in"
	}
	return "at"
}
