package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"os/signal"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc/credentials"

	ompdv1 "github.com/ompd-inspect/ompd-inspect/proto/ompd/v1"
	"github.com/ompd-inspect/ompd-inspect/server"
)

// serveOptions are the flags of serve.
type serveOptions struct {
	listen                         string
	dirs                           []string
	uids                           []int
	memory                         bool
	tokenFile, cert, key, clientCA string
	logJSON, stdio                 bool
	limits                         server.Limits
}

// grace is how long calls under way may take to end after a signal.
const grace = 5 * time.Second

// serveVerb serves the gRPC API.
func (a *app) serveVerb() *cobra.Command {
	o := &serveOptions{}
	cmd := &cobra.Command{
		Use: "serve", Short: "Serve the gRPC API to debuggers, IDEs and `ompd-inspect --server`", Args: cobra.NoArgs,
		Long: `Serves the gRPC API (proto/ompd/v1) until SIGINT or SIGTERM: pictures of cores and
processes, the routines of OMPD, and targets that debuggers lend.

Without --listen, it listens on a unix socket that only this user can connect to:
$XDG_RUNTIME_DIR/ompd-inspect.sock, or /tmp/ompd-inspect-UID/ompd-inspect.sock.
Over TCP it listens only if told to, and only for clients that show a token
(--token-file) or a certificate (--tls-client-ca); on an address that is not of the
loopback interface only with --tls-cert and --tls-key.

Everything only reads. Over TCP, no core can be opened unless --allow-dir says from
where, and no process unless --allow-uid says whose.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.stdio {
				return a.serveStdio(cmd.Context())
			}
			return a.serve(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.listen, "listen", server.DefaultAddress(), "unix:///path or tcp://host:port")
	f.StringArrayVar(&o.dirs, "allow-dir", nil, "directory below which clients may name cores and files (may be repeated; unix socket: default /)")
	f.IntSliceVar(&o.uids, "allow-uid", nil, "users who may connect to the unix socket, and whose processes may be looked at (unix socket: default this user)")
	f.BoolVar(&o.memory, "allow-memory", false, "let clients read any memory of their targets")
	f.StringVar(&o.tokenFile, "token-file", "", "file with the token that clients must show")
	f.StringVar(&o.cert, "tls-cert", "", "file with the server's certificate, PEM")
	f.StringVar(&o.key, "tls-key", "", "file with its key, PEM")
	f.StringVar(&o.clientCA, "tls-client-ca", "", "file with the authorities whose certificates clients must show, PEM")
	f.BoolVar(&o.stdio, "stdio", false, "serve only the process that started this one, over its pipes, in frames of JSON (gdb/ompd_inspect.py)")
	f.BoolVar(&o.logJSON, "log-json", false, "log JSON, not text")
	f.IntVar(&o.limits.Connections, "max-connections", 0, "connections at a time; more wait (default 1024)")
	f.IntVar(&o.limits.Targets, "max-targets", 0, "targets that one connection may have open (default 32)")
	f.DurationVar(&o.limits.Call, "max-call", 0, "time that one call may take (default 2m)")
	f.DurationVar(&o.limits.Idle, "max-idle", 0, "time after which a target that nobody asks for is freed (default 1h)")
	return cmd
}

// serve listens and serves until a signal comes.
func (a *app) serve(ctx context.Context, o *serveOptions) error {
	ctx, stop := signal.NotifyContext(ctx, unix.SIGINT, unix.SIGTERM)
	defer stop()
	debug.SetMemoryLimit(math.MaxInt64) // those of main are for a process that ends soon
	debug.SetGCPercent(100)
	cfg, err := a.serverConfig(o)
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
	if _, err := fmt.Fprintf(a.stdout, "listening on %s\n", at); err != nil {
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

// connectUIDs are the users who may connect to a unix socket.
func (o *serveOptions) connectUIDs() []int {
	if o.uids == nil {
		return []int{os.Getuid()}
	}
	return o.uids
}

// serverConfig checks the flags that go together.
func (a *app) serverConfig(o *serveOptions) (*server.Config, error) {
	cfg := &server.Config{Open: openServed, Lend: lendServed, Processes: processes, Limits: o.limits, Policy: server.Policy{Dirs: o.dirs, UIDs: o.uids, Memory: o.memory}}
	options := &slog.HandlerOptions{Level: slog.LevelInfo}
	cfg.Log = slog.New(slog.NewTextHandler(a.stderr, options))
	if o.logJSON {
		cfg.Log = slog.New(slog.NewJSONHandler(a.stderr, options))
	}
	var err error
	if cfg.Token, err = readToken(o.tokenFile); err != nil {
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
			return nil, usageError{errors.New("serve: over TCP clients must show a token (--token-file) or a certificate (--tls-cert, --tls-key and --tls-client-ca)")}
		}
		return cfg, nil
	}
	// Who can connect is this user, or trusted by it.
	if o.dirs == nil {
		cfg.Policy.Dirs = []string{"/"}
	}
	cfg.Policy.UIDs = o.connectUIDs()
	return cfg, nil
}

// openServed opens a target for a client of the server.
func openServed(_ context.Context, spec *ompdv1.TargetSpec) (server.Opened, error) {
	quiet, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0) // for the progress that nobody sees
	if err != nil {
		return nil, err
	}
	defer quiet.Close()
	a := &app{stderr: quiet, open: optionsOf(spec)}
	name := spec.GetCore()
	if pid := spec.GetPid(); pid != 0 {
		name = fmt.Sprint(pid)
	}
	t, err := a.openTarget(name)
	if err != nil {
		return nil, err
	}
	if c, ok := t.(coreTarget); ok && spec.GetLabel() != "" {
		c.path = spec.GetLabel()
		t = c
	}
	return &served{app: a, target: t}, nil
}

// optionsOf are the flags that a client gave.
func optionsOf(spec *ompdv1.TargetSpec) openOptions {
	return openOptions{
		exe: spec.GetExe(), sysroot: spec.GetSysroot(), debugDirs: spec.GetDebugDirs(), noDebuginfod: spec.GetNoDebuginfod(),
		sources: spec.GetSources(), noStop: spec.GetNoStop(), fullLayout: spec.GetFullLayout(),
	}
}
