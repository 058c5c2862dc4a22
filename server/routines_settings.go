package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	ompdv1 "github.com/ompd-inspect/ompd-inspect/proto/ompd/v1"
)

// EnumerateStates is ompd_enumerate_states.
func (r *routines) EnumerateStates(ctx context.Context,
	req *ompdv1.EnumerateStatesRequest) (*ompdv1.EnumerateStatesResponse, error) {
	return ask(ctx, "ompd_enumerate_states", req.GetAddressSpaceHandle(), kindSpace,
		func(s space, _ handle) (*ompdv1.EnumerateStatesResponse, error) {
			next, more, err := s.NextState(handles.State(req.GetCurrentState()))
			return &ompdv1.EnumerateStatesResponse{NextState: uint32(next), NextStateName: next.String(),
					MoreEnums: more},
				err
		})
}

// GetDisplayControlVars is ompd_get_display_control_vars.
func (r *routines) GetDisplayControlVars(ctx context.Context,
	req *ompdv1.GetDisplayControlVarsRequest) (*ompdv1.GetDisplayControlVarsResponse, error) {
	return ask(ctx, "ompd_get_display_control_vars", req.GetAddressSpaceHandle(), kindSpace,
		func(s space, _ handle) (*ompdv1.GetDisplayControlVarsResponse, error) {
			vars, err := s.DisplayControlVars()
			return &ompdv1.GetDisplayControlVarsResponse{ControlVars: vars}, err
		})
}

// RelDisplayControlVars is ompd_rel_display_control_vars.
func (r *routines) RelDisplayControlVars(ctx context.Context,
	req *ompdv1.RelDisplayControlVarsRequest) (*ompdv1.RelDisplayControlVarsResponse, error) {
	return ask(ctx, "ompd_rel_display_control_vars", req.GetAddressSpaceHandle(), kindSpace,
		func(s space, _ handle) (*ompdv1.RelDisplayControlVarsResponse, error) {
			return &ompdv1.RelDisplayControlVarsResponse{}, s.ReleaseDisplayControlVars(req.GetControlVars())
		})
}

// EnumerateIcvs is ompd_enumerate_icvs.
func (r *routines) EnumerateIcvs(ctx context.Context, req *ompdv1.EnumerateIcvsRequest) (*ompdv1.EnumerateIcvsResponse,
	error) {
	return ask(ctx, "ompd_enumerate_icvs", req.GetHandle(), kindSpace,
		func(s space, _ handle) (*ompdv1.EnumerateIcvsResponse, error) {
			next, icv, more, err := s.NextICV(int(req.GetCurrent()))
			return &ompdv1.EnumerateIcvsResponse{NextId: int32(next), NextIcvName: icv.Name,
				NextScope: ompdv1.Scope(icv.Scope), More: more}, err
		})
}

// GetIcvFromScope is ompd_get_icv_from_scope.
func (r *routines) GetIcvFromScope(ctx context.Context,
	req *ompdv1.GetIcvFromScopeRequest) (*ompdv1.GetIcvFromScopeResponse, error) {
	return askScope(ctx, "ompd_get_icv_from_scope", req,
		func(s space, sub handles.Subject) (*ompdv1.GetIcvFromScopeResponse, error) {
			v, err := s.ICVFromScope(sub, int(req.GetIcvId()))
			if errors.Is(err, callbacks.Incomplete) {
				return &ompdv1.GetIcvFromScopeResponse{IcvValue: v, Incomplete: true}, nil
			}
			return &ompdv1.GetIcvFromScopeResponse{IcvValue: v}, err
		})
}

// GetIcvStringFromScope is ompd_get_icv_string_from_scope.
func (r *routines) GetIcvStringFromScope(ctx context.Context,
	req *ompdv1.GetIcvStringFromScopeRequest) (*ompdv1.GetIcvStringFromScopeResponse, error) {
	return askScope(ctx, "ompd_get_icv_string_from_scope", req,
		func(s space, sub handles.Subject) (*ompdv1.GetIcvStringFromScopeResponse, error) {
			v, err := s.ICVStringFromScope(sub, int(req.GetIcvId()))
			return &ompdv1.GetIcvStringFromScopeResponse{IcvString: v}, err
		})
}

// GetToolData is ompd_get_tool_data.
func (r *routines) GetToolData(ctx context.Context, req *ompdv1.GetToolDataRequest) (*ompdv1.GetToolDataResponse,
	error) {
	return askScope(ctx, "ompd_get_tool_data", req, func(s space, sub handles.Subject) (*ompdv1.GetToolDataResponse,
		error) {
		v, err := s.ToolData(sub)
		return &ompdv1.GetToolDataResponse{Value: v, Ptr: v}, err
	})
}

// scoped is a request about a handle of a scope.
type scoped interface {
	GetHandle() string
	GetScope() ompdv1.Scope
}

// kindOfScope maps scopes to kinds of handles. A scope without its own kind uses the address space's handle.
var kindOfScope = map[handles.Scope]string{handles.ScopeThread: kindThread, handles.ScopeParallel: kindParallel,
	handles.ScopeImplicitTask: kindTask, handles.ScopeTask: kindTask, handles.ScopeTeams: kindParallel,
	handles.ScopeTarget: kindParallel}

// askScope calls ask for the handle of a scope.
func askScope[R any](ctx context.Context, routine string, req scoped, f func(space, handles.Subject) (*R, error)) (*R,
	error) {
	last := connectionOf(ctx).library.LastScope()
	if n := req.GetScope(); n <= 0 || n > ompdv1.Scope(last) {
		return nil, routineStatus(routineError(routine, fmt.Errorf("scope %d, not 1 to %d: %w", n, last,
			callbacks.BadInput)))
	}
	scope := handles.Scope(req.GetScope())
	kind := cmp.Or(kindOfScope[scope], kindSpace)
	return ask(ctx, routine, req.GetHandle(), kind, func(s space, h handle) (*R, error) {
		sub := handles.Subject{Scope: scope}
		switch kind {
		case kindThread:
			sub.Thread = h.thread()
		case kindParallel:
			sub.Parallel = h.parallel()
		case kindTask:
			sub.Task = h.task()
		}
		return f(s, sub)
	})
}
