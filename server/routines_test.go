package server

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	ompdv1 "github.com/ompd-inspect/ompd-inspect/proto/ompd/v1"
)

// standard are the routines of OpenMP 5.2's OMPD (section 20.5), without breakpoints.
const standard = `ompd_initialize ompd_get_api_version ompd_get_version_string ompd_finalize
ompd_process_initialize ompd_device_initialize ompd_get_device_thread_id_kinds ompd_rel_address_space_handle
ompd_get_omp_version ompd_get_omp_version_string
ompd_get_thread_in_parallel ompd_get_thread_handle ompd_rel_thread_handle ompd_thread_handle_compare ompd_get_thread_id
ompd_get_device_from_thread
ompd_get_curr_parallel_handle ompd_get_enclosing_parallel_handle ompd_get_task_parallel_handle
ompd_rel_parallel_handle ompd_parallel_handle_compare
ompd_get_curr_task_handle ompd_get_generating_task_handle ompd_get_scheduling_task_handle ompd_get_task_in_parallel
ompd_rel_task_handle ompd_task_handle_compare ompd_get_task_function ompd_get_task_frame
ompd_enumerate_states ompd_get_state ompd_get_display_control_vars ompd_rel_display_control_vars
ompd_enumerate_icvs ompd_get_icv_from_scope ompd_get_icv_string_from_scope ompd_get_tool_data`

// TestStandardNames compares the calls of OmpdService with the standard.
func TestStandardNames(t *testing.T) {
	want := []string{"GetThreads"} // from the 2013 draft
	for _, name := range strings.Fields(standard) {
		var camel strings.Builder
		for _, word := range strings.Split(strings.TrimPrefix(name, "ompd_"), "_") {
			camel.WriteString(strings.ToUpper(word[:1]) + word[1:])
		}
		want = append(want, camel.String())
	}
	var got []string
	for _, m := range ompdv1.OmpdService_ServiceDesc.Methods {
		got = append(got, m.MethodName)
	}
	slices.Sort(got)
	slices.Sort(want)
	if len(want) != 38 || !slices.Equal(got, want) {
		t.Errorf("the calls are\n%v\nthe routines are\n%v", got, want)
	}
}

