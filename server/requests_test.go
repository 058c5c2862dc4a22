package server

import (
	"errors"
	"io"
	"testing"

	"google.golang.org/grpc/codes"

	ompdv1 "github.com/ompd-inspect/ompd-inspect/proto/ompd/v1"
)

// TestUnknownValues requires an error for values of a request that the server does not know: an empty answer would
// look as if there were nothing.
func TestUnknownValues(t *testing.T) {
	_, address := start(t, Config{})
	r := core(t, "tasks_deps")
	c := connect(t, address, r.Core)
	ctx := t.Context()
	const unknown = 9999
	stream, err := c.GetReport(ctx, &ompdv1.GetReportRequest{Target: c.target, Parts: []ompdv1.PicturePart{unknown}})
	if err == nil {
		_, err = stream.Recv()
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	codeOf(t, "an unknown part", err, codes.InvalidArgument)
	_, err = c.ListThreads(ctx, &ompdv1.ListThreadsRequest{Target: c.target, View: unknown})
	codeOf(t, "an unknown view", err, codes.InvalidArgument)
	_, err = c.ListThreads(ctx, &ompdv1.ListThreadsRequest{Target: c.target,
		Filter: &ompdv1.ThreadFilter{Roles: []ompdv1.Role{unknown}}})
	codeOf(t, "an unknown role", err, codes.InvalidArgument)
	_, err = c.ListThreads(ctx, &ompdv1.ListThreadsRequest{Target: c.target, PageSize: -1})
	codeOf(t, "a negative page size", err, codes.InvalidArgument)
	_, err = c.OpenTarget(ctx, &ompdv1.OpenTargetRequest{Spec: &ompdv1.TargetSpec{
		Source: &ompdv1.TargetSpec_Core{Core: r.Core}, Sources: []string{"bogus"}}})
	codeOf(t, "an unknown source", err, codes.InvalidArgument)
	_, err = c.ListIcvs(ctx, &ompdv1.ListIcvsRequest{Target: c.target,
		Filter: &ompdv1.IcvFilter{Names: []string{"nthread-var"}}})
	codeOf(t, "an unknown variable", err, codes.InvalidArgument)
	_, err = c.ListIcvs(ctx, &ompdv1.ListIcvsRequest{Target: c.target,
		Filter: &ompdv1.IcvFilter{Scopes: []string{"tsk"}}})
	codeOf(t, "an unknown scope", err, codes.InvalidArgument)
	_, err = c.ListThreads(ctx, &ompdv1.ListThreadsRequest{})
	codeOf(t, "no target", err, codes.InvalidArgument)
	_, err = c.GetTarget(ctx, &ompdv1.GetTargetRequest{})
	codeOf(t, "no target", err, codes.InvalidArgument)
	_, err = c.ListThreads(ctx, &ompdv1.ListThreadsRequest{Target: "targets/none"})
	codeOf(t, "an unknown target", err, codes.NotFound)
}
