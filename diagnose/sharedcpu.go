package diagnose

import (
	"fmt"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// spinsFor are the threads that spin on one processor, and those that they wait for
// and that may run on no other.
type spinsFor struct {
	processor int
	spin      []int
	need      []int
}

// sharedProcessors tells of threads that spin while they wait for a thread that could
// run meanwhile, and may run on their processor only. Each takes the time of the
// other, until the system takes it off the processor.
func sharedProcessors(d *drawer) []picture.Verdict {
	var out []picture.Verdict
	for _, s := range d.spinners() {
		v := picture.Verdict{
			Kind: picture.VerdictSharedProcessor, Severity: picture.SeverityInfo, Certainty: picture.Certain,
			Threads: append(slices.Clone(s.spin), s.need...),
			Summary: s.summary(d),
			Explanation: "A thread that spins keeps its processor until its time slice ends. Meanwhile the thread " +
				"that it waits for is ready to run but cannot.",
			Fix: "let waiting threads sleep: " + letSleep(d.index) + "; or give each a processor of its own: " +
				"OMP_PROC_BIND=spread OMP_PLACES=cores, fewer threads, or more processors",
		}
		v.Evidence = append(d.whereabouts(s.spin), d.whereabouts(s.need)...)
		v.Evidence = append(v.Evidence, d.boundBy(fmt.Sprint(s.processor))...)
		if policy := d.waitPolicy(); policy != "" {
			v.Evidence = append(v.Evidence, "the wait policy makes them spin"+policy)
		}
		if patienceOf(d.index) == forEver {
			v.Severity = picture.SeverityWarning
		}
		for _, lwp := range v.Threads {
			d.sharing[lwp] = s.processor
		}
		out = append(out, v)
	}
	return out
}

// spinners finds threads that spin, by their processor.
func (d *drawer) spinners() []*spinsFor {
	type bound struct {
		processor int
		by        *bundle
	}
	var out []*spinsFor
	by, spins, done := map[int]*spinsFor{}, map[int]bool{}, map[bound]bool{}
	needed := map[*bundle]map[int][]int{}
	for _, lwp := range d.order {
		mine := d.masks[lwp]
		if len(mine) != 1 || !d.running[lwp] {
			continue
		}
		p := mine[0]
		for _, b := range d.nodes[node{lwp: lwp}].bundles {
			if b.any {
				continue
			}
			if needed[b] == nil {
				needed[b] = d.runnable(b)
			}
			need := needed[b][p]
			if len(need) == 0 {
				continue
			}
			if by[p] == nil {
				by[p] = &spinsFor{processor: p}
				out = append(out, by[p])
			}
			if !spins[lwp] {
				spins[lwp] = true
				by[p].spin = append(by[p].spin, lwp)
			}
			if !done[bound{p, b}] {
				done[bound{p, b}] = true
				by[p].need = append(by[p].need, need...)
			}
		}
	}
	for _, s := range out {
		s.need = once(s.need)
	}
	return out
}

// once is a list without what it has had before.
func once(list []int) []int {
	had := map[int]bool{}
	return slices.DeleteFunc(list, func(n int) bool {
		twice := had[n]
		had[n] = true
		return twice
	})
}

// runnable are the threads of a bundle that wait for nothing themselves and may run on one
// processor only, by that.
func (d *drawer) runnable(b *bundle) map[int][]int {
	out := map[int][]int{}
	for _, e := range b.edges {
		lwp := e.to.lwp
		if mask := d.masks[lwp]; e.to.isThread() && d.waits[lwp] == nil && d.running[lwp] && len(mask) == 1 {
			out[mask[0]] = append(out[mask[0]], lwp)
		}
	}
	return out
}

// shares reports whether all of some threads were told to share a processor with one
// that they wait for, or that waits for them.
func (d *drawer) shares(lwps []int) bool {
	return !slices.ContainsFunc(lwps, func(lwp int) bool { _, told := d.sharing[lwp]; return !told })
}

// activity is what a thread does, in short.
func (x *index) activity(lwp int) string {
	if w, ok := x.waits[lwp]; ok {
		return "spins, waiting for " + phrase.Awaited(x.target(w))
	}
	return "is in no system call, and ready to run"
}

// whereabouts tells of threads what they do, and where they may run.
func (d *drawer) whereabouts(lwps []int) []string {
	var out []string
	for _, lwp := range lwps[:min(len(lwps), maxNamed)] {
		out = append(out, fmt.Sprintf("%s: %s; its affinity mask allows processor %s", d.who(lwp), d.activity(lwp),
			processorList(d.masks[lwp])))
	}
	if n := len(lwps) - maxNamed; n > 0 {
		out = append(out, fmt.Sprintf("%s more: the same", count(n)))
	}
	return out
}

// summary is "thread 1 (LWP 5) spins on processor 0, where thread 0 (LWP 4) must run,
// for which it waits".
func (s *spinsFor) summary(d *drawer) string {
	spin, wait, need := count(len(s.spin))+" spin", "they wait", count(len(s.need))
	if len(s.spin) == 1 {
		spin, wait = d.who(s.spin[0])+" spins", "it waits"
	}
	if len(s.need) == 1 {
		need = d.who(s.need[0])
	}
	return fmt.Sprintf("%s on processor %d, where %s must run, for which %s", spin, s.processor, need, wait)
}
