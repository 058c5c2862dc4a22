package client

import (
	"context"
	"iter"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/ompd-inspect/ompd-inspect/internal/wire"
	"github.com/ompd-inspect/ompd-inspect/picture"
	ompdv1 "github.com/ompd-inspect/ompd-inspect/proto/ompd/v1"
)

// Watch yields a picture of a running process at each interval, until ctx or the loop ends.
func (t *Target) Watch(ctx context.Context, interval time.Duration,
	parts ...ompdv1.PicturePart) iter.Seq2[*picture.Picture, error] {
	req := &ompdv1.WatchTargetRequest{Target: t.Name, Parts: parts, Interval: durationpb.New(interval)}
	return func(yield func(*picture.Picture, error) bool) {
		for l, err := range t.watch(ctx, req) {
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(l.Picture, nil) {
				return
			}
		}
	}
}

// Looks yields count snapshots of a process, one at each interval, each with the changes since the previous one and
// since the first.
func (t *Target) Looks(ctx context.Context, interval time.Duration, count int) iter.Seq2[*picture.Look, error] {
	return t.watch(ctx, &ompdv1.WatchTargetRequest{Target: t.Name, Interval: durationpb.New(interval),
		Count: int64(count), Compare: true})
}

func (t *Target) watch(ctx context.Context, req *ompdv1.WatchTargetRequest) iter.Seq2[*picture.Look, error] {
	return func(yield func(*picture.Look, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		stream, err := t.client.Inspection.WatchTarget(ctx, req)
		if err != nil {
			yield(nil, Explain(err))
			return
		}
		whole := new(ompdv1.Picture)
		for n := int64(0); req.GetCount() == 0 || n < req.GetCount(); {
			resp, err := stream.Recv()
			if err != nil {
				yield(nil, Explain(err))
				return
			}
			if proto.Merge(whole, resp.GetPicture()); !resp.GetLast() {
				continue
			}
			if !yield(lookOf(resp.GetLook(), whole)) {
				return
			}
			whole = new(ompdv1.Picture)
			n++
		}
	}
}

// lookOf returns a look with its picture.
func lookOf(m *ompdv1.Look, whole *ompdv1.Picture) (*picture.Look, error) {
	l := new(picture.Look)
	if err := wire.Unpack(m, l); err != nil {
		return nil, err
	}
	var err error
	l.Picture, err = unpack(whole)
	return l, err
}
