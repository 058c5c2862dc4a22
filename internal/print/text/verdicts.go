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

// Bounds of the verdicts. There may be one for each of a thousand teams.
const (
	maxVerdicts    = 8
	maxNotes       = 8  // lines of information
	maxEvidence    = 8  // lines of evidence of one verdict
	maxCycleFrames = 12 // frames of one thread of a deadlock
	maxCycle       = 3  // threads of a deadlock that are printed with their frames, unless only one more is left
)

// verdictView prints the verdicts of a picture.
type verdictView struct {
	*Printer
	pic *picture.Picture
}

// Verdicts prints the verdicts, the worst first, and then one line for each information that is not a fault.
func Verdicts(p *Printer, pic *picture.Picture) { verdictView{p, pic}.print() }

func (p verdictView) print() {
	pic := p.pic
	hangs := slices.ContainsFunc(pic.Verdicts, func(v picture.Verdict) bool {
		return v.Severity.Rank() <= picture.SeverityHang.Rank()
	})
	if !hangs {
		printContention(p.Printer, "  ", pic)
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
	for _, v := range p.limit(faults, maxVerdicts) {
		p.printVerdict(v)
	}
	p.printOmitted(len(faults)-maxVerdicts, "more verdict")
	if hangs {
		printContention(p.Printer, "  ", pic)
	}
	if deadlocks > 0 {
		p.printLine("")
		p.printLine("  " + p.bold("Found "+phrase.Count(deadlocks, "OpenMP deadlock")+"."))
	}
	if len(faults) == 0 {
		if s := NoVerdict(pic); s != "" {
			p.printLine("")
			p.printWrapped("  ", s)
		}
		if pause := pic.Target.Pause; pause != nil && pause.Standstill != nil {
			printEnds(p.Printer, pic)
		}
	}
	for i, v := range p.limit(notes, maxNotes) {
		if i == 0 {
			p.printLine("")
		}
		p.printWrapped("  "+p.amber("·")+" ", v.Summary)
	}
	p.printOmitted(len(notes)-maxNotes, "more fact")
}

// limit returns the first n verdicts, or all if nothing is folded.
func (p verdictView) limit(list []picture.Verdict, n int) []picture.Verdict {
	if p.all {
		return list
	}
	return list[:min(len(list), n)]
}

// isNote reports whether one line is enough for a verdict: it is information, or follows from another verdict.
func isNote(v picture.Verdict) bool {
	return v.Severity == picture.SeverityInfo || v.Kind == picture.VerdictBarrierMissing
}

func (p verdictView) printVerdict(v picture.Verdict) {
	title := cmp.Or(diagnose.Heading(&v), strings.ToUpper(string(v.Kind)))
	paint := p.red
	if v.Severity == picture.SeverityWarning {
		paint = p.amber
	}
	p.printLine("")
	p.printWrapped(p.bold(paint(title))+"  ", fmt.Sprintf("%s (%s)", v.Summary, v.Certainty))
	if v.Explanation != "" {
		p.printWrapped("  ", v.Explanation)
	}
	if v.Fix != "" {
		p.printWrapped("  "+p.bold("fix:")+" ", v.Fix)
	}
	if len(v.Waiting) > 0 {
		p.printWrapped("  "+p.dim("waiting behind them:")+" ", "LWP "+p.formatLWPs(v.Waiting))
	}
	if len(v.Cycle) == 0 {
		for i, e := range v.Evidence {
			if i == maxEvidence && !p.all {
				p.printOmitted(len(v.Evidence)-i, "more line")
				break
			}
			p.printWrapped("  "+p.dim("evidence:")+" ", e)
		}
	}
	p.printCycle(v)
}

// printCycle prints the threads of a deadlock, the first few of a large one.
func (p verdictView) printCycle(v picture.Verdict) {
	for i, s := range v.Cycle {
		if i == maxCycle && len(v.Cycle) > maxCycle+1 && !p.all {
			var rest []int
			for _, s := range v.Cycle[i:] {
				rest = append(rest, s.Thread)
			}
			p.printLine("")
			p.printWrapped("  ", fmt.Sprintf("… and so on: LWP %s; --all shows them", p.formatLWPs(rest)))
			return
		}
		p.printStep(s)
	}
}

// printStep prints one thread of a deadlock in the style of jstack.
func (p verdictView) printStep(s picture.CycleStep) {
	who := fmt.Sprintf("LWP %d", s.Thread)
	if s.Place != nil && s.Place.TeamSize > 1 {
		who = fmt.Sprintf("thread %d of %d (LWP %d)", s.Place.ThreadNum, s.Place.TeamSize, s.Thread)
	}
	p.printLine("")
	p.printf("  %s waits for %s", p.bold(who), p.cyan(phrase.Target(s.WaitsFor)))
	for i, part := range fold(s.Frames) {
		f := s.Frames[part.at]
		switch {
		case i == maxCycleFrames && !p.all:
			p.printf("      … %s", phrase.Count(len(s.Frames)-part.at, "more frame"))
		case i > maxCycleFrames && !p.all:
		case part.times > 1:
			p.printf("      %s %s", framePreposition(f), (&stackView{p.Printer}).recursionLine(s.Frames, part))
		default:
			p.printf("      %s %s", framePreposition(f), phrase.Where(f))
		}
	}
	by := fmt.Sprintf("LWP %d", s.HeldBy)
	if s.HeldBy == s.Thread {
		by = "itself"
	}
	p.printWrapped("    "+phrase.HeldBy(s)+" ", p.bold(by)+": "+s.HeldEvidence)
}

// framePreposition returns the word before the place of a frame.
func framePreposition(f picture.Frame) string {
	if f.Kind == picture.FramePseudo {
		return "in"
	}
	return "at"
}
