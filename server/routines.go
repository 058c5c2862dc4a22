package server

import (
	"context"
	"errors"
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/ompd"
	ompdv1 "github.com/ompd-inspect/ompd-inspect/proto/ompd/v1"
)

// routines implements OmpdService.
type routines struct {
	ompdv1.UnimplementedOmpdServiceServer
}

// Initialize is ompd_initialize.
func (r *routines) Initialize(ctx context.Context, req *ompdv1.InitializeRequest) (*ompdv1.InitializeResponse, error) {
	return &ompdv1.InitializeResponse{}, routineStatus(connectionOf(ctx).library.Initialize(req.GetApiVersion()))
}

// GetApiVersion is ompd_get_api_version.
func (r *routines) GetApiVersion(ctx context.Context, _ *ompdv1.GetApiVersionRequest) (*ompdv1.GetApiVersionResponse,
	error) {
	return &ompdv1.GetApiVersionResponse{Version: connectionOf(ctx).library.APIVersion()}, nil
}

// GetVersionString is ompd_get_version_string.
func (r *routines) GetVersionString(ctx context.Context,
	_ *ompdv1.GetVersionStringRequest) (*ompdv1.GetVersionStringResponse, error) {
	return &ompdv1.GetVersionStringResponse{Version: connectionOf(ctx).library.VersionString()}, nil
}

// Finalize is ompd_finalize.
func (r *routines) Finalize(ctx context.Context, _ *ompdv1.FinalizeRequest) (*ompdv1.FinalizeResponse, error) {
	c := connectionOf(ctx)
	err := c.library.Finalize()
	if err == nil {
		c.uses.Add(1)
	}
	return &ompdv1.FinalizeResponse{}, routineStatus(err)
}

// ProcessInitialize is ompd_process_initialize. A second call opens the same address spaces again.
func (r *routines) ProcessInitialize(ctx context.Context,
	req *ompdv1.ProcessInitializeRequest) (*ompdv1.ProcessInitializeResponse, error) {
	session := connectionOf(ctx)
	resp := &ompdv1.ProcessInitializeResponse{}
	err := withTarget(ctx, req, func(t *target) error {
		sp, err := session.openSpaces(t)
		if sp == nil {
			return err
		}
		if err != nil {
			resp.Warnings = append(resp.Warnings, err.Error())
		}
		ids := names(sp.open)
		for i, p := range sp.open {
			s := space{p, session, t, sp}
			resp.AddressSpaces = append(resp.AddressSpaces, &ompdv1.AddressSpace{Handle: s.itself(), Runtime: ids[i]})
		}
		return nil
	})
	if err != nil {
		return nil, routineStatus(err)
	}
	return resp, nil
}

// DeviceInitialize is ompd_device_initialize.
func (r *routines) DeviceInitialize(ctx context.Context,
	req *ompdv1.DeviceInitializeRequest) (*ompdv1.DeviceInitializeResponse, error) {
	return ask(ctx, "ompd_device_initialize", req.GetHostHandle(), kindSpace,
		func(s space, _ handle) (*ompdv1.DeviceInitializeResponse, error) {
			p, err := s.DeviceInitialize(req.GetKind(), req.GetId())
			if err != nil {
				return nil, err
			}
			return &ompdv1.DeviceInitializeResponse{DeviceHandle: space{p, s.session, s.target, s.all}.itself()}, nil
		})
}

// kinds maps OMPD's kinds of native thread identifiers to the API's.
var kinds = map[callbacks.IDKind]ompdv1.ThreadIdKind{
	callbacks.ThreadIDPthread: ompdv1.ThreadIdKind_THREAD_ID_KIND_PTHREAD,
	callbacks.ThreadIDLWP:     ompdv1.ThreadIdKind_THREAD_ID_KIND_LWP,
}

// kindOf returns OMPD's value of a kind. The error for an unknown kind is callbacks.Unsupported.
func kindOf(k ompdv1.ThreadIdKind) (callbacks.IDKind, error) {
	for id, wire := range kinds {
		if wire == k {
			return id, nil
		}
	}
	return 0, fmt.Errorf("thread id kind %d, not 1 (pthread) or 2 (LWP): %w", k, callbacks.Unsupported)
}

// GetDeviceThreadIdKinds is ompd_get_device_thread_id_kinds.
func (r *routines) GetDeviceThreadIdKinds(ctx context.Context,
	req *ompdv1.GetDeviceThreadIdKindsRequest) (*ompdv1.GetDeviceThreadIdKindsResponse, error) {
	return ask(ctx, "ompd_get_device_thread_id_kinds", req.GetDeviceHandle(), kindSpace,
		func(s space, _ handle) (*ompdv1.GetDeviceThreadIdKindsResponse, error) {
			list, err := s.ThreadIDKinds()
			resp := &ompdv1.GetDeviceThreadIdKindsResponse{}
			for _, k := range list {
				resp.Kinds = append(resp.Kinds, &ompdv1.ThreadIdKindSize{Kind: kinds[k.Kind], Size: k.Size})
			}
			return resp, err
		})
}

// RelAddressSpaceHandle is ompd_rel_address_space_handle.
func (r *routines) RelAddressSpaceHandle(ctx context.Context,
	req *ompdv1.RelAddressSpaceHandleRequest) (*ompdv1.RelAddressSpaceHandleResponse, error) {
	return ask(ctx, "ompd_rel_address_space_handle", req.GetHandle(), kindSpace,
		func(s space, _ handle) (*ompdv1.RelAddressSpaceHandleResponse, error) {
			err := s.Release()
			if err == nil {
				s.all.released[s.Stamp()] = true
			}
			return &ompdv1.RelAddressSpaceHandleResponse{}, err
		})
}

// GetOmpVersion is ompd_get_omp_version.
func (r *routines) GetOmpVersion(ctx context.Context, req *ompdv1.GetOmpVersionRequest) (*ompdv1.GetOmpVersionResponse,
	error) {
	return ask(ctx, "ompd_get_omp_version", req.GetAddressSpace(), kindSpace,
		func(s space, _ handle) (*ompdv1.GetOmpVersionResponse, error) {
			v, err := s.OMPVersion()
			return &ompdv1.GetOmpVersionResponse{OmpVersion: v}, err
		})
}

// GetOmpVersionString is ompd_get_omp_version_string.
func (r *routines) GetOmpVersionString(ctx context.Context,
	req *ompdv1.GetOmpVersionStringRequest) (*ompdv1.GetOmpVersionStringResponse, error) {
	return ask(ctx, "ompd_get_omp_version_string", req.GetAddressSpace(), kindSpace,
		func(s space, _ handle) (*ompdv1.GetOmpVersionStringResponse, error) {
			v, err := s.OMPVersionString()
			return &ompdv1.GetOmpVersionStringResponse{Version: v}, err
		})
}

// GetThreads is ompd_get_threads of the 2013 draft.
func (r *routines) GetThreads(ctx context.Context, req *ompdv1.GetThreadsRequest) (*ompdv1.GetThreadsResponse, error) {
	return ask(ctx, "ompd_get_threads", req.GetAddressSpaceHandle(), kindSpace,
		func(s space, _ handle) (*ompdv1.GetThreadsResponse, error) {
			list, err := s.AllThreads()
			if err != nil && len(list) == 0 {
				return nil, err
			}
			resp := &ompdv1.GetThreadsResponse{}
			for _, h := range list {
				resp.ThreadHandles = append(resp.ThreadHandles, s.thread(h))
			}
			var of *ompd.Error
			if errors.As(err, &of) {
				resp.Errors = append(resp.Errors, of.Error())
			}
			return resp, nil
		})
}
