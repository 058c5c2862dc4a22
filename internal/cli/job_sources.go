package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/ompd-inspect/ompd-inspect/internal/engine"
	"github.com/ompd-inspect/ompd-inspect/internal/jobs"
	"github.com/ompd-inspect/ompd-inspect/internal/jobs/job"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// jobSource finds and inspects the ranks of a job.
type jobSource interface {
	name() string      // name of the job in messages
	arguments() string // arguments of `job` that name the same job
	hurries() bool     // it has a time limit
	// gather inspects all ranks. Parts found before an error count.
	gather(ctx context.Context, a *jobRun, o *jobOptions, g *gathering) error
	// detail inspects a few ranks again, with all debug information on their nodes.
	detail(ctx context.Context, a *jobRun, o *jobOptions, g *gathering, list []job.Where)
}

// jobSource returns the source that the command line names.
func (a *jobRun) jobSource(args []string, o *jobOptions) (jobSource, error) {
	var hosts []string
	if len(o.hosts) > 0 || o.hostfile != "" {
		var err error
		if hosts, err = o.allHosts(); err != nil {
			return nil, err
		}
	}
	given := 0
	for _, is := range []bool{len(args) > 0, o.mpirun != 0, len(hosts) > 0, o.pods != ""} {
		if is {
			given++
		}
	}
	if given != 1 {
		const words = "job: which job? A Slurm job by its number, cores, --mpirun PID, --hosts A,B or --pods SELECTOR"
		return nil, usageError{errors.New(words)}
	}
	switch {
	case o.mpirun != 0:
		return launchedJob{o.mpirun}, nil
	case len(hosts) > 0:
		return remoteJob{asked: describeHosts(hosts), args: o.arguments(), nodes: nodesOf(hosts)}, nil
	case o.pods != "":
		return remoteJob{asked: "--pods " + o.pods, args: o.arguments(), pods: o.pods}, nil
	case len(args) == 1 && jobName().MatchString(args[0]):
		if _, err := os.Stat(args[0]); err != nil {
			again := strings.TrimSpace(args[0] + " " + o.arguments())
			return remoteJob{asked: args[0], args: again, slurm: args[0]}, nil
		}
	}
	return coreJob(args), nil
}

// maxHostsNamed is the number of hosts that a page lists.
const maxHostsNamed = 4

// describeHosts lists up to maxHostsNamed hosts; for more, it returns the first and their number.
func describeHosts(hosts []string) string {
	if len(hosts) <= maxHostsNamed {
		return "--hosts " + strings.Join(hosts, ",")
	}
	return fmt.Sprintf("of %d hosts (%s, …)", len(hosts), hosts[0])
}

// arguments returns the flags that name the same places.
func (o *jobPlaces) arguments() string {
	var out []string
	if len(o.hosts) > maxHostsNamed {
		out = append(out, "--hosts "+strings.Join(o.hosts[:maxHostsNamed], ",")+",…")
	} else if len(o.hosts) > 0 {
		out = append(out, "--hosts "+strings.Join(o.hosts, ","))
	}
	for _, f := range []struct{ flag, value string }{
		{"--hostfile", o.hostfile}, {"--pods", o.pods}, {"--job", o.job}, {"--via", o.via}, {"--tool", o.tool},
	} {
		switch {
		case strings.ContainsAny(f.value, " {}*?$'\"\\;&|<>()"):
			out = append(out, f.flag+" "+jobs.Quote(f.value))
		case f.value != "":
			out = append(out, f.flag+" "+f.value)
		}
	}
	if o.send {
		out = append(out, "--send")
	}
	return strings.Join(out, " ")
}

func nodesOf(hosts []string) (list []jobs.Node) {
	for _, h := range hosts {
		list = append(list, jobs.Node{Name: h})
	}
	return list
}

// allHosts returns the hosts of the command line and of the file.
func (o *jobOptions) allHosts() ([]string, error) {
	hosts := o.hosts
	if o.hostfile != "" {
		b, err := os.ReadFile(o.hostfile)
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(string(b)) {
			line, _, _ = strings.Cut(line, "#")
			if words := strings.Fields(line); len(words) > 0 {
				name, _, _ := strings.Cut(words[0], ":")
				hosts = append(hosts, name)
			}
		}
	}
	if len(hosts) == 0 {
		return nil, usageError{fmt.Errorf("--hostfile %s: it contains no host", o.hostfile)}
	}
	slices.Sort(hosts)
	return slices.Compact(hosts), nil
}

// coreJob is a job of core files, one per rank.
type coreJob []string

func (c coreJob) name() string {
	if len(c) == 1 {
		return c[0]
	}
	return fmt.Sprintf("of %d cores, %s", len(c), c[0])
}

func (c coreJob) arguments() string { return strings.Join(c[:min(len(c), 1)], " ") + moreCores(len(c)) }
func (c coreJob) hurries() bool     { return false }

func moreCores(n int) string {
	if n > 1 {
		return " …"
	}
	return ""
}

func (c coreJob) gather(ctx context.Context, a *jobRun, o *jobOptions, g *gathering) error {
	for _, p := range c {
		if _, err := os.Stat(p); err != nil && len(c) == 1 {
			return fmt.Errorf("%w: `ompd-inspect job core.*`, or the number of a job of Slurm", err)
		}
	}
	paths := jobs.Sample(c, o.sample)
	done, progress := int64(0), a.progress(fmt.Sprintf("of %d cores", len(paths)), "looked at", 1)
	jobs.Cores(ctx, paths, a.lookOptions(o), func(p *job.Part) {
		g.add(p)
		done++
		progress(done, float64(done)/float64(len(paths)))
	})
	return nil
}

