// Package rtltest tests a reader of a runtime with real programs: their threads have written the runtime's
// answers. Every reader's tests open cores of testdata/programs with Open and run the checks; Expect has the
// abilities of a kind of runtime. Tests only.
package rtltest

import (
	"errors"
	"slices"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/corefile"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/symbolize"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/unwind"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// Expect describes the abilities of a kind of runtime, and of a way to build programs for it.
type Expect struct {
	// Sources is set if the runtime stores the source positions of constructs.
	Sources bool
	// Lines is set if the program has debug information.
	Lines bool
	// Nameless is set if the names of the runtime's functions are unknown.
	Nameless bool
	// Tracked is set if the runtime stores states.
	Tracked bool
	// OwnWord is set if a thread waits on the word of the program's lock itself.
	OwnWord bool
	// Fits reports whether the state got is as precise a version of want as the runtime can give; nil requires
	// equality.
	Fits func(got, want string) bool
	// Unknown reports whether the runtime need not know a control variable, given its reason; nil requires all.
	Unknown func(icv string, why callbacks.RC) bool
}

// Subject is a core of a program, read by a driver, with the program's own facts.
type Subject struct {
	rtl.Runtime
	Expect Expect
	Core   *corefile.Core
	Truth  omptest.Truth
	ByLWP  map[int]handles.Thread
	Names  *symbolize.Symbolizer
	stacks *unwind.Unwinder
}

// stamp is the stamp of the handles of a Subject.
var stamp = handles.Stamp{Space: 1, Epoch: 1}

// Open dumps a program on a runtime and opens the core. The driver must find one
// runtime in it.
func Open(t *testing.T, d rtl.Driver, run omptest.Run, want Expect) *Subject {
	t.Helper()
	r := omptest.Dump(t, run)
	c, err := corefile.Open(r.Core, corefile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	rts, err := d.Open(c, stamp, rtl.Options{})
	if err != nil || len(rts) != 1 {
		t.Fatalf("%d runtimes, %v", len(rts), err)
	}
	if id := rts[0].Identity(); id.Family != d.Family || id.Name == "" || rts[0].Stamp() != stamp {
		t.Errorf("the driver of %s opens %+v with stamp %v", d.Family, id, rts[0].Stamp())
	}
	mods, err := c.Modules()
	if err != nil {
		t.Fatal(err)
	}
	s := &Subject{
		Runtime: rts[0], Expect: want, Core: c, Truth: r.Truth, ByLWP: map[int]handles.Thread{},
		Names: symbolize.New(mods, symbolize.Options{}), stacks: unwind.New(c, c.Arch(), mods),
	}
	t.Cleanup(func() { s.Names.Close() })
	s.matchThreads(t)
	return s
}

// matchThreads finds the LWP of each thread by its thread pointer.
func (s *Subject) matchThreads(t *testing.T) {
	t.Helper()
	ids, err := s.Core.ThreadIDs(callbacks.ThreadIDLWP)
	if err != nil {
		t.Fatal(err)
	}
	lwps := map[uint64]int{}
	for _, id := range ids {
		regs, err := s.Core.Registers(id)
		if err != nil {
			t.Fatal(err)
		}
		lwps[regs.ThreadPointer] = int(id.Value)
	}
	for h, err := range s.Threads() {
		info, infoErr := s.Thread(h)
		if err != nil || infoErr != nil {
			t.Fatal(err, infoErr)
		}
		if lwp := lwps[info.Pthread.Value]; lwp != 0 {
			s.ByLWP[lwp] = h
		}
	}
}

// Check compares threads, regions, tasks and states with the program's own facts.
func (s *Subject) Check(t *testing.T) {
	t.Helper()
	if len(s.Truth.Threads) == 0 {
		t.Error("the program says nothing of its threads")
	}
	s.checkThreads(t)
	s.checkTasks(t)
	s.checkStates(t)
}

// Regions returns the region of a thread and those around it, outer ones first.
func (s *Subject) Regions(t *testing.T, h handles.Thread) []handles.Parallel {
	t.Helper()
	p, err := s.CurrentParallel(h)
	var hs []handles.Parallel
	for ; err == nil; p, err = s.EnclosingParallel(p) {
		hs = append(hs, p)
	}
	if len(hs) == 0 || RC(err) != callbacks.Unavailable {
		t.Errorf("%v: %d regions, then %v", h, len(hs), err)
	}
	slices.Reverse(hs)
	return hs
}

// RC returns the return code for an error.
func RC(err error) callbacks.RC {
	for _, rc := range []callbacks.RC{
		callbacks.Unavailable, callbacks.StaleHandle, callbacks.BadInput, callbacks.DeviceReadError,
		callbacks.NeedsStateTracking, callbacks.Incompatible, callbacks.Incomplete, callbacks.Unsupported,
	} {
		if errors.Is(err, rc) {
			return rc
		}
	}
	return callbacks.Error
}
