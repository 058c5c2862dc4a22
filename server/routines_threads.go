package server

import (
	"context"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	ompdv1 "github.com/ompd-inspect/ompd-inspect/proto/ompd/v1"
)

// GetThreadInParallel is ompd_get_thread_in_parallel.
func (r *routines) GetThreadInParallel(ctx context.Context,
	req *ompdv1.GetThreadInParallelRequest) (*ompdv1.GetThreadInParallelResponse, error) {
	return ask(ctx, "ompd_get_thread_in_parallel", req.GetParallelHandle(), kindParallel,
		func(s space, h handle) (*ompdv1.GetThreadInParallelResponse, error) {
			th, err := s.ThreadInParallel(h.parallel(), int(req.GetThreadNum()))
			return &ompdv1.GetThreadInParallelResponse{ThreadHandle: s.thread(th)}, err
		})
}

// GetThreadHandle is ompd_get_thread_handle.
func (r *routines) GetThreadHandle(ctx context.Context,
	req *ompdv1.GetThreadHandleRequest) (*ompdv1.GetThreadHandleResponse, error) {
	return ask(ctx, "ompd_get_thread_handle", req.GetHandle(), kindSpace,
		func(s space, _ handle) (*ompdv1.GetThreadHandleResponse, error) {
			id := req.GetThreadId()
			kind, err := kindOf(id.GetKind())
			if err != nil {
				return nil, routineError("ompd_get_thread_handle", err)
			}
			th, err := s.ThreadHandle(callbacks.ThreadID{Kind: kind, Value: id.GetValue()})
			return &ompdv1.GetThreadHandleResponse{ThreadHandle: s.thread(th)}, err
		})
}

// RelThreadHandle is ompd_rel_thread_handle.
func (r *routines) RelThreadHandle(ctx context.Context,
	req *ompdv1.RelThreadHandleRequest) (*ompdv1.RelThreadHandleResponse, error) {
	return ask(ctx, "ompd_rel_thread_handle", req.GetThreadHandle(), kindThread,
		func(s space, h handle) (*ompdv1.RelThreadHandleResponse, error) {
			return &ompdv1.RelThreadHandleResponse{}, s.ReleaseThread(h.thread())
		})
}

// ThreadHandleCompare is ompd_thread_handle_compare.
func (r *routines) ThreadHandleCompare(ctx context.Context,
	req *ompdv1.ThreadHandleCompareRequest) (*ompdv1.ThreadHandleCompareResponse, error) {
	return ask(ctx, "ompd_thread_handle_compare", req.GetThreadHandle_1(), kindThread,
		func(s space, h handle) (*ompdv1.ThreadHandleCompareResponse, error) {
			other, err := s.second("ompd_thread_handle_compare", req.GetThreadHandle_2(), kindThread)
			if err != nil {
				return nil, err
			}
			v, err := s.CompareThreads(h.thread(), other.thread())
			return &ompdv1.ThreadHandleCompareResponse{CmpValue: int32(v)}, err
		})
}

// GetThreadId is ompd_get_thread_id.
func (r *routines) GetThreadId(ctx context.Context, req *ompdv1.GetThreadIdRequest) (*ompdv1.GetThreadIdResponse,
	error) {
	return ask(ctx, "ompd_get_thread_id", req.GetThreadHandle(), kindThread,
		func(s space, h handle) (*ompdv1.GetThreadIdResponse, error) {
			kind, err := kindOf(req.GetKind())
			if err != nil {
				return nil, routineError("ompd_get_thread_id", err)
			}
			id, err := s.ThreadID(h.thread(), kind)
			return &ompdv1.GetThreadIdResponse{ThreadId: &ompdv1.ThreadId{Kind: req.GetKind(), Value: id.Value}}, err
		})
}

// GetDeviceFromThread is ompd_get_device_from_thread.
func (r *routines) GetDeviceFromThread(ctx context.Context,
	req *ompdv1.GetDeviceFromThreadRequest) (*ompdv1.GetDeviceFromThreadResponse, error) {
	return ask(ctx, "ompd_get_device_from_thread", req.GetThreadHandle(), kindThread,
		func(s space, h handle) (*ompdv1.GetDeviceFromThreadResponse, error) {
			p, err := s.ThreadDevice(h.thread())
			if err != nil {
				return nil, err
			}
			return &ompdv1.GetDeviceFromThreadResponse{Device: space{p, s.session, s.target, s.all}.itself()}, nil
		})
}

// GetCurrParallelHandle is ompd_get_curr_parallel_handle.
func (r *routines) GetCurrParallelHandle(ctx context.Context,
	req *ompdv1.GetCurrParallelHandleRequest) (*ompdv1.GetCurrParallelHandleResponse, error) {
	return ask(ctx, "ompd_get_curr_parallel_handle", req.GetThreadHandle(), kindThread,
		func(s space, h handle) (*ompdv1.GetCurrParallelHandleResponse, error) {
			p, err := s.CurrentParallel(h.thread())
			return &ompdv1.GetCurrParallelHandleResponse{ParallelHandle: s.parallel(p)}, err
		})
}

// GetCurrTaskHandle is ompd_get_curr_task_handle.
func (r *routines) GetCurrTaskHandle(ctx context.Context,
	req *ompdv1.GetCurrTaskHandleRequest) (*ompdv1.GetCurrTaskHandleResponse, error) {
	return ask(ctx, "ompd_get_curr_task_handle", req.GetThreadHandle(), kindThread,
		func(s space, h handle) (*ompdv1.GetCurrTaskHandleResponse, error) {
			k, err := s.CurrentTask(h.thread())
			return &ompdv1.GetCurrTaskHandleResponse{TaskHandle: s.task(k)}, err
		})
}

// GetState is ompd_get_state.
func (r *routines) GetState(ctx context.Context, req *ompdv1.GetStateRequest) (*ompdv1.GetStateResponse, error) {
	return ask(ctx, "ompd_get_state", req.GetThreadHandle(), kindThread,
		func(s space, h handle) (*ompdv1.GetStateResponse, error) {
			st, err := s.State(h.thread(), nil)
			resp := &ompdv1.GetStateResponse{State: uint32(st.State), StateName: st.State.String()}
			if st.WaitID != 0 {
				resp.WaitId = &st.WaitID
			}
			return resp, err
		})
}
