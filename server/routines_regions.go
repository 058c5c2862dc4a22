package server

import (
	"context"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	ompdv1 "github.com/ompd-inspect/ompd-inspect/proto/ompd/v1"
)

// GetEnclosingParallelHandle is ompd_get_enclosing_parallel_handle.
func (r *routines) GetEnclosingParallelHandle(ctx context.Context,
	req *ompdv1.GetEnclosingParallelHandleRequest) (*ompdv1.GetEnclosingParallelHandleResponse, error) {
	return ask(ctx, "ompd_get_enclosing_parallel_handle", req.GetParallelHandle(), kindParallel,
		func(s space, h handle) (*ompdv1.GetEnclosingParallelHandleResponse, error) {
			p, err := s.EnclosingParallel(h.parallel())
			return &ompdv1.GetEnclosingParallelHandleResponse{EnclosingParallelHandle: s.parallel(p)}, err
		})
}

// GetTaskParallelHandle is ompd_get_task_parallel_handle.
func (r *routines) GetTaskParallelHandle(ctx context.Context,
	req *ompdv1.GetTaskParallelHandleRequest) (*ompdv1.GetTaskParallelHandleResponse, error) {
	return ask(ctx, "ompd_get_task_parallel_handle", req.GetTaskHandle(), kindTask,
		func(s space, h handle) (*ompdv1.GetTaskParallelHandleResponse, error) {
			p, err := s.TaskParallel(h.task())
			return &ompdv1.GetTaskParallelHandleResponse{TaskParallelHandle: s.parallel(p)}, err
		})
}

// RelParallelHandle is ompd_rel_parallel_handle.
func (r *routines) RelParallelHandle(ctx context.Context,
	req *ompdv1.RelParallelHandleRequest) (*ompdv1.RelParallelHandleResponse, error) {
	return ask(ctx, "ompd_rel_parallel_handle", req.GetParallelHandle(), kindParallel,
		func(s space, h handle) (*ompdv1.RelParallelHandleResponse, error) {
			return &ompdv1.RelParallelHandleResponse{}, s.ReleaseParallel(h.parallel())
		})
}

// ParallelHandleCompare is ompd_parallel_handle_compare.
func (r *routines) ParallelHandleCompare(ctx context.Context,
	req *ompdv1.ParallelHandleCompareRequest) (*ompdv1.ParallelHandleCompareResponse, error) {
	return ask(ctx, "ompd_parallel_handle_compare", req.GetParallelHandle_1(), kindParallel,
		func(s space, h handle) (*ompdv1.ParallelHandleCompareResponse, error) {
			other, err := s.second("ompd_parallel_handle_compare", req.GetParallelHandle_2(), kindParallel)
			if err != nil {
				return nil, err
			}
			v, err := s.CompareParallels(h.parallel(), other.parallel())
			return &ompdv1.ParallelHandleCompareResponse{CmpValue: int32(v)}, err
		})
}

// GetGeneratingTaskHandle is ompd_get_generating_task_handle.
func (r *routines) GetGeneratingTaskHandle(ctx context.Context,
	req *ompdv1.GetGeneratingTaskHandleRequest) (*ompdv1.GetGeneratingTaskHandleResponse, error) {
	return ask(ctx, "ompd_get_generating_task_handle", req.GetTaskHandle(), kindTask,
		func(s space, h handle) (*ompdv1.GetGeneratingTaskHandleResponse, error) {
			k, err := s.GeneratingTask(h.task())
			return &ompdv1.GetGeneratingTaskHandleResponse{GeneratingTaskHandle: s.task(k)}, err
		})
}

