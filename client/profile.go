package client

import (
	"context"
	"errors"
	"io"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/ompd-inspect/ompd-inspect/internal/wire"
	"github.com/ompd-inspect/ompd-inspect/picture"
	ompdv1 "github.com/ompd-inspect/ompd-inspect/proto/ompd/v1"
)

// ProfileOptions are the options of a profile.
type ProfileOptions struct {
	// For is the time after which it ends; 0: the limit of the server.
	For time.Duration
	// Samples is the number of samples after which it ends; 0: it has no limit.
	Samples int
	// Started is called after the first sample; it may be nil.
	Started func()
	// End ends the samples when it is closed, and Profile returns the profile so far. It may be nil.
	End <-chan struct{}
}

// Profile samples the states and user-model stacks of a process on the server's machine, and returns where the time of
// its threads goes. If ctx ends, the samples are lost.
func (t *Target) Profile(ctx context.Context, o ProfileOptions) (*picture.Profile, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := t.client.Inspection.ProfileTarget(ctx)
	if err != nil {
		return nil, Explain(err)
	}
	req := &ompdv1.ProfileTargetRequest{Target: t.Name, Samples: int64(o.Samples)}
	if o.For > 0 {
		req.Duration = durationpb.New(o.For)
	}
	if err := stream.Send(req); err != nil && !errors.Is(err, io.EOF) { // Recv has the error of the call
		return nil, Explain(err)
	}
	go func() {
		select {
		case <-o.End: // Recv has an error of the request
			_ = stream.Send(&ompdv1.ProfileTargetRequest{End: true})
		case <-ctx.Done():
		}
	}()
	whole := new(ompdv1.Profile)
	for n := 0; ; n++ {
		resp, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			p := new(picture.Profile)
			return p, wire.Unpack(whole, p)
		}
		if err != nil {
			return nil, Explain(err)
		}
		if n == 0 && o.Started != nil {
			o.Started()
		}
		proto.Merge(whole, resp.GetProfile())
	}
}
