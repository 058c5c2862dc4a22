// Package client talks to an ompd-inspect server. It returns the structs of package picture, as if the target were
// opened in this process.
//
// The fields of Client are the generated clients of proto/ompd/v1, for calls without a method of this package.
package client

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/ompd-inspect/ompd-inspect/internal/wire"
	"github.com/ompd-inspect/ompd-inspect/picture"
	ompdv1 "github.com/ompd-inspect/ompd-inspect/proto/ompd/v1"
)

// Options control the connection. The zero value suits a unix socket.
type Options struct {
	// Token is sent with each call, for a server that requires one.
	Token string
	// TLS encrypts a TCP connection and shows the client's certificate. It may be nil only for servers on a loopback
	// address.
	TLS *tls.Config
}

// Client is a connection to a server. Closing it frees all targets that were opened over it. It may be used by
// several goroutines at once.
type Client struct {
	Inspection ompdv1.InspectionServiceClient
	Ompd       ompdv1.OmpdServiceClient
	Debugger   ompdv1.DebuggerServiceClient
	Trace      ompdv1.TraceServiceClient
	conn       *grpc.ClientConn
}

// firstCalls repeats calls that open a connection if it is closed without an answer: a server that is flooded
// over TCP closes the oldest connection that has no admitted call yet. Such a connection had no targets, and targets
// that a call opened were freed with it.
const firstCalls = `{"methodConfig": [{
	"name": [
		{"service": "ompd.v1.InspectionService", "method": "OpenTarget"},
		{"service": "ompd.v1.InspectionService", "method": "ListTargets"},
		{"service": "ompd.v1.InspectionService", "method": "FindProcesses"}
	],
	"retryPolicy": {
		"maxAttempts": 5, "initialBackoff": "0.1s", "maxBackoff": "0.4s", "backoffMultiplier": 2,
		"retryableStatusCodes": ["UNAVAILABLE"]
	}
}]}`

// connecting bounds the time between attempts to connect, so that firstCalls has several in its second.
var connecting = grpc.ConnectParams{
	Backoff:           backoff.Config{BaseDelay: 50 * time.Millisecond, Multiplier: 2, MaxDelay: time.Second},
	MinConnectTimeout: 20 * time.Second,
}

// Dial returns a client for a server at unix:///path or tcp://host:port. The first call connects, and returns the
// error if the server cannot be reached.
func Dial(address string, o Options) (*Client, error) {
	at, ok := strings.CutPrefix(address, "tcp://")
	if !ok && !strings.HasPrefix(address, "unix:///") {
		return nil, fmt.Errorf("server %q: it is unix:///path or tcp://host:port", address)
	}
	if ok {
		if o.Token != "" && o.TLS == nil && !loopback(at) {
			return nil, fmt.Errorf("server %q: a token is not sent there in clear: encrypt the connection "+
				"(--server-ca)", address)
		}
		at = "dns:///" + at
	} else {
		at = address
	}
	secure := insecure.NewCredentials()
	if o.TLS != nil {
		secure = credentials.NewTLS(o.TLS)
	}
	options := []grpc.DialOption{grpc.WithTransportCredentials(secure)}
	if ok {
		options = append(options, grpc.WithDefaultServiceConfig(firstCalls), grpc.WithConnectParams(connecting))
	}
	if o.Token != "" {
		options = append(options, grpc.WithPerRPCCredentials(bearer{o.Token, o.TLS != nil}))
	}
	conn, err := grpc.NewClient(at, options...)
	if err != nil {
		return nil, fmt.Errorf("server %q: %w", address, err)
	}
	return newClient(conn), nil
}

// loopback reports whether host:port is on this machine.
func loopback(at string) bool {
	host, _, err := net.SplitHostPort(at)
	ip := net.ParseIP(host)
	return err == nil && (host == "localhost" || ip != nil && ip.IsLoopback())
}

// NewClient returns a client for a connection to a server in the same process, or at the other end of a pipe. Closing
// the client closes the connection.
func NewClient(c net.Conn) (*Client, error) {
	dial := func(context.Context, string) (net.Conn, error) {
		if c == nil {
			return nil, net.ErrClosed // the connection cannot be made again
		}
		once := c
		c = nil
		return once, nil
	}
	conn, err := grpc.NewClient("passthrough:///pipe", grpc.WithContextDialer(dial),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, err
	}
	return newClient(conn), nil
}

