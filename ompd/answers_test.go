package ompd

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
)

func TestLibraryLifetime(t *testing.T) {
	var l Library
	wantRC(t, l.Finalize(), callbacks.Unsupported)
	_, err := l.ProcessInitialize(fakeTarget{}, Options{})
	wantRC(t, err, callbacks.Unsupported)
	for _, v := range []int64{0, 201611, 202112} {
		wantRC(t, l.Initialize(v), callbacks.Unsupported)
	}
	for _, v := range []int64{201811, 202011, 202111, 202411} {
		wantRC(t, l.Initialize(v), callbacks.OK)
		wantRC(t, l.Initialize(v), callbacks.OK)
		_, err = l.ProcessInitialize(nil, Options{})
		wantRC(t, err, callbacks.BadInput)
		wantRC(t, l.Finalize(), callbacks.OK)
		wantRC(t, l.Finalize(), callbacks.Unsupported)
	}
	want(t, l.APIVersion(), nil, 202411)
	if !strings.HasPrefix(l.VersionString(), "ompd-inspect") {
		t.Errorf("version string %q", l.VersionString())
	}
}

func TestThreadIdentifiers(t *testing.T) {
	p := fake()
	for id, h := range map[callbacks.ThreadID]handles.Thread{
		callbacks.Pthread(0xa00): threadA, callbacks.LWP(102): threadB, callbacks.LWP(103): threadC,
	} {
		got, err := p.ThreadHandle(id)
		want(t, got, err, h)
		back, err := p.ThreadID(h, id.Kind)
		want(t, back, err, id)
	}
	for id, rc := range map[callbacks.ThreadID]callbacks.RC{
		callbacks.LWP(104):       callbacks.Unavailable, // a thread, but not an OpenMP thread
		callbacks.Pthread(0xd00): callbacks.Unavailable,
		callbacks.LWP(0):         callbacks.Unavailable,
		{Kind: 2, Value: 1}:      callbacks.Unsupported,
	} {
		_, err := p.ThreadHandle(id)
		wantRC(t, err, rc)
	}
	_, err := p.ThreadID(threadA, 3)
	wantRC(t, err, callbacks.Unsupported)
	kinds, err := p.ThreadIDKinds()
	if err != nil || !slices.Equal(kinds, []ThreadIDKind{{callbacks.ThreadIDPthread, 8}, {callbacks.ThreadIDLWP, 8}}) {
		t.Errorf("kinds %v, %v", kinds, err)
	}
}

// TestThreadIdentifiersInPart uses a target without pthread identifiers, and a runtime with an unreadable
// thread.
func TestThreadIdentifiersInPart(t *testing.T) {
	p := NewProcess(&fakeRuntime{broken: true}, fakeTarget{noPthreads: true})
	h, err := p.ThreadHandle(callbacks.Pthread(0xb00))
	want(t, h, err, threadB)
	_, err = p.ThreadHandle(callbacks.LWP(102))
	wantRC(t, err, callbacks.Unsupported)
	if !errors.Is(err, callbacks.ErrUnsupportedKind) {
		t.Errorf("%v does not say that the target cannot tell pthreads", err)
	}
	_, err = p.ThreadID(threadB, callbacks.ThreadIDLWP)
	wantRC(t, err, callbacks.Unsupported)
	_, err = p.ThreadHandle(callbacks.Pthread(0xd00))
	wantRC(t, err, callbacks.Unavailable)
	if !errors.Is(err, callbacks.ErrNotCaptured) {
		t.Errorf("%v does not say that a thread was not read", err)
	}
	kinds, err := p.ThreadIDKinds()
	if err != nil || !slices.Equal(kinds, []ThreadIDKind{{callbacks.ThreadIDPthread, 8}}) {
		t.Errorf("kinds %v, %v", kinds, err)
	}
}