// must returns the answer of a call that must have one.
func must[R any](t testing.TB) func(R, error) R {
	return func(r R, err error) R {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
}

// initialize initializes the library and opens the only address space.
func (c *client) initialize(t testing.TB) string {
	t.Helper()
	must[*ompdv1.InitializeResponse](t)(c.Initialize(t.Context(), &ompdv1.InitializeRequest{ApiVersion: 202111}))
	resp := must[*ompdv1.ProcessInitializeResponse](t)(c.ProcessInitialize(t.Context(),
		&ompdv1.ProcessInitializeRequest{Target: c.target}))
	if len(resp.GetAddressSpaces()) != 1 || resp.GetAddressSpaces()[0].GetRuntime() != "libomp" {
		t.Fatalf("address spaces: %v", resp)
	}
	return resp.GetAddressSpaces()[0].GetHandle()
}

// TestWalk follows every thread of a core through the routines and compares the answers with the program's own
// settings.
func TestWalk(t *testing.T) {
	_, address := start(t, Config{})
	r := core(t, "nested")
	c := connect(t, address, r.Core)
	space, ctx, checked := c.initialize(t), t.Context(), 0
	for _, th := range r.Truth.Threads {
		if th.Level == 0 || th.Role == "idle" || !th.OpenMP {
			continue
		}
		h := must[*ompdv1.GetThreadHandleResponse](t)(c.GetThreadHandle(ctx, &ompdv1.GetThreadHandleRequest{
			Handle: space, ThreadId: &ompdv1.ThreadId{Kind: ompdv1.ThreadIdKind_THREAD_ID_KIND_LWP,
				Value: uint64(th.LWP)},
		})).GetThreadHandle()
		id := must[*ompdv1.GetThreadIdResponse](t)(c.GetThreadId(ctx,
			&ompdv1.GetThreadIdRequest{ThreadHandle: h, Kind: ompdv1.ThreadIdKind_THREAD_ID_KIND_LWP}))
		if id.GetThreadId().GetValue() != uint64(th.LWP) {
			t.Errorf("LWP %d has the id %v", th.LWP, id)
		}
		region := must[*ompdv1.GetCurrParallelHandleResponse](t)(c.GetCurrParallelHandle(ctx,
			&ompdv1.GetCurrParallelHandleRequest{ThreadHandle: h})).GetParallelHandle()
		levels := 0
		for ; ; levels++ {
			up, err := c.GetEnclosingParallelHandle(ctx,
				&ompdv1.GetEnclosingParallelHandleRequest{ParallelHandle: region})
			if err != nil {
				checkCode(t, err, callbacks.Unavailable, codes.FailedPrecondition)
				break
			}
			region = up.GetEnclosingParallelHandle()
		}
		if levels != th.Level {
			t.Errorf("LWP %d is at level %d, want %d", th.LWP, levels, th.Level)
		}
		task := must[*ompdv1.GetCurrTaskHandleResponse](t)(c.GetCurrTaskHandle(ctx,
			&ompdv1.GetCurrTaskHandleRequest{ThreadHandle: h})).GetTaskHandle()
		cmp := must[*ompdv1.TaskHandleCompareResponse](t)(c.TaskHandleCompare(ctx,
			&ompdv1.TaskHandleCompareRequest{TaskHandle_1: task, TaskHandle_2: task}))
		if cmp.GetCmpValue() != 0 {
			t.Errorf("a task compares to itself as %d", cmp.GetCmpValue())
		}
		checked++
	}
	if checked < 4 {
		t.Errorf("only %d threads were followed", checked)
	}
}

// TestEnumerations enumerates states and variables.
func TestEnumerations(t *testing.T) {
	_, address := start(t, Config{})
	c := connect(t, address, core(t, "barrier").Core)
	space, ctx := c.initialize(t), t.Context()
	state, states := uint32(0x102), 0
	for more := true; more; states++ {
		resp := must[*ompdv1.EnumerateStatesResponse](t)(c.EnumerateStates(ctx,
			&ompdv1.EnumerateStatesRequest{AddressSpaceHandle: space, CurrentState: state}))
		state, more = resp.GetNextState(), resp.GetMoreEnums()
	}
	if states != 25 || state != 0x102 {
		t.Errorf("%d states, the last is %#x", states, state)
	}
	values := 0
	for id, more := int32(0), true; more; {
		resp := must[*ompdv1.EnumerateIcvsResponse](t)(c.EnumerateIcvs(ctx,
			&ompdv1.EnumerateIcvsRequest{Handle: space, Current: id}))
		id, more = resp.GetNextId(), resp.GetMore()
		if resp.GetNextScope() != ompdv1.Scope_SCOPE_ADDRESS_SPACE {
			continue
		}
		v, err := c.GetIcvStringFromScope(ctx, &ompdv1.GetIcvStringFromScopeRequest{Handle: space,
			Scope: resp.GetNextScope(), IcvId: id})
		if err == nil && v.GetIcvString() != "" {
			values++
		}
	}
	if values < 5 {
		t.Errorf("only %d variables of the address space have a value", values)
	}
	vars := must[*ompdv1.GetDisplayControlVarsResponse](t)(c.GetDisplayControlVars(ctx,
		&ompdv1.GetDisplayControlVarsRequest{AddressSpaceHandle: space}))
	if len(vars.GetControlVars()) < 5 || !strings.Contains(vars.GetControlVars()[0], "=") {
		t.Errorf("control variables: %v", vars)
	}
}

// checkCode checks the return code in an error.
func checkCode(t testing.TB, err error, rc callbacks.RC, code codes.Code) {
	t.Helper()
	st := status.Convert(err)
	if st.Code() != code || len(st.Details()) != 1 {
		t.Errorf("%v, want %v for %v", err, code, rc)
		return
	}
	info, ok := st.Details()[0].(*errdetails.ErrorInfo)
	want := strings.ToUpper(strings.TrimPrefix(rc.String(), "ompd_rc_"))
	if !ok || info.GetDomain() != Domain || info.GetReason() != want ||
		info.GetMetadata()["ompd_rc_name"] != rc.String() || info.GetMetadata()["routine"] == "" {
		t.Errorf("%v, want %v of %v", info, want, Domain)
	}
}

// checkMetadata checks the reason and the return code of an error that is not a routine's.
func checkMetadata(t testing.TB, err error, reason string, rc callbacks.RC) {
	t.Helper()
	for _, d := range status.Convert(err).Details() {
		info, ok := d.(*errdetails.ErrorInfo)
		if ok && info.GetReason() == reason && info.GetMetadata()["ompd_rc"] == strconv.Itoa(int(rc)) {
			return
		}
	}
	t.Errorf("%v, want %s with %v", err, reason, rc)
}

// TestReturnCodes provokes each kind of error.
func TestReturnCodes(t *testing.T) {
	_, address := start(t, Config{})
	r := core(t, "idle")
	c, other := connect(t, address, r.Core), connect(t, address, r.Core)
	space, theirs, ctx := c.initialize(t), other.initialize(t), t.Context()
	list := must[*ompdv1.GetThreadsResponse](t)(c.GetThreads(ctx,
		&ompdv1.GetThreadsRequest{AddressSpaceHandle: space})).GetThreadHandles()
	forged := list[0][:len(list[0])-1] + map[bool]string{true: "1", false: "0"}[strings.HasSuffix(list[0], "0")]
	state := func(h string) error {
		_, err := c.GetState(ctx, &ompdv1.GetStateRequest{ThreadHandle: h})
		return err
	}
	region := func(h string) error {
		_, err := c.GetCurrParallelHandle(ctx, &ompdv1.GetCurrParallelHandleRequest{ThreadHandle: h})
		return err
	}
	version := func(h string) error {
		_, err := c.GetOmpVersion(ctx, &ompdv1.GetOmpVersionRequest{AddressSpace: h})
		return err
	}
	task := must[*ompdv1.GetCurrTaskHandleResponse](t)(c.GetCurrTaskHandle(ctx,
		&ompdv1.GetCurrTaskHandleRequest{ThreadHandle: list[0]})).GetTaskHandle()
	_, frame := c.GetTaskFrame(ctx, &ompdv1.GetTaskFrameRequest{TaskHandle: task})
	must[*ompdv1.InitializeResponse](t)(c.Initialize(ctx, &ompdv1.InitializeRequest{ApiVersion: 202111})) // again
	_, noTarget := c.ProcessInitialize(ctx, &ompdv1.ProcessInitializeRequest{Target: "none"})
	_, noKind := c.GetThreadHandle(ctx, &ompdv1.GetThreadHandleRequest{Handle: space, ThreadId: &ompdv1.ThreadId{}})
	_, newScope := c.GetToolData(ctx, &ompdv1.GetToolDataRequest{Handle: task, Scope: ompdv1.Scope_SCOPE_TARGET})
	_, badVersion := c.Initialize(ctx, &ompdv1.InitializeRequest{ApiVersion: 7})
	_, device := c.DeviceInitialize(ctx, &ompdv1.DeviceInitializeRequest{HostHandle: space, Kind: 2, Id: []byte{1}})
	_, badState := c.EnumerateStates(ctx, &ompdv1.EnumerateStatesRequest{AddressSpaceHandle: space,
		CurrentState: 0x777})
	_, badScope := c.GetToolData(ctx, &ompdv1.GetToolDataRequest{Handle: space, Scope: 256 + 2})
	_, otherScope := c.GetToolData(ctx, &ompdv1.GetToolDataRequest{Handle: space, Scope: ompdv1.Scope_SCOPE_TASK})
	_, badKind := c.GetThreadId(ctx, &ompdv1.GetThreadIdRequest{ThreadHandle: list[0], Kind: 9})
	for name, tt := range map[string]struct {
		err  error
		rc   callbacks.RC
		code codes.Code
	}{
		"an idle thread's region":     {region(list[len(list)-1]), callbacks.Unavailable, codes.FailedPrecondition},
		"frames without tracking":     {frame, callbacks.NeedsStateTracking, codes.FailedPrecondition},
		"a handle made up":            {state(forged), callbacks.StaleHandle, codes.NotFound},
		"a handle of another session": {version(theirs), callbacks.StaleHandle, codes.NotFound},
		"no handle":                   {state(""), callbacks.StaleHandle, codes.NotFound},
		"half a handle":               {state(targetOf(space) + ".1"), callbacks.BadInput, codes.InvalidArgument},
		"a handle of another kind":    {state(space), callbacks.IncompatibleHandle, codes.InvalidArgument},
		"no kind":                     {noKind, callbacks.Unsupported, codes.Unimplemented},
		"a scope of OpenMP 6.0":       {newScope, callbacks.BadInput, codes.InvalidArgument},
		"a version that is not":       {badVersion, callbacks.Unsupported, codes.Unimplemented},
		"a device":                    {device, callbacks.Unsupported, codes.Unimplemented},
		"a state that is not":         {badState, callbacks.BadInput, codes.InvalidArgument},
		"a scope that is not":         {badScope, callbacks.BadInput, codes.InvalidArgument},
		"a handle of another scope":   {otherScope, callbacks.IncompatibleHandle, codes.InvalidArgument},
		"a kind that is not":          {badKind, callbacks.Unsupported, codes.Unimplemented},
	} {
		t.Run(name, func(t *testing.T) { checkCode(t, tt.err, tt.rc, tt.code) })
	}
	checkMetadata(t, noTarget, reasonNoTarget, callbacks.BadInput)
	must[*ompdv1.RelAddressSpaceHandleResponse](t)(c.RelAddressSpaceHandle(ctx,
		&ompdv1.RelAddressSpaceHandleRequest{Handle: space}))
	checkCode(t, state(list[0]), callbacks.StaleHandle, codes.NotFound)
	must[*ompdv1.FinalizeResponse](t)(other.Finalize(ctx, &ompdv1.FinalizeRequest{}))
	stale := func() {
		t.Helper()
		_, err := other.GetOmpVersion(ctx, &ompdv1.GetOmpVersionRequest{AddressSpace: theirs})
		checkCode(t, err, callbacks.StaleHandle, codes.NotFound)
	}
	stale()
	again := other.initialize(t)
	stale()
	must[*ompdv1.GetOmpVersionResponse](t)(other.GetOmpVersion(ctx, &ompdv1.GetOmpVersionRequest{AddressSpace: again}))
}

// TestScopesOfOpenMP60 requires the scopes that OpenMP 6.0 has added from a tool that uses its interface: both take the
// handle of a parallel region (table 39.1), and no other kind of handle. No tool is active in the program.
func TestScopesOfOpenMP60(t *testing.T) {
	_, address := start(t, Config{})
	c := connect(t, address, core(t, "idle").Core)
	list := must[*ompdv1.GetThreadsResponse](t)(c.GetThreads(t.Context(),
		&ompdv1.GetThreadsRequest{AddressSpaceHandle: c.initialize(t)})).GetThreadHandles()
	must[*ompdv1.InitializeResponse](t)(c.Initialize(t.Context(), &ompdv1.InitializeRequest{ApiVersion: 202411}))
	task := must[*ompdv1.GetCurrTaskHandleResponse](t)(c.GetCurrTaskHandle(t.Context(),
		&ompdv1.GetCurrTaskHandleRequest{ThreadHandle: list[0]})).GetTaskHandle()
	region := must[*ompdv1.GetCurrParallelHandleResponse](t)(c.GetCurrParallelHandle(t.Context(),
		&ompdv1.GetCurrParallelHandleRequest{ThreadHandle: list[0]})).GetParallelHandle()
	for _, scope := range []ompdv1.Scope{ompdv1.Scope_SCOPE_TEAMS, ompdv1.Scope_SCOPE_TARGET} {
		_, err := c.GetToolData(t.Context(), &ompdv1.GetToolDataRequest{Handle: region, Scope: scope})
		checkCode(t, err, callbacks.Unavailable, codes.FailedPrecondition)
		_, err = c.GetToolData(t.Context(), &ompdv1.GetToolDataRequest{Handle: task, Scope: scope})
		checkCode(t, err, callbacks.IncompatibleHandle, codes.InvalidArgument)
	}
}

// TestEveryCodeIsMapped compares the table with OMPD's codes.
func TestEveryCodeIsMapped(t *testing.T) {
	for rc := callbacks.Unavailable; rc <= callbacks.IncompatibleHandle; rc++ {
		if c, ok := rcCodes[rc]; !ok || c == codes.OK || c == codes.Unavailable {
			t.Errorf("%v is %v", rc, c)
		}
	}
	checkCode(t, routineStatus(routineError("ompd_get_state", callbacks.StaleHandle)), callbacks.StaleHandle,
		codes.NotFound)
}
