package server

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	ompdv1 "github.com/ompd-inspect/ompd-inspect/proto/ompd/v1"
	"github.com/ompd-inspect/ompd-inspect/session"
)

// hooked is a target that reports its looks and its end to a test.
type hooked struct {
	Opened
	look   func(context.Context)
	closed chan struct{}
}

func (h *hooked) Snapshot(ctx context.Context, q session.Query) (*session.Snapshot, error) {
	if h.look != nil {
		h.look(ctx)
	}
	return h.Opened.Snapshot(ctx, q)
}

func (h *hooked) Close() error {
	defer close(h.closed)
	return h.Opened.Close()
}

// hook returns a function that opens hooked cores, and a channel of the opened ones.
func hook(look func(context.Context)) (func(context.Context, *ompdv1.TargetSpec, Means) (Opened, error), chan *hooked) {
	all := make(chan *hooked, 100)
	return func(ctx context.Context, spec *ompdv1.TargetSpec, means Means) (Opened, error) {
		o, err := openCore(ctx, spec, means)
		if err != nil {
			return nil, err
		}
		h := &hooked{o, look, make(chan struct{})}
		all <- h
		return h, nil
	}, all
}

func codeOf(t testing.TB, what string, err error, want codes.Code) {
	t.Helper()
	if status.Code(err) != want {
		t.Errorf("%s: %v, want %v", what, err, want)
	}
}

func (c *client) get(name string) error {
	_, err := c.GetTarget(context.Background(), &ompdv1.GetTargetRequest{Target: name})
	return err
}

// TestClientThatLeaves checks that the targets of a client that disconnects are freed, and no others.
func TestClientThatLeaves(t *testing.T) {
	open, all := hook(nil)
	_, address := start(t, Config{Open: open})
	r := core(t, "barrier")
	a, b := connect(t, address, r.Core), connect(t, address, r.Core)
	ha, hb := <-all, <-all
	codeOf(t, "another's target", a.get(b.target), codes.NotFound)
	a.conn.Close()
	<-ha.closed
	if err := b.get(b.target); err != nil {
		t.Error(err)
	}
	select {
	case <-hb.closed:
		t.Error("the other client's target is closed")
	default:
	}
	if _, err := b.CloseTarget(t.Context(), &ompdv1.CloseTargetRequest{Target: b.target}); err != nil {
		t.Error(err)
	}
	<-hb.closed
	codeOf(t, "a closed target", b.get(b.target), codes.NotFound)
}

// leased opens a core with a lease that the server cuts to limit, and disconnects the client. It returns the
// core, its name and another client.
func leased(t *testing.T, limit time.Duration) (left *hooked, name string, other *client) {
	t.Helper()
	open, all := hook(nil)
	_, address := start(t, Config{Open: open, Limits: Limits{Lease: limit}})
	r := core(t, "barrier")
	a, b := connect(t, address, r.Core), connect(t, address, r.Core)
	own := <-all
	<-all
	resp, err := a.OpenTarget(t.Context(), &ompdv1.OpenTargetRequest{Spec: specOf(r.Core),
		Lease: durationpb.New(2 * limit)})
	if err != nil || resp.GetTarget().GetLease().AsDuration() != limit {
		t.Fatalf("%v, %v", resp, err)
	}
	a.conn.Close()
	<-own.closed // its target without a lease
	return <-all, resp.GetTarget().GetName(), b
}

// TestLease keeps a target for a client that uses one connection per call.
func TestLease(t *testing.T) {
	_, name, b := leased(t, time.Hour)
	for range 3 {
		if err := b.get(name); err != nil {
			t.Fatal(err)
		}
	}
	list, err := b.ListTargets(t.Context(), &ompdv1.ListTargetsRequest{})
	if err != nil || len(list.GetTargets()) != 1 || list.GetTargets()[0].GetName() != b.target {
		t.Errorf("%v, %v: a target that another opened must not be listed", list, err)
	}
}

// TestLeaseEnds frees a target that stays unused for its lease.
func TestLeaseEnds(t *testing.T) {
	h, name, b := leased(t, time.Millisecond)
	<-h.closed
	codeOf(t, "a target whose lease ended", b.get(name), codes.NotFound)
}

// TestIdle frees unused targets.
func TestIdle(t *testing.T) {
	open, all := hook(nil)
	_, address := start(t, Config{Open: open, Limits: Limits{Idle: 50 * time.Millisecond}})
	c := connect(t, address, core(t, "barrier").Core)
	<-(<-all).closed
	codeOf(t, "an idle target", c.get(c.target), codes.NotFound)
}

