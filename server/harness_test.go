package server

import (
	"context"
	"net"
	"path/filepath"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/ompd-inspect/ompd-inspect/internal/engine"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
	ompdv1 "github.com/ompd-inspect/ompd-inspect/proto/ompd/v1"
	"github.com/ompd-inspect/ompd-inspect/session"
)

// core makes a core of a program on LLVM 16's runtime.
func core(t testing.TB, program string, args ...string) *omptest.Result {
	t.Helper()
	return omptest.Dump(t, omptest.Run{
		Exe: omptest.Compile(t, omptest.Build{Program: program}), Runtime: omptest.RuntimeOf(t, 16),
		Mode: omptest.Kernel, Args: args,
	})
}

// openCore opens a core as the command does.
func openCore(ctx context.Context, spec *ompdv1.TargetSpec, means Means) (Opened, error) {
	t, err := session.Open(ctx, spec.GetCore(), session.Options{Label: spec.GetLabel(), Open: means.Open,
		Memory: means.Memory})
	if err != nil {
		return nil, err
	}
	return t, nil
}

// direct returns the picture of a core without a server.
func direct(t testing.TB, path string, parts ...ompdv1.PicturePart) *picture.Picture {
	t.Helper()
	c, err := openCore(t.Context(), specOf(path), Means{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	s, err := c.Snapshot(t.Context(), session.Query{})
	if err != nil {
		t.Fatal(err)
	}
	return (*engine.Snapshot)(s).Ask(questionOf(parts)).Picture
}

func specOf(path string) *ompdv1.TargetSpec {
	return &ompdv1.TargetSpec{Source: &ompdv1.TargetSpec_Core{Core: path}}
}

// start starts a server on a unix socket and returns the socket.
func start(t testing.TB, cfg Config) (*Server, string) {
	t.Helper()
	if cfg.Open == nil {
		cfg.Open = openCore
	}
	if cfg.Policy.Dirs == nil {
		cfg.Policy.Dirs = []string{"/"}
	}
	address := "unix://" + filepath.Join(t.TempDir(), "s")
	l, creds, err := Listen(address, []int{ownUID()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Credentials = creds
	return startOn(t, cfg, l), address
}

// startOn starts a server on a listener; the server must stop when the test ends.
func startOn(t testing.TB, cfg Config, l net.Listener) *Server {
	t.Helper()
	s := New(cfg)
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	t.Cleanup(func() {
		s.Shutdown(context.Background())
		if err := <-done; err != nil {
			t.Errorf("Serve: %v", err)
		}
		if s.targets != 0 || len(s.shared) != 0 || s.memory.HeldBytes() != 0 {
			t.Errorf("%d targets are still open, %d shared, %d bytes are counted", s.targets, len(s.shared),
				s.memory.HeldBytes())
		}
	})
	return s
}

// dial connects a client.
func dial(t testing.TB, address string, options ...grpc.DialOption) *grpc.ClientConn {
	t.Helper()
	options = append([]grpc.DialOption{grpc.WithTransportCredentials(insecure.NewCredentials())}, options...)
	c, err := grpc.NewClient(address, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// client is a connection with an open core.
type client struct {
	ompdv1.InspectionServiceClient
	ompdv1.OmpdServiceClient
	conn   *grpc.ClientConn
	target string
}

func connect(t testing.TB, address, path string, options ...grpc.DialOption) *client {
	t.Helper()
	conn := dial(t, address, options...)
	c := &client{ompdv1.NewInspectionServiceClient(conn), ompdv1.NewOmpdServiceClient(conn), conn, ""}
	resp, err := c.OpenTarget(t.Context(), &ompdv1.OpenTargetRequest{Spec: specOf(path)})
	if err != nil {
		t.Fatal(err)
	}
	c.target = resp.GetTarget().GetName()
	return c
}
