package client

import (
	"context"
	"errors"
	"io"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/ompd-inspect/ompd-inspect/internal/wire"
	"github.com/ompd-inspect/ompd-inspect/picture"
	ompdv1 "github.com/ompd-inspect/ompd-inspect/proto/ompd/v1"
)

// Processes finds the processes of the server's machine that use OpenMP and that may be opened. It measures their use
// of processors for the duration sample, at most 10 s.
func (c *Client) Processes(ctx context.Context, sample time.Duration) (*picture.Processes, error) {
	stream, err := c.Inspection.FindProcesses(ctx, &ompdv1.FindProcessesRequest{Sample: durationpb.New(sample)})
	if err != nil {
		return nil, Explain(err)
	}
	list := &picture.Processes{Schema: picture.ProcessSchema, Processes: []picture.Process{}}
	for {
		resp, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return list, nil
		}
		if err != nil {
			return nil, Explain(err)
		}
		list.Hidden, list.HiddenReason = int(resp.GetHidden()), resp.GetHiddenReason()
		if resp.GetProcess() == nil {
			continue
		}
		var p picture.Process
		if err := wire.Unpack(resp.GetProcess(), &p); err != nil {
			return nil, err
		}
		list.Processes = append(list.Processes, p)
	}
}
