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

// oversubscribed tells of more threads at work than processors. Threads that all
// spin while they wait take a processor from nobody.
func oversubscribed(g *graph) []inspect.Verdict {
	procs := g.processors()
	busy, spinning := g.busy()
	if procs == inspect.Unknown || len(busy) <= procs || spinning == len(busy) {
		return nil
	}
	v := inspect.Verdict{
		Kind: inspect.VerdictOversubscribed, Severity: inspect.SeverityInfo, Certainty: inspect.Certain, Threads: busy,
		Summary:  fmt.Sprintf("%s of parallel regions are busy on %s", count(len(busy)), cpus(procs)),
		Evidence: []string{fmt.Sprintf("num-procs-var: %d", procs)},
		Cure:     "use no more threads than processors: OMP_NUM_THREADS=" + strconv.Itoa(procs),
	}
	if spinning > 0 {
		v.Severity = inspect.SeverityWarning
		v.Evidence = append(v.Evidence, fmt.Sprintf("%d of them only spin while they wait%s", spinning, g.waitPolicy()))
		v.Explanation = "Threads that wait for others by spinning take processors from those that they wait for."
		v.Cure += ", or let them sleep: OMP_WAIT_POLICY=passive"
	}
	return []inspect.Verdict{v}
}

// processors is num-procs-var.
func (g *graph) processors() int {
	for _, r := range g.pic.Regions {
		if f, ok := g.in.Fork(r.ID); ok && f.Procs > 0 {
			return f.Procs
		}
	}
	return inspect.Unknown
}

// busy lists the threads of parallel regions that use a processor, by LWP, and
// counts those of them that wait.
func (g *graph) busy() (lwps []int, spinning int) {
	for _, t := range g.pic.Threads {
		if t.LWP == 0 || t.Level == nil || *t.Level == 0 || t.State == nil || t.Hidden || g.in.Asleep(t.LWP) {
			continue
		}
		lwps = append(lwps, t.LWP)
		if _, waits := g.waits[t.LWP]; waits {
			spinning++
		}
	}
	slices.Sort(lwps)
	return lwps, spinning
}

// waitPolicy tells for how long threads spin, as far as the runtime keeps it.
func (g *graph) waitPolicy() string {
	var parts []string
	for _, name := range []string{"wait-policy-var", "kmp-blocktime-var"} {
		if v, ok := g.in.Setting(name); ok {
			parts = append(parts, name+": "+v)
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

func cpus(n int) string {
	if n == 1 {
		return "1 processor"
	}
	return fmt.Sprintf("%d processors", n)
}
