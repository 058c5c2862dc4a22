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

	"github.com/ompd-inspect/ompd-inspect/internal/guard/files"
	ompdv1 "github.com/ompd-inspect/ompd-inspect/proto/ompd/v1"
	"github.com/ompd-inspect/ompd-inspect/server"
	"github.com/ompd-inspect/ompd-inspect/session"
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
	each                           servedTarget
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
where, and no process unless --allow-uid says whose.

--allow-dir holds for every file that is opened for a client, also for those that a
core, a debugger's program or its loader names: what is not below these directories is
not found, whether it exists or not, and links out of them lead nowhere. Beside them are
read the system's own libraries and debug information, below ` + strings.Join(files.System(), ", ") + `,
and the files that a process which may be looked at has mapped.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.each.maxMemory = a.open.maxMemory
			if o.stdio {
				return a.serveStdio(cmd.Context(), o.each)
			}
			return a.serve(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.listen, "listen", server.DefaultAddress(), "unix:///path or tcp://host:port")
	f.StringArrayVar(&o.dirs, "allow-dir", nil, "directory below which files may be opened for clients: cores, "+
		"programs, debug files (may be repeated; unix socket: default /)")
	f.IntSliceVar(&o.uids, "allow-uid", nil, "users who may connect to the unix socket, and whose processes may be "+
		"looked at (unix socket: default this user)")
	f.BoolVar(&o.memory, "allow-memory", false, "let clients read any memory of their targets")
	f.StringVar(&o.tokenFile, "token-file", "", "file with the token that clients must show")
	f.StringVar(&o.cert, "tls-cert", "", "file with the server's certificate, PEM")
	f.StringVar(&o.key, "tls-key", "", "file with its key, PEM")
	f.StringVar(&o.clientCA, "tls-client-ca", "", "file with the authorities whose certificates clients must show, PEM")
	f.BoolVar(&o.stdio, "stdio", false, "serve only the process that started this one, over its pipes, in frames of "+
		"JSON (gdb/ompd_inspect.py)")
	f.BoolVar(&o.logJSON, "log-json", false, "log JSON, not text")
	f.IntVar(&o.limits.Connections, "max-connections", 0, "connections at a time; more wait (default 1024)")
	f.IntVar(&o.limits.Targets, "max-targets", 0, "targets that one connection may have open (default 32)")
	f.DurationVar(&o.limits.Call, "max-call", 0, "time that one call may take (default 2m)")
	f.DurationVar(&o.limits.Idle, "max-idle", 0, "time after which a target that nobody asks for is freed (default 1h)")
	return cmd
}

// serve listens and serves until a signal comes.
func (c Command) serve(ctx context.Context, o *serveOptions) error {
	ctx, stop := signal.NotifyContext(ctx, unix.SIGINT, unix.SIGTERM)
	defer stop()
	unhurried()
	bounded(o.each.maxMemory)
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

// bounded has a server that may hold so much of targets collect memory in time: of what
// it holds, half as much again is not used any more at most, or what its clients send.
func bounded(memory sizeValue) {
	if memory > 0 {
		debug.SetMemoryLimit(int64(memory) + int64(memory)/2)
	}
}

// connectUIDs are the users who may connect to a unix socket.
func (o *serveOptions) connectUIDs() []int {
	if o.uids == nil {
		return []int{os.Getuid()}
	}
	return o.uids
}

// serverConfig checks the flags that go together.
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
			return nil, usageError{errors.New("serve: over TCP clients must show a token (--token-file) or a " +
				"certificate (--tls-cert, --tls-key and --tls-client-ca)")}
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

// servedTarget is how each target of a server is opened.
type servedTarget struct {
	maxMemory sizeValue // that one may make the server hold
}

// open opens a target for a client of the server.
func (l servedTarget) open(ctx context.Context, spec *ompdv1.TargetSpec, means server.Means) (server.Opened, error) {
	name := spec.GetCore()
	if pid := spec.GetPid(); pid != 0 {
		name = fmt.Sprint(pid)
	}
	o := l.optionsOf(spec)
	o.Open, o.Memory = means.Open, means.Memory
	t, err := session.Open(ctx, name, o)
	if err != nil {
		return nil, err
	}
	return t, nil
}

// optionsOf are the flags that a client gave, within the limit of memory of the server.
func (l servedTarget) optionsOf(spec *ompdv1.TargetSpec) session.Options {
	o := openOptions{
		exe: spec.GetExe(), sysroot: spec.GetSysroot(), debugDirs: spec.GetDebugDirs(),
		noDebuginfod: spec.GetNoDebuginfod(),
		sources:      spec.GetSources(), noStop: spec.GetNoStop(),
		maxMemory: l.maxMemory,
	}.session()
	o.Label, o.Work = spec.GetLabel(), session.DefaultBudget
	return o
}
