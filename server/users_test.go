package server

import (
	"context"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	ompdv1 "github.com/ompd-inspect/ompd-inspect/proto/ompd/v1"
)

// lastly waits until f returns no error. The server notices the end of a call after its client.
func lastly(t *testing.T, what string, f func() error) {
	t.Helper()
	err := f()
	for end := time.Now().Add(tooLate); err != nil && time.Now().Before(end); err = f() {
		time.Sleep(time.Millisecond)
	}
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// TestUserCalls makes as many calls at once as a user may, over two connections. Further calls are refused
// until one ends; health checks are not.
func TestUserCalls(t *testing.T) {
	_, address := start(t, Config{Limits: Limits{User: Quota{Calls: 2}}})
	path := core(t, "barrier").Core
	clients := []*client{connect(t, address, path), nil}
	lastly(t, "a second connection", func() error {
		c := &client{InspectionServiceClient: ompdv1.NewInspectionServiceClient(dial(t, address))}
		resp, err := c.OpenTarget(t.Context(), &ompdv1.OpenTargetRequest{Spec: specOf(path)})
		c.target, clients[1] = resp.GetTarget().GetName(), c
		return err
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for i, c := range clients {
		of := []context.Context{ctx, t.Context()}[i]
		lastly(t, "watching", func() error {
			req := &ompdv1.WatchTargetRequest{Target: c.target, Interval: durationpb.New(time.Hour)}
			stream, err := c.WatchTarget(of, req)
			if err == nil {
				_, err = stream.Recv()
			}
			return err
		})
	}
	_, err := clients[1].GetTarget(t.Context(), &ompdv1.GetTargetRequest{Target: clients[1].target})
	codeOf(t, "one call too many", err, codes.ResourceExhausted)
	_, err = healthv1.NewHealthClient(dial(t, address)).Check(t.Context(), &healthv1.HealthCheckRequest{})
	codeOf(t, "the server's health", err, codes.OK)
	cancel()
	lastly(t, "after one has ended", func() error { return clients[1].get(clients[1].target) })
}

// TestAllCalls checks the same for all users together.
func TestAllCalls(t *testing.T) {
	s := New(Config{Limits: Limits{User: Quota{Calls: 2}, All: Quota{Calls: 3}}})
	for _, who := range []string{"a", "a", "b"} {
		if err := s.room(who, "any"); err != nil {
			t.Errorf("a call of %s: %v", who, err)
		}
		s.begin(who)
	}
	codeOf(t, "a call of another", statusOf(s.room("c", "any")), codes.ResourceExhausted)
	s.end("b")
	codeOf(t, "after one has ended", s.room("c", "any"), codes.OK)
	codeOf(t, "one of who has all", statusOf(s.room("a", "any")), codes.ResourceExhausted)
	s.end("a")
	s.end("a")
	if len(s.all) != 0 {
		t.Errorf("%d users are remembered", len(s.all))
	}
}

// TestOneLedger opens several targets: their memory counts together for a user, and is released when they are
// closed.
func TestOneLedger(t *testing.T) {
	taken := make(chan error, 1)
	open := func(ctx context.Context, spec *ompdv1.TargetSpec, means Means) (Opened, error) {
		taken <- means.Memory.Take("all that there is", 300<<20)
		means.Memory = nil
		return openCore(ctx, spec, means)
	}
	_, address := start(t, Config{Open: open, Memory: 512 << 20})
	path := core(t, "barrier").Core
	a := connect(t, address, path)
	if err := <-taken; err != nil {
		t.Fatal(err)
	}
	b := connect(t, address, path)
	if err := <-taken; err == nil {
		t.Error("two targets of one user took 600 MiB of 512")
	}
	if _, err := a.CloseTarget(t.Context(), &ompdv1.CloseTargetRequest{Target: a.target}); err != nil {
		t.Fatal(err)
	}
	lastly(t, "after one was closed", func() error {
		c := connect(t, address, path)
		err := <-taken
		if err != nil { // without taking memory
			_, _ = b.CloseTarget(t.Context(), &ompdv1.CloseTargetRequest{Target: c.target})
		}
		return err
	})
}

// TestFull gives a server less memory than it already uses: it opens no targets, and other calls continue to
// work.
func TestFull(t *testing.T) {
	_, address := start(t, Config{Memory: 1})
	c := &client{InspectionServiceClient: ompdv1.NewInspectionServiceClient(dial(t, address))}
	_, err := c.OpenTarget(t.Context(), &ompdv1.OpenTargetRequest{Spec: specOf("/any")})
	codeOf(t, "a target", err, codes.ResourceExhausted)
	codeOf(t, "a list", c.list(t), codes.OK)
}

// TestExact checks that a message takes its size in memory. With gRPC's pool, one of more than 32 KiB would
// take 1 MiB until its client has read it.
func TestExact(t *testing.T) {
	m := &ompdv1.OpenTargetInfo{Name: string(make([]byte, 40<<10))}
	data, err := sized{}.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	if len(data) != 1 || data.Len() != proto.Size(m) || cap(data[0].ReadOnlyData()) > data.Len()+data.Len()/4 {
		t.Errorf("%d bytes in %d parts, %d of memory", data.Len(), len(data), cap(data[0].ReadOnlyData()))
	}
}

// TestSamePicture requests the picture of a core twice: it is made once.
func TestSamePicture(t *testing.T) {
	s, address := start(t, Config{})
	c := connect(t, address, core(t, "barrier").Core)
	s.mu.Lock()
	var tg *target
	for sn := range s.sessions {
		tg = sn.targets[0]
	}
	s.mu.Unlock()
	err := tg.do(t.Context(), func() error {
		first, err1 := tg.picture(nil)
		second, err2 := tg.picture(nil)
		native, err3 := tg.picture([]ompdv1.PicturePart{ompdv1.PicturePart_PICTURE_PART_THREADS})
		switch {
		case err1 != nil || err2 != nil || err3 != nil:
			t.Error(err1, err2, err3)
		case first != second:
			t.Error("the same picture was made twice")
		case native == first || len(native.GetThreads()) == 0 || len(native.GetRegions()) != 0:
			t.Errorf("the threads alone: %d threads, %d regions", len(native.GetThreads()), len(native.GetRegions()))
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	codeOf(t, "the target", c.get(c.target), codes.OK)
}
