package server

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/stats"
	"google.golang.org/protobuf/proto"

	ompdv1 "github.com/ompd-inspect/ompd-inspect/proto/ompd/v1"
)

// A call's resources are bounded before and after it is served: its message must arrive in time, and the call
// must end in time, else the connection is closed. Answers are small, or streams of small messages that the
// client must read (bounded).

// call is one call, from its headers to its end.
type call struct {
	user    string // the caller
	endless bool
	late    *time.Timer // closes the connection
}

type callKey struct{}

// TagRPC starts the timer of a call.
func (c connections) TagRPC(ctx context.Context, info *stats.RPCTagInfo) context.Context {
	return context.WithValue(ctx, callKey{}, &call{endless: endless[info.FullMethodName]})
}

// HandleRPC handles the events of a call; they arrive one after the other.
func (c connections) HandleRPC(ctx context.Context, event stats.RPCStats) {
	one, _ := ctx.Value(callKey{}).(*call)
	sn := connectionOf(ctx)
	if one == nil || sn == nil || sn.conn == nil {
		return
	}
	limits := c.server.cfg.Limits
	switch event.(type) {
	case *stats.Begin:
		one.user = sn.userName()
		c.server.begin(one.user)
		one.late = time.AfterFunc(limits.Patience.Arrival, func() {
			c.server.log.Warn("closed: a call did not come or go in time", "peer", sn.address)
			sn.conn.Close()
		})
	case *stats.OutPayload:
		sn.conn.pending.Store(0)
	case *stats.InPayload:
		sn.conn.pending.Store(0)
		if one.late != nil && !one.late.Stop() {
			return // the connection is closed
		}
		if !one.endless {
			one.late.Reset(limits.Call + limits.Patience.Unread)
		}
	case *stats.End:
		c.server.ended.Add(1)
		c.server.end(one.user)
		if one.late != nil {
			one.late.Stop()
		}
	}
}

// smallMessage bounds a message of a client that is not a debugger, in bytes: such messages hold a few names.
const smallMessage = 64 << 10

// sized is a codec that accepts large messages only for calls that need them.
type sized struct{ encoding.CodecV2 }

// Marshal encodes a message into exactly as many bytes as it needs. gRPC's pool, made for short-lived messages,
// would take a mebibyte for a message of more than 32 KiB.
func (s sized) Marshal(v any) (mem.BufferSlice, error) {
	m, ok := v.(proto.Message)
	if !ok {
		return s.CodecV2.Marshal(v)
	}
	b, err := proto.Marshal(m)
	if err != nil {
		return nil, err
	}
	return mem.BufferSlice{mem.SliceBuffer(b)}, nil
}

// Unmarshal reads a message.
func (s sized) Unmarshal(data mem.BufferSlice, v any) error {
	if _, large := v.(*ompdv1.AttachRequest); !large && data.Len() > smallMessage {
		return fmt.Errorf("a %T of %d bytes, at most %d", v, data.Len(), smallMessage)
	}
	if m, ok := v.(proto.Message); ok && data.Len() > smallMessage {
		if count(m.ProtoReflect().Descriptor(), data.Materialize(), maxValues) < 0 {
			return fmt.Errorf("a %T of more than %d values", v, maxValues)
		}
	}
	return s.CodecV2.Unmarshal(data, v)
}
