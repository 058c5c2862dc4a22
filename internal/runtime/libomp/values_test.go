package libomp

import (
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
)

func TestParseSource(t *testing.T) {
	for text, want := range map[string]handles.SourceLocation{
		";a.c;main;12;3;;":             {File: "a.c", Function: "main", Line: 12},
		";unknown;unknown;0;0;;":       {},
		";FIRModule;solve;6;11;;":      {Function: "solve", Line: 6},
		";a.c;unknown;7;1;;":           {File: "a.c", Line: 7},
		";/x/y.cc;_ZN1aD2Ev;-1;1;;":    {File: "/x/y.cc", Function: "_ZN1aD2Ev"},
		";b.f90;sub;99999999999999999": {},
		"a.c;main;12;3;;":              {},
		"":                             {},
		";;;;":                         {},
	} {
		if got := parseSource(text); got != want {
			t.Errorf("%q is %+v, want %+v", text, got, want)
		}
	}
}

func TestSchedule(t *testing.T) {
	for _, c := range []struct {
		kind, chunk int64
		want        string
	}{
		{33, 8, "static,8"}, {34, 0, "static"}, {34, 5, "static"}, {35, 1, "dynamic,1"}, {36, 3, "guided,3"},
		{38, 4, "auto"},
		{39, 2, "trapezoidal,2"}, {44, 1, "static_steal,1"}, {35 | 1<<29, 4, "monotonic:dynamic,4"},
		{35 | 1<<30, 4, "nonmonotonic:dynamic,4"}, {99, -1, "kind 99"},
	} {
		if got := formatSchedule(c.kind, c.chunk); got != c.want {
			t.Errorf("kind %d, chunk %d is %q, want %q", c.kind, c.chunk, got, c.want)
		}
	}
}

func TestFrameFlags(t *testing.T) {
	for _, c := range []struct {
		a           uint64
		flags, want uint32
	}{
		{0, 0x20, 0}, {0x7ff0, 0x20, 0x20}, {0x7ff0, 0x11, 0x11}, {0x7ff0, 0, 0x20}, {0x7ff0, 0xdd7e37c0, 0x20},
		{0x7ff0, 0x511, 0x20},
	} {
		if got := frameFlags(callbacks.Addr(c.a), c.flags); got != c.want {
			t.Errorf("flags %#x at %#x are %#x, want %#x", c.flags, c.a, got, c.want)
		}
	}
}

func TestKindOfEntry(t *testing.T) {
	for name, want := range map[string]entryKind{
		"__kmpc_barrier": entryBarrier, "__kmpc_barrier@@VERSION": entryBarrier, "omp_set_lock_": entryLock,
		"OMP_SET_NEST_LOCK":          entryLock,
		"GOMP_parallel_loop_dynamic": entryFork, "__kmpc_atomic_float8_add": entryAtomic,
		"GOMP_critical_start": entryCritical,
		"__kmpc_end_critical": entryOther, "omp_get_level": entryOther, "": entryOther,
		"__kmpc_dispatch_next_4": entryOther,
	} {
		if got := kindOfEntry(name); got != want {
			t.Errorf("%q is %d, want %d", name, got, want)
		}
	}
}

// TestEntered checks that the innermost waiting function is found: a function that was reached by a jump is
// below the call in user code.
func TestEntered(t *testing.T) {
	frame := func(symbol string) handles.EvidenceFrame {
		return handles.EvidenceFrame{Symbol: symbol, Module: "libomp.so.5", Owned: true}
	}
	for _, c := range []struct {
		frames []string
		entry  string
		kind   entryKind
		name   string
	}{
		{[]string{"", "__kmpc_barrier", "__kmp_invoke_microtask", "__kmpc_fork_call"}, "__kmpc_fork_call", entryBarrier,
			"__kmpc_barrier (symbol of the frame)"},
		{[]string{"", "__kmpc_fork_call"}, "__kmpc_fork_call", entryFork, "__kmpc_fork_call (call)"},
		{[]string{"", ""}, "omp_set_lock", entryLock, "omp_set_lock (call)"},
		{[]string{"", "__kmpc_omp_taskwait"}, "", entryTaskwait, "__kmpc_omp_taskwait (symbol of the frame)"},
		{[]string{""}, "", entryOther, ""},
	} {
		ev := &handles.Evidence{}
		for _, s := range c.frames {
			ev.Frames = append(ev.Frames, frame(s))
		}
		if c.entry != "" {
			ev.Entry = &handles.Entry{Function: c.entry, By: "call"}
		}
		if kind, name := enteredFunction(ev); kind != c.kind || name != c.name {
			t.Errorf("%v, %s: %d %q, want %d %q", c.frames, c.entry, kind, name, c.kind, c.name)
		}
	}
}

func TestGeneralizes(t *testing.T) {
	for _, c := range []struct {
		word, state handles.State
		want        bool
	}{
		{handles.StateWaitBarrier, handles.StateWaitBarrierExplicit, true},
		{handles.StateWaitBarrierImplicit, handles.StateWaitBarrierImplicitParallel, true},
		{handles.StateWaitBarrierImplicit, handles.StateWaitBarrierExplicit, false},
		{handles.StateWaitLock, handles.StateWaitCritical, false},
		{handles.StateWaitBarrier, handles.StateIdle, false},
	} {
		if got := generalizes(c.word, c.state); got != c.want {
			t.Errorf("%v for %v: %t", c.word, c.state, got)
		}
	}
}

func TestTexts(t *testing.T) {
	for got, want := range map[string]string{bindText(3): "close", bindText(7): "7", policyText(2): "active",
		offloadText(2): "mandatory"} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
