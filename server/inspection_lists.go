package server

import (
	"context"
	"fmt"
	"slices"

	ompdv1 "github.com/ompd-inspect/ompd-inspect/proto/ompd/v1"
	"google.golang.org/grpc/codes"
)

// listed is a request for a page of a list of a target.
type listed interface {
	named
	pager
}

// listOf answers a request for one page of a list of a target's view.
func listOf[M any, P message[M]](ctx context.Context, s *inspection, req listed, list func(*view) ([]*M, error),
	keep func(*M) bool) (page []*M, next string, err error) {
	err = withTarget(ctx, req, func(t *target) error {
		v, err := t.look()
		if err != nil {
			return err
		}
		all, err := list(v)
		if err != nil {
			return err
		}
		page, next, err = pageOf[M, P](s.server.cfg.Limits, req, t.stop, all, keep)
		return err
	})
	if err != nil { // the call may still be running and use page and next
		return nil, "", err
	}
	return page, next, nil
}

// among reports whether list allows a value; an empty list allows all.
func among[T comparable](list []T, v T) bool { return len(list) == 0 || slices.Contains(list, v) }

// GetThread returns one thread.
func (s *inspection) GetThread(ctx context.Context, req *ompdv1.GetThreadRequest) (*ompdv1.GetThreadResponse, error) {
	id, is := "", func(*ompdv1.Thread) bool { return false }
	switch by := req.GetId().(type) {
	case *ompdv1.GetThreadRequest_Lwp:
		id, is = fmt.Sprintf("LWP %d", by.Lwp), func(t *ompdv1.Thread) bool { return t.GetLwp() == by.Lwp }
	case *ompdv1.GetThreadRequest_Pthread:
		id, is = fmt.Sprintf("pthread %#x", by.Pthread), func(t *ompdv1.Thread) bool {
			return t.Pthread != nil &&
				t.GetPthread() == by.Pthread
		}
	default:
		return nil, failure(codes.InvalidArgument, "NO_ID", "which thread? lwp or pthread must be set")
	}
	resp := &ompdv1.GetThreadResponse{}
	return resp, withTarget(ctx, req, func(t *target) error {
		th, err := find(t, func(v *view) ([]*ompdv1.Thread, error) { return v.threads(req.GetView()) }, "thread", id,
			is)
		resp.Thread = th
		return err
	})
}

// find finds one element of a list of a target's view.
func find[M any](t *target, list func(*view) ([]*M, error), what, id string, is func(*M) bool) (*M, error) {
	v, err := t.look()
	if err != nil {
		return nil, err
	}
	all, err := list(v)
	if err != nil {
		return nil, err
	}
	return one(all, what, id, is)
}

// ListThreads lists threads.
func (s *inspection) ListThreads(ctx context.Context, req *ompdv1.ListThreadsRequest) (*ompdv1.ListThreadsResponse,
	error) {
	f := req.GetFilter()
	page, next, err := listOf(ctx, s, req, func(v *view) ([]*ompdv1.Thread, error) { return v.threads(req.GetView()) },
		func(t *ompdv1.Thread) bool {
			return among(f.GetRegions(), t.GetRegion()) && among(f.GetStates(), t.GetState().GetName()) &&
				among(f.GetRoles(), t.GetRole()) && among(f.GetLwps(), t.GetLwp())
		})
	return &ompdv1.ListThreadsResponse{Threads: page, NextPageToken: next}, err
}

// GetRegion returns one region.
func (s *inspection) GetRegion(ctx context.Context, req *ompdv1.GetRegionRequest) (*ompdv1.GetRegionResponse, error) {
	resp := &ompdv1.GetRegionResponse{}
	return resp, withTarget(ctx, req, func(t *target) (err error) {
		resp.Region, err = find(t, (*view).regions, "region", req.GetRegion(),
			func(r *ompdv1.Region) bool { return r.GetId() == req.GetRegion() })
		return err
	})
}

