package piped

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	rpccode "google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/ompd-inspect/ompd-inspect/internal/guard/jsonx"
)

// status is the result of a call.
type status struct {
	Code     string            `json:"code"`
	Message  string            `json:"message,omitempty"`
	Reason   string            `json:"reason,omitempty"`
	Metadata map[string]string `json:"metadata,omitempty"`
	Exit     *int              `json:"exit,omitempty"`
}

// statusOf returns the status of a call that ended with err.
func statusOf(err error) status {
	s := grpcstatus.Convert(err)
	out := status{Code: rpccode.Code(s.Code()).String(), Message: s.Message()}
	for _, d := range s.Details() {
		if info, ok := d.(*errdetails.ErrorInfo); ok {
			out.Reason, out.Metadata = info.GetReason(), info.GetMetadata()
		}
	}
	return out
}

// invalidCall returns the error of an invalid call.
func invalidCall(format string, args ...any) error {
	return grpcstatus.Errorf(codes.InvalidArgument, format, args...)
}

// callMethod calls a method: it sends the client's messages to the server, and the server's messages to the
// client.
func (c *carrier) callMethod(ctx context.Context, cancel context.CancelFunc, id uint32, name string,
	in <-chan frame) status {
	m, err := findMethod(name)
	if err != nil {
		return statusOf(err)
	}
	stream, err := c.cfg.Conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, "/"+name)
	if err != nil {
		return statusOf(err)
	}
	bad := make(chan error, 1)
	go func() {
		err := forward(ctx, stream, m.Input(), in)
		if err != nil {
			cancel()
		}
		bad <- err
	}()
	err = c.backward(stream, m.Output(), id)
	cancel()
	if own := <-bad; own != nil {
		err = own
	}
	return statusOf(err)
}

// findMethod finds a method by its name.
func findMethod(name string) (protoreflect.MethodDescriptor, error) {
	d, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(strings.ReplaceAll(name, "/", ".")))
	m, ok := d.(protoreflect.MethodDescriptor)
	if err != nil || !ok || strings.Count(name, "/") != 1 {
		return nil, grpcstatus.Errorf(codes.Unimplemented, "there is no method %q", name)
	}
	return m, nil
}

// newMessage returns an empty message.
func newMessage(d protoreflect.MessageDescriptor) (proto.Message, error) {
	t, err := protoregistry.GlobalTypes.FindMessageByName(d.FullName())
	if err != nil {
		return nil, err
	}
	return t.New().Interface(), nil
}

// forward sends the client's messages. It returns errors of the client; those of the stream come from the other
// direction.
func forward(ctx context.Context, stream grpc.ClientStream, d protoreflect.MessageDescriptor, in <-chan frame) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case f, more := <-in:
			if !more {
				_ = stream.CloseSend()
				return nil
			}
			m, err := newMessage(d)
			if err == nil {
				err = decode(f, m)
			}
			if err != nil {
				return invalidCall("%s: %v", d.FullName(), err)
			}
			if stream.SendMsg(m) != nil {
				return nil
			}
		}
	}
}

// decode parses a message. It ignores unknown fields, which are those of a newer client.
func decode(f frame, m proto.Message) error {
	if f.kind == kindBinary {
		return proto.Unmarshal(f.payload, m)
	}
	if err := jsonx.Values(f.payload, maxValues); err != nil {
		return err
	}
	return protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(f.payload, m)
}

// backward sends the server's messages to the client.
func (c *carrier) backward(stream grpc.ClientStream, d protoreflect.MessageDescriptor, id uint32) error {
	for {
		m, err := newMessage(d)
		if err != nil {
			return err
		}
		if err := stream.RecvMsg(m); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		b, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(m)
		if err != nil {
			return fmt.Errorf("%s as JSON: %w", d.FullName(), err)
		}
		if err := c.send(id, kindMessage, b); err != nil {
			return err
		}
	}
}
