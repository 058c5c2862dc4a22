// Package server serves the gRPC API of proto/ompd/v1: the picture of targets,
// the routines of OMPD, and targets that debuggers lend.
//
// It holds no OpenMP logic and does not know what a core or a process is: who
// makes a Server gives it a function that opens them. A connection is a session:
// its targets and handles are its own and end with it.
package server

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"

	"github.com/ompd-inspect/ompd-inspect/inspect"
	ompdv1 "github.com/ompd-inspect/ompd-inspect/proto/ompd/v1"
	"github.com/ompd-inspect/ompd-inspect/remote"
)

// Opened is a target that Config.Open opened. It is used by one goroutine at a
// time.
type Opened interface {
	// Look makes an Inspector of the target as it is at one moment. A target
	// that is not stopped lets read ask everything that later calls may ask,
	// perhaps several times, and keeps the answers. Once ctx has ended, reads
	// of the target fail.
	Look(ctx context.Context, read func(*inspect.Inspector)) (*inspect.Inspector, error)
	// Living tells whether the target may be different at another moment.
	Living() bool
	// Close frees the target. Its Inspectors must not be used after it.
	Close() error
}

// Config says what a Server serves, and to whom.
type Config struct {
	// Open opens a core or a process; the server checked that the policy
	// allows it. The paths in spec are absolute.
	Open func(ctx context.Context, spec *ompdv1.TargetSpec) (Opened, error)
	// Lend opens what a debugger lends that said hello; ask asks it. nil means
	// that no debugger is served.
	Lend func(hello *ompdv1.Hello, ask remote.Asker) (Lent, error)
	// Processes finds the processes that use OpenMP, and measures their use of
	// processors for so long. nil means that they are not told.
	Processes func(ctx context.Context, sample time.Duration) (*inspect.Processes, error)
	// Policy says what may be opened and read.
	Policy Policy
	// Limits bound what one client can use; zero values mean the defaults.
	Limits Limits
	// Credentials are those of the listener (see Listen).
	Credentials credentials.TransportCredentials
	// Token must be given by every call, if it is not empty.
	Token string
	// Log gets one line for each call, and one for each panic. nil discards.
	Log *slog.Logger
}

// Server serves the API on one listener.
type Server struct {
	cfg    Config
	log    *slog.Logger
	grpc   *grpc.Server
	health *health.Server

	mu       sync.Mutex
	sessions map[*session]bool
	shared   map[string]*target // with a lease, or lent by a debugger
	open     int                // targets of all sessions
	closing  sync.WaitGroup     // targets that are being closed
}

// New returns a Server that Serve starts.
func New(cfg Config) *Server {
	cfg.Limits = cfg.Limits.orDefault()
	s := &Server{cfg: cfg, log: cfg.Log, health: health.NewServer(), sessions: map[*session]bool{}, shared: map[string]*target{}}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	options := []grpc.ServerOption{
		grpc.StatsHandler(connections{s}),
		grpc.ChainUnaryInterceptor(s.unary),
		grpc.ChainStreamInterceptor(s.stream),
		grpc.MaxRecvMsgSize(cfg.Limits.Message),
		grpc.MaxSendMsgSize(cfg.Limits.Message),
		grpc.MaxConcurrentStreams(uint32(cfg.Limits.Calls)),
		// A client that vanished without a word is found by asking it.
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: aliveEvery, Timeout: aliveWithin}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: aliveWithin, PermitWithoutStream: true}),
	}
	if cfg.Credentials != nil {
		options = append(options, grpc.Creds(cfg.Credentials))
	}
	s.grpc = grpc.NewServer(options...)
	ompdv1.RegisterInspectionServiceServer(s.grpc, &inspection{server: s})
	ompdv1.RegisterOmpdServiceServer(s.grpc, &routines{})
	ompdv1.RegisterDebuggerServiceServer(s.grpc, &debuggers{server: s})
	healthv1.RegisterHealthServer(s.grpc, s.health)
	reflection.Register(s.grpc)
	return s
}

const (
	// aliveEvery is how often a silent client is asked whether it is there.
	aliveEvery = time.Minute
	// aliveWithin is how long it may take to answer.
	aliveWithin = 20 * time.Second
)

// Serve answers on l until Shutdown. It returns nil after a shutdown.
func (s *Server) Serve(l net.Listener) error {
	s.log.Info("serving", "address", l.Addr().String())
	err := s.grpc.Serve(&limited{Listener: l, free: make(chan struct{}, s.cfg.Limits.Connections)})
	if errors.Is(err, grpc.ErrServerStopped) {
		return nil
	}
	return err
}

// Shutdown takes no more calls, waits for those under way until ctx ends, ends
// the rest, and frees all targets. Calls that compute, and so do not notice that
// they were ended, are left behind with their targets after lastWait.
func (s *Server) Shutdown(ctx context.Context) {
	s.health.Shutdown()
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.grpc.GracefulStop()
		s.free()
	}()
	select {
	case <-done:
	case <-ctx.Done():
		s.grpc.Stop()
		select {
		case <-done:
		case <-time.After(lastWait):
			s.log.Warn("calls that are computing are left behind")
		}
	}
	s.log.Info("stopped")
}

// lastWait is how long calls that were cut off may go on: they notice when they
// read the target's memory next, or send.
const lastWait = 2 * time.Second

// free frees all targets.
func (s *Server) free() {
	s.mu.Lock()
	left := make([]*target, 0, len(s.shared))
	for _, t := range s.shared {
		left = append(left, t)
	}
	s.mu.Unlock()
	for _, t := range left {
		s.release(t)
	}
	s.closing.Wait()
}

// limited is a listener that has so many connections at a time as free has room
// for; others wait to be accepted.
type limited struct {
	net.Listener
	free chan struct{}
}

// Accept waits for room and then for a connection.
func (l *limited) Accept() (net.Conn, error) {
	l.free <- struct{}{}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.free
		return nil, err
	}
	return &counted{Conn: c, leave: sync.OnceFunc(func() { <-l.free })}, nil
}

// counted is a connection that makes room when it is closed.
type counted struct {
	net.Conn
	leave func()
}

// Close closes the connection and makes room for another.
func (c *counted) Close() error {
	defer c.leave()
	return c.Conn.Close()
}
