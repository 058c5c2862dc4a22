package server

import (
	"cmp"
	"context"
	"errors"
	"net"
	"path/filepath"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/corefile"
	"github.com/ompd-inspect/ompd-inspect/inspect"
	"github.com/ompd-inspect/ompd-inspect/internal/omptest"
	"github.com/ompd-inspect/ompd-inspect/ompd"
	ompdv1 "github.com/ompd-inspect/ompd-inspect/proto/ompd/v1"
	"github.com/ompd-inspect/ompd-inspect/symbolize"
	"github.com/ompd-inspect/ompd-inspect/unwind"
)

// core makes a core of a program on LLVM 16's runtime.
func core(t testing.TB, program string, args ...string) *omptest.Result {
	t.Helper()
	return omptest.Dump(t, omptest.Run{
		Exe: omptest.Compile(t, omptest.Build{Program: program}), Runtime: omptest.RuntimeOf(t, 16), Mode: omptest.Kernel, Args: args,
	})
}

// openedCore is a core as the command opens it.
type openedCore struct {
	*corefile.Core
	path string
	sym  *symbolize.Symbolizer
}

func openCore(_ context.Context, spec *ompdv1.TargetSpec) (Opened, error) {
	c, err := corefile.Open(spec.GetCore(), corefile.Options{})
	if err != nil {
		return nil, err
	}
	return &openedCore{Core: c, path: cmp.Or(spec.GetLabel(), spec.GetCore())}, nil
}

// gated is a core whose memory cannot be read once ctx has ended.
type gated struct {
	*corefile.Core
	ctx context.Context
}

func (g gated) ReadMemory(a callbacks.Address, p []byte) error {
	if err := g.ctx.Err(); err != nil {
		return &callbacks.FaultError{Address: a, Err: err}
	}
	return g.Core.ReadMemory(a, p)
}

func (c *openedCore) Look(ctx context.Context, _ func(*inspect.Inspector)) (*inspect.Inspector, error) {
	mods, _ := c.Modules()
	g := gated{c.Core, ctx}
	spaces, err := ompd.Open(g, ompd.Options{})
	if err != nil && !errors.Is(err, ompd.ErrNoRuntime) {
		return nil, err
	}
	cfg := inspect.Config{Target: g, Symbolizer: symbolize.New(mods, symbolize.Options{}), Unwinder: unwind.New(g, c.Arch(), mods)}
	for _, s := range spaces {
		cfg.Runtimes = append(cfg.Runtimes, s)
	}
	c.sym = cfg.Symbolizer
	in, err := inspect.New(cfg)
	if err == nil {
		in.Describe(inspect.Target{Kind: "core", Path: c.path, PID: c.Info().PID, CrashedLWP: int(c.Info().CrashedLWP)})
	}
	return in, err
}

func (c *openedCore) Living() bool { return false }

func (c *openedCore) Close() error {
	if c.sym != nil {
		if err := c.sym.Close(); err != nil {
			return err
		}
	}
	return c.Core.Close()
}

// direct is the picture of a core without a server.
func direct(t testing.TB, path string, parts ...ompdv1.PicturePart) *inspect.Picture {
	t.Helper()
	c, err := openCore(t.Context(), specOf(path))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	in, err := c.Look(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return pictureOf(in, parts)
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

// startOn starts a server on a listener; it must stop when the test ends.
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
		if s.open != 0 || len(s.shared) != 0 {
			t.Errorf("%d targets are still open, %d shared", s.open, len(s.shared))
		}
	})
	return s
}

// dial connects a client.
func dial(t testing.TB, address string, options ...grpc.DialOption) *grpc.ClientConn {
	t.Helper()
	if len(options) == 0 {
		options = []grpc.DialOption{grpc.WithTransportCredentials(insecure.NewCredentials())}
	}
	c, err := grpc.NewClient(address, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// client is a connection with a core open.
type client struct {
	ompdv1.InspectionServiceClient
	ompdv1.OmpdServiceClient
	conn   *grpc.ClientConn
	target string
}

func connect(t testing.TB, address, path string) *client {
	t.Helper()
	conn := dial(t, address)
	c := &client{ompdv1.NewInspectionServiceClient(conn), ompdv1.NewOmpdServiceClient(conn), conn, ""}
	resp, err := c.OpenTarget(t.Context(), &ompdv1.OpenTargetRequest{Spec: specOf(path)})
	if err != nil {
		t.Fatal(err)
	}
	c.target = resp.GetTarget().GetName()
	return c
}
