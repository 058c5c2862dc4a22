// Package delve implements a target on top of a headless Delve server: it is a second client of Delve's
// JSON-RPC service (API version 2) and answers the questions of package remote through it.
//
// Delve provides memory, threads and registers; modules, symbols and thread-local variables are found from
// these and from the files. Delve's own debug information is used for only one address, that of the auxiliary
// vector.
package delve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"github.com/ompd-inspect/ompd-inspect/internal/target/remote"
)

// Scheme is the prefix of the name of a target that Delve holds: delve://HOST:PORT, or
// delve:///PATH for a unix socket.
const Scheme = "delve://"

// callTimeout bounds the time of a call that Delve answers immediately. It reads debug information while it
// stops a program, which takes seconds for large ones.
const callTimeout = 30 * time.Second

// apiVersion is the version of Delve's API that this package speaks.
const apiVersion = 2

// Errors of Open and Look. Test with errors.Is.
var (
	// ErrAPI means that Delve serves another version of its API.
	ErrAPI = errors.New("another version of Delve's API")
	// ErrSingleClient means that Delve accepts only this connection. Delve was asked to resume the program
	// before the disconnect, because it would have killed the program otherwise.
	ErrSingleClient = errors.New("the only client that Delve takes")
	// ErrNoProcess means that Delve holds no living process.
	ErrNoProcess = errors.New("no living process")
	// ErrRan means that another client resumed the program during the look.
	ErrRan = errors.New("another client of Delve resumed the program meanwhile")
)

// Options sets where the files of the program are searched, and timeouts. The zero value uses the
// program's paths.
type Options struct {
	remote.Options
	// Timeout is the maximal time for an answer of Delve; 0 means 30 seconds.
	Timeout time.Duration
}

// Process is a program that Delve holds. It supports one look at a time.
type Process struct {
	conn *conn
	opts Options
	info Info
	seen []*sight // of each look
}

// Info describes the program, as Delve reports it.
type Info struct {
	PID        int
	Executable string // path, as the program saw it
	Command    string // command line
	Version    string // of Delve
}

// ParseAddress parses the name of a target: HOST:PORT or the path of a socket.
func ParseAddress(name string) (string, error) {
	address := strings.TrimPrefix(name, Scheme)
	if strings.HasPrefix(address, "/") {
		return address, nil
	}
	if _, port, err := net.SplitHostPort(address); err != nil || port == "" {
		return "", fmt.Errorf("%s: it must be %sHOST:PORT, such as %s127.0.0.1:2345, or %s/PATH for a unix socket",
			name, Scheme, Scheme, Scheme)
	}
	return address, nil
}

// Open connects to the Delve at address and identifies its program. It does not touch the program. The error
// contains the next command.
func Open(ctx context.Context, address string, o Options) (*Process, error) {
	if o.Timeout == 0 {
		o.Timeout = callTimeout
	}
	c, err := dial(ctx, address, o.Timeout)
	if err != nil {
		return nil, err
	}
	p := &Process{conn: c, opts: o}
	if err := p.greet(ctx); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// Info returns Delve's description of the program; all but the version is known after the first
// look.
func (p *Process) Info() Info { return p.info }

// Close ends the connection. Targets of looks must not be used after it.
func (p *Process) Close() error {
	var errs []error
	for _, s := range p.seen {
		errs = append(errs, s.close())
	}
	p.seen = nil
	if err := p.conn.close(); err != nil && !errors.Is(err, net.ErrClosed) {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// greet checks the identity of the server.
func (p *Process) greet(ctx context.Context) error {
	var version struct {
		DelveVersion string
		APIVersion   int
	}
	if err := p.conn.call(ctx, "GetVersion", struct{}{}, &version); err != nil {
		return err
	}
	if version.APIVersion != apiVersion {
		return fmt.Errorf("%w: %s speaks version %d: start Delve with --api-version=%d", ErrAPI, p.conn.address,
			version.APIVersion, apiVersion)
	}
	p.info.Version = versionNumber(version.DelveVersion)
	var multi struct{ IsMulticlient bool }
	if err := p.conn.call(ctx, "IsMulticlient", struct{}{}, &multi); err != nil {
		return err
	}
	if !multi.IsMulticlient {
		return p.letGo(ctx)
	}
	return nil
}

// recording returns an error if Delve has a core open: it reads the core's memory from the wrong files. The
// program must be stopped.
func (p *Process) recording(ctx context.Context) error {
	var recorded struct {
		Recorded       bool
		TraceDirectory string
	}
	if err := p.conn.call(ctx, "Recorded", struct{}{}, &recorded); err != nil {
		return err
	}
	if recorded.Recorded && recorded.TraceDirectory == "" {
		return fmt.Errorf("%w: the Delve at %s has a core open: give that to ompd-inspect itself", ErrNoProcess,
			p.conn.address)
	}
	return nil
}

// letGo detaches a Delve that would kill the program when this connection ends.
func (p *Process) letGo(ctx context.Context) error {
	err := fmt.Errorf("%w, and this was it: the Delve at %s has let the program go on without it: start it with "+
		"--accept-multiclient", ErrSingleClient, p.conn.address)
	return errors.Join(err, p.conn.call(ctx, "Detach", struct{ Kill bool }{false}, nil))
}

// versionNumber returns the number in Delve's version text.
func versionNumber(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return strings.TrimSpace(strings.TrimPrefix(line, "Version:"))
}

// local reports whether Delve runs on this machine.
func (p *Process) local() bool {
	a, ok := p.conn.c.RemoteAddr().(*net.TCPAddr)
	return !ok || a.IP.IsLoopback()
}

// executable returns the executable of the process, if its own path for it is relative; "" if
// unknown. It is used only if its build ID matches.
func (p *Process) executable(pid int) string {
	if p.opts.Exe != "" || !p.local() {
		return p.opts.Exe
	}
	path, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	if err != nil {
		return ""
	}
	return path
}
