package server

import (
	"context"
	"strconv"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	ompdv1 "github.com/ompd-inspect/ompd-inspect/proto/ompd/v1"
	"github.com/ompd-inspect/ompd-inspect/session"
)

// TestReadMask lists threads with the fields that a mask names, and refuses unknown fields.
func TestReadMask(t *testing.T) {
	_, address := start(t, Config{})
	c := connect(t, address, core(t, "tasks_deps").Core)
	ctx := t.Context()
	list := func(paths ...string) (*ompdv1.ListThreadsResponse, error) {
		return c.ListThreads(ctx, &ompdv1.ListThreadsRequest{Target: c.target,
			ReadMask: &fieldmaskpb.FieldMask{Paths: paths}})
	}
	whole, err := list()
	codeOf(t, "no mask", err, codes.OK)
	some, err := list("lwp", "state.name")
	codeOf(t, "a mask", err, codes.OK)
	for i, th := range some.GetThreads() {
		from := whole.GetThreads()[i]
		want := &ompdv1.Thread{Lwp: from.GetLwp()}
		if from.GetState() != nil {
			want.State = &ompdv1.State{Name: from.GetState().GetName()}
		}
		omptest.Equal(t, "thread "+strconv.Itoa(i), th.String(), want.String())
	}
	omptest.Equal(t, "the number of threads", len(some.GetThreads()), len(whole.GetThreads()))
	again, err := list("*")
	codeOf(t, "all fields", err, codes.OK)
	omptest.Equal(t, "a thread after a mask", again.GetThreads()[0].String(), whole.GetThreads()[0].String())
	for _, path := range []string{"nothing", "lwp.name", "state.nothing", "levels.level"} {
		_, err := list("lwp", path)
		codeOf(t, path, err, codes.InvalidArgument)
	}
	one, err := c.GetThread(ctx, &ompdv1.GetThreadRequest{Target: c.target,
		Id:       &ompdv1.GetThreadRequest_Lwp{Lwp: some.GetThreads()[0].GetLwp()},
		ReadMask: &fieldmaskpb.FieldMask{Paths: []string{"role"}}})
	codeOf(t, "one thread", err, codes.OK)
	omptest.Equal(t, "its LWP", one.GetThread().GetLwp(), int64(0))
	omptest.Equal(t, "its role", one.GetThread().GetRole(), whole.GetThreads()[0].GetRole())
}

// TestTargetInfo opens a core: the answer has its kind and program, and after a look the runtimes.
func TestTargetInfo(t *testing.T) {
	_, address := start(t, Config{})
	r := core(t, "tasks_deps")
	c := connect(t, address, r.Core)
	resp, err := c.OpenTarget(t.Context(), &ompdv1.OpenTargetRequest{Spec: specOf(r.Core)})
	codeOf(t, "OpenTarget", err, codes.OK)
	i := resp.GetTarget()
	omptest.Equal(t, "kind", i.GetAbout().GetKind(), ompdv1.TargetKind_TARGET_KIND_CORE)
	omptest.Equal(t, "executable", i.GetAbout().GetExecutable(), r.Exe)
	_, err = c.ListThreads(t.Context(), &ompdv1.ListThreadsRequest{Target: i.GetName()})
	codeOf(t, "ListThreads", err, codes.OK)
	again, err := c.GetTarget(t.Context(), &ompdv1.GetTargetRequest{Target: i.GetName()})
	codeOf(t, "GetTarget", err, codes.OK)
	if list := again.GetTarget().GetRuntimes(); len(list) != 1 || list[0].GetId() != "libomp" {
		t.Errorf("runtimes %v", list)
	}
}

// TestProcessEnded kills an open process: RefreshTarget and a call that reads it return NOT_FOUND.
func TestProcessEnded(t *testing.T) {
	omptest.Needs(t, "a compiler")
	cfg := Config{Policy: Policy{UIDs: []int{ownUID()}}}
	cfg.Open = func(ctx context.Context, spec *ompdv1.TargetSpec, means Means) (Opened, error) {
		o := session.Options{Open: means.Open, Memory: means.Memory}
		return session.Open(ctx, strconv.FormatInt(spec.GetPid(), 10), o)
	}
	_, address := start(t, cfg)
	c := ompdv1.NewInspectionServiceClient(dial(t, address))
	p := omptest.Start(t, omptest.Run{Exe: omptest.Compile(t, omptest.Build{Program: "lock_cycle"}),
		Runtime: omptest.RuntimeOf(t, 16), Mode: omptest.Live})
	resp, err := c.OpenTarget(t.Context(), &ompdv1.OpenTargetRequest{Spec: &ompdv1.TargetSpec{
		Source: &ompdv1.TargetSpec_Pid{Pid: int64(p.PID)}}})
	codeOf(t, "OpenTarget", err, codes.OK)
	name := resp.GetTarget().GetName()
	omptest.Equal(t, "kind", resp.GetTarget().GetAbout().GetKind(), ompdv1.TargetKind_TARGET_KIND_PROCESS)
	_, err = c.ListThreads(t.Context(), &ompdv1.ListThreadsRequest{Target: name})
	codeOf(t, "ListThreads", err, codes.OK)
	info, err := c.GetTarget(t.Context(), &ompdv1.GetTargetRequest{Target: name})
	codeOf(t, "GetTarget", err, codes.OK)
	omptest.Equal(t, "runtimes after a look", len(info.GetTarget().GetRuntimes()), 1)
	p.Stop()
	_, err = c.RefreshTarget(t.Context(), &ompdv1.RefreshTargetRequest{Target: name})
	codeOf(t, "RefreshTarget of a process that has ended", err, codes.NotFound)
	omptest.Equal(t, "the reason", reasonOf(err), "PROCESS_ENDED")
	_, err = c.ListThreads(t.Context(), &ompdv1.ListThreadsRequest{Target: name})
	codeOf(t, "ListThreads of a process that has ended", err, codes.NotFound)
	omptest.Equal(t, "its reason", reasonOf(err), "PROCESS_ENDED")
}

// TestHealthOfServices checks each service without a token, as probes do. Other calls need one.
func TestHealthOfServices(t *testing.T) {
	c := healthv1.NewHealthClient(dial(t, guarded(t, Limits{})))
	for _, service := range []string{"", "ompd.v1.InspectionService", "ompd.v1.OmpdService", "ompd.v1.TraceService",
		"ompd.v1.DebuggerService"} {
		resp, err := c.Check(t.Context(), &healthv1.HealthCheckRequest{Service: service})
		codeOf(t, service, err, codes.OK)
		omptest.Equal(t, service, resp.GetStatus(), healthv1.HealthCheckResponse_SERVING)
	}
	_, err := c.Check(t.Context(), &healthv1.HealthCheckRequest{Service: "ompd.v1.Nothing"})
	codeOf(t, "no service", err, codes.NotFound)
	watch, err := c.Watch(t.Context(), &healthv1.HealthCheckRequest{})
	if err == nil {
		_, err = watch.Recv()
	}
	codeOf(t, "a stream without a token", err, codes.Unauthenticated)
}

// reasonOf returns the reason in the details of an error; "" without one.
func reasonOf(err error) string {
	for _, d := range status.Convert(err).Details() {
		if info, ok := d.(*errdetails.ErrorInfo); ok {
			return info.GetReason()
		}
	}
	return ""
}
