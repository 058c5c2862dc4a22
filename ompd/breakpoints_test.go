package ompd

import (
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// TestBreakpoints reads all locations, and the four of the draft.
func TestBreakpoints(t *testing.T) {
	p, _ := openCore(t, "barrier", omptest.RuntimeOf(t, 16), "OMP_DEBUG=enabled")
	all, err := p.Breakpoints()
	if err != nil || len(all) != len(handles.StandardBreakpoints()) {
		t.Fatalf("%d locations, %v", len(all), err)
	}
	at := map[string]handles.Breakpoint{}
	for _, b := range all {
		at[b.Name] = b
	}
	draft, err := p.DraftBreakpoints()
	if err != nil || len(draft) != 4 {
		t.Fatalf("%d locations of the draft, %v", len(draft), err)
	}
	for i, w := range []struct{ former, name string }{
		{"parallel_pre_execute", "ompd_bp_parallel_begin"}, {"parallel_post_execute", "ompd_bp_parallel_end"},
		{"task_pre_execute", "ompd_bp_task_begin"}, {"task_post_execute", "ompd_bp_task_end"},
	} {
		b := draft[i]
		if b.Former != w.former || b.Name != w.name || b.Address.IsNull() || b.Address != at[w.name].Address ||
			!b.Active {
			t.Errorf("%+v, want %+v", b, w)
		}
	}
	if err := p.Release(); err != nil {
		t.Fatal(err)
	}
	_, err = p.Breakpoints()
	wantRC(t, err, callbacks.StaleHandle)
	_, err = p.DraftBreakpoints()
	wantRC(t, err, callbacks.StaleHandle)
}

// TestNoBreakpoints uses a runtime without a reader of breakpoints.
func TestNoBreakpoints(t *testing.T) {
	p := NewProcess(&fakeRuntime{}, nil)
	_, err := p.Breakpoints()
	wantRC(t, err, callbacks.Unsupported)
	_, err = p.DraftBreakpoints()
	wantRC(t, err, callbacks.Unsupported)
}
