package libgomp

import (
	"slices"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/rtltest"
)

// TestFormed puts the primary thread of a nested team to sleep on its team's barrier, which has released all
// threads. After the first barrier of the team the thread is still forming the team; after a later one it has
// reached the end of its region.
func TestFormed(t *testing.T) {
	exe := omptest.Compile(t, omptest.Build{Program: "nested", Compiler: omptest.GCC})
	c := openTestCore(t, omptest.Run{Exe: exe, Runtime: omptest.Libgomp(t), Mode: omptest.Kernel})
	rts, err := Open(c, handles.Stamp{Space: 1}, layout.Options{})
	if err != nil || len(rts) != 1 {
		t.Fatalf("%d runtimes, %v", len(rts), err)
	}
	rt, checked := rts[0].(*runtime), 0
	for _, th := range rt.world().threads {
		if th.id != 0 || len(th.frames) == 0 || rt.world().regionAtFrame(th, 0).level() != 2 {
			continue
		}
		checked++
		team, f := th.frames[0].team, &rt.l.Team
		for generation, want := range map[uint64]handles.State{
			barFirst: handles.StateOverhead, barFirst | 1: handles.StateOverhead,
			2 * barFirst: handles.StateWaitBarrierImplicitParallel,
		} {
			d := &rtltest.Damaged{Core: c}
			d.Put(team.addr.Offset+uint64(f.Generation.Offset), generation, 4)
			d.Put(team.addr.Offset+uint64(f.Awaited.Offset), uint64(team.nthreads), 4)
			ev := &handles.Evidence{Futex: team.addr.Add(f.Generation.Offset), Registers: &callbacks.Registers{},
				Frames: []handles.EvidenceFrame{{Owned: true}}, Entry: &handles.Entry{Function: "GOMP_parallel"}}
			changed, err := Open(d, handles.Stamp{Space: 1}, layout.Options{})
			if err != nil {
				t.Fatal(err)
			}
			again := changed[0].(*runtime)
			i := slices.IndexFunc(again.world().threads, func(o *thread) bool { return o.addr == th.addr })
			st := again.states.inferState(again.world().threads[i], ev)
			if st.State != want || want == handles.StateOverhead &&
				!strings.Contains(st.Evidence, "nested team that was formed") {
				t.Errorf("generation %#x: %+v; want %v", generation, st, want)
			}
		}
	}
	if checked != 2 {
		t.Errorf("%d primary threads of nested teams, want 2", checked)
	}
}
