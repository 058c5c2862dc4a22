package piped

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"
)

// nowhere is a connection on which all calls fail.
type nowhere struct{}

func (nowhere) Invoke(context.Context, string, any, any, ...grpc.CallOption) error {
	return grpcstatus.Error(codes.Unavailable, "nowhere")
}

func (nowhere) NewStream(context.Context, *grpc.StreamDesc, string, ...grpc.CallOption) (grpc.ClientStream, error) {
	return nil, grpcstatus.Error(codes.Unavailable, "nowhere")
}

// sent collects the bytes that are written to a pipe.
type sent struct {
	mu sync.Mutex
	b  []byte
}

func (s *sent) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.b = append(s.b, p...)
	return len(p), nil
}

func (s *sent) soFar() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b
}

// FuzzFrames reads bytes as the frames of a client: the pipe ends with them, and the output consists of whole
// frames, the first of them a greeting.
func FuzzFrames(f *testing.F) {
	frame := func(id uint32, kind byte, body string) string {
		head := binary.BigEndian.AppendUint32(nil, uint32(len(body)))
		return string(append(binary.BigEndian.AppendUint32(head, id), kind)) + body
	}
	const list, attach = "ompd.v1.InspectionService/ListTargets", "ompd.v1.DebuggerService/Attach"
	for _, s := range []string{
		"", "garbage", "\xff\xff\xff\xff\x00\x00\x00\x01C", frame(1, 'V', `["version"]`), frame(0, 'C', list),
		frame(1, 'C', list) + frame(1, 'M', "{}") + frame(1, 'E', ""), frame(1, 'C', list) + frame(1, 'C', list),
		frame(1, 'C', attach) + frame(1, 'M', `{"hello":{"about":{"arch":"x86-64"}}}`) + frame(1, 'X', ""),
		frame(1, 'C', attach) + frame(1, 'B', "\x0a\x02\x0a\x00") + frame(1, 'E', "") + frame(1, 'M', "{}"),
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		var out sent
		verb := func(context.Context, []string, io.Writer, io.Writer) int { return 0 }
		_ = Serve(t.Context(), bytes.NewReader(in), &out, Config{Conn: nowhere{}, Verb: verb})
		r := bytes.NewReader(out.soFar()) // calls in progress may still end
		first, err := readFrame(r)
		if err != nil || first.kind != kindHello {
			t.Fatalf("%+v, %v", first, err)
		}
		for err == nil {
			_, err = readFrame(r)
		}
		if !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
	})
}
