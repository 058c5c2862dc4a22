package server

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/ompd-inspect/ompd-inspect/internal/wire"
	"github.com/ompd-inspect/ompd-inspect/picture"
	ompdv1 "github.com/ompd-inspect/ompd-inspect/proto/ompd/v1"
)

func ownUID() int { return os.Getuid() }

// allParts returns all parts of a picture.
func allParts() []ompdv1.PicturePart {
	var out []ompdv1.PicturePart
	for n := range ompdv1.PicturePart_name {
		if n != 0 {
			out = append(out, ompdv1.PicturePart(n))
		}
	}
	slices.Sort(out)
	return out
}

// report gets a picture and the number of its pieces.
func (c *client) report(t testing.TB, parts ...ompdv1.PicturePart) (*picture.Picture, int) {
	t.Helper()
	stream, err := c.GetReport(t.Context(), &ompdv1.GetReportRequest{Target: c.target, Parts: parts})
	if err != nil {
		t.Fatal(err)
	}
	whole, pic, n := new(ompdv1.Picture), new(picture.Picture), 0
	for ; ; n++ {
		resp, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		proto.Merge(whole, resp.GetPicture())
	}
	if err := wire.Unpack(whole, pic); err != nil {
		t.Fatal(err)
	}
	return pic, n
}

// sameJSON compares two pictures, or parts of them, by their JSON forms.
func sameJSON(t testing.TB, what string, got, want any) {
	t.Helper()
	a, _ := json.MarshalIndent(got, "", " ")
	b, _ := json.MarshalIndent(want, "", " ")
	if string(a) != string(b) {
		t.Errorf("%s: the server's differs:\n%s\nnot\n%s", what, a, b)
	}
	if len(b) < 3 {
		t.Errorf("%s is empty", what)
	}
}

// TestReport compares every part of the pictures of real cores with the pictures made without a server.
func TestReport(t *testing.T) {
	_, address := start(t, Config{})
	for _, program := range []string{"nested", "tasks_deps", "critical", "crash_task", "idle"} {
		t.Run(program, func(t *testing.T) {
			r := core(t, program)
			c := connect(t, address, r.Core)
			got, _ := c.report(t, allParts()...)
			want := direct(t, r.Core, allParts()...)
			sameJSON(t, "picture", got, want)
			if len(want.Threads) < len(r.Truth.Threads) || len(want.Layout) == 0 || len(want.Checks) == 0 ||
				len(want.ICVs) == 0 {
				t.Errorf("a poor picture: %d threads", len(want.Threads))
			}
			got, _ = c.report(t)
			sameJSON(t, "report", got, direct(t, r.Core))
		})
	}
}

// TestPieces gets a report in many messages.
func TestPieces(t *testing.T) {
	_, address := start(t, Config{Limits: Limits{Message: 16 << 10}})
	r := core(t, "many", "64")
	got, n := connect(t, address, r.Core).report(t, allParts()...)
	if n < 5 {
		t.Errorf("only %d pieces", n)
	}
	sameJSON(t, "picture", got, direct(t, r.Core, allParts()...))
}

// pages gets all pages of a list.
func pages[M any](t testing.TB, list func(token string) ([]*M, string, error)) []*M {
	t.Helper()
	var all []*M
	token := ""
	for n := 0; ; n++ {
		page, next, err := list(token)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, page...)
		if next == "" {
			return all
		}
		if token = next; len(page) == 0 || n > 1000 {
			t.Fatalf("page %d has %d elements and is not the last", n, len(page))
		}
	}
}

