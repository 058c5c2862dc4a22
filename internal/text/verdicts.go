package text

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/inspect"
)

// maxCycleFrames bounds the frames that are shown of each thread of a deadlock.
const maxCycleFrames = 12

// Verdicts prints what is wrong, the worst first. Information that is no verdict
// of a fault comes after, in one line each.
func Verdicts(p *Printer, pic *inspect.Picture) {
	deadlocks := 0
	for _, v := range pic.Verdicts {
		if v.Kind == inspect.VerdictDeadlock {
			deadlocks++
		}
	}
	shown := 0
	for _, v := range pic.Verdicts {
		if isNote(v) {
			continue
		}
		shown++
		printVerdict(p, v)
	}
	if deadlocks > 0 {
		p.line("")
		p.line("  " + p.bold("Found "+count(deadlocks, "OpenMP deadlock")+"."))
	}
	notes(p, pic, shown > 0)
}

// isNote tells whether one line is enough: it is information, or a consequence of
// what another verdict tells.
func isNote(v inspect.Verdict) bool {
	return v.Severity == inspect.SeverityInfo || v.Kind == inspect.VerdictBarrierMissing
}

// notes prints the information.
func notes(p *Printer, pic *inspect.Picture, found bool) {
	first := true
	for _, v := range pic.Verdicts {
		if !isNote(v) {
			continue
		}
		if first {
			p.line("")
			first = false
		}
		p.wrapped("  "+p.note("·")+" ", v.Summary)
	}
	if first && !found {
		p.line("")
		p.wrapped("  ", p.dim(noVerdict(&pic.Target)))
	}
}

// noVerdict says that nothing was found, and what tells more of a process that runs.
func noVerdict(t *inspect.Target) string {
	switch {
	case t.Signal != "":
		return "no verdict: nothing shows why this program died, or that it hung"
	case t.Pause != nil && runs(*t.Pause):
		return fmt.Sprintf("no verdict: nothing shows that this program hangs; `ompd-inspect watch %d` tells whether it gets on", t.PID)
	}
	return "no verdict: nothing shows that this program hangs"
}

// titles are the headings of verdicts.
var titles = map[string]string{
	inspect.VerdictDeadlock: "DEADLOCK", inspect.VerdictSelfDeadlock: "SELF-DEADLOCK", inspect.VerdictLockOrphaned: "LOCK WITHOUT OWNER",
	inspect.VerdictBarrierMissing: "BARRIER NOT COMPLETE", inspect.VerdictBarrierDivergent: "DIFFERENT BARRIERS",
	inspect.VerdictTaskStarved: "TASKS THAT NOBODY RUNS", inspect.VerdictStackOverflow: "STACK OVERFLOW", inspect.VerdictCrash: "CRASH",
	inspect.VerdictOneThread: "FEWER THREADS THAN ASKED", inspect.VerdictForkChild: "CHILD AFTER FORK",
	inspect.VerdictTwoRuntimes: "TWO OPENMP RUNTIMES", inspect.VerdictOversubscribed: "MORE THREADS THAN CPUS",
	inspect.VerdictSharedProcessor: "SPINNING ON A SHARED CPU", inspect.VerdictLockFreed: "FREED LOCK",
}

func printVerdict(p *Printer, v inspect.Verdict) {
	title := cmp.Or(titles[v.Kind], strings.ToUpper(v.Kind))
	paint := p.bad
	if v.Severity == inspect.SeverityWarning {
		paint = p.note
	}
	p.line("")
	p.wrapped(p.bold(paint(title))+"  ", fmt.Sprintf("%s (%s)", v.Summary, v.Certainty))
	for _, s := range v.Cycle {
		cycleStep(p, v, s)
	}
	if len(v.Cycle) > 0 {
		p.line("")
	}
	if v.Explanation != "" {
		p.wrapped("  ", v.Explanation)
	}
	if len(v.Behind) > 0 {
		p.wrapped("  "+p.dim("also stuck behind them")+" ", "LWP "+lwps(v.Behind, maxListed))
	}
	if len(v.Cycle) == 0 {
		for _, e := range v.Evidence {
			p.wrapped("  "+p.dim("known from")+" ", e)
		}
	}
	if v.Cure != "" {
		p.wrapped("  "+p.bold("cure")+" ", v.Cure)
	}
}

// cycleStep prints one thread of a deadlock as people know it from jstack.
func cycleStep(p *Printer, v inspect.Verdict, s inspect.CycleStep) {
	who := fmt.Sprintf("LWP %d", s.Thread)
	if s.Place != nil && s.Place.TeamSize > 1 {
		who = fmt.Sprintf("thread %d of %d (LWP %d)", s.Place.ThreadNum, s.Place.TeamSize, s.Thread)
	}
	p.line("")
	p.linef("  %s waits for %s", p.bold(who), p.name(target(s.WaitsFor)))
	for i, f := range s.Frames {
		if i == maxCycleFrames {
			p.linef("      … %d more frames", len(s.Frames)-maxCycleFrames)
			break
		}
		p.linef("      %s %s", at(f), where(f))
	}
	held := "needs"
	switch s.WaitsFor.Kind {
	case inspect.WaitLock, inspect.WaitNestLock, inspect.WaitCritical, inspect.WaitMutex, inspect.WaitAtomic:
		held = "held by"
	case inspect.WaitBarrier:
		held = "not reached by"
	}
	by := fmt.Sprintf("LWP %d", s.HeldBy)
	if s.HeldBy == s.Thread {
		by = "itself"
	}
	p.wrapped("    "+held+" ", p.bold(by)+": "+s.HeldEvidence)
}

func at(f inspect.Frame) string {
	if f.Kind == inspect.FramePseudo {
		return "in"
	}
	return "at"
}

// waitWords are kinds of waits as people say them.
var waitWords = map[string]string{
	inspect.WaitCritical: "critical section", inspect.WaitOrdered: "its turn in the ordered loop", inspect.WaitJoin: "the",
	inspect.WaitTaskwait: "its child tasks in a taskwait", inspect.WaitTaskgroup: "the tasks of a taskgroup",
	inspect.WaitCondition: "condition variable", inspect.WaitAtomic: "the lock of atomic constructs",
}

// target names what is waited for.
func target(t inspect.WaitTarget) string {
	s, ok := waitWords[t.Kind]
	if !ok {
		s = strings.ReplaceAll(t.Kind, "_", " ")
	}
	if t.Name != "" {
		s += " " + t.Name
	}
	if t.Address != nil && t.Kind != inspect.WaitJoin {
		s += " (" + t.Address.String() + ")"
	}
	return s
}