// ListRegions lists regions.
func (s *inspection) ListRegions(ctx context.Context, req *ompdv1.ListRegionsRequest) (*ompdv1.ListRegionsResponse,
	error) {
	f := req.GetFilter()
	page, next, err := listOf(ctx, s, req, (*view).regions, func(r *ompdv1.Region) bool {
		return among(f.GetParents(), r.GetParent()) && !(f.GetActive() && r.GetTeamSize() < 2)
	})
	return &ompdv1.ListRegionsResponse{Regions: page, NextPageToken: next}, err
}

// ListStacks lists merged stacks.
func (s *inspection) ListStacks(ctx context.Context, req *ompdv1.ListStacksRequest) (*ompdv1.ListStacksResponse,
	error) {
	page, next, err := listOf(ctx, s, req, (*view).stacks, nil)
	return &ompdv1.ListStacksResponse{Stacks: page, NextPageToken: next}, err
}

// ListIcvs lists internal control variables.
func (s *inspection) ListIcvs(ctx context.Context, req *ompdv1.ListIcvsRequest) (*ompdv1.ListIcvsResponse, error) {
	f := req.GetFilter()
	icvs := func(v *view) ([]*ompdv1.Icv, error) {
		all, err := v.icvs()
		if err != nil {
			return nil, err
		}
		return all, checkIcvFilter(f, all)
	}
	page, next, err := listOf(ctx, s, req, icvs, func(i *ompdv1.Icv) bool {
		return among(f.GetNames(), i.GetName()) && among(f.GetScopes(), i.GetScope()) &&
			among(f.GetRegions(), i.GetRegion()) &&
			among(f.GetTasks(), i.GetTask()) && among(f.GetThreads(), i.GetThread())
	})
	return &ompdv1.ListIcvsResponse{Icvs: page, NextPageToken: next}, err
}

// ListControlVars lists control variables.
func (s *inspection) ListControlVars(ctx context.Context,
	req *ompdv1.ListControlVarsRequest) (*ompdv1.ListControlVarsResponse, error) {
	page, next, err := listOf(ctx, s, req, (*view).controlVars, nil)
	return &ompdv1.ListControlVarsResponse{ControlVars: page, NextPageToken: next}, err
}

// ListLayoutEntries lists the layout.
func (s *inspection) ListLayoutEntries(ctx context.Context,
	req *ompdv1.ListLayoutEntriesRequest) (*ompdv1.ListLayoutEntriesResponse, error) {
	page, next, err := listOf(ctx, s, req, (*view).layout, nil)
	return &ompdv1.ListLayoutEntriesResponse{Layout: page, NextPageToken: next}, err
}

// ListVerdicts lists verdicts.
func (s *inspection) ListVerdicts(ctx context.Context, req *ompdv1.ListVerdictsRequest) (*ompdv1.ListVerdictsResponse,
	error) {
	page, next, err := listOf(ctx, s, req, (*view).verdicts, nil)
	return &ompdv1.ListVerdictsResponse{Verdicts: page, NextPageToken: next}, err
}

// ListChecks lists the results of doctor.
func (s *inspection) ListChecks(ctx context.Context, req *ompdv1.ListChecksRequest) (*ompdv1.ListChecksResponse,
	error) {
	page, next, err := listOf(ctx, s, req, (*view).checks, nil)
	return &ompdv1.ListChecksResponse{Checks: page, NextPageToken: next}, err
}

// ListBreakpoints lists breakpoint locations.
func (s *inspection) ListBreakpoints(ctx context.Context,
	req *ompdv1.ListBreakpointsRequest) (*ompdv1.ListBreakpointsResponse, error) {
	page, next, err := listOf(ctx, s, req, (*view).breakpoints, nil)
	return &ompdv1.ListBreakpointsResponse{Breakpoints: page, NextPageToken: next}, err
}
