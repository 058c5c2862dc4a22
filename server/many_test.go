package server

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	ompdv1 "github.com/ompd-inspect/ompd-inspect/proto/ompd/v1"
)

const manyClients = 200

// TestManyClients lets 200 clients inspect one program of 256 threads at once, each in its own session.
func TestManyClients(t *testing.T) {
	// They share few processors, so all limits are long.
	patience := Patience{Admission: time.Hour, Arrival: time.Hour, Unread: time.Hour, Answer: time.Hour}
	s, address := start(t, Config{Limits: Limits{Call: time.Hour, Patience: patience}})
	r := core(t, "many", "256")
	want := direct(t, r.Core)
	began := time.Now()
	var wg sync.WaitGroup
	for i := range manyClients {
		wg.Go(func() {
			if err := oneOfMany(t, address, r.Core, len(want.Threads)); err != nil {
				t.Errorf("client %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	t.Logf("%d clients on %d threads took %v", manyClients, len(want.Threads), time.Since(began))
	if len(want.Threads) < 256 {
		t.Errorf("only %d threads", len(want.Threads))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.targets > manyClients {
		t.Errorf("%d targets are open", s.targets)
	}
}

// oneOfMany opens the core, gets all threads in pages and a handle, and checks the answers.
func oneOfMany(t *testing.T, address, path string, threads int) error {
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer conn.Close()
	c, ctx := ompdv1.NewInspectionServiceClient(conn), t.Context()
	opened, err := c.OpenTarget(ctx, &ompdv1.OpenTargetRequest{Spec: specOf(path)})
	if err != nil {
		return err
	}
	target := opened.GetTarget().GetName()
	lwps, token := map[int64]bool{}, ""
	for {
		page, err := c.ListThreads(ctx, &ompdv1.ListThreadsRequest{Target: target, PageSize: 60, PageToken: token})
		if err != nil {
			return err
		}
		for _, th := range page.GetThreads() {
			lwps[th.GetLwp()] = true
		}
		if token = page.GetNextPageToken(); token == "" {
			break
		}
	}
	if len(lwps) != threads {
		return fmt.Errorf("%d threads, want %d", len(lwps), threads)
	}
	list, err := c.ListTargets(ctx, &ompdv1.ListTargetsRequest{})
	if err == nil && len(list.GetTargets()) != 1 {
		err = fmt.Errorf("the session has %d targets", len(list.GetTargets()))
	}
	return err
}

// TestReflection works like grpcurl: it calls a service with only the server's own description.
func TestReflection(t *testing.T) {
	_, address := start(t, Config{})
	conn := dial(t, address)
	stream, err := reflectionv1.NewServerReflectionClient(conn).ServerReflectionInfo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ask := func(req *reflectionv1.ServerReflectionRequest) *reflectionv1.ServerReflectionResponse {
		t.Helper()
		if err := stream.Send(req); err != nil {
			t.Fatal(err)
		}
		resp, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		return resp
	}
	var names []string
	listed := ask(
		&reflectionv1.ServerReflectionRequest{MessageRequest: &reflectionv1.ServerReflectionRequest_ListServices{}})
	for _, svc := range listed.GetListServicesResponse().GetService() {
		names = append(names, svc.GetName())
	}
	if fmt.Sprint(names) != "[grpc.health.v1.Health grpc.reflection.v1.ServerReflection "+
		"grpc.reflection.v1alpha.ServerReflection ompd.v1.DebuggerService ompd.v1.InspectionService "+
		"ompd.v1.OmpdService ompd.v1.TraceService]" {
		t.Errorf("services: %v", names)
	}
	file := &reflectionv1.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: "ompd.v1.OmpdService"}
	resp := ask(&reflectionv1.ServerReflectionRequest{MessageRequest: file})
	set := new(descriptorpb.FileDescriptorSet)
	for _, b := range resp.GetFileDescriptorResponse().GetFileDescriptorProto() {
		f := new(descriptorpb.FileDescriptorProto)
		if err := proto.Unmarshal(b, f); err != nil {
			t.Fatal(err)
		}
		set.File = append(set.File, f)
	}
	if err := stream.CloseSend(); err != nil {
		t.Error(err)
	}
	if _, err := stream.Recv(); !errors.Is(err, io.EOF) {
		t.Errorf("end of reflection: %v", err)
	}
	version := dynamicCall(t, conn, set, "ompd.v1.OmpdService", "GetApiVersion")
	if v := version.Get(version.Descriptor().Fields().ByName("version")).Int(); v != 202411 {
		t.Errorf("the interface's version is %d", v)
	}
}

// dynamicCall makes a call from its description alone.
func dynamicCall(t *testing.T, conn *grpc.ClientConn, set *descriptorpb.FileDescriptorSet, service,
	method string) protoreflect.Message {
	t.Helper()
	files, err := protodesc.FileOptions{AllowUnresolvable: true}.NewFiles(set)
	if err != nil {
		t.Fatal(err)
	}
	d, err := files.FindDescriptorByName(protoreflect.FullName(service))
	if err != nil {
		t.Fatal(err)
	}
	m := d.(protoreflect.ServiceDescriptor).Methods().ByName(protoreflect.Name(method))
	in, out := dynamicpb.NewMessage(m.Input()), dynamicpb.NewMessage(m.Output())
	if err := conn.Invoke(t.Context(), "/"+service+"/"+method, in, out); err != nil {
		t.Fatal(err)
	}
	if _, err := protoregistry.GlobalFiles.FindDescriptorByName("ompd.v1.OmpdService"); err != nil {
		t.Error(err)
	}
	return out
}

func TestHealth(t *testing.T) {
	s, address := start(t, Config{})
	c := healthv1.NewHealthClient(dial(t, address))
	resp, err := c.Check(t.Context(), &healthv1.HealthCheckRequest{})
	if err != nil || resp.GetStatus() != healthv1.HealthCheckResponse_SERVING {
		t.Errorf("%v, %v", resp, err)
	}
	watch, err := c.Watch(t.Context(), &healthv1.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if first, err := watch.Recv(); err != nil || first.GetStatus() != healthv1.HealthCheckResponse_SERVING {
		t.Errorf("%v, %v", first, err)
	}
	s.health.Shutdown()
	if next, err := watch.Recv(); err != nil || next.GetStatus() != healthv1.HealthCheckResponse_NOT_SERVING {
		t.Errorf("%v, %v", next, err)
	}
}
