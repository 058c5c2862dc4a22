package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	ompdv1 "github.com/ompd-inspect/ompd-inspect/proto/ompd/v1"
	"github.com/ompd-inspect/ompd-inspect/session"
)

// busy runs a program that records events all the time, until the test ends or end is called.
func busy(t *testing.T, runtime omptest.Runtime) (pid int, end func()) {
	t.Helper()
	b, load := omptest.Build{Program: "healthy_busy"}, "OMP_TOOL_LIBRARIES="
	if runtime.Name == omptest.Libgomp(t).Name {
		b.Compiler, load = omptest.GCC, "LD_PRELOAD="
	}
	// It dies with its parent's thread, so the parent is a shell: Go's threads end at any time.
	cmd := exec.Command("sh", "-c", `exec 3<&0; env "$1" "$2" "$0" <&3 3<&- & echo $!; exec 3<&- <&- >&-; wait`,
		omptest.Compile(t, b), "LD_LIBRARY_PATH="+runtime.Dir, load+omptest.Recorder(t))
	input, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	end = sync.OnceFunc(func() {
		_ = input.Close()
		_ = cmd.Wait()
	})
	t.Cleanup(end)
	if _, err := fmt.Fscan(out, &pid); err != nil {
		t.Fatal(err)
	}
	return pid, end
}

// tracer is a connection to a server with a target open.
type tracer struct {
	ompdv1.TraceServiceClient
	*client
}

// traced starts a server and opens a process in it, once its recorder has events.
func traced(t *testing.T, cfg Config, pid int, options ...grpc.DialOption) *tracer {
	t.Helper()
	cfg.Policy = Policy{UIDs: []int{ownUID()}}
	cfg.Open = func(ctx context.Context, spec *ompdv1.TargetSpec, means Means) (Opened, error) {
		o := session.Options{Open: means.Open, Memory: means.Memory}
		return session.Open(ctx, strconv.FormatInt(spec.GetPid(), 10), o)
	}
	_, address := start(t, cfg)
	conn := dial(t, address, options...)
	c := &tracer{ompdv1.NewTraceServiceClient(conn), &client{
		ompdv1.NewInspectionServiceClient(conn), ompdv1.NewOmpdServiceClient(conn), conn, "",
	}}
	spec := &ompdv1.TargetSpec{Source: &ompdv1.TargetSpec_Pid{Pid: int64(pid)}}
	lastly(t, "events", func() error { // the process may not have executed the program yet
		resp, err := c.OpenTarget(t.Context(), &ompdv1.OpenTargetRequest{Spec: spec})
		if err != nil {
			return err
		}
		c.target = resp.GetTarget().GetName()
		events, err := c.events(t.Context(), &ompdv1.GetEventsRequest{Target: c.target, Limit: 100})
		if err == nil && len(events) == 100 {
			return nil
		}
		_, closing := c.CloseTarget(t.Context(), &ompdv1.CloseTargetRequest{Target: c.target})
		return errors.Join(fmt.Errorf("there are %d", len(events)), err, closing)
	})
	return c
}

// events returns all events that GetEvents sends.
func (c *tracer) events(ctx context.Context, req *ompdv1.GetEventsRequest) (list []*ompdv1.Event, err error) {
	stream, err := c.GetEvents(ctx, req)
	for pieces := 0; err == nil; pieces++ {
		var r *ompdv1.GetEventsResponse
		r, err = stream.Recv()
		if err == nil && (r.GetRecording() != nil) != (pieces == 0) {
			return nil, fmt.Errorf("piece %d has the recording %v", pieces, r.GetRecording())
		}
		list = append(list, r.GetEvents()...)
	}
	if errors.Is(err, io.EOF) {
		return list, nil
	}
	return nil, err
}

// ordered checks that events are in the order of their times: per thread, or overall.
func ordered(t *testing.T, list []*ompdv1.Event, all bool) {
	t.Helper()
	last := map[int64]int64{}
	for i, e := range list {
		of := e.GetLwp()
		if all {
			of = 0
		}
		if e.GetTime() < last[of] || e.GetText() == "" || e.GetEvent() == "" {
			t.Errorf("event %d of %d: %v", i, len(list), e)
			return
		}
		last[of] = e.GetTime()
	}
}

// eachRuntime calls f for both runtimes.
func eachRuntime(t *testing.T, f func(*testing.T, omptest.Runtime)) {
	for _, runtime := range []omptest.Runtime{omptest.RuntimeOf(t, 19), omptest.Libgomp(t)} {
		t.Run(runtime.Name, func(t *testing.T) { f(t, runtime) })
	}
}

