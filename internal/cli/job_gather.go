package cli

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/ompd-inspect/ompd-inspect/internal/engine"
	"github.com/ompd-inspect/ompd-inspect/internal/jobs"
	"github.com/ompd-inspect/ompd-inspect/internal/jobs/job"
	"github.com/ompd-inspect/ompd-inspect/internal/print/report"
)

// gathering collects the parts of a job.
type gathering struct {
	mu   sync.Mutex
	all  *job.Part
	from map[string]job.Set // ranks by the host of the errand that brought them
}

// newGathering returns a gathering without parts.
func newGathering() *gathering { return &gathering{all: job.NewPart(), from: map[string]job.Set{}} }

// add adds a part.
func (g *gathering) add(p *job.Part) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.all.Merge(p)
}

// addFrom adds a part from an errand to a host.
func (g *gathering) addFrom(host string, p *job.Part) {
	g.add(p)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.from[host] = g.from[host].Union(p.Ranks())
}

// hasAnswered reports whether a host answered.
func (g *gathering) hasAnswered(host string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.all.Heard(host)
}

// hostsOf returns the hosts of the errands that brought some ranks.
func (g *gathering) hostsOf(ranks job.Set) (hosts []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for host, has := range g.from {
		if has.Intersect(ranks).Len() > 0 {
			hosts = append(hosts, host)
		}
	}
	slices.Sort(hosts)
	return hosts
}

// resolve adds functions and lines to places, from the files of this machine.
func (g *gathering) resolve(o engine.Options) {
	g.mu.Lock()
	defer g.mu.Unlock()
	jobs.Resolve(g.all, o)
}

// lose records that a host did not answer.
func (g *gathering) lose(host, why string) {
	p := job.NewPart()
	p.Lose(host, why)
	g.add(p)
}

// report returns the page of the collected parts.
func (g *gathering) report(name string) *job.Report {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.all.Report(name)
}

// showEarly prints an interim page of the collected parts on the standard error.
func (a *jobRun) showEarly(g *gathering, s jobSource, after time.Duration) {
	g.resolve(a.open.engineOptions())
	r := g.report(s.name())
	r.Seconds, r.Partial = after.Seconds(), true
	if r.Answered.Len() == 0 {
		fmt.Fprintf(a.Stderr, "ompd-inspect: no rank has answered in %v\n", after)
		return
	}
	o, err := a.printerOptions(a.Stderr)
	if err != nil {
		return
	}
	p, err := report.New(report.Text, a.Stderr, o)
	if err != nil {
		return
	}
	_ = p.Job(r, s.arguments()) // the final page follows
	fmt.Fprintln(a.Stderr)
}
