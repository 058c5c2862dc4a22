package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// overrunOf returns the first stack overflow that a thread is part of; nil without one.
func (x *index) overrunOf(lwp int) *picture.Overrun {
	i := slices.IndexFunc(x.facts.Overruns, func(o picture.Overrun) bool { return lwp == o.Thread || lwp == o.Victim })
	if i < 0 {
		return nil
	}
	return &x.facts.Overruns[i]
}

// explainDeathByOverrun changes the verdict on a program that died in a thread with a stack that two threads use. That
// the overflow is the cause is probable: the stack has contents that either thread wrote.
func explainDeathByOverrun(x *index, death picture.Verdict) picture.Verdict {
	died := death.Threads[0]
	o := x.overrunOf(died)
	if o == nil || death.Kind == picture.VerdictStackOverflow {
		return death
	}
	v := explainOverrun(x, o)
	v.Threads = append([]int{died}, slices.DeleteFunc(v.Threads, func(lwp int) bool { return lwp == died })...)
	v.Explanation += fmt.Sprintf(" The crash is probably a consequence: %s.", strings.TrimSuffix(death.Summary, "."))
	v.Evidence = append(v.Evidence, death.Evidence...)
	return v
}

// findOverruns returns the verdicts on the stack overflows that the verdict on the end of the program does not explain.
// It returns none for a process that was changing while it was read.
func findOverruns(x *index, ended []picture.Verdict) []picture.Verdict {
	if p := x.pic.Target.Pause; p != nil && (p.Unsettled > 0 || p.Running > 0) {
		return nil
	}
	explained := map[int]bool{}
	for _, v := range ended {
		if v.Kind == picture.VerdictStackOverflow {
			explained = threadsOf(ended)
		}
	}
	var out []picture.Verdict
	for i := range x.facts.Overruns {
		o := &x.facts.Overruns[i]
		if explained[o.Thread] {
			continue
		}
		v := explainOverrun(x, o)
		if a := x.facts.Abort; a == nil || a.Thread != o.Thread && a.Thread != o.Victim {
			v.Severity = picture.SeverityWarning
		}
		out = append(out, v)
	}
	return out
}

// explainOverrun returns the verdict on a thread with frames in the stack of another one.
func explainOverrun(x *index, o *picture.Overrun) picture.Verdict {
	f := newFault(&picture.Fault{Thread: o.Thread, Frame: o.Frame, Stack: o.Stack})
	v := explainOverflow(x, f)
	v.Threads = []int{o.Thread, o.Victim}
	v.Summary += ", into the stack of " + x.threadName(o.Victim)
	v.Explanation += " Both threads write to the same memory: the variables and return addresses of either may be " +
		"those of the other."
	v.Evidence = []string{fmt.Sprintf("its stack pointer is %v, %s below the end of its stack [%v, %v), taken from "+
		"%s, and in the stack of %s", picture.Hex(f.sp), sizeText(f.low-f.sp), picture.Hex(f.low), picture.Hex(f.high),
		f.Source, x.threadName(o.Victim))}
	return v
}

// joinOverruns makes a hang of threads with a stack that two threads use a consequence of the overflow.
func joinOverruns(x *index, vs []picture.Verdict) []picture.Verdict {
	for i := range vs {
		if vs[i].Kind != picture.VerdictStackOverflow || vs[i].Severity == picture.SeverityCrash {
			continue
		}
		o := threadsOf(vs[i : i+1])
		for k := range vs {
			v := &vs[k]
			if !Hangs(*v) || v.Kind == picture.VerdictStackOverflow ||
				!slices.ContainsFunc(v.Threads, func(lwp int) bool { return o[lwp] }) {
				continue
			}
			vs[i].Severity = picture.SeverityHang
			v.Certainty = picture.Possible
			v.Explanation = strings.TrimSpace(fmt.Sprintf("The stack overflow above may be the cause: what %s waits "+
				"for may be overwritten. %s", x.threadName(v.Threads[0]), v.Explanation))
		}
	}
	return vs
}