// TestTrace requests events of a process that records all the time, and gets exactly those, in order.
func TestTrace(t *testing.T) {
	eachRuntime(t, func(t *testing.T, runtime omptest.Runtime) {
		pid, end := busy(t, runtime)
		c := traced(t, Config{}, pid)
		ask := func(what string, req *ompdv1.GetEventsRequest, most int) []*ompdv1.Event {
			t.Helper()
			req.Target = c.target
			list, err := c.events(t.Context(), req)
			if err != nil || len(list) == 0 || len(list) > most {
				t.Fatalf("%s: %d events, %v", what, len(list), err)
			}
			ordered(t, list, true)
			return list
		}
		const any = 1 << 30
		all := ask("all", &ompdv1.GetEventsRequest{}, any)
		lwps, places := map[int64]bool{}, 0
		for _, e := range all {
			lwps[e.GetLwp()] = true
			if e.GetFrame().GetFile() != "" && e.GetPc() != 0 {
				places++
			}
		}
		if len(lwps) < 4 || places < len(all)/4 {
			t.Errorf("%d threads, %d places in %d events", len(lwps), places, len(all))
		}
		ask("the last of each thread", &ompdv1.GetEventsRequest{PerThread: 3}, 3*(len(lwps)+8))
		ask("the last", &ompdv1.GetEventsRequest{Limit: 5}, 5)
		for _, e := range ask("a time", &ompdv1.GetEventsRequest{Last: durationpb.New(time.Hour), Limit: 50}, 50) {
			if e.GetAgo() < 0 || e.GetAgo() > time.Hour.Nanoseconds() {
				t.Errorf("%v", e)
			}
		}
		filter := &ompdv1.EventFilter{Lwps: []int64{int64(pid)}}
		for _, e := range ask("a thread", &ompdv1.GetEventsRequest{Filter: filter, Limit: 500}, 500) {
			if e.GetLwp() != int64(pid) {
				t.Fatalf("%v", e)
			}
		}
		stats, err := c.GetStatistics(t.Context(), &ompdv1.GetStatisticsRequest{Target: c.target})
		if err != nil {
			t.Fatal(err)
		}
		if r, err := stats.Recv(); err != nil || len(r.GetStatistics().GetRows()) < 5 ||
			r.GetRecording().GetPid() != int64(pid) {
			t.Errorf("statistics: %v, %v", r, err)
		}
		checkFollow(t, c, end)
	})
}

// checkFollow follows a process until it ends.
func checkFollow(t *testing.T, c *tracer, end func()) {
	t.Helper()
	stream, err := c.FollowEvents(t.Context(), &ompdv1.FollowEventsRequest{Target: c.target, Rate: 1000})
	if err != nil {
		t.Fatal(err)
	}
	var list []*ompdv1.Event
	for n := 0; ; n++ {
		r, err := stream.Recv()
		if errors.Is(err, io.EOF) && n > 4 {
			break
		}
		if err != nil || (r.GetRecording() != nil) != (n == 0) || len(r.GetEvents()) > 20 {
			t.Fatalf("answer %d: %v, %v", n, r, err)
		}
		list = append(list, r.GetEvents()...)
		if n == 4 {
			end()
		}
	}
	if len(list) == 0 {
		t.Fatal("no events")
	}
	ordered(t, list, false)
}

// TestTraceMany lets many calls read the recorder of one process at once, cancels some of them, and closes the
// target. No resources remain open, and each surviving call gets events in order.
func TestTraceMany(t *testing.T) {
	eachRuntime(t, func(t *testing.T, runtime omptest.Runtime) {
		pid, _ := busy(t, runtime)
		c := traced(t, Config{}, pid)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var wg sync.WaitGroup
		for i := range 12 {
			wg.Go(func() {
				ctx, away := context.WithCancel(ctx)
				defer away()
				stream, err := c.FollowEvents(ctx, &ompdv1.FollowEventsRequest{Target: c.target, Rate: 2000})
				var list []*ompdv1.Event
				for n := 0; err == nil && (i%2 == 0 || n < 3); n++ { // every other one leaves
					var r *ompdv1.FollowEventsResponse
					if r, err = stream.Recv(); err == nil && len(list) < 1<<16 {
						list = append(list, r.GetEvents()...)
					}
				}
				ordered(t, list, false)
				if i%2 == 0 {
					codeOf(t, "a call whose target is closed", err, codes.Aborted)
				}
			})
		}
		for i := range 8 {
			short, stop := context.WithCancel(t.Context())
			if i%2 == 0 {
				stop()
			}
			_, err := c.events(short, &ompdv1.GetEventsRequest{Target: c.target, Limit: 2000})
			if want := []codes.Code{codes.Canceled, codes.OK}[i%2]; err != nil || want != codes.OK {
				codeOf(t, "events", err, want)
			}
			stop()
		}
		if _, err := c.CloseTarget(t.Context(), &ompdv1.CloseTargetRequest{Target: c.target}); err != nil {
			t.Error(err)
		}
		wg.Wait()
	})
}

