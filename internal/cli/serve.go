package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc/credentials"

	"github.com/ompd-inspect/ompd-inspect/internal/engine"
	"github.com/ompd-inspect/ompd-inspect/internal/guard/files"
	ompdv1 "github.com/ompd-inspect/ompd-inspect/proto/ompd/v1"
	"github.com/ompd-inspect/ompd-inspect/server"
	"github.com/ompd-inspect/ompd-inspect/session"
)

// serveOptions contains the flags of serve.
type serveOptions struct {
	listen                         string
	dirs                           []string
	uids                           []int
	memory                         bool
	tokenFile, cert, key, clientCA string
	logJSON, stdio                 bool
	limits                         server.Limits
	each                           servedTarget
}

// grace is the time that calls in progress may take to end after a signal.
const grace = 5 * time.Second

// serveVerb returns the verb serve, the gRPC server.
func (a *app) serveVerb() *cobra.Command {
	o := &serveOptions{}
	cmd := &cobra.Command{
		Use: "serve", Short: "Serve the gRPC API to debuggers, IDEs and `ompd-inspect --server`", Args: cobra.NoArgs,
		Long: `Serves the gRPC API (proto/ompd/v1) until SIGINT or SIGTERM: pictures of cores and
processes, the routines of OMPD, and programs that debuggers provide.

Without --listen, it listens on a unix socket that only this user can connect to:
$XDG_RUNTIME_DIR/ompd-inspect.sock, or /tmp/ompd-inspect-UID/ompd-inspect.sock.
With --listen tcp://HOST:PORT, clients must show a token (--token-file) or a certificate
(--tls-client-ca). An address other than a loopback address also needs --tls-cert and
--tls-key.

The server only reads. Clients over TCP can open cores only below the directories of
--allow-dir, and processes only of the users of --allow-uid.

--allow-dir holds for every file that the server opens for a client, including files that a
core, a debugger's program or its loader names. A file outside these directories is
reported as not found, whether it exists or not; links that lead outside are not followed.
In addition the server reads the system's own libraries and debug information, below
` + strings.Join(files.System(), ", ") + `,
and the files that an allowed process has mapped.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.each.maxMemory = a.open.maxMemory
			if o.listen == "" { // not the flag's default: help must not depend on the environment
				o.listen = server.DefaultAddress()
			}
			if o.stdio {
				return a.serveStdio(cmd.Context(), o.each)
			}
			return a.serve(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.listen, "listen", "", "address: unix:///path or tcp://host:port (default: the socket above)")
	f.StringArrayVar(&o.dirs, "allow-dir", nil, "directory of files that the server may open for clients: cores, "+
		"programs, debug files (may be repeated; default for a unix socket: /)")
	f.IntSliceVar(&o.uids, "allow-uid", nil, "users who may connect to the unix socket, and whose processes clients "+
		"may "+
		"inspect (default for a unix socket: this user)")
	f.BoolVar(&o.memory, "allow-memory", false, "let clients read any memory of their targets")
	f.StringVar(&o.tokenFile, "token-file", "", "file with the token that clients must send")
	f.StringVar(&o.cert, "tls-cert", "", "file with the server's certificate (PEM)")
	f.StringVar(&o.key, "tls-key", "", "file with the key of the server's certificate (PEM)")
	f.StringVar(&o.clientCA, "tls-client-ca", "", "file with the CA certificates that clients' certificates must be "+
		"signed by (PEM)")
	f.BoolVar(&o.stdio, "stdio", false, "serve only the parent process, over its pipes, in frames of "+
		"JSON (gdb/ompd_inspect.py)")
	f.BoolVar(&o.logJSON, "log-json", false, "log as JSON")
	f.IntVar(&o.limits.Connections, "max-connections", 0, "limit of open connections; more wait (default 1024)")
	f.IntVar(&o.limits.Targets, "max-targets", 0, "limit of open targets of one connection (default 32)")
	f.DurationVar(&o.limits.Call, "max-call", 0, "time limit of one call (default 2m)")
	f.DurationVar(&o.limits.Idle, "max-idle", 0, "time after which an unused target is closed (default 1h)")
	return cmd
}

// serve listens and serves until a signal arrives.
func (c Command) serve(ctx context.Context, o *serveOptions) error {
	ctx, stop := signal.NotifyContext(ctx, unix.SIGINT, unix.SIGTERM)
	defer stop()
	restoreGC()
	limitHeap(o.each.maxMemory)
	cfg, err := c.serverConfig(o)
	if err != nil {
		return err
	}
	l, creds, err := server.Listen(o.listen, o.connectUIDs(), cfg.Credentials)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	cfg.Credentials = creds
	s := server.New(*cfg)
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	at := o.listen
	if isTCP(at) {
		at = "tcp://" + l.Addr().String() // the port may have been chosen just now
	}
	if _, err := fmt.Fprintf(c.Stdout, "listening on %s\n", at); err != nil {
		return err
	}
	select {
	case err = <-served:
	case <-ctx.Done():
	}
	ending, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	s.Shutdown(ending)
	return err
}

// limitHeap makes the garbage collector of a server run early enough that garbage stays below half of the
// memory its targets may use.
func limitHeap(memory sizeValue) {
	if memory > 0 {
		debug.SetMemoryLimit(int64(memory) + int64(memory)/2)
	}
}

// connectUIDs returns the users that may connect to a unix socket.
func (o *serveOptions) connectUIDs() []int {
	if o.uids == nil {
		return []int{os.Getuid()}
	}
	return o.uids
}

// serverConfig checks the flags and returns the configuration of the server.
func (c Command) serverConfig(o *serveOptions) (*server.Config, error) {
	cfg := &server.Config{
		Open: o.each.open, Lend: o.each.lend, Processes: processes, Limits: o.limits, Memory: uint64(o.each.maxMemory),
		Policy: server.Policy{Dirs: o.dirs, UIDs: o.uids, Memory: o.memory},
	}
	options := &slog.HandlerOptions{Level: slog.LevelInfo}
	cfg.Log = slog.New(slog.NewTextHandler(c.Stderr, options))
	if o.logJSON {
		cfg.Log = slog.New(slog.NewJSONHandler(c.Stderr, options))
	}
	var err error
	if cfg.Token, err = readToken("token", o.tokenFile); err != nil {
		return nil, err
	}
	config, err := serverTLS(o)
	if err != nil {
		return nil, err
	}
	if config != nil {
		cfg.Credentials = credentials.NewTLS(config)
	}
	if isTCP(o.listen) {
		if cfg.Token == "" && o.clientCA == "" {
			return nil, usageError{errors.New("serve: over TCP clients must show a token (--token-file) or a " +
				"certificate (--tls-cert, --tls-key and --tls-client-ca)")}
		}
		return cfg, nil
	}
	// The clients of a unix socket are this user, or trusted by this user.
	if o.dirs == nil {
		cfg.Policy.Dirs = []string{"/"}
	}
	cfg.Policy.UIDs = o.connectUIDs()
	return cfg, nil
}

// servedTarget contains the options with which a server opens targets.
type servedTarget struct {
	maxMemory sizeValue // limit of the memory that one target uses in the server
}

// open opens a target for a client of the server.
func (l servedTarget) open(ctx context.Context, spec *ompdv1.TargetSpec, means server.Means) (server.Opened, error) {
	name := spec.GetCore()
	if pid := spec.GetPid(); pid != 0 {
		name = fmt.Sprint(pid)
	}
	o := l.engineOptions(spec)
	o.Open, o.Memory = means.Open, means.Memory
	t, err := engine.Open(ctx, name, o)
	if err != nil {
		return nil, err
	}
	return (*session.Target)(t), nil
}

// engineOptions returns the options that a client sent, within the memory limit of the server.
func (l servedTarget) engineOptions(spec *ompdv1.TargetSpec) engine.Options {
	o := openOptions{
		exe: spec.GetExe(), sysroot: spec.GetSysroot(), debugDirs: spec.GetDebugDirs(),
		noDebuginfod: spec.GetNoDebuginfod(),
		sources:      spec.GetSources(), noStop: spec.GetNoStop(),
		maxMemory: l.maxMemory,
	}.engineOptions()
	o.Label, o.Work = spec.GetLabel(), engine.DefaultBudget
	return o
}