// unpacked converts messages to structs.
func unpacked[T, M any, P wire.Message[M]](t testing.TB, list []*M) []T {
	t.Helper()
	out, err := wire.UnpackAll[T, M, P](list)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestLists compares all pages of every list with the same part of the picture.
func TestLists(t *testing.T) {
	_, address := start(t, Config{})
	r := core(t, "tasks_deps")
	want := direct(t, r.Core, allParts()...)
	c := connect(t, address, r.Core)
	ctx := t.Context()
	const size = 3
	threads := pages(t, func(tok string) ([]*ompdv1.Thread, string, error) {
		p, err := c.ListThreads(ctx, &ompdv1.ListThreadsRequest{Target: c.target, PageSize: size, PageToken: tok,
			View: ompdv1.ThreadView_THREAD_VIEW_FULL})
		return p.GetThreads(), p.GetNextPageToken(), err
	})
	sameJSON(t, "threads", unpacked[picture.Thread](t, threads), want.Threads)
	regions := pages(t, func(tok string) ([]*ompdv1.Region, string, error) {
		p, err := c.ListRegions(ctx, &ompdv1.ListRegionsRequest{Target: c.target, PageSize: 1, PageToken: tok})
		return p.GetRegions(), p.GetNextPageToken(), err
	})
	sameJSON(t, "regions", unpacked[picture.Region](t, regions), want.Regions)
	tasks := pages(t, func(tok string) ([]*ompdv1.Task, string, error) {
		p, err := c.ListTasks(ctx, &ompdv1.ListTasksRequest{Target: c.target, PageSize: size, PageToken: tok})
		return p.GetTasks(), p.GetNextPageToken(), err
	})
	sameJSON(t, "tasks", unpacked[picture.Task](t, tasks), want.Tasks)
	stacks := pages(t, func(tok string) ([]*ompdv1.MergedStack, string, error) {
		p, err := c.ListStacks(ctx, &ompdv1.ListStacksRequest{Target: c.target, PageSize: 1, PageToken: tok})
		return p.GetStacks(), p.GetNextPageToken(), err
	})
	sameJSON(t, "stacks", unpacked[picture.MergedStack](t, stacks), want.Stacks)
}

func TestListsOfSettings(t *testing.T) {
	_, address := start(t, Config{})
	r := core(t, "nested")
	want := direct(t, r.Core, allParts()...)
	c := connect(t, address, r.Core)
	ctx := t.Context()
	icvs := pages(t, func(tok string) ([]*ompdv1.Icv, string, error) {
		p, err := c.ListIcvs(ctx, &ompdv1.ListIcvsRequest{Target: c.target, PageToken: tok})
		return p.GetIcvs(), p.GetNextPageToken(), err
	})
	sameJSON(t, "icvs", unpacked[picture.ICV](t, icvs), want.ICVs)
	vars := pages(t, func(tok string) ([]*ompdv1.ControlVar, string, error) {
		p, err := c.ListControlVars(ctx, &ompdv1.ListControlVarsRequest{Target: c.target, PageSize: 4, PageToken: tok})
		return p.GetControlVars(), p.GetNextPageToken(), err
	})
	sameJSON(t, "control_vars", unpacked[picture.ControlVar](t, vars), want.ControlVars)
	entries := pages(t, func(tok string) ([]*ompdv1.LayoutEntry, string, error) {
		p, err := c.ListLayoutEntries(ctx, &ompdv1.ListLayoutEntriesRequest{Target: c.target, PageSize: 50,
			PageToken: tok})
		return p.GetLayout(), p.GetNextPageToken(), err
	})
	sameJSON(t, "layout", unpacked[picture.LayoutEntry](t, entries), want.Layout)
	checks := pages(t, func(tok string) ([]*ompdv1.Check, string, error) {
		p, err := c.ListChecks(ctx, &ompdv1.ListChecksRequest{Target: c.target, PageSize: 2, PageToken: tok})
		return p.GetChecks(), p.GetNextPageToken(), err
	})
	sameJSON(t, "checks", unpacked[picture.Check](t, checks), want.Checks)
	breaks, err := c.ListBreakpoints(ctx, &ompdv1.ListBreakpointsRequest{Target: c.target})
	if err != nil || len(breaks.GetBreakpoints()) < 12 ||
		breaks.GetBreakpoints()[0].GetName() != "ompd_bp_parallel_begin" ||
		breaks.GetBreakpoints()[0].GetRuntime() != "libomp" {
		t.Errorf("%v, %v", breaks, err)
	}
}

func TestViewsAndFilters(t *testing.T) {
	_, address := start(t, Config{})
	r := core(t, "nested")
	want := direct(t, r.Core, allParts()...)
	c := connect(t, address, r.Core)
	for view, stacks := range map[ompdv1.ThreadView][2]bool{
		ompdv1.ThreadView_THREAD_VIEW_UNSPECIFIED: {}, ompdv1.ThreadView_THREAD_VIEW_BASIC: {},
		ompdv1.ThreadView_THREAD_VIEW_USER_STACK: {true, false}, ompdv1.ThreadView_THREAD_VIEW_FULL: {true, true},
	} {
		resp, err := c.ListThreads(t.Context(), &ompdv1.ListThreadsRequest{Target: c.target, View: view})
		if err != nil || len(resp.GetThreads()) != len(want.Threads) {
			t.Fatalf("%v: %d threads, %v", view, len(resp.GetThreads()), err)
		}
		th := resp.GetThreads()[0]
		if got := [2]bool{len(th.GetUserStack()) > 0, len(th.GetStack()) > 0}; got != stacks || th.GetRole() == 0 {
			t.Errorf("%v: stacks %v, want %v", view, got, stacks)
		}
	}
	one := want.Threads[2]
	states := []ompdv1.StateName{
		ompdv1.StateName(ompdv1.StateName_value["STATE_NAME_"+strings.ToUpper(string(one.State.Name))]),
		ompdv1.StateName_STATE_NAME_IDLE,
	}
	for name, f := range map[string]struct {
		filter *ompdv1.ThreadFilter
		keep   func(picture.Thread) bool
	}{
		"region": {&ompdv1.ThreadFilter{Regions: []string{string(one.Region)}},
			func(t picture.Thread) bool { return t.Region == one.Region }},
		"role": {&ompdv1.ThreadFilter{Roles: []ompdv1.Role{ompdv1.Role_ROLE_WORKER}},
			func(t picture.Thread) bool { return t.Role == "worker" }},
		"state": {&ompdv1.ThreadFilter{States: states},
			func(t picture.Thread) bool { return t.State.Name == one.State.Name || t.State.Name == "idle" }},
		"lwp": {&ompdv1.ThreadFilter{Lwps: []int64{int64(one.LWP)}},
			func(t picture.Thread) bool { return t.LWP == one.LWP }},
		"none": {&ompdv1.ThreadFilter{Roles: []ompdv1.Role{ompdv1.Role_ROLE_WORKER}, States: []ompdv1.StateName{0}},
			func(t picture.Thread) bool { return false }},
	} {
		var lwps []int
		for _, th := range want.Threads {
			if f.keep(th) {
				lwps = append(lwps, th.LWP)
			}
		}
		got := pages(t, func(tok string) ([]*ompdv1.Thread, string, error) {
			p, err := c.ListThreads(t.Context(), &ompdv1.ListThreadsRequest{Target: c.target, PageSize: 2,
				PageToken: tok, Filter: f.filter})
			return p.GetThreads(), p.GetNextPageToken(), err
		})
		var have []int
		for _, th := range got {
			have = append(have, int(th.GetLwp()))
		}
		if !reflect.DeepEqual(have, lwps) {
			t.Errorf("%s: threads %v, want %v", name, have, lwps)
		}
	}
}
