package jobs

import (
	"context"
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/internal/jobs/job"
	"github.com/ompd-inspect/ompd-inspect/session"
)

// Cores looks at cores of ranks, each by itself, and tells what it found. A core of no rank,
// or one that cannot be read, is lost, with the reason.
func Cores(ctx context.Context, paths []string, o Options, tell func(*job.Part)) {
	give := serial(tell)
	each(ctx, len(paths), o.Jobs, func(i int) {
		p := job.NewPart()
		if a, err := core(ctx, paths[i], o); err != nil {
			p.Lose(paths[i], err.Error())
		} else {
			p.Add(a)
		}
		give(p)
	})
}

// core looks at one core.
func core(ctx context.Context, path string, o Options) (out job.Answer, err error) {
	rank := false
	o.Open.NoDebug = o.Picture == nil // Resolve names places, once for all cores
	err = ask(ctx, path, o, o.report(), func(_ *session.Target, a *session.Answer) {
		r := a.Picture.Target.Rank
		if r == nil {
			return
		}
		rank, out = true, job.Of(a.Picture, a.Locate)
		out.Rank, out.Size, out.Host, out.Path = r.Rank, r.Size, r.Host, path
		if o.Picture != nil {
			o.Picture(out.Rank, a.Picture)
		}
	})
	if err == nil && !rank {
		const words = "it is no rank: its environment has no rank of an MPI job (`ompd-inspect %s` shows it)"
		return out, fmt.Errorf(words, path)
	}
	return out, err
}

// Sample are at most n of some paths, evenly chosen.
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
