package diagnose

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// forkedEvidence is the evidence for a process being a forked child.
const forkedEvidence = "the kernel marks the process as forked, without a program executed since"

// forkedAlone reports whether the process is a forked child with no other thread than the one that called fork.
// The runtime may list threads of the parent, which have no LWP.
func (x *index) forkedAlone() bool {
	n := 0
	for i := range x.pic.Threads {
		if x.pic.Threads[i].LWP != 0 {
			n++
		}
	}
	return x.pic.Target.Forked && n == 1
}

// isForkedChild reports whether a verdict is on a forked child.
func isForkedChild(v picture.Verdict) bool { return v.Kind == picture.VerdictForkChild }

// forkPlace returns " (fork was called in PLACE)" if the call of fork that made the process is known.
func (x *index) forkPlace() string {
	if x.facts.ForkedAt == nil {
		return ""
	}
	return " (fork was called in " + place(*x.facts.ForkedAt) + ")"
}

// findForkedChild finds a child after fork with a runtime that still counts on threads of the parent. atEnded are
// threads that wait for one that ended in its region.
func findForkedChild(x *index, atEnded map[int]bool) []picture.Verdict {
	var out []picture.Verdict
	for _, l := range x.facts.LostThreads {
		ended := slices.ContainsFunc(l.Waiting, func(lwp int) bool { return atEnded[lwp] })
		if ended || l.Count == 0 || hasLostMember(x, l.Runtime) {
			continue
		}
		v := newVerdict(picture.VerdictForkChild, picture.Certain)
		v.Threads, v.Evidence = l.Waiting, []string{l.Evidence}
		v.Summary = fmt.Sprintf("the OpenMP runtime expects %s that this process does not have: it is a "+
			"forked child", threadCount(l.Count))
		v.Explanation = "A forked child has only the thread that called fork" + x.forkPlace() + ". The runtime's " +
			"list of threads was copied, "
		if len(l.Waiting) > 0 {
			v.Explanation += "and " + x.threadsWait(l.Waiting) + " for threads that do not exist."
		} else {
			v.Severity = picture.SeverityWarning
			v.Explanation += "and the next parallel region will wait for them forever."
		}
		out = append(out, v)
	}
	return out
}

// findMissingMembers finds a child after fork with a thread at a barrier of a team whose other members are threads of
// the parent. found are the verdicts on runtimes that count on threads of the parent.
func findMissingMembers(x *index, groups []*group, found []picture.Verdict) []picture.Verdict {
	if !x.forkedAlone() || len(found) > 0 {
		return nil
	}
	for _, b := range groups {
		r := x.regions[b.waits[0].Region]
		if r == nil || len(newRoll(x, r.ID).present) >= r.TeamSize {
			continue
		}
		v := newVerdict(picture.VerdictForkChild, picture.Certain)
		v.Region, v.Threads = r.ID, []int{b.waits[0].Thread}
		v.Summary = fmt.Sprintf("%s waits for a team of %d, whose other threads this process does not have: it is a "+
			"forked child", x.threadName(v.Threads[0]), r.TeamSize)
		v.Explanation = "A forked child has only the thread that called fork" + x.forkPlace() + ". The team of the " +
			"parallel region was copied, without its threads."
		v.Evidence = []string{forkedEvidence}
		return []picture.Verdict{v}
	}
	return nil
}

// explainHeldByParent returns the verdict on a lock that a thread of the parent of a forked child held at the fork.
// It is not ok unless the child has one thread, which does not hold the lock itself, and no code is known to leave it.
func (d *orphans) explainHeldByParent(o *orphan) (v picture.Verdict, ok bool) {
	l := o.locks[0]
	if !d.forkedAlone() || len(l.Holders) > 0 || len(l.KnownLeaks()) > 0 {
		return picture.Verdict{}, false
	}
	v = d.newVerdict(o, picture.Likely)
	v.Kind = picture.VerdictForkChild
	what := phrase.Awaited(o.targets[0])
	v.Summary = fmt.Sprintf("%s for %s, which a thread of the parent held when this process was forked",
		d.threadsWait(o.threads), firstTargets(o.targets))
	v.Explanation = fmt.Sprintf("A forked child has only the thread that called fork%s, and copies of all locks. "+
		"No thread of this process will release %s.", d.forkPlace(), what)
	v.Fix = "call fork where no other thread can hold a lock (before the first parallel region), or exec in the child"
	v.Evidence = []string{forkedEvidence}
	if l.Evidence != "" {
		v.Evidence = append(v.Evidence, l.Evidence)
	}
	v.Evidence = append(v.Evidence, "its one thread is not between a call that acquires it and one that releases it")
	return v, true
}

// findHeldByParent finds a forked child whose one thread waits for a lock that a thread of the parent held at the fork,
// where the orphaned locks lack it: a runtime lists the parent's thread, which might release it.
func (d *orphans) findHeldByParent() []picture.Verdict {
	for _, lwp := range d.order {
		w, l := d.waits[lwp], d.locks[lwp]
		if l == nil || !l.Held || l.InvalidReason != "" || l.Owner != 0 || !w.Kind.Exclusive() ||
			d.covered.threads[lwp] {
			continue
		}
		o := &orphan{waits: []*picture.Wait{w}, locks: []*picture.Lock{l},
			targets: []picture.WaitTarget{d.waitTarget(w)}, threads: []int{lwp}}
		if v, ok := d.explainHeldByParent(o); ok {
			return []picture.Verdict{v}
		}
	}
	return nil
}

// diedInRuntime reports whether an OpenMP runtime ended the program, or a fault was in a runtime's function that the
// program called.
func (x *index) diedInRuntime() bool {
	if a := x.facts.Abort; a != nil {
		return strings.Contains(a.Component, "OpenMP")
	}
	f := x.facts.Fault
	return f != nil && f.Callee != nil &&
		slices.ContainsFunc(x.pic.Runtimes, func(r picture.Runtime) bool {
			return f.Callee.Module != "" && filepath.Base(r.Path) == filepath.Base(f.Callee.Module)
		})
}

// explainForked adds to the verdict on a crash in a runtime that the process is a forked child: a runtime does not
// continue a region of the parent.
func explainForked(x *index, v *picture.Verdict) {
	if !x.forkedAlone() || !x.diedInRuntime() {
		return
	}
	v.Evidence = append(v.Evidence, forkedEvidence)
	why := "The process is a forked child" + x.forkPlace() + ": "
	f, a := x.facts.Fault, x.facts.Abort
	if f != nil && isLockCall(f.Callee.Function) || a != nil && isLockCheck(a.Message) {
		v.Explanation = why + "the runtime starts again in a child, where locks of the parent are no locks."
		v.Fix = "initialize locks in the child, or call fork before them; or exec in the child"
		return
	}
	v.Explanation = strings.TrimSpace(v.Explanation + " " + why + "it has only the thread that called fork, and the " +
		"runtime of a child cannot continue a parallel region of the parent.")
	v.Fix = kindOf(picture.VerdictForkChild).Fix
}
