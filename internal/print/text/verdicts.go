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
	pic     *picture.Picture
	threads map[int]*picture.Thread // by LWP
}

// Verdicts prints the verdicts, the worst first, and then one line for each information that is not a fault.
func Verdicts(p *Printer, pic *picture.Picture) { verdictView{p, pic, threadsByLWP(pic)}.print() }

func (p verdictView) print() {
	pic := p.pic
	hangs := slices.ContainsFunc(pic.Verdicts, isSevere)
	if !hangs {
		printContention(p.Printer, "  ", pic)
	}
	var faults, notes []picture.Verdict
	for _, v := range pic.Verdicts {
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
	notes = slices.DeleteFunc(notes, p.isConsequence)
	if hangs {
		printContention(p.Printer, "  ", pic)
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
	return v.Severity == picture.SeverityInfo || v.Kind == picture.VerdictBarrierMissing && len(v.Missing) > 0
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
		p.printWrapped("  "+p.dim("therefore")+" ", p.consequences(v.Waiting))
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

// isConsequence reports whether a verdict on an incomplete barrier only repeats a line of another verdict: all threads
// at the barrier are among those that wait for the threads of a hang.
func (p verdictView) isConsequence(v picture.Verdict) bool {
	if v.Kind != picture.VerdictBarrierMissing || v.Severity != picture.SeverityHang || p.all {
		return false
	}
	behind := map[int]bool{}
	for _, w := range p.pic.Verdicts {
		for _, lwp := range slices.Concat(w.Waiting, w.Threads) {
			behind[lwp] = behind[lwp] || w.Kind != v.Kind && w.Severity == picture.SeverityHang
		}
	}
	return !slices.ContainsFunc(v.Threads, func(lwp int) bool { return !behind[lwp] })
}

// maxConsequences bounds the different waits in the line on the threads that wait for those of a hang.
const maxConsequences = 3

// consequences returns the waits of threads that wait for those of a hang, in one line: "2 wait at the barrier
// dead.c:13: threads 2, 3 of 4 (LWP 7, 8)".
func (p verdictView) consequences(lwps []int) string {
	groups := map[string][]picture.Thread{}
	var order []string
	for _, lwp := range lwps {
		wait := ""
		t := p.threads[lwp]
		if t == nil {
			t = &picture.Thread{LWP: lwp}
		} else if t.State != nil && t.State.Name.Waits() {
			wait = consequence(t)
		}
		if groups[wait] == nil {
			order = append(order, wait)
		}
		groups[wait] = append(groups[wait], *t)
	}
	slices.SortStableFunc(order, func(a, b string) int { return cmp.Compare(len(groups[b]), len(groups[a])) })
	var parts []string
	for _, wait := range order {
		ts := groups[wait]
		verb := "wait"
		if len(ts) == 1 {
			verb = "waits"
		}
		parts = append(parts, strings.Join(strings.Fields(fmt.Sprintf("%d %s %s: %s", len(ts), verb, wait,
			p.threadNames(ts))), " "))
	}
	return phrase.Clauses(parts, maxConsequences, len(parts))
}

// consequence returns the wait of a thread after the verb, with its place: "at the barrier dead.c:13".
func consequence(t *picture.Thread) string {
	f, ok := phrase.InnermostUser(t.UserStack)
	at := f.Place()
	if !ok || at == "" {
		return waitPhrase(*t)
	}
	if strings.HasPrefix(string(t.State.Name), "wait_barrier") {
		return "at the barrier " + at
	}
	return waitPhrase(*t) + " at " + at
}

// printCycle prints the threads of a deadlock, the first few of a large one.
func (p verdictView) printCycle(v picture.Verdict) {
	for i, s := range v.Cycle {
		if isCutCycle(v, i) && !p.all {
			var rest []int
			for _, s := range v.Cycle[i:] {
				rest = append(rest, s.Thread)
			}
			p.printLine("")
			p.printWrapped("  ", fmt.Sprintf("… and so on: %s; --all shows them",
				p.namesOf(p.threads, rest)))
			return
		}
		p.printStep(s)
	}
}

// isCutCycle reports whether the steps of a deadlock from the i-th on are left out.
func isCutCycle(v picture.Verdict, i int) bool { return i == maxCycle && len(v.Cycle) > maxCycle+1 }

// printStep prints one thread of a deadlock in the style of jstack.
func (p verdictView) printStep(s picture.CycleStep) {
	who := p.threadName(s.Thread)
	if s.Place != nil && s.Place.TeamSize > 1 {
		who = fmt.Sprintf("thread %d of %d (LWP %d)", s.Place.ThreadNum, s.Place.TeamSize, s.Thread)
	}
	awaited := phrase.Target(s.WaitsFor)
	if s.WaitsFor.Kind == picture.WaitJoin {
		awaited = "the end of " + p.threadName(s.HeldBy)
	}
	p.printLine("")
	p.printf("  %s waits for %s", p.bold(who), p.cyan(awaited))
	for i, part := range fold(s.Frames) {
		f := s.Frames[part.at]
		switch {
		case i == maxCycleFrames && !p.all:
			p.printf("      … %s", phrase.Count(len(s.Frames)-part.at, "more frame"))
		case i > maxCycleFrames && !p.all:
		case part.times > 1:
			p.printf("      %s %s", framePreposition(f), (&stackView{p.Printer}).recursionLine(
				[]recursion{{s.Frames, part}}))
		default:
			p.printf("      %s %s", framePreposition(f), phrase.Where(f))
		}
	}
	by := p.threadName(s.HeldBy)
	if s.HeldBy == s.Thread {
		by = "itself"
	}
	p.printWrapped("    "+phrase.HeldBy(s)+" ", p.bold(by)+": "+s.HeldEvidence)
}

// threadName names a thread by its number and its LWP.
func (p verdictView) threadName(lwp int) string {
	if t := p.threads[lwp]; t != nil {
		return phrase.NumberedThread(*t)
	}
	return fmt.Sprintf("LWP %d", lwp)
}

// framePreposition returns the word before the place of a frame.
func framePreposition(f picture.Frame) string {
	if f.Kind == picture.FramePseudo {
		return "in"
	}
	return "at"
}
