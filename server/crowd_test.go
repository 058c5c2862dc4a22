package server

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"

	ompdv1 "github.com/ompd-inspect/ompd-inspect/proto/ompd/v1"
)

// TestLargeHeaders sends metadata of 1 MiB, and headers that never end: the call or its connection ends, and others are
// served.
func TestLargeHeaders(t *testing.T) {
	_, address := start(t, Config{})
	c := &client{InspectionServiceClient: ompdv1.NewInspectionServiceClient(dial(t, address))}
	codeOf(t, "before", c.list(t), codes.OK)
	ctx := metadata.AppendToOutgoingContext(t.Context(), "x-large", strings.Repeat("m", 1<<20))
	large := ompdv1.NewInspectionServiceClient(dial(t, address))
	if _, err := large.ListTargets(ctx, &ompdv1.ListTargetsRequest{}); err == nil {
		t.Error("a call with metadata of 1 MiB is answered")
	}
	f := knock(t, address)
	var block bytes.Buffer
	field := hpack.HeaderField{Name: "x", Value: strings.Repeat("y", 8192)}
	if err := hpack.NewEncoder(&block).WriteField(field); err != nil {
		t.Fatal(err)
	}
	err := f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block.Bytes()})
	go func() {
		for err == nil {
			err = f.WriteContinuation(1, false, block.Bytes())
		}
	}()
	closes(t, "a connection with endless headers", f)
	codeOf(t, "another", c.list(t), codes.OK)
}

// TestSlowStreams opens 1,000 calls at once, each of which sends a part of its message: another client is served
// meanwhile, and the connections are closed in time.
func TestSlowStreams(t *testing.T) {
	const streams = 1000
	_, address := start(t, Config{Limits: Limits{Calls: streams, Patience: Patience{Arrival: time.Second}}})
	c := &client{InspectionServiceClient: ompdv1.NewInspectionServiceClient(dial(t, address))}
	codeOf(t, "before", c.list(t), codes.OK)
	f := knock(t, address)
	part := append([]byte{0}, binary.BigEndian.AppendUint32(nil, 1000)...)
	for i := range uint32(streams) {
		begin(t, f, 2*i+1, ompdv1.InspectionService_OpenTarget_FullMethodName)
		if err := f.WriteData(2*i+1, false, append(part, byte(i))); err != nil {
			t.Fatal(err)
		}
	}
	codeOf(t, "meanwhile", c.list(t), codes.OK)
	closes(t, "a connection with slow calls", f)
	codeOf(t, "afterwards", c.list(t), codes.OK)
}

// TestTLSStrangers connects to a server with TLS and sends nothing, a part of a handshake, no TLS, or a record that is
// too large: each connection is closed, and a client with a certificate is served.
func TestTLSStrangers(t *testing.T) {
	ca := certificate(t, nil)
	pool := x509.NewCertPool()
	pool.AddCert(ca.Leaf)
	secure := credentials.NewTLS(&tls.Config{Certificates: []tls.Certificate{*certificate(t, ca)}, ClientCAs: pool,
		ClientAuth: tls.RequireAndVerifyClientCert})
	l, creds, err := Listen("tcp://127.0.0.1:0", nil, secure)
	if err != nil {
		t.Fatal(err)
	}
	limits := Limits{Patience: Patience{Admission: time.Second}}
	startOn(t, Config{Open: openCore, Credentials: creds, Limits: limits}, l)
	hello := "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" // a record of 512 bytes begins
	for name, sends := range map[string]string{
		"nothing": "", "a part of a handshake": hello, "no TLS": http2.ClientPreface,
		"a record that is too large": "\x16\x03\x01\xff\xff" + strings.Repeat("x", 1<<16),
	} {
		conn := dialRaw(t, "tcp", l.Addr().String())
		_, _ = io.WriteString(conn, sends) // the server may have closed it
		var late net.Error
		if _, err := io.Copy(io.Discard, conn); errors.As(err, &late) && late.Timeout() {
			t.Errorf("%s: the connection stays open", name)
		}
	}
	conn := dial(t, l.Addr().String(), grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{
		RootCAs: pool, Certificates: []tls.Certificate{*certificate(t, ca)},
	})))
	_, err = ompdv1.NewInspectionServiceClient(conn).ListTargets(t.Context(), &ompdv1.ListTargetsRequest{})
	codeOf(t, "with a certificate", err, codes.OK)
}
