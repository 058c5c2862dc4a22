package cli

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/ompd-inspect/ompd-inspect/internal/jobs"
	"github.com/ompd-inspect/ompd-inspect/internal/jobs/job"
	"github.com/ompd-inspect/ompd-inspect/internal/print/report"
	"github.com/ompd-inspect/ompd-inspect/session"
)

// gathering is a job while its parts come.
type gathering struct {
	mu   sync.Mutex
	all  *job.Part
	from map[string]job.Set // ranks by the host whose errand brought them
}

// newGathering is a job of which nothing has come.
func newGathering() *gathering { return &gathering{all: job.NewPart(), from: map[string]job.Set{}} }

// add adds a part.
func (g *gathering) add(p *job.Part) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.all.Merge(p)
}

// addFrom adds a part that an errand to a host brought.
func (g *gathering) addFrom(host string, p *job.Part) {
	g.add(p)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.from[host] = g.from[host].Or(p.Ranks())
}

// heard reports whether a host answered.
func (g *gathering) heard(host string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.all.Heard(host)
}

// whoBrought are the hosts whose errands brought some ranks.
func (g *gathering) whoBrought(ranks job.Set) (hosts []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for host, has := range g.from {
		if has.And(ranks).Len() > 0 {
			hosts = append(hosts, host)
		}
	}
	slices.Sort(hosts)
	return hosts
}

// resolve names places by the files of this machine.
func (g *gathering) resolve(o session.Options) {
	g.mu.Lock()
	defer g.mu.Unlock()
	jobs.Resolve(g.all, o)
}

// lose notes that a host did not answer.
func (g *gathering) lose(host, why string) {
	p := job.NewPart()
	p.Lose(host, why)
	g.add(p)
}

// report is the page of what has come.
func (g *gathering) report(name string) *job.Report {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.all.Report(name)
}

// showEarly prints on the standard error, for people, the page of what has come so far.
func (a *jobRun) showEarly(g *gathering, s jobSource, after time.Duration) {
	g.resolve(a.open.session())
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
	_ = p.Job(r, s.next()) // the page that counts is still to come
	fmt.Fprintln(a.Stderr)
}