func newClient(conn *grpc.ClientConn) *Client {
	return &Client{
		ompdv1.NewInspectionServiceClient(conn), ompdv1.NewOmpdServiceClient(conn),
		ompdv1.NewDebuggerServiceClient(conn), ompdv1.NewTraceServiceClient(conn), conn,
	}
}

// Conn returns the connection, for other generated clients, such as those of gRPC's health and reflection services.
func (c *Client) Conn() grpc.ClientConnInterface { return c.conn }

// bearer sends a token with every call. Without TLS it is used for loopback addresses only.
type bearer struct {
	token  string
	secure bool
}

// GetRequestMetadata returns the header of a call.
func (b bearer) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer " + b.token}, nil
}

// RequireTransportSecurity reports whether the connection must be encrypted.
func (b bearer) RequireTransportSecurity() bool { return b.secure }

// Close closes the connection. The server then frees the targets that were opened over it.
func (c *Client) Close() error { return c.conn.Close() }

// Error is the error of a call, with the server's text.
type Error struct {
	Code     codes.Code
	Reason   string            // of the google.rpc.ErrorInfo, such as TARGET_NOT_FOUND
	Metadata map[string]string // of the same, such as ompd_rc
	err      error
}

// Error returns the server's text.
func (e *Error) Error() string { return status.Convert(e.err).Message() }

// Unwrap returns gRPC's error.
func (e *Error) Unwrap() error { return e.err }

// Explain returns an *Error for an error of a generated client, or nil for nil.
func Explain(err error) error {
	st, ok := status.FromError(err)
	if err == nil || !ok {
		return err
	}
	e := &Error{Code: st.Code(), err: err}
	for _, d := range st.Details() {
		if info, ok := d.(*errdetails.ErrorInfo); ok {
			e.Reason, e.Metadata = info.GetReason(), info.GetMetadata()
		}
	}
	return e
}

// Target is a target that the server has open.
type Target struct {
	Name   string // name of the target in calls of the generated clients
	client *Client
}

// OpenCore opens a core file on the server's machine. The path must be absolute.
func (c *Client) OpenCore(ctx context.Context, path string) (*Target, error) {
	return c.Open(ctx, &ompdv1.TargetSpec{Source: &ompdv1.TargetSpec_Core{Core: path}})
}

// OpenProcess opens a process on the server's machine.
func (c *Client) OpenProcess(ctx context.Context, pid int) (*Target, error) {
	return c.Open(ctx, &ompdv1.TargetSpec{Source: &ompdv1.TargetSpec_Pid{Pid: int64(pid)}})
}

// Open opens the target that spec describes.
func (c *Client) Open(ctx context.Context, spec *ompdv1.TargetSpec) (*Target, error) {
	resp, err := c.Inspection.OpenTarget(ctx, &ompdv1.OpenTargetRequest{Spec: spec})
	if err != nil {
		return nil, Explain(err)
	}
	return &Target{resp.GetTarget().GetName(), c}, nil
}

// Trace returns the generated client of TraceService, which reads the target's recorder.
func (t *Target) Trace() ompdv1.TraceServiceClient { return t.client.Trace }

// Close frees the target.
func (t *Target) Close(ctx context.Context) error {
	_, err := t.client.Inspection.CloseTarget(ctx, &ompdv1.CloseTargetRequest{Target: t.Name})
	return Explain(err)
}

// Refresh makes later calls use a new snapshot, if the target may have run since the last one.
func (t *Target) Refresh(ctx context.Context) error {
	_, err := t.client.Inspection.RefreshTarget(ctx, &ompdv1.RefreshTargetRequest{Target: t.Name})
	return Explain(err)
}

// Picture returns the given parts of the picture, or the parts of a report if there are no arguments.
func (t *Target) Picture(ctx context.Context, parts ...ompdv1.PicturePart) (*picture.Picture, error) {
	stream, err := t.client.Inspection.GetReport(ctx, &ompdv1.GetReportRequest{Target: t.Name, Parts: parts})
	if err != nil {
		return nil, Explain(err)
	}
	whole := new(ompdv1.Picture)
	for {
		resp, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return unpack(whole)
		}
		if err != nil {
			return nil, Explain(err)
		}
		proto.Merge(whole, resp.GetPicture())
	}
}

func unpack(m *ompdv1.Picture) (*picture.Picture, error) {
	pic := new(picture.Picture)
	return pic, wire.Unpack(m, pic)
}

// Target returns the target that the server has open under a name, such as a target that a debugger lends.
func (c *Client) Target(name string) *Target { return &Target{name, c} }