func (c coreJob) detail(ctx context.Context, a *jobRun, o *jobOptions, g *gathering, list []job.Where) {
	var paths []string
	for _, w := range list {
		paths = append(paths, w.Path)
	}
	jobs.DetailCores(ctx, paths, a.lookOptions(o), g.add)
}

// launchedJob is a job that an mpirun on this machine started. pid is the process of mpirun.
type launchedJob struct{ pid int }

func (l launchedJob) name() string      { return fmt.Sprintf("of mpirun %d", l.pid) }
func (l launchedJob) arguments() string { return fmt.Sprintf("--mpirun %d", l.pid) }
func (l launchedJob) hurries() bool     { return true }

func (l launchedJob) gather(ctx context.Context, a *jobRun, o *jobOptions, g *gathering) error {
	if _, err := os.Stat(fmt.Sprintf("/proc/%d", l.pid)); err != nil {
		return fmt.Errorf("--mpirun %d: there is no such process; `pgrep -a mpi` lists MPI processes", l.pid)
	}
	list := jobs.Find(jobs.Filter{Under: l.pid})
	table, err := jobs.Table(ctx, l.pid, a.open.engineOptions())
	if err != nil && len(list) == 0 {
		return err
	}
	g.add(expectedRanks(list, table))
	var others sync.WaitGroup
	if hosts := otherHosts(list, table); len(hosts) > 0 && len(list) > 0 {
		r := remoteJob{nodes: nodesOf(hosts), launcher: list[0].Job}
		others.Go(func() { err = errors.Join(err, r.gather(ctx, a, o, g)) })
	}
	o.inspect(ctx, list, a.lookOptions(o), g.add)
	others.Wait()
	return nil
}

func (l launchedJob) detail(ctx context.Context, a *jobRun, o *jobOptions, g *gathering, list []job.Where) {
	var here []jobs.Process
	for _, p := range jobs.Find(jobs.Filter{Under: l.pid}) {
		if slices.ContainsFunc(list, func(w job.Where) bool { return w.Rank == p.Rank.Rank }) {
			here = append(here, p)
		}
	}
	var others sync.WaitGroup
	if len(here) > 0 && len(here) < len(list) {
		r := remoteJob{launcher: here[0].Job}
		others.Go(func() { r.detail(ctx, a, o, g, list) })
	}
	jobs.Detail(ctx, here, a.lookOptions(o), g.add)
	others.Wait()
}

// expectedRanks returns the ranks that should exist: those of a launcher's table, and the number that a rank's
// environment gives. If all ranks are on this machine, the ranks without a process are gone.
func expectedRanks(list []jobs.Process, table []jobs.Entry) *job.Part {
	p := job.NewPart()
	for rank, e := range table {
		k := job.Kind{Condition: job.Silent, Why: "no answer"}
		p.Add(job.Answer{Rank: rank, Size: len(table), Kind: k, Member: job.Member{Host: e.Host, PID: e.PID,
			Peer: -1}})
	}
	if len(table) > 0 || len(list) == 0 {
		return p
	}
	there, size := job.Set{}, 0
	for _, r := range list {
		there.Add(r.Rank.Rank)
		size = max(size, r.Size)
	}
	for rank := range min(size, job.MaxRanks) {
		if !there.Contains(rank) {
			k := job.Kind{Condition: job.Gone, Why: "no process of it was found"}
			p.Add(job.Answer{Rank: rank, Size: size, Kind: k, Member: job.Member{Peer: -1}})
		}
	}
	return p
}

// otherHosts returns the other hosts of a launcher's table: those whose ranks are not among the processes of
// this machine.
func otherHosts(list []jobs.Process, table []jobs.Entry) (hosts []string) {
	here := map[string]bool{}
	for _, e := range table {
		if slices.ContainsFunc(list, func(p jobs.Process) bool { return p.PID == e.PID }) {
			here[e.Host] = true
		}
	}
	for _, e := range table {
		if !here[e.Host] && e.Host != "" && !slices.Contains(hosts, e.Host) {
			hosts = append(hosts, e.Host)
		}
	}
	return hosts
}

// jobRank shows the report of one rank.
func (a *jobRun) jobRank(ctx context.Context, s jobSource, o *jobOptions) error {
	target := ""
	switch s := s.(type) {
	case remoteJob:
		return s.showRank(ctx, a, o)
	case launchedJob:
		for _, p := range jobs.Find(jobs.Filter{Under: s.pid}) {
			if p.Rank.Rank == o.rank {
				target = strconv.Itoa(p.PID)
			}
		}
	case coreJob:
		for _, path := range s {
			if a.rankOfCore(ctx, path) == o.rank {
				target = path
				break
			}
		}
	}
	if target == "" {
		return fmt.Errorf("rank %d of %s was not found", o.rank, s.name())
	}
	return a.ask(target, engine.Report(), a.printReport)
}

// rankOfCore returns the rank of a core, -1 if it is unknown.
func (a *jobRun) rankOfCore(ctx context.Context, path string) int {
	t, err := engine.Open(ctx, path, a.open.engineOptions())
	if err != nil {
		return -1
	}
	defer t.Close()
	answer, err := t.Look(ctx, engine.Query{Parts: picture.Parts{}, Budget: a.budget})
	if err != nil {
		return -1
	}
	defer answer.Close()
	if r := answer.Picture.Target.Rank; r != nil {
		return r.Rank
	}
	return -1
}

// toolPath returns the path of this program.
func toolPath() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(path)
}