// GetSchedulingTaskHandle is ompd_get_scheduling_task_handle.
func (r *routines) GetSchedulingTaskHandle(ctx context.Context,
	req *ompdv1.GetSchedulingTaskHandleRequest) (*ompdv1.GetSchedulingTaskHandleResponse, error) {
	return ask(ctx, "ompd_get_scheduling_task_handle", req.GetTaskHandle(), kindTask,
		func(s space, h handle) (*ompdv1.GetSchedulingTaskHandleResponse, error) {
			k, err := s.SchedulingTask(h.task())
			return &ompdv1.GetSchedulingTaskHandleResponse{TaskHandle: s.task(k)}, err
		})
}

// GetTaskInParallel is ompd_get_task_in_parallel.
func (r *routines) GetTaskInParallel(ctx context.Context,
	req *ompdv1.GetTaskInParallelRequest) (*ompdv1.GetTaskInParallelResponse, error) {
	return ask(ctx, "ompd_get_task_in_parallel", req.GetParallelHandle(), kindParallel,
		func(s space, h handle) (*ompdv1.GetTaskInParallelResponse, error) {
			k, err := s.TaskInParallel(h.parallel(), int(req.GetThreadNum()))
			return &ompdv1.GetTaskInParallelResponse{TaskHandle: s.task(k)}, err
		})
}

// RelTaskHandle is ompd_rel_task_handle.
func (r *routines) RelTaskHandle(ctx context.Context, req *ompdv1.RelTaskHandleRequest) (*ompdv1.RelTaskHandleResponse,
	error) {
	return ask(ctx, "ompd_rel_task_handle", req.GetTaskHandle(), kindTask,
		func(s space, h handle) (*ompdv1.RelTaskHandleResponse, error) {
			return &ompdv1.RelTaskHandleResponse{}, s.ReleaseTask(h.task())
		})
}

// TaskHandleCompare is ompd_task_handle_compare.
func (r *routines) TaskHandleCompare(ctx context.Context,
	req *ompdv1.TaskHandleCompareRequest) (*ompdv1.TaskHandleCompareResponse, error) {
	return ask(ctx, "ompd_task_handle_compare", req.GetTaskHandle_1(), kindTask,
		func(s space, h handle) (*ompdv1.TaskHandleCompareResponse, error) {
			other, err := s.second("ompd_task_handle_compare", req.GetTaskHandle_2(), kindTask)
			if err != nil {
				return nil, err
			}
			v, err := s.CompareTasks(h.task(), other.task())
			return &ompdv1.TaskHandleCompareResponse{CmpValue: int32(v)}, err
		})
}

// GetTaskFunction is ompd_get_task_function.
func (r *routines) GetTaskFunction(ctx context.Context,
	req *ompdv1.GetTaskFunctionRequest) (*ompdv1.GetTaskFunctionResponse, error) {
	return ask(ctx, "ompd_get_task_function", req.GetTaskHandle(), kindTask,
		func(s space, h handle) (*ompdv1.GetTaskFunctionResponse, error) {
			a, err := s.TaskFunction(h.task())
			return &ompdv1.GetTaskFunctionResponse{EntryPoint: a.Offset}, err
		})
}

// GetTaskFrame is ompd_get_task_frame.
func (r *routines) GetTaskFrame(ctx context.Context, req *ompdv1.GetTaskFrameRequest) (*ompdv1.GetTaskFrameResponse,
	error) {
	return ask(ctx, "ompd_get_task_frame", req.GetTaskHandle(), kindTask,
		func(s space, h handle) (*ompdv1.GetTaskFrameResponse, error) {
			f, err := s.TaskFrame(h.task())
			return &ompdv1.GetTaskFrameResponse{ExitFrame: frameInfo(f.Exit, f.ExitFlags),
				EnterFrame: frameInfo(f.Enter, f.EnterFlags)}, err
		})
}

// frameInfo returns one frame of a task; a null address is left out.
func frameInfo(a callbacks.Address, flags uint32) *ompdv1.FrameInfo {
	if a.IsNull() {
		return &ompdv1.FrameInfo{}
	}
	return &ompdv1.FrameInfo{FrameAddress: &a.Offset, FrameFlag: flags}
}
