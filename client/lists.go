package client

import (
	"context"
	"iter"

	"github.com/ompd-inspect/ompd-inspect/internal/wire"
	"github.com/ompd-inspect/ompd-inspect/picture"
	ompdv1 "github.com/ompd-inspect/ompd-inspect/proto/ompd/v1"
)

// pageSize is the number of elements that one call requests. The server may return fewer.
const pageSize = 1000

// all yields the elements of all pages as structs. It ends after the first error.
func all[T, M any, P wire.Message[M]](get func(token string) ([]*M, string, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		for token := ""; ; {
			page, next, err := get(token)
			if err != nil {
				yield(none, Explain(err))
				return
			}
			for _, m := range page {
				var v T
				err := wire.Unpack(P(m), &v)
				if !yield(v, err) || err != nil {
					return
				}
			}
			if token = next; token == "" {
				return
			}
		}
	}
}

// Threads yields the threads that filter selects, with the fields that view selects.
func (t *Target) Threads(ctx context.Context, view ompdv1.ThreadView,
	filter *ompdv1.ThreadFilter) iter.Seq2[picture.Thread, error] {
	return all[picture.Thread](func(token string) ([]*ompdv1.Thread, string, error) {
		p, err := t.client.Inspection.ListThreads(ctx, &ompdv1.ListThreadsRequest{Target: t.Name, PageSize: pageSize,
			PageToken: token, View: view, Filter: filter})
		return p.GetThreads(), p.GetNextPageToken(), err
	})
}

// Regions yields the parallel regions that filter selects, outer ones first.
func (t *Target) Regions(ctx context.Context, filter *ompdv1.RegionFilter) iter.Seq2[picture.Region, error] {
	return all[picture.Region](func(token string) ([]*ompdv1.Region, string, error) {
		p, err := t.client.Inspection.ListRegions(ctx, &ompdv1.ListRegionsRequest{Target: t.Name, PageSize: pageSize,
			PageToken: token, Filter: filter})
		return p.GetRegions(), p.GetNextPageToken(), err
	})
}

// Tasks yields the tasks that filter selects. There may be millions; they are fetched while the loop runs.
func (t *Target) Tasks(ctx context.Context, filter *ompdv1.TaskFilter) iter.Seq2[picture.Task, error] {
	return all[picture.Task](func(token string) ([]*ompdv1.Task, string, error) {
		p, err := t.client.Inspection.ListTasks(ctx, &ompdv1.ListTasksRequest{Target: t.Name, PageSize: pageSize,
			PageToken: token, Filter: filter})
		return p.GetTasks(), p.GetNextPageToken(), err
	})
}

// ICVs yields the internal control variables that filter selects.
func (t *Target) ICVs(ctx context.Context, filter *ompdv1.IcvFilter) iter.Seq2[picture.ICV, error] {
	return all[picture.ICV](func(token string) ([]*ompdv1.Icv, string, error) {
		p, err := t.client.Inspection.ListIcvs(ctx, &ompdv1.ListIcvsRequest{Target: t.Name, PageSize: pageSize,
			PageToken: token, Filter: filter})
		return p.GetIcvs(), p.GetNextPageToken(), err
	})
}

// Breakpoints yields the standard's breakpoint locations of all runtimes.
func (t *Target) Breakpoints(ctx context.Context) iter.Seq2[picture.Breakpoint, error] {
	return all[picture.Breakpoint](func(token string) ([]*ompdv1.Breakpoint, string, error) {
		p, err := t.client.Inspection.ListBreakpoints(ctx, &ompdv1.ListBreakpointsRequest{Target: t.Name,
			PageSize: pageSize, PageToken: token})
		return p.GetBreakpoints(), p.GetNextPageToken(), err
	})
}