func TestLimits(t *testing.T) {
	_, address := start(t, Config{Limits: Limits{Targets: 2, All: Quota{Targets: 3}, Page: 2, Memory: 64},
		Policy: Policy{Dirs: []string{"/"}, Memory: true}})
	r := core(t, "barrier")
	a, b := connect(t, address, r.Core), connect(t, address, r.Core)
	open := func(c *client) error {
		_, err := c.OpenTarget(t.Context(), &ompdv1.OpenTargetRequest{Spec: specOf(r.Core)})
		return err
	}
	if err := open(a); err != nil {
		t.Fatal(err)
	}
	codeOf(t, "a third target of a connection", open(a), codes.ResourceExhausted)
	codeOf(t, "a fourth target of all", open(b), codes.ResourceExhausted)
	page, err := a.ListThreads(t.Context(), &ompdv1.ListThreadsRequest{Target: a.target, PageSize: 1000})
	if err != nil || len(page.GetThreads()) != 2 || page.GetNextPageToken() == "" {
		t.Errorf("a page of %d threads, %v", len(page.GetThreads()), err)
	}
	_, err = a.ReadMemory(t.Context(), &ompdv1.ReadMemoryRequest{Target: a.target, Address: 1, Size: 65})
	codeOf(t, "much memory", err, codes.InvalidArgument)
	_, err = a.ListThreads(t.Context(), &ompdv1.ListThreadsRequest{Target: a.target, PageToken: "1.2"})
	codeOf(t, "a token of another stop", err, codes.Aborted)
	_, err = a.ListThreads(t.Context(), &ompdv1.ListThreadsRequest{Target: a.target, PageToken: "x"})
	codeOf(t, "no token", err, codes.InvalidArgument)
}

// TestDeadline cancels a call and calls again: the cancelled call does no harm.
func TestDeadline(t *testing.T) {
	var once sync.Once
	entered := make(chan struct{})
	open, _ := hook(func(ctx context.Context) {
		once.Do(func() {
			close(entered)
			<-ctx.Done() // like memory that can no longer be read
		})
	})
	_, address := start(t, Config{Open: open})
	r := core(t, "nested")
	c := connect(t, address, r.Core)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := c.ListThreads(ctx, &ompdv1.ListThreadsRequest{Target: c.target})
		done <- err
	}()
	<-entered
	short, stop := context.WithTimeout(t.Context(), time.Millisecond)
	defer stop()
	_, err := c.ListRegions(short, &ompdv1.ListRegionsRequest{Target: c.target})
	codeOf(t, "a call behind one that lasts", err, codes.DeadlineExceeded)
	cancel()
	codeOf(t, "a call that was given up", <-done, codes.Canceled)
	got, _ := c.report(t)
	sameJSON(t, "report after a call that was given up", got, direct(t, r.Core))
}

// TestHandlesOutliveACall cancels a call between two routines.
func TestHandlesOutliveACall(t *testing.T) {
	s, address := start(t, Config{})
	c := connect(t, address, core(t, "nested").Core)
	space := c.initialize(t)
	var session *connection
	for one := range s.sessions {
		session = one
	}
	tg, err := session.target(c.target)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	err = tg.do(ctx, func() error {
		cancel()
		<-ctx.Done()
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	list := must[*ompdv1.GetThreadsResponse](t)(c.GetThreads(t.Context(),
		&ompdv1.GetThreadsRequest{AddressSpaceHandle: space}))
	if len(list.GetThreadHandles()) < 4 || len(list.GetErrors()) > 0 {
		t.Errorf("threads: %v", list)
	}
}

// absentModule returns nil, so that no analyser sees the defect of its caller.
func absentModule() *callbacks.Module { return nil }

// TestPanic provokes a panic: the call fails, the server continues.
func TestPanic(t *testing.T) {
	broken := true
	open, _ := hook(func(context.Context) {
		if broken {
			broken = false
			_ = absentModule().Path
		}
	})
	log := new(lines)
	_, address := start(t, Config{Open: open, Log: log.logger()})
	r := core(t, "barrier")
	c := connect(t, address, r.Core)
	_, err := c.ListThreads(t.Context(), &ompdv1.ListThreadsRequest{Target: c.target})
	codeOf(t, "a call that panics", err, codes.Internal)
	if !log.contains("level=ERROR", "nil pointer dereference", "connection_test.go", c.target) {
		t.Errorf("the log does not tell: %s", log)
	}
	got, _ := c.report(t)
	sameJSON(t, "report after a panic", got, direct(t, r.Core))
	if !log.contains("level=INFO", "method=/ompd.v1.InspectionService/GetReport", "code=OK", "took=") {
		t.Errorf("the log does not tell of the calls: %s", log)
	}
}

// TestShutdownLeavesComputing ends a server during a long computation, whatever the caller's deadline.
func TestShutdownLeavesComputing(t *testing.T) {
	began, free := make(chan struct{}), make(chan struct{})
	open := func(ctx context.Context, spec *ompdv1.TargetSpec, means Means) (Opened, error) {
		o, err := openCore(ctx, spec, means)
		return &hooked{Opened: o, closed: make(chan struct{}), look: func(context.Context) {
			close(began)
			<-free
		}}, err
	}
	address := "unix://" + filepath.Join(t.TempDir(), "s")
	l, creds, err := Listen(address, []int{ownUID()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, served, called := New(Config{Open: open, Policy: Policy{Dirs: []string{"/"}}, Credentials: creds}),
		make(chan error, 1), make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	c := connect(t, address, core(t, "taskwait").Core)
	go func() {
		_, err := c.ListThreads(t.Context(), &ompdv1.ListThreadsRequest{Target: c.target})
		called <- err
	}()
	<-began
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	s.Shutdown(ended)
	if err := <-served; err != nil {
		t.Errorf("Serve: %v", err)
	}
	if err := <-called; status.Code(err) != codes.Unavailable {
		t.Errorf("the call: %v", err)
	}
	close(free)
	s.closing.Wait()
}