func TestIdentifiersAsBytes(t *testing.T) {
	for _, c := range []struct {
		id   callbacks.ThreadID
		size uint64
		rc   callbacks.RC
	}{
		{callbacks.Pthread(0x7f00_1122_3344), 8, callbacks.OK},
		{callbacks.LWP(4711), 4, callbacks.OK},
		{callbacks.LWP(4711), 8, callbacks.OK},
		{callbacks.Pthread(1), 4, callbacks.BadInput},
		{callbacks.LWP(1), 2, callbacks.BadInput},
		{callbacks.LWP(1), 0, callbacks.BadInput},
		{callbacks.ThreadID{Kind: 3}, 8, callbacks.Unsupported},
	} {
		raw, err := EncodeID(c.id, c.size)
		wantRC(t, err, c.rc)
		if err != nil {
			raw = make([]byte, c.size)
		}
		id, err := DecodeID(c.id.Kind, raw)
		wantRC(t, err, c.rc)
		if err == nil && (id != c.id || uint64(len(raw)) != c.size) {
			t.Errorf("%v became %v in %d bytes", c.id, id, len(raw))
		}
	}
}

// TestEnumerations follows the protocol of the C interface: from the undefined value, while more is true.
func TestEnumerations(t *testing.T) {
	p := fake()
	var states []handles.State
	for s, more := handles.StateUndefined, true; more; states = append(states, s) {
		var err error
		if s, more, err = p.NextState(s); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(states, handles.States()) {
		t.Errorf("states %v", states)
	}
	_, _, err := p.NextState(0x9999)
	wantRC(t, err, callbacks.BadInput)

	var icvs []handles.ICV
	id := 0
	for more := true; more; {
		var icv handles.ICV
		if id, icv, more, err = p.NextICV(id); err != nil {
			t.Fatal(err)
		}
		icvs = append(icvs, icv)
	}
	if !slices.Equal(icvs, p.ICVs()) || id != len(icvs) {
		t.Errorf("variables %v, the last is number %d", icvs, id)
	}
	next, _, more, err := p.NextICV(id)
	want(t, fmt.Sprint(next, more), err, "0 false")
	for _, bad := range []int{-1, len(icvs) + 1} {
		_, _, _, err = p.NextICV(bad)
		wantRC(t, err, callbacks.BadInput)
	}
}

func TestControlVariables(t *testing.T) {
	p := fake()
	ofTask, ofSpace := handles.Subject{Scope: handles.ScopeTask, Task: explicit},
		handles.Subject{Scope: handles.ScopeAddressSpace}
	for _, c := range []struct {
		s    handles.Subject
		id   int
		val  int64
		rc   callbacks.RC // for the integer
		text string
		trc  callbacks.RC // for the text
	}{
		{ofSpace, 1, 2, callbacks.OK, "2", callbacks.OK},
		{ofTask, 2, 3, callbacks.Incomplete, "3,2", callbacks.OK},
		{ofTask, 6, 0, callbacks.Incompatible, "monotonic:dynamic,8", callbacks.OK},
		{ofTask, 1, 0, callbacks.Incompatible, "", callbacks.Incompatible}, // wrong scope
		{handles.Subject{Scope: handles.ScopeImplicitTask, Task: explicit}, 2, 0, callbacks.Incompatible, "",
			callbacks.Incompatible},
		{ofTask, 0, 0, callbacks.BadInput, "", callbacks.BadInput},
		{ofTask, 10, 0, callbacks.BadInput, "", callbacks.BadInput},
		{handles.Subject{Scope: 9}, 1, 0, callbacks.BadInput, "", callbacks.BadInput},
	} {
		v, err := p.ICVFromScope(c.s, c.id)
		wantRC(t, err, c.rc)
		want(t, v, nil, c.val)
		text, err := p.ICVStringFromScope(c.s, c.id)
		wantRC(t, err, c.trc)
		want(t, text, nil, c.text)
	}
	joined, err := p.ICV(2, ofTask)
	want(t, joined, err, fakeValues["nthreads-var"])
	_, err = p.ToolData(handles.Subject{Scope: 0})
	wantRC(t, err, callbacks.BadInput)
	wantRC(t, p.ReleaseDisplayControlVars(nil), callbacks.BadInput)
	lines, err := p.DisplayControlVars()
	want(t, strings.Join(lines, "|"), err, "OMP_NUM_THREADS=3,2|OMP_DYNAMIC=true")
}

func TestAnswers(t *testing.T) {
	p := fake()
	st, err := p.State(threadA, &handles.Evidence{})
	want(t, st.State, err, handles.StateWaitLock)
	_, err = p.State(threadA, nil)
	wantRC(t, err, callbacks.NeedsStateTracking)
	f, err := p.TaskFrame(explicit)
	want(t, f.Exit, err, callbacks.Addr(0x7f00))
	_, err = p.TaskFrame(initial)
	wantRC(t, err, callbacks.NeedsStateTracking)
	for _, ask := range []func(*Process) error{
		func(p *Process) error { _, err := p.State(threadA, nil); return err },
		func(p *Process) error { _, err := p.TaskFrame(initial); return err },
	} {
		wantRC(t, ask(NewProcess(&fakeRuntime{untrackable: true}, fakeTarget{})), callbacks.Unsupported)
	}
	_, err = NewProcess(&fakeRuntime{tracking: true}, fakeTarget{}).TaskFrame(initial)
	wantRC(t, err, callbacks.OK)
	entry, err := p.TaskFunction(explicit)
	want(t, entry, err, callbacks.Addr(0x402000))
	_, err = p.TaskFunction(initial)
	wantRC(t, err, callbacks.Unavailable)
	_, err = p.EnclosingParallel(region0)
	wantRC(t, err, callbacks.Unavailable)
	_, err = p.CurrentTask(threadC)
	wantRC(t, err, callbacks.Unavailable)
	for _, n := range []int{-1, 2} {
		_, err = p.ThreadInParallel(region1, n)
		wantRC(t, err, callbacks.BadInput)
		_, err = p.TaskInParallel(region1, n)
		wantRC(t, err, callbacks.BadInput)
	}
	_, err = p.DeviceInitialize(1, nil)
	wantRC(t, err, callbacks.BadInput)
	d, err := p.ThreadDevice(threadB)
	want(t, d, err, p)
	s, err := p.OMPVersionString()
	want(t, s, err, "OpenMP 5.0 preview 1 (201611)")
	n, err := p.CompareTasks(initial, explicit)
	want(t, n < 0, err, true)
	for h, err := range p.ExplicitTasks(region1) {
		want(t, h, err, explicit)
	}
	for h, err := range p.ExplicitTasks(handles.Parallel{}) {
		wantRC(t, err, callbacks.StaleHandle)
		want(t, h, nil, handles.Task{})
	}
	want(t, p.Owns(0x42), nil, true)
	want(t, p.String(), nil, "address space 3, fake runtime")
}

func TestErrors(t *testing.T) {
	fault := fmt.Errorf("team: %w", &callbacks.FaultError{Address: callbacks.Addr(0x10), Err: callbacks.ErrNotCaptured})
	for _, c := range []struct {
		err error
		rc  callbacks.RC
	}{
		{nil, callbacks.OK},
		{fault, callbacks.DeviceReadError},
		{fmt.Errorf("%w: %w", callbacks.StaleHandle, fault), callbacks.StaleHandle},
		{errors.Join(callbacks.ErrNoThread, nil), callbacks.Unavailable},
		{callbacks.ErrUnsupportedKind, callbacks.Unsupported},
		{errors.New("anything"), callbacks.Error},
		{callbacks.Incomplete, callbacks.Incomplete},
	} {
		wantRC(t, c.err, c.rc)
		wantRC(t, fail("ompd_get_state", threadA, c.err), c.rc)
		if c.err != nil && !errors.Is(fail("ompd_get_state", threadA, c.err), c.rc) {
			t.Errorf("%v is not %v", c.err, c.rc)
		}
		if ErrorString(c.rc) == ErrorString(99) {
			t.Errorf("%v has no text", c.rc)
		}
	}
	want(t, fail("ompd_get_state", threadA, fault).Error(), nil,
		"ompd_get_state(thread@0xa0): team: read 0x10: memory is mapped but not in the core, and no matching file is "+
			"at hand (ompd_rc_device_read_error)")
	want(t, fail("ompd_finalize", nil, fmt.Errorf("not initialized: %w", callbacks.Unsupported)).Error(), nil,
		"ompd_finalize: not initialized: ompd_rc_unsupported")
}
