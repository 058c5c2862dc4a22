package server

import (
	"bytes"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/durationpb"

	ompdv1 "github.com/ompd-inspect/ompd-inspect/proto/ompd/v1"
)

// guarded starts a server that requires a token, on a loopback port.
func guarded(t *testing.T, limits Limits) string {
	t.Helper()
	l, creds, err := Listen("tcp://localhost:0", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	startOn(t, Config{Open: openCore, Credentials: creds, Token: "secret", Limits: limits}, l)
	return l.Addr().String()
}

// stranger opens an HTTP/2 connection without a token.
func stranger(t *testing.T, address string) (net.Conn, *http2.Framer) {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(tooLate)); err != nil {
		t.Fatal(err)
	}
	f := http2.NewFramer(c, c)
	_, err = io.WriteString(c, http2.ClientPreface)
	if err := errors.Join(err, f.WriteSettings()); err != nil {
		t.Fatal(err)
	}
	return c, f
}

// TestTokenBeforeMessage starts a call without a token and sends no message: the server answers without reading
// one.
func TestTokenBeforeMessage(t *testing.T) {
	_, f := stranger(t, guarded(t, Limits{}))
	var block bytes.Buffer
	enc := hpack.NewEncoder(&block)
	for _, h := range [][2]string{
		{":method", "POST"}, {":scheme", "http"}, {":path", ompdv1.DebuggerService_Attach_FullMethodName},
		{":authority", "x"},
		{"content-type", "application/grpc"}, {"te", "trailers"},
	} {
		if err := enc.WriteField(hpack.HeaderField{Name: h[0], Value: h[1]}); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block.Bytes(),
		EndHeaders: true}); err != nil {
		t.Fatal(err)
	}
	f.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	for {
		frame, err := f.ReadFrame()
		if err != nil {
			t.Fatalf("no answer to the headers: %v", err)
		}
		h, ok := frame.(*http2.MetaHeadersFrame)
		if !ok {
			continue
		}
		for _, field := range h.Fields {
			if field.Name == "grpc-status" && field.Value != "16" {
				t.Errorf("status %s, want 16 (unauthenticated)", field.Value)
			} else if field.Name == "grpc-status" {
				return
			}
		}
	}
}

// closes checks that the server closes a connection.
func closes(t *testing.T, what string, f *http2.Framer) {
	t.Helper()
	for {
		_, err := f.ReadFrame()
		var late net.Error
		if errors.As(err, &late) && late.Timeout() {
			t.Fatalf("%s stays open", what)
		}
		if err != nil {
			return
		}
	}
}

// TestStrangers opens more connections without a token than allowed: the oldest are closed, an idle one is
// closed in time, and a client with the token is served.
func TestStrangers(t *testing.T) {
	address := guarded(t, Limits{Strangers: 2, Patience: Patience{Admission: time.Second}, Connections: 4})
	client := dial(t, address, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithPerRPCCredentials(bearer("secret")))
	list := func() error {
		_, err := ompdv1.NewInspectionServiceClient(client).ListTargets(t.Context(), &ompdv1.ListTargetsRequest{})
		return err
	}
	codeOf(t, "before", list(), codes.OK)
	var fs []*http2.Framer
	for range 5 {
		_, f := stranger(t, address)
		fs = append(fs, f)
	}
	for _, f := range fs[:3] {
		closes(t, "a connection that others were opened after", f)
	}
	codeOf(t, "beside", list(), codes.OK)
	for _, f := range fs[3:] {
		closes(t, "a connection that showed no token", f)
	}
	codeOf(t, "after", list(), codes.OK) // the same connection, longer than Admission
}

// TestUserTargets opens targets on several connections of one user.
func TestUserTargets(t *testing.T) {
	path := core(t, "barrier").Core
	_, socket := start(t, Config{Limits: Limits{User: Quota{Targets: 2}}})
	open := func() error {
		_, err := ompdv1.NewInspectionServiceClient(dial(t, socket)).OpenTarget(t.Context(),
			&ompdv1.OpenTargetRequest{Spec: specOf(path)})
		return err
	}
	codeOf(t, "the first", open(), codes.OK)
	codeOf(t, "the second", open(), codes.OK)
	codeOf(t, "one too many", open(), codes.ResourceExhausted)
}

// TestUserLeases opens targets with a lease on connections that end: they count for the user until the leases
// end.
func TestUserLeases(t *testing.T) {
	path := core(t, "barrier").Core
	_, socket := start(t, Config{Limits: Limits{User: Quota{Targets: 2}}})
	open := func() error {
		conn := dial(t, socket)
		defer conn.Close()
		_, err := ompdv1.NewInspectionServiceClient(conn).OpenTarget(t.Context(),
			&ompdv1.OpenTargetRequest{Spec: specOf(path), Lease: durationpb.New(time.Hour)})
		return err
	}
	codeOf(t, "the first", open(), codes.OK)
	codeOf(t, "the second", open(), codes.OK)
	codeOf(t, "one too many", open(), codes.ResourceExhausted)
}

// TestNewestStop checks that only the newest of several pending stops is kept.
func TestNewestStop(t *testing.T) {
	w := &link{stops: make(chan *ompdv1.Stopped, 1)}
	var last *ompdv1.Stopped
	for range 1000 {
		last = &ompdv1.Stopped{}
		w.newest(last)
	}
	if got := <-w.stops; got != last {
		t.Errorf("kept %p, want the last, %p", got, last)
	}
	if len(w.stops) != 0 {
		t.Errorf("%d more are kept", len(w.stops))
	}
}