// TestTraceUnread follows a process without reading: other clients are served, and the call ends.
func TestTraceUnread(t *testing.T) {
	pid, _ := busy(t, omptest.RuntimeOf(t, 19))
	limits := Limits{Patience: Patience{Unread: 300 * time.Millisecond}}
	small := []grpc.DialOption{grpc.WithInitialWindowSize(window), grpc.WithInitialConnWindowSize(1 << 20)}
	log := new(lines)
	c := traced(t, Config{Limits: limits, Log: log.logger()}, pid, small...)
	lastly(t, "more events than a stream holds", func() error {
		list, err := c.events(t.Context(), &ompdv1.GetEventsRequest{Target: c.target, Limit: 5000})
		if err == nil && len(list) < 5000 {
			err = fmt.Errorf("there are %d", len(list))
		}
		return err
	})
	goOn := func() error { return syscall.Kill(pid, syscall.SIGCONT) }
	t.Cleanup(func() { _ = goOn() })
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil { // no event is lost while they are read
		t.Fatal(err)
	}
	before := len(log.String()) // on a busy machine, an earlier call may have been too slow
	get, err1 := c.GetEvents(t.Context(), &ompdv1.GetEventsRequest{Target: c.target})
	export, err2 := c.ExportEvents(t.Context(), &ompdv1.ExportEventsRequest{
		Target: c.target, Format: ompdv1.ExportFormat_EXPORT_FORMAT_LINES,
	})
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		if _, err := c.events(t.Context(), &ompdv1.GetEventsRequest{Target: c.target, Limit: 10}); err != nil {
			t.Fatal(err)
		}
	}
	exhausted(t, log, before, "GetEvents", get)
	exhausted(t, log, before, "ExportEvents", export)
	follow, err := c.FollowEvents(t.Context(), &ompdv1.FollowEventsRequest{Target: c.target, Rate: 1 << 40})
	if err := errors.Join(err, goOn()); err != nil {
		t.Fatal(err)
	}
	exhausted(t, log, before, "FollowEvents", follow)
}

// exhausted waits until the log, from an offset, contains the end of a call with an unread stream.
func exhausted(t *testing.T, log *lines, from int, call string, s grpc.ClientStream) {
	t.Helper()
	lastly(t, "the end of a call that nobody reads", func() error {
		for line := range strings.Lines(log.String()[from:]) {
			known := strings.Contains(line, "code=OK") || strings.Contains(line, "code=FailedPrecondition")
			if strings.Contains(line, call) && !known { // without this prefix before the recorder was there
				return nil
			}
		}
		return errors.New(call)
	})
	err := error(nil)
	for err == nil {
		err = s.RecvMsg(new(ompdv1.ExportEventsResponse)) // works for any message: the fields are skipped
	}
	codeOf(t, call, err, codes.ResourceExhausted)
}

// TestTraceRefused makes invalid requests.
func TestTraceRefused(t *testing.T) {
	_, address := start(t, Config{})
	c := connect(t, address, core(t, "barrier").Core)
	tr := &tracer{ompdv1.NewTraceServiceClient(c.conn), c}
	_, err := tr.events(t.Context(), &ompdv1.GetEventsRequest{Target: c.target})
	codeOf(t, "a core without a recorder", err, codes.FailedPrecondition)
	_, err = tr.events(t.Context(), &ompdv1.GetEventsRequest{Target: c.target, Limit: -1})
	codeOf(t, "a limit below 0", err, codes.InvalidArgument)
	_, err = tr.events(t.Context(), &ompdv1.GetEventsRequest{Target: "none"})
	codeOf(t, "no target", err, codes.NotFound)
	stream, err := tr.ExportEvents(t.Context(), &ompdv1.ExportEventsRequest{Target: c.target})
	if err == nil {
		_, err = stream.Recv()
	}
	codeOf(t, "no format", err, codes.InvalidArgument)
}
