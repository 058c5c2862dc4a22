// Package server serves the gRPC API of proto/ompd/v1: the picture of targets, the routines of OMPD, and
// targets that debuggers lend.
//
// It contains no OpenMP logic and does not handle cores or processes itself: the creator of a Server supplies a
// function that opens them. A connection is a session: its targets and handles are its own and end with it.
package server

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/guard/budget"
	"github.com/ompd-inspect/ompd-inspect/picture"
	ompdv1 "github.com/ompd-inspect/ompd-inspect/proto/ompd/v1"
	"github.com/ompd-inspect/ompd-inspect/session"
)

// Opened is a target that Config.Open opened, such as a session.Target. It is used by one goroutine at a time.
type Opened interface {
	// Snapshot takes a snapshot, which later calls query. The copy of a living target contains all parts of q. After
	// ctx has ended, reads of the snapshot fail.
	Snapshot(ctx context.Context, q session.Query) (*session.Snapshot, error)
	// Living reports whether the target can change by itself between two snapshots.
	Living() bool
	// Close frees the target. Its snapshots are closed before.
	Close() error
}

// OpenFile opens a file for reading. Forbidden files seem to be missing.
type OpenFile = func(name string) (*os.File, error)

// Means are the resources of a target.
type Means struct {
	// Open opens the files that the policy allows; nil: all files.
	Open OpenFile
	// Memory counts the target's memory; closing the target releases the remainder.
	Memory callbacks.Ledger
}

// Config defines the targets and the clients of a Server.
type Config struct {
	// Open opens a core or a process; the server has checked its name against the policy. The paths in spec are
	// absolute. Every file, the core included, must be opened by means.Open.
	Open func(ctx context.Context, spec *ompdv1.TargetSpec, means Means) (Opened, error)
	// Lend opens a target that a debugger lends; hello is the debugger's first message, and ask sends it
	// questions. If Lend is nil, debuggers are not served.
	Lend func(hello *ompdv1.Hello, ask Asker, means Means) (Lent, error)
	// Processes finds the processes that use OpenMP, and measures their CPU use for the sample time. If it is
	// nil, processes cannot be listed.
	Processes func(ctx context.Context, sample time.Duration) (*picture.Processes, error)
	// Policy defines the targets and files that may be opened and read.
	Policy Policy
	// Memory limits the memory of all targets of one user, in bytes; 0: no limit. All users together may take
	// half as much again.
	Memory uint64
	// Limits bound the resources of one client; zero values mean the defaults.
	Limits Limits
	// Credentials are those of the listener (see Listen).
	Credentials credentials.TransportCredentials
	// Token is required in every call, unless it is empty.
	Token string
	// Log gets one line per call and per panic; nil discards them.
	Log *slog.Logger
}

// Server serves the API on one listener.
type Server struct {
	cfg    Config
	log    *slog.Logger
	grpc   *grpc.Server
	health *health.Server
	ended  atomic.Int64 // number of ended calls and connections

	conns *conns

	mu       sync.Mutex
	sessions map[*connection]bool
	shared   map[string]*target // with a lease, or lent by a debugger
	users                       // with open resources
	closing  sync.WaitGroup     // targets that are being closed
}

// New returns a Server that Serve starts.
func New(cfg Config) *Server {
	cfg.Limits = cfg.Limits.orDefault()
	s := &Server{cfg: cfg, log: cfg.Log, health: health.NewServer(), sessions: map[*connection]bool{},
		shared: map[string]*target{}}
	s.users = users{all: map[string]*user{}, limit: cfg.Memory, memory: budget.NewLedger(cfg.Memory + cfg.Memory/2)}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.conns = &conns{limits: cfg.Limits, full: s.full, all: map[string]*counted{}, of: map[string]int{}}
	options := []grpc.ServerOption{
		grpc.InTapHandle(s.admit),
		grpc.ConnectionTimeout(cfg.Limits.Patience.Admission),
		grpc.StatsHandler(connections{s}),
		grpc.ChainUnaryInterceptor(s.unary),
		grpc.ChainStreamInterceptor(s.stream),
		grpc.MaxRecvMsgSize(cfg.Limits.Message),
		grpc.MaxSendMsgSize(cfg.Limits.Message),
		grpc.MaxConcurrentStreams(uint32(cfg.Limits.Calls)),
		grpc.MaxHeaderListSize(maxHeaders),
		grpc.InitialWindowSize(window), grpc.InitialConnWindowSize(connWindow),
		grpc.ForceServerCodecV2(sized{encoding.GetCodecV2("proto")}),
		// A keepalive finds clients that vanished.
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: aliveEvery, Timeout: cfg.Limits.Patience.Answer,
			MaxConnectionIdle: cfg.Limits.Idle}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: aliveWithin, PermitWithoutStream: true}),
	}
	if cfg.Credentials != nil {
		options = append(options, grpc.Creds(cfg.Credentials))
	}
	s.grpc = grpc.NewServer(options...)
	ompdv1.RegisterInspectionServiceServer(s.grpc, &inspection{server: s})
	ompdv1.RegisterOmpdServiceServer(s.grpc, &routines{})
	ompdv1.RegisterTraceServiceServer(s.grpc, &tracing{server: s})
	ompdv1.RegisterDebuggerServiceServer(s.grpc, &debuggers{server: s})
	healthv1.RegisterHealthServer(s.grpc, s.health)
	reflection.Register(s.grpc)
	for service := range s.grpc.GetServiceInfo() {
		s.health.SetServingStatus(service, healthv1.HealthCheckResponse_SERVING)
	}
	return s
}

const (
	// maxHeaders bounds the headers of a call, in bytes: a token and gRPC's own.
	maxHeaders = 16 << 10
	// window is the number of bytes of a message that a client may send before they are read.
	window = 64 << 10
	// connWindow is the same for all messages on a connection.
	connWindow = 2 * window
	// aliveEvery is the time between keepalives to a silent client.
	aliveEvery = time.Minute
	// aliveWithin limits the time for the answer, and the rate of the client's own keepalives.
	aliveWithin = 20 * time.Second
)

// Serve serves l until Shutdown, then returns nil.
func (s *Server) Serve(l net.Listener) error {
	s.log.Info("serving", "address", l.Addr().String())
	open := &limited{Listener: l, free: make(chan struct{}, s.cfg.Limits.Connections), conns: s.conns}
	stop := s.giveBack()
	defer stop()
	err := s.grpc.Serve(open)
	if errors.Is(err, grpc.ErrServerStopped) {
		return nil
	}
	return err
}

// Shutdown refuses new calls, waits for those in progress until ctx ends, ends the rest, and frees all targets.
// Calls that compute do not notice their end: after lastWait, they are left with their targets.
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
			s.log.Warn("calls that are still computing are abandoned")
		}
	}
	s.log.Info("stopped")
}

// lastWait is the time for ended calls to return: they notice at the next memory read or send.
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
