package piped

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/protobuf/proto"
)

const (
	check = "grpc.health.v1.Health/Check"
	watch = "grpc.health.v1.Health/Watch"
)

// pipe is the client's end of a carrier with a server of gRPC's health service.
type pipe struct {
	t    *testing.T
	in   *io.PipeReader
	out  *io.PipeWriter
	done chan error
}

func open(t *testing.T, verb Verb) *pipe {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	healthv1.RegisterHealthServer(server, health.NewServer())
	go func() { _ = server.Serve(l) }()
	conn, err := grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	theirIn, out := io.Pipe()
	in, theirOut := io.Pipe()
	p := &pipe{t, in, out, make(chan error, 1)}
	go func() {
		p.done <- Serve(t.Context(), theirIn, theirOut, Config{Conn: conn, Verb: verb, Version: "7"})
		theirOut.Close()
	}()
	t.Cleanup(func() {
		out.Close()
		in.Close()
		conn.Close()
		server.Stop()
	})
	if f := p.next(); f.kind != kindHello || !strings.Contains(string(f.payload), `"protocol":1,"version":"7"`) {
		t.Fatalf("the first frame is %c %s", f.kind, f.payload)
	}
	return p
}

func (p *pipe) next() frame {
	p.t.Helper()
	f, err := readFrame(p.in)
	if err != nil {
		p.t.Fatal(err)
	}
	return f
}

func (p *pipe) say(id uint32, kind byte, payload string) {
	p.t.Helper()
	b := binary.BigEndian.AppendUint32(nil, uint32(len(payload)))
	b = append(binary.BigEndian.AppendUint32(b, id), kind)
	if _, err := p.out.Write(append(b, payload...)); err != nil {
		p.t.Fatal(err)
	}
}

// readCall reads frames up to the end of a call.
func (p *pipe) readCall(id uint32) (messages []string, st status) {
	p.t.Helper()
	for {
		f := p.next()
		if f.id != id {
			p.t.Fatalf("a frame of call %d: %s", f.id, f.payload)
		}
		if f.kind == kindStatus {
			if err := json.Unmarshal(f.payload, &st); err != nil {
				p.t.Fatal(err)
			}
			return messages, st
		}
		messages = append(messages, string(f.kind)+string(f.payload))
	}
}

func TestCalls(t *testing.T) {
	p := open(t, nil)
	binaryForm, err := proto.Marshal(&healthv1.HealthCheckRequest{Service: "none"})
	if err != nil {
		t.Fatal(err)
	}
	for i, tt := range []struct {
		method       string
		kind         byte
		message      string
		code, answer string
	}{
		{check, kindMessage, `{}`, "OK", `"status":"SERVING"`},
		{check, kindMessage, `{"service":"none"}`, "NOT_FOUND", ""},
		{check, kindBinary, string(binaryForm), "NOT_FOUND", ""},
		{check, kindMessage, `{"newer":1}`, "OK", `"status":"SERVING"`},
		{check, kindMessage, `{"service":1}`, "INVALID_ARGUMENT", ""},
		{check, kindMessage, `{`, "INVALID_ARGUMENT", ""},
		{"grpc.health.v1.Health.Check", kindMessage, `{}`, "UNIMPLEMENTED", ""},
		{"no.such/Method", kindMessage, `{}`, "UNIMPLEMENTED", ""},
	} {
		id := uint32(i + 1)
		p.say(id, kindCall, tt.method)
		p.say(id, tt.kind, tt.message)
		p.say(id, kindEnd, "")
		messages, st := p.readCall(id)
		if st.Code != tt.code || (tt.answer != "") != (len(messages) == 1) || tt.answer != "" &&
			!strings.Contains(strings.ReplaceAll(messages[0], ": ", ":"), tt.answer) {
			t.Errorf("%s %q: %v, %+v", tt.method, tt.message, messages, st)
		}
	}
}

// TestStream makes a call while another one is in progress, and cancels it.
func TestStream(t *testing.T) {
	p := open(t, nil)
	p.say(1, kindCall, watch)
	p.say(1, kindMessage, `{}`)
	p.say(1, kindEnd, "")
	if f := p.next(); f.id != 1 || f.kind != kindMessage {
		t.Fatalf("%d %c %s", f.id, f.kind, f.payload)
	}
	p.say(2, kindCall, check)
	p.say(2, kindMessage, `{}`)
	p.say(2, kindEnd, "")
	if messages, st := p.readCall(2); len(messages) != 1 || st.Code != "OK" {
		t.Errorf("%v, %+v", messages, st)
	}
	p.say(1, kindCancel, "")
	if _, st := p.readCall(1); st.Code != "CANCELLED" {
		t.Errorf("given up: %+v", st)
	}
	p.say(1, kindMessage, `{}`) // the call has ended: this is ignored
	p.out.Close()
	if err := <-p.done; err != nil {
		t.Error(err)
	}
}

func TestVerb(t *testing.T) {
	stopped := make(chan error, 1)
	p := open(t, func(ctx context.Context, args []string, stdout, stderr io.Writer) int {
		if args[0] == "wait" {
			<-ctx.Done()
			stopped <- ctx.Err()
			return 1
		}
		_, _ = io.WriteString(stdout, strings.Join(args, "+"))
		_, _ = io.WriteString(stderr, "careful")
		return 3
	})
	p.say(5, kindVerb, `["threads","core file"]`)
	messages, st := p.readCall(5)
	if strings.Join(messages, " ") != "Othreads+core file Dcareful" || st.Code != "OK" || st.Exit == nil ||
		*st.Exit != 3 {
		t.Errorf("%v, %+v", messages, st)
	}
	p.say(6, kindVerb, `"threads"`)
	if _, st := p.readCall(6); st.Code == "OK" {
		t.Errorf("%+v", st)
	}
	p.say(7, kindVerb, `["wait"]`)
	p.out.Close() // the client is gone
	if err := <-stopped; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestBadFrames checks that invalid frames end the carrier with an error: the bytes after them cannot be
// parsed.
func TestBadFrames(t *testing.T) {
	for name, say := range map[string]func(*pipe){
		"too long": func(p *pipe) { _, _ = p.out.Write([]byte("\xff\xff\xff\xff12345")) },
		"cut short": func(p *pipe) {
			_, _ = p.out.Write([]byte("\x00\x00\x00\x09\x00\x00\x00\x01C12"))
			p.out.Close()
		},
		"a number twice": func(p *pipe) { p.say(1, kindCall, watch); p.say(1, kindCall, watch) },
		"number 0":       func(p *pipe) { p.say(0, kindCall, check) },
		"after the end": func(p *pipe) {
			p.say(1, kindCall, watch)
			p.say(1, kindMessage, "{}") // it keeps the call open: a frame of an ended call is no error
			p.say(1, kindEnd, "")
			p.say(1, kindMessage, "{}")
		},
		"a wrong kind": func(p *pipe) { p.say(1, kindCall, watch); p.say(1, kindStatus, "") },
		"too many": func(p *pipe) {
			for id := range uint32(maxCalls + 1) {
				p.say(id+1, kindCall, watch)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := open(t, nil)
			go func() { _, _ = io.Copy(io.Discard, p.in) }()
			say(p)
			if err := <-p.done; err == nil {
				t.Error("no error")
			}
		})
	}
}
