package server

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/ompd-inspect/ompd-inspect/picture"
	ompdv1 "github.com/ompd-inspect/ompd-inspect/proto/ompd/v1"
	"github.com/ompd-inspect/ompd-inspect/session"
)

// sampled is a target whose profile ends with its context only, and has a large list.
type sampled struct{ options chan session.ProfileOptions }

// Snapshot is not used.
func (sampled) Snapshot(context.Context, session.Query) (*session.Snapshot, error) {
	return nil, errors.ErrUnsupported
}

// Living is true.
func (sampled) Living() bool { return true }

// Close does nothing.
func (sampled) Close() error { return nil }

// Profile returns a profile of many stacks when ctx ends.
func (s sampled) Profile(ctx context.Context, o session.ProfileOptions) (*picture.Profile, error) {
	o.Started()
	s.options <- o
	<-ctx.Done()
	p := &picture.Profile{Schema: picture.ProfileSchema, End: picture.ProfileInterrupted, Samples: 7}
	for range manyStacks {
		frames := []picture.Frame{{Kind: picture.FrameUser, Function: strings.Repeat("f", 1000)}}
		p.Stacks = append(p.Stacks, picture.ProfileStack{Class: picture.ProfileWork, Frames: frames})
	}
	return p, nil
}

// manyStacks is a number of stacks that take more than one message.
const manyStacks = 200

// startSampled starts a server whose processes are sampled targets.
func startSampled(t *testing.T) (address string, options chan session.ProfileOptions) {
	t.Helper()
	options = make(chan session.ProfileOptions, 1)
	open := func(ctx context.Context, spec *ompdv1.TargetSpec, means Means) (Opened, error) {
		if spec.GetCore() != "" {
			return openCore(ctx, spec, means)
		}
		return sampled{options}, nil
	}
	_, address = start(t, Config{Open: open, Limits: Limits{Profile: time.Minute},
		Policy: Policy{UIDs: []int{ownUID()}}})
	return address, options
}

// connectProcess opens this process at a server, which a sampled target takes the place of.
func connectProcess(t *testing.T, address string) *client {
	t.Helper()
	conn := dial(t, address)
	c := &client{ompdv1.NewInspectionServiceClient(conn), ompdv1.NewOmpdServiceClient(conn), conn, ""}
	spec := &ompdv1.TargetSpec{Source: &ompdv1.TargetSpec_Pid{Pid: int64(os.Getpid())}}
	resp, err := c.OpenTarget(t.Context(), &ompdv1.OpenTargetRequest{Spec: spec})
	if err != nil {
		t.Fatal(err)
	}
	c.target = resp.GetTarget().GetName()
	return c
}

// profile starts a profile, and returns when the first sample is taken.
func (c *client) profile(ctx context.Context, t *testing.T, req *ompdv1.ProfileTargetRequest,
) ompdv1.InspectionService_ProfileTargetClient {
	t.Helper()
	stream, err := c.ProfileTarget(ctx)
	if err == nil {
		err = stream.Send(req)
	}
	if err != nil {
		t.Fatal(err)
	}
	if first, err := stream.Recv(); err != nil || first.GetProfile() != nil {
		t.Fatalf("the first response: %v, %v", first, err)
	}
	return stream
}

// checkRest receives the profile of a sampled target, which has several pieces.
func checkRest(t *testing.T, stream ompdv1.InspectionService_ProfileTargetClient) {
	t.Helper()
	whole, pieces := new(ompdv1.Profile), 0
	for {
		resp, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		pieces++
		proto.Merge(whole, resp.GetProfile())
	}
	if len(whole.GetStacks()) != manyStacks || whole.GetSamples() != 7 || pieces < 2 {
		t.Errorf("%d stacks, %d samples, %d pieces", len(whole.GetStacks()), whole.GetSamples(), pieces)
	}
}

// TestProfileTarget ends a profile by a request, by closing its target, and by the end of the call. Another call is
// answered meanwhile, and the duration is bounded.
func TestProfileTarget(t *testing.T) {
	address, options := startSampled(t)
	for _, c := range []struct{ asked, want time.Duration }{
		{0, time.Minute}, {time.Hour, time.Minute}, {time.Second, time.Second},
	} {
		for _, end := range []string{"request", "target"} {
			k := connectProcess(t, address)
			req := &ompdv1.ProfileTargetRequest{Target: k.target, Samples: 3}
			if c.asked != 0 {
				req.Duration = durationpb.New(c.asked)
			}
			stream := k.profile(t.Context(), t, req)
			if o := <-options; o.For != c.want || o.Samples != 3 || o.Budget == 0 {
				t.Errorf("asked for %v: %+v", c.asked, o)
			}
			if err := k.get(k.target); err != nil {
				t.Errorf("a call during the samples: %v", err)
			}
			var err error
			if end == "request" {
				err = stream.Send(&ompdv1.ProfileTargetRequest{End: true})
			} else {
				_, err = k.CloseTarget(t.Context(), &ompdv1.CloseTargetRequest{Target: k.target})
			}
			if err != nil {
				t.Fatal(err)
			}
			checkRest(t, stream)
		}
	}
	k := connectProcess(t, address)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stream := k.profile(ctx, t, &ompdv1.ProfileTargetRequest{Target: k.target})
	<-options
	cancel()
	_, err := stream.Recv()
	codeOf(t, "a call that was given up", err, codes.Canceled)
}

// TestProfileTargetRefused checks the errors: a core, no target, a negative number.
func TestProfileTargetRefused(t *testing.T) {
	address, _ := startSampled(t)
	k := connect(t, address, core(t, "lock").Core)
	for _, c := range []struct {
		req  *ompdv1.ProfileTargetRequest
		want codes.Code
	}{
		{&ompdv1.ProfileTargetRequest{Target: k.target}, codes.FailedPrecondition},
		{&ompdv1.ProfileTargetRequest{Target: "t"}, codes.NotFound},
		{&ompdv1.ProfileTargetRequest{Target: k.target, Samples: -1}, codes.InvalidArgument},
		{&ompdv1.ProfileTargetRequest{Target: k.target, Duration: durationpb.New(-1)}, codes.InvalidArgument},
	} {
		stream, err := k.ProfileTarget(t.Context())
		if err == nil {
			err = stream.Send(c.req)
		}
		if err == nil {
			_, err = stream.Recv()
		}
		codeOf(t, c.req.String(), err, c.want)
	}
}
