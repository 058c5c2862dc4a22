package diagnose

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
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
	gone, alive := 0, []int{}
	for _, t := range g.pic.Threads {
		switch {
		case t.Runtime != "" && t.LWP == 0:
			gone++
		case t.LWP != 0:
			alive = append(alive, t.LWP)
		}
	}
	if gone == 0 || len(alive) != 1 {
		return nil
	}
	v := inspect.Verdict{
		Kind: inspect.VerdictForkChild, Severity: inspect.SeverityWarning, Certainty: inspect.Likely, Threads: alive,
		Summary:     fmt.Sprintf("the OpenMP runtime counts on %s that this process does not have: it is a child after fork", count(gone)),
		Evidence:    []string{fmt.Sprintf("the runtime has a record of %s that are not among the process's", count(gone)), "the process has one thread"},
		Explanation: "A child has only the thread that called fork. The runtime's records of the others were copied, and it waits for them at the next parallel region.",
		Cure:        "call fork before the first parallel region, or exec in the child; in Python start workers by spawn or forkserver",
	}
	if w, ok := g.waits[alive[0]]; ok && w.Kind == inspect.WaitBarrier {
		v.Severity = inspect.SeverityHang
	}
	return []inspect.Verdict{v}
}

// oversubscribed tells of more threads at work than processors.
func oversubscribed(g *graph) []inspect.Verdict {
	procs := inspect.Unknown
	for _, r := range g.pic.Regions {
		if f, ok := g.in.Fork(r.ID); ok && f.Procs > 0 {
			procs = f.Procs
			break
		}
	}
	var busy []int
	spinning := 0
	for _, t := range g.pic.Threads {
		if t.LWP == 0 || t.Level == nil || *t.Level == 0 || t.State == nil || t.Hidden {
			continue
		}
		if g.in.Asleep(t.LWP) {
			continue
		}
		busy = append(busy, t.LWP)
		if _, waits := g.waits[t.LWP]; waits {
			spinning++
		}
	}
	if procs == inspect.Unknown || len(busy) <= procs {
		return nil
	}
	v := inspect.Verdict{
		Kind: inspect.VerdictOversubscribed, Severity: inspect.SeverityInfo, Certainty: inspect.Certain, Threads: busy,
		Summary:  fmt.Sprintf("%s of parallel regions are busy on %s", count(len(busy)), cpus(procs)),
		Evidence: []string{fmt.Sprintf("num-procs-var: %d", procs), fmt.Sprintf("%d of them only spin while they wait", spinning)},
		Cure:     "use no more threads than processors: OMP_NUM_THREADS=" + strconv.Itoa(procs),
	}
	if spinning > 0 && spinning < len(busy) {
		v.Severity = inspect.SeverityWarning
		v.Explanation = "Threads that wait for others by spinning take processors from those that they wait for."
		v.Cure += ", or let them sleep: OMP_WAIT_POLICY=passive"
	}
	slices.Sort(v.Threads)
	return []inspect.Verdict{v}
}

func cpus(n int) string {
	if n == 1 {
		return "1 processor"
	}
	return fmt.Sprintf("%d processors", n)
}
