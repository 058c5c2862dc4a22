package server

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	ompdv1 "github.com/ompd-inspect/ompd-inspect/proto/ompd/v1"
)

// tooLate is the time after which a wait counts as endless. No machine is that slow.
const tooLate = 20 * time.Minute

// dialRaw connects without gRPC.
func dialRaw(t *testing.T, network, address string) net.Conn {
	t.Helper()
	c, err := net.Dial(network, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(tooLate)); err != nil {
		t.Fatal(err)
	}
	return c
}

// knock connects to a unix socket and speaks HTTP/2.
func knock(t *testing.T, address string) *http2.Framer {
	t.Helper()
	c := dialRaw(t, "unix", strings.TrimPrefix(address, "unix://"))
	f := http2.NewFramer(c, c)
	_, err := io.WriteString(c, http2.ClientPreface)
	if err := errors.Join(err, f.WriteSettings()); err != nil && !errors.Is(err, syscall.EPIPE) {
		t.Fatal(err)
	}
	return f // if the server has closed it already, the reader notices
}

// begin sends the headers of a call.
func begin(t *testing.T, f *http2.Framer, id uint32, method string) {
	t.Helper()
	var block bytes.Buffer
	enc := hpack.NewEncoder(&block)
	for _, h := range [][2]string{
		{":method", "POST"}, {":scheme", "http"}, {":path", method}, {":authority", "x"},
		{"content-type", "application/grpc"}, {"te", "trailers"},
	} {
		if err := enc.WriteField(hpack.HeaderField{Name: h[0], Value: h[1]}); err != nil {
			t.Fatal(err)
		}
	}
	headers := http2.HeadersFrameParam{StreamID: id, BlockFragment: block.Bytes(), EndHeaders: true}
	if err := f.WriteHeaders(headers); err != nil {
		t.Fatal(err)
	}
}

// TestSilence connects to a unix socket and makes no call: this connection is closed, one with a call is not.
func TestSilence(t *testing.T) {
	_, address := start(t, Config{Limits: Limits{Patience: Patience{Admission: 500 * time.Millisecond}}})
	c := ompdv1.NewInspectionServiceClient(dial(t, address))
	list := func() error {
		_, err := c.ListTargets(t.Context(), &ompdv1.ListTargetsRequest{})
		return err
	}
	codeOf(t, "a call", list(), codes.OK)
	closes(t, "a connection without a call", knock(t, address))
	codeOf(t, "a call later", list(), codes.OK)
}

// TestHalfMessage starts a message and does not complete it.
func TestHalfMessage(t *testing.T) {
	s, address := start(t, Config{Limits: Limits{Patience: Patience{Arrival: 300 * time.Millisecond}}})
	for _, method := range []string{
		ompdv1.InspectionService_OpenTarget_FullMethodName, ompdv1.DebuggerService_Attach_FullMethodName,
		"/grpc.health.v1.Health/Check",
	} {
		f := knock(t, address)
		begin(t, f, 1, method)
		part := append([]byte{0}, binary.BigEndian.AppendUint32(nil, 60000)...)
		if err := f.WriteData(1, false, append(part, make([]byte, 1000)...)); err != nil {
			t.Fatal(err)
		}
		closes(t, "a connection with half of a message", f)
	}
	if n := s.targets; n != 0 {
		t.Errorf("%d targets are open", n)
	}
}

// TestSmallFrames sends a message in frames of one byte, which take much more memory than their size: the
// connection is closed, earlier if memory is short.
func TestSmallFrames(t *testing.T) {
	for name, cfg := range map[string]Config{
		"larger than a message": {Limits: Limits{Message: little}}, "no memory": {Memory: 1},
	} {
		_, address := start(t, cfg)
		f := knock(t, address)
		begin(t, f, 1, ompdv1.DebuggerService_Attach_FullMethodName)
		err := f.WriteData(1, false, append([]byte{0}, binary.BigEndian.AppendUint32(nil, little)...))
		go func() {
			for err == nil {
				err = f.WriteData(1, false, []byte{1})
			}
		}()
		closes(t, name, f)
		c := &client{InspectionServiceClient: ompdv1.NewInspectionServiceClient(dial(t, address))}
		codeOf(t, "another, after "+name, c.list(t), codes.OK)
	}
}

// TestUserConnections lets one user take as many connections as allowed.
func TestUserConnections(t *testing.T) {
	_, address := start(t, Config{Limits: Limits{UserConnections: 2, Patience: Patience{Admission: time.Hour}}})
	for range 2 {
		c := &client{InspectionServiceClient: ompdv1.NewInspectionServiceClient(dial(t, address))}
		codeOf(t, "a call", c.list(t), codes.OK)
	}
	f := knock(t, address)
	closes(t, "one connection too many", f)
}

func (c *client) list(t *testing.T) error {
	_, err := c.ListTargets(t.Context(), &ompdv1.ListTargetsRequest{})
	return err
}

// TestLargeMessages sends larger messages than the call accepts.
func TestLargeMessages(t *testing.T) {
	_, address := start(t, Config{})
	c := ompdv1.NewInspectionServiceClient(dial(t, address))
	name := func(n int) *ompdv1.TargetSpec { return specOf("/" + strings.Repeat("x", n)) }
	_, err := c.OpenTarget(t.Context(), &ompdv1.OpenTargetRequest{Spec: name(smallMessage)})
	if err == nil || !strings.Contains(err.Error(), "at most 65536") {
		t.Errorf("a name of 64 KiB: %v", err)
	}
	_, err = c.OpenTarget(t.Context(), &ompdv1.OpenTargetRequest{Spec: name(smallMessage / 2)})
	if err == nil || strings.Contains(err.Error(), "at most") {
		t.Errorf("a name of 32 KiB: %v", err)
	}
	_, err = c.OpenTarget(t.Context(), &ompdv1.OpenTargetRequest{Spec: name(5 << 20)})
	codeOf(t, "a name of 5 MiB", err, codes.ResourceExhausted)
}

// TestUnread requests more than a stream holds and does not read it: the call ends, and the connection serves
// others.
func TestUnread(t *testing.T) {
	log := new(lines)
	limits := Limits{Patience: Patience{Unread: 300 * time.Millisecond}}
	_, address := start(t, Config{Limits: limits, Log: log.logger()})
	small := []grpc.DialOption{grpc.WithInitialWindowSize(window), grpc.WithInitialConnWindowSize(connWindow)}
	c := connect(t, address, core(t, "many", "256").Core, small...)
	stream, err := c.GetReport(t.Context(), &ompdv1.GetReportRequest{Target: c.target})
	if err != nil {
		t.Fatal(err)
	}
	end := time.Now().Add(tooLate)
	for range time.Tick(10 * time.Millisecond) {
		if log.contains("GetReport") {
			break
		}
		if time.Now().After(end) {
			t.Fatal("a call whose answer nobody reads goes on")
		}
	}
	for err == nil {
		_, err = stream.Recv()
	}
	codeOf(t, "a call that was not read", err, codes.ResourceExhausted)
	codeOf(t, "another", c.list(t), codes.OK)
}
