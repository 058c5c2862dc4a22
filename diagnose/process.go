package diagnose

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// runtimesLoaded tells of two OpenMP runtimes in one process.
func runtimesLoaded(d *drawer) []picture.Verdict {
	runtimes := slices.DeleteFunc(slices.Clone(d.pic.Runtimes), func(r picture.Runtime) bool { return r.Unread() })
	if len(runtimes) < 2 {
		return nil
	}
	owned := map[string]int{}
	var lwps []int
	for _, t := range d.pic.Threads {
		if t.Runtime != "" {
			owned[t.Runtime]++
		}
	}
	var evidence, names []string
	used := 0
	for _, r := range runtimes {
		n := owned[r.ID]
		state := fmt.Sprintf("%s is in it", count(n))
		switch {
		case strings.HasPrefix(r.Layout, "none"):
			state = "loaded, not used yet"
		case n != 1:
			state = fmt.Sprintf("%s are in it", count(n))
		}
		if n > 0 {
			used++
		}
		evidence = append(evidence, fmt.Sprintf("%s %s, %s: %s", r.Name, r.Version, r.Path, state))
		names = append(names, filepath.Base(r.Path))
	}
	v := picture.Verdict{
		Kind: picture.VerdictTwoRuntimes, Severity: picture.SeverityWarning, Certainty: picture.Certain,
		Threads: lwps, Evidence: evidence,
		Summary: fmt.Sprintf("%d OpenMP runtimes are loaded in this process: %s", len(names),
			strings.Join(names, ", ")),
		Explanation: "Each has its own threads, locks and critical sections: a critical section in code built for " +
			"one does not exclude code built for the other, and together they start more threads than there are " +
			"processors.",
		Fix: "build everything with one compiler's OpenMP, or link everything against one runtime (LLVM's " +
			"also runs code built by GCC)",
	}
	if used < 2 {
		v.Severity = picture.SeverityInfo
	}
	return []picture.Verdict{v}
}

// outlived reports whether a team has lost a member that others have seen: that one has ended.
func (x *index) outlived(runtime string) bool {
	return slices.ContainsFunc(x.pic.Regions, func(r picture.Region) bool {
		if r.Runtime != runtime {
			return false
		}
		t := rollOf(x, r.ID)
		return len(t.present) < r.TeamSize && t.formed(x)
	})
}

// forked tells of a child after fork whose runtime still counts on threads that
// only the parent has.
func forked(d *drawer) []picture.Verdict {
	var out []picture.Verdict
	for _, l := range d.facts.LostThreads {
		ended := slices.ContainsFunc(l.Waiting, func(lwp int) bool { return d.atEnded[lwp] })
		if ended || l.Count == 0 || d.outlived(l.Runtime) {
			continue
		}
		v := picture.Verdict{
			Kind: picture.VerdictForkChild, Severity: picture.SeverityWarning, Certainty: picture.Certain,
			Threads: l.Waiting,
			Summary: fmt.Sprintf("the OpenMP runtime expects %s that this process does not have: it is a "+
				"forked child", count(l.Count)),
			Evidence: []string{l.Evidence},
			Explanation: "A forked child has only the thread that called fork. The runtime's list of threads was " +
				"copied, and the next parallel region will wait for them forever.",
			Fix: "call fork before the first parallel region, or exec in the child; in Python, use the " +
				"start method spawn or forkserver",
		}
		if len(l.Waiting) > 0 {
			v.Severity = picture.SeverityHang
			v.Explanation = "A forked child has only the thread that called fork. The runtime's list of threads " +
				"was copied, and " + d.wait(l.Waiting) + " for threads that do not exist."
		}
		out = append(out, v)
	}
	return out
}
