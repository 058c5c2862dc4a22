package diagnose

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/inspect"
)

// runtimesLoaded tells of two OpenMP runtimes in one process.
func runtimesLoaded(g *graph) []inspect.Verdict {
	if len(g.pic.Runtimes) < 2 {
		return nil
	}
	owned := map[string]int{}
	var lwps []int
	for _, t := range g.pic.Threads {
		if t.Runtime != "" {
			owned[t.Runtime]++
		}
	}
	var evidence, names []string
	used := 0
	for _, r := range g.pic.Runtimes {
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
	v := inspect.Verdict{
		Kind: inspect.VerdictTwoRuntimes, Severity: inspect.SeverityWarning, Certainty: inspect.Certain, Threads: lwps, Evidence: evidence,
		Summary:     fmt.Sprintf("%d OpenMP runtimes are in this process: %s", len(names), strings.Join(names, ", ")),
		Explanation: "Each has its own threads, locks and critical sections: a critical section of code for the one does not keep out code for the other, and both together start more threads than there are processors.",
		Cure:        "build all parts with one compiler's OpenMP, or link all against one runtime (LLVM's serves GCC's code too)",
	}
	if used < 2 {
		v.Severity = inspect.SeverityInfo
	}
	return []inspect.Verdict{v}
}

// forked tells of a child after fork whose runtime still counts on threads that
// only the parent has.
func forked(g *graph) []inspect.Verdict {
	var out []inspect.Verdict
	for _, l := range g.in.Lost() {
		v := inspect.Verdict{
			Kind: inspect.VerdictForkChild, Severity: inspect.SeverityWarning, Certainty: inspect.Certain, Threads: l.Waiting,
			Summary:     fmt.Sprintf("the OpenMP runtime counts on %s that this process does not have: it is a child after fork", count(l.Count)),
			Evidence:    []string{l.Evidence},
			Explanation: "A child has only the thread that called fork. The runtime's list of threads was copied, and the next parallel region will wait for them for ever.",
			Cure:        "call fork before the first parallel region, or exec in the child; in Python start workers by spawn or forkserver",
		}
		if len(l.Waiting) > 0 {
			v.Severity = inspect.SeverityHang
			v.Explanation = "A child has only the thread that called fork. The runtime's list of threads was copied, and " + g.wait(l.Waiting) + " for those that are not there."
		}
		out = append(out, v)
	}
	return out
}
