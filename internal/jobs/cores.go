package jobs

import (
	"context"
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/internal/engine"
	"github.com/ompd-inspect/ompd-inspect/internal/jobs/job"
)

// Cores inspects cores of ranks, each by itself, and passes the results to emit. A core that is not of a rank,
// or that cannot be read, is listed as lost, with the reason.
func Cores(ctx context.Context, paths []string, o Options, emit func(*job.Part)) {
	give := serialize(emit)
	each(ctx, len(paths), o.Jobs, func(i int) {
		p := job.NewPart()
		if a, err := inspectCore(ctx, paths[i], o); err != nil {
			p.Lose(paths[i], err.Error())
		} else {
			p.Add(a)
		}
		give(p)
	})
}

// inspectCore inspects one core.
func inspectCore(ctx context.Context, path string, o Options) (out job.Answer, err error) {
	rank := false
	o.Open.NoDebug = o.Picture == nil // Resolve finds the lines of places, once for all cores
	err = ask(ctx, path, o, o.reportQuestion(), func(_ *engine.Target, a *engine.Result) {
		r := a.Picture.Target.Rank
		if r == nil {
			return
		}
		rank, out = true, job.Classify(a.Picture, a.Locate)
		out.Rank, out.Size, out.Host, out.Path = r.Rank, r.Size, r.Host, path
		if o.Picture != nil {
			o.Picture(out.Rank, a.Picture)
		}
	})
	if err == nil && !rank {
		const words = "it is not a rank: its environment has no rank of an MPI job (`ompd-inspect %s` shows it)"
		return out, fmt.Errorf(words, path)
	}
	return out, err
}

// Sample returns at most n of some paths, evenly chosen.
func Sample(paths []string, n int) []string {
	if n <= 0 || n >= len(paths) {
		return paths
	}
	var out []string
	for i := range n {
		out = append(out, paths[i*len(paths)/n])
	}
	return out
}
