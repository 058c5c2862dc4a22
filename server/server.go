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

// Opened is a target that Config.Open opened. It is used by one goroutine at a
// time.
type Opened interface {
	// Hold makes a Moment of the present one, of which later calls ask. That of a
	// target that goes on meanwhile has all that q asks for. Once ctx has ended,
	// reads of it fail.
	Hold(ctx context.Context, q session.Question) (*session.Moment, error)
	// Living reports whether the target may be different at another moment.
	Living() bool
	// Close frees the target. Its moments must not be used after it.
	Close() error
}

// OpenFile opens a file for reading. Those that are not to be opened are not there.
type OpenFile = func(name string) (*os.File, error)

// Means are what a target may use.
type Means struct {
	// Open opens the files that the policy allows; nil if that is all.
	Open OpenFile
	// Memory counts what the target takes; what it has not given back when it is closed is
	// given back then.
	Memory callbacks.Ledger
}

// Config says what a Server serves, and to whom.
type Config struct {
	// Open opens a core or a process; the server checked that the policy allows its
	// name. The paths in spec are absolute. Every file, the core too, must be opened by
	// means.Open.
	Open func(ctx context.Context, spec *ompdv1.TargetSpec, means Means) (Opened, error)
	// Lend opens the target that a debugger lends; hello is the debugger's first message, and ask sends it questions.
	// A nil Lend means that no debugger is served.
	Lend func(hello *ompdv1.Hello, ask Asker, means Means) (Lent, error)
	// Processes finds the processes that use OpenMP, and measures their use of
	// processors for so long. nil means that they are not told.
	Processes func(ctx context.Context, sample time.Duration) (*picture.Processes, error)
	// Policy says what may be opened and read.
	Policy Policy
	// Memory is what all targets of one user may make this process hold, in bytes, 0 for
	// any; all users together have half as much again.
	Memory uint64
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
	ended  atomic.Int64 // calls, and connections

	conns *conns

	mu       sync.Mutex
	sessions map[*connection]bool
	shared   map[string]*target // with a lease, or lent by a debugger
	users                       // who hold something
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
		// A client that vanished without a word is found by asking it.
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
	return s
}

const (
	// maxHeaders bounds the headers of a call, in bytes: a token and what gRPC adds.
	maxHeaders = 16 << 10
	// window is how many bytes a client may send of a message before somebody reads it.
	window = 64 << 10
	// connWindow is the same of all messages on a connection.
	connWindow = 2 * window
	// aliveEvery is how often a silent client is asked whether it is there.
	aliveEvery = time.Minute
	// aliveWithin is how long it may take to answer, and how often it may ask itself.
	aliveWithin = 20 * time.Second
)

// Serve answers on l until Shutdown. It returns nil after a shutdown.
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
			s.log.Warn("calls that are still computing are abandoned")
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
