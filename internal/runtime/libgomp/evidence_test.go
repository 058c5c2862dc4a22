package libgomp_test

import (
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// TestBeginningMember reads a worker that is in the runtime before its part of the region starts. No thread has
// arrived at a barrier of the team, so the worker does not wait at a barrier.
func TestBeginningMember(t *testing.T) {
	exe := omptest.Compile(t, omptest.Build{Program: "lock", Compiler: omptest.GCC, Flags: []string{"-O1", "-g"}})
	s := openCore(t, omptest.Run{Exe: exe, Runtime: omptest.Libgomp(t), Mode: omptest.Kernel})
	code, err := s.Core.Symbol("GOMP_barrier", "")
	if err != nil || !s.Owns(code.Offset) {
		t.Fatal(code, err)
	}
	workers := 0
	for lwp, h := range s.ByLWP {
		info, err := s.Thread(h)
		regs, e := s.Core.Registers(callbacks.LWP(uint64(lwp)))
		if err != nil || e != nil {
			t.Fatal(err, e)
		}
		if info.ThreadNum == 0 {
			continue
		}
		workers++
		regs.Syscall = -1
		spins := handles.Evidence{Registers: &regs, Frames: []handles.EvidenceFrame{{PC: code.Offset + 1, Owned: true}}}
		if st, err := s.State(h, &spins); err != nil || st.State != handles.StateOverhead ||
			!strings.Contains(st.Evidence, "no thread has arrived") {
			t.Errorf("LWP %d: %+v, %v", lwp, st, err)
		}
	}
	if workers == 0 {
		t.Error("no workers")
	}
}
