package server

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/client"
	"github.com/ompd-inspect/ompd-inspect/corefile"
	"github.com/ompd-inspect/ompd-inspect/internal/cli"
	"github.com/ompd-inspect/ompd-inspect/internal/target/remote"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/internal/wire"
	"github.com/ompd-inspect/ompd-inspect/picture"
	ompdv1 "github.com/ompd-inspect/ompd-inspect/proto/ompd/v1"
)

// attach runs a debugger that holds a core and lends it. It returns the server's information on the target, once
// for each time the debugger lends it.
func attach(ctx context.Context, t *testing.T, c *client.Client, core *corefile.Core,
	path string) (ompdv1.DebuggerService_AttachClient, chan *ompdv1.OpenTargetInfo) {
	t.Helper()
	stream, err := c.Debugger.Attach(ctx)
	if err != nil {
		t.Fatal(err)
	}
	about := e2e.Report(t, path).Target
	m := new(ompdv1.Target)
	if err := wire.Pack(&about, m); err != nil {
		t.Fatal(err)
	}
	hello := &ompdv1.Hello{About: m, Powers: []ompdv1.Power{ompdv1.Power_POWER_REGISTERS, ompdv1.Power_POWER_MAPPINGS}}
	if err := stream.Send(&ompdv1.AttachRequest{Message: &ompdv1.AttachRequest_Hello{Hello: hello}}); err != nil {
		t.Fatal(err)
	}
	infos := make(chan *ompdv1.OpenTargetInfo, 4)
	go func() {
		defer close(infos)
		for {
			resp, err := stream.Recv()
			if err != nil {
				return
			}
			if info := resp.GetTarget(); info != nil {
				infos <- info
				continue
			}
			a := &ompdv1.Answers{Id: resp.GetQuestions().GetId()}
			for _, q := range resp.GetQuestions().GetQuestions() {
				a.Answers = append(a.Answers, remote.Answer(core, q))
			}
			if err := stream.Send(
				&ompdv1.AttachRequest{Message: &ompdv1.AttachRequest_Answers{Answers: a}}); err != nil {
				return
			}
		}
	}()
	return stream, infos
}

// merged returns the report of a target by its name.
func merged(t *testing.T, c *client.Client, name string) *picture.Picture {
	t.Helper()
	stream, err := c.Inspection.GetReport(t.Context(),
		&ompdv1.GetReportRequest{Target: name,
			Parts: []ompdv1.PicturePart{ompdv1.PicturePart_PICTURE_PART_NATIVE_STACKS}})
	if err != nil {
		t.Fatal(err)
	}
	pic := new(picture.Picture)
	for {
		resp, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return pic
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := wire.Unpack(resp.GetPicture(), pic); err != nil {
			t.Fatal(err)
		}
	}
}

// verbsOfLent runs verbs on a debugger's target, and on the same core.
func verbsOfLent(t *testing.T, address, name, core string) {
	t.Helper()
	for _, verb := range []string{"report", "threads", "stacks", "doctor"} {
		_, want, _ := e2e.Output(t, verb, core)
		if status, got, errs := e2e.Output(t, "--server", address, verb, "debugger:"+name); status != cli.ExitOK ||
			got != want {
			t.Errorf("%s of what a debugger lends: exit status %d: %s\n%s", verb, status, errs,
				firstDifference(got, want))
		}
	}
}

// TestServeCoreOfDebugger lends a core over the stream: the report equals the direct one, OMPD's routines answer,
// a new stop makes handles stale, and the end of the stream frees the target.
func TestServeCoreOfDebugger(t *testing.T) {
	address := e2e.Serve(t)
	exe := omptest.Compile(t, omptest.Build{Program: "nested"})
	r := omptest.Dump(t, omptest.Run{Exe: exe, Runtime: omptest.RuntimeOf(t, 16), Mode: omptest.Kernel})
	core, err := corefile.Open(r.Core, corefile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer core.Close()
	c, err := client.Dial(address, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	stream, infos := attach(ctx, t, c, core, r.Core)
	name := (<-infos).GetName()
	_, direct, _ := e2e.Output(t, "report", "--json", r.Core)
	want := new(picture.Picture)
	if err := json.Unmarshal([]byte(direct), want); err != nil {
		t.Fatal(err)
	}
	expected, _ := json.Marshal(want)
	if got, _ := json.Marshal(merged(t, c, name)); string(got) != string(expected) {
		t.Errorf("the report through the debugger differs:\n%s\nnot\n%s", got, expected)
	}
	verbsOfLent(t, address, name, r.Core)
	if _, err := c.Ompd.Initialize(t.Context(), &ompdv1.InitializeRequest{ApiVersion: 202111}); err != nil {
		t.Fatal(err)
	}
	spaces, err := c.Ompd.ProcessInitialize(t.Context(), &ompdv1.ProcessInitializeRequest{Target: name})
	if err != nil || len(spaces.GetAddressSpaces()) != 1 {
		t.Fatalf("%v, %v", spaces, err)
	}
	threads := func() (*ompdv1.GetThreadsResponse, error) {
		return c.Ompd.GetThreads(t.Context(),
			&ompdv1.GetThreadsRequest{AddressSpaceHandle: spaces.GetAddressSpaces()[0].GetHandle()})
	}
	if list, err := threads(); err != nil || len(list.GetThreadHandles()) < 4 {
		t.Errorf("%v, %v", list, err)
	}
	stopped := &ompdv1.AttachRequest_Stopped{Stopped: &ompdv1.Stopped{}}
	if err := stream.Send(&ompdv1.AttachRequest{Message: stopped}); err != nil {
		t.Fatal(err)
	}
	info := <-infos
	if info.GetStop() != 1 || info.GetRoundTrips() == 0 || info.GetRoundTrips() > 100 {
		t.Errorf("after a stop: %v", info)
	}
	t.Logf("%d round trips", info.GetRoundTrips())
	_, err = threads()
	var e *client.Error
	if !errors.As(client.Explain(err), &e) || e.Reason != "STALE_HANDLE" {
		t.Errorf("a handle of the stop before: %v", err)
	}
	leave()
	for range infos { // until the stream has ended here
	}
}
