package text

import (
	"cmp"
	"fmt"
	"io"
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
	notes = slices.DeleteFunc(notes, func(v picture.Verdict) bool { return p.causeOf(&v) != nil })
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
	for _, s := range p.consequences(v) {
		p.printWrapped("  "+p.dim("therefore")+" ", s)
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

// causeOf returns the verdict below which an incomplete barrier is printed; nil without one.
func (p verdictView) causeOf(v *picture.Verdict) *picture.Verdict {
	if p.all {
		return nil
	}
	return diagnose.Cause(v, p.pic.Verdicts)
}

// Consequences returns the lines on what follows from a verdict of a picture.
func Consequences(pic *picture.Picture, v *picture.Verdict) []string {
	return verdictView{New(io.Discard, false, NoLimit), pic, threadsByLWP(pic)}.consequences(*v)
}

// maxConsequences bounds the different waits in the line on the threads that wait for those of a hang.
const maxConsequences = 3

// consequences returns the lines on what follows from a verdict: the waits of threads that wait for its threads, and
// the incomplete barriers with other threads.
func (p verdictView) consequences(v picture.Verdict) (lines []string) {
	if len(v.Waiting) > 0 {
		lines = append(lines, p.waitLine(v.Waiting))
	}
	for i := range p.pic.Verdicts {
		barrier := &p.pic.Verdicts[i]
		cause := p.causeOf(barrier)
		if cause == nil || cause.Kind != v.Kind || !slices.Equal(cause.Threads, v.Threads) {
			continue
		}
		listed := func(lwp int) bool { return slices.Contains(v.Waiting, lwp) || slices.Contains(v.Threads, lwp) }
		if slices.ContainsFunc(barrier.Threads, func(lwp int) bool { return !listed(lwp) }) {
			lines = append(lines, barrier.Summary)
		}
	}
	return lines
}

// waitLine returns the waits of threads that wait for those of a hang, in one line: "2 wait at the barrier dead.c:13:
// threads 2, 3 of 4 (LWP 7, 8)". Waits at one place for objects without names are alike; if there are too many
// different ones, those for objects with names as well.
func (p verdictView) waitLine(lwps []int) string {
	groups, order := p.groupWaits(lwps, consequence)
	if len(order) > maxConsequences {
		groups, order = p.groupWaits(lwps, unnamedConsequence)
	}
	slices.SortStableFunc(order, func(a, b string) int { return cmp.Compare(len(groups[b]), len(groups[a])) })
	var parts []string
	for _, wait := range order {
		ts := groups[wait]
		verb := "wait"
		if len(ts) == 1 {
			verb = "waits"
		}
		parts = append(parts, strings.Join(strings.Fields(fmt.Sprintf("%d %s%s: %s", len(ts), verb, wait,
			p.threadNames(ts))), " "))
	}
	return phrase.Clauses(parts, maxConsequences, len(parts))
}

// groupWaits groups threads by the texts of their waits, and returns the texts in the order of their first threads.
func (p verdictView) groupWaits(lwps []int, text func(*picture.Thread) string) (map[string][]picture.Thread, []string) {
	groups := map[string][]picture.Thread{}
	var order []string
	for _, lwp := range lwps {
		wait := ""
		t := p.threads[lwp]
		switch {
		case t == nil:
			t = &picture.Thread{LWP: lwp}
		case t.State == nil && t.WaitKind != "": // of no runtime
			named := *t
			named.State = &picture.State{Name: t.WaitKind.Traits().State}
			wait = " " + text(&named)
		case t.State != nil && t.State.Name.Waits():
			wait = " " + text(t)
		}
		if groups[wait] == nil {
			order = append(order, wait)
		}
		groups[wait] = append(groups[wait], *t)
	}
	return groups, order
}

// consequence returns the wait of a thread after the verb, with its place: "at the barrier dead.c:13", "for a lock at
// bank.c:7".
func consequence(t *picture.Thread) string {
	f, ok := phrase.InnermostUser(t.UserStack)
	at := f.Place()
	if !ok || at == "" {
		return waitPhrase(*t)
	}
	if strings.HasPrefix(string(t.State.Name), "wait_barrier") {
		return "at the barrier " + at
	}
	if t.WaitName == "" && t.WaitID != nil { // the place says more than the address
		return unnamedWait(*t) + " at " + at
	}
	return waitPhrase(*t) + " at " + at
}

// unnamedConsequence is consequence without the name of the object.
func unnamedConsequence(t *picture.Thread) string {
	unnamed := *t
	if unnamed.WaitName = ""; t.WaitID == nil {
		unnamed.WaitID = new(picture.Hex) // it shows that there is an object
	}
	return consequence(&unnamed)
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
		f := s.Frames[part.end()-1]
		switch {
		case i == maxCycleFrames && !p.all:
			p.printf("      … %s", phrase.Count(len(s.Frames)-part.at, "more frame"))
		case i > maxCycleFrames && !p.all:
		case part.times > 1:
			p.printf("      %s %s", framePreposition(f), (&stackView{p.Printer}).recursionLine(
				[]recursion{{s.Frames, part}}))
		case part.library:
			p.printf("      in %s", phrase.LibraryFunction(f))
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
