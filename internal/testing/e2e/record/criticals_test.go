package record

import (
	"maps"
	"path/filepath"
	"slices"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/corefile"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/recordings"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/symbolize"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/trace"
)

// TestCriticalsOfWrongReturns names critical sections by the calls that enter them, with return addresses among them
// that enter none. An event of thread 0 has an address in LLVM's runtime if another thread leaves a section at the same
// moment, because the runtime keeps the address in the data of thread 0.
func TestCriticalsOfWrongReturns(t *testing.T) {
	exe := omptest.Compile(t, omptest.Build{Program: "sections", Flags: []string{"-O0", "-g"}})
	file := filepath.Join(t.TempDir(), "saved")
	status, _, errs := e2e.Output(t, "record", "--library", omptest.Recorder(t), "--save", file, "--",
		"env", "LD_LIBRARY_PATH="+omptest.RuntimeOf(t, 16).Dir, "sh", "-c", `exec "$0" 0 >/dev/null </dev/null`, exe)
	if status != 0 || errs != "" {
		t.Fatalf("exit status %d, printed %q", status, errs)
	}
	core, err := corefile.Open(file, corefile.Options{Exe: exe})
	if err != nil {
		t.Fatal(err)
	}
	defer core.Close()
	mods, _ := core.Modules() // the kernel's own code is not in the file
	sym := symbolize.New(mods, symbolize.Options{})
	defer sym.Close()
	sites, fork := criticalCalls(t, core)
	const unmapped = 64
	for id, pcs := range sites {
		sites[id] = slices.Concat([]uint64{unmapped, fork}, pcs, []uint64{unmapped, fork})
	}
	c := recordings.Criticals{Memory: core, Symbols: sym}
	names := slices.Sorted(maps.Values(c.Called(sites)))
	omptest.Equal(t, "the names of the sections", names, []string{"(unnamed)", "first", "late", "second"})
}

// criticalCalls returns the return addresses of the calls that entered each critical section, by wait ID, and that of
// a call that forked a region.
func criticalCalls(t *testing.T, core *corefile.Core) (sites map[uint64][]uint64, fork uint64) {
	t.Helper()
	r, err := trace.Open(core, 0)
	if err != nil {
		t.Fatal(err)
	}
	rec, err := r.Read()
	if err != nil {
		t.Fatal(err)
	}
	sites = map[uint64][]uint64{}
	for _, thread := range rec.Threads {
		events := thread.Main.Events()
		for e := (trace.Event{}); events.Next(&e); {
			switch {
			case e.Code == trace.ParallelBegin:
				fork = e.PC
			case e.Code == trace.MutexAcquired && e.PC != 0:
				sites[e.B] = append(sites[e.B], e.PC)
			}
		}
	}
	if fork == 0 {
		t.Error("no event of a region has a place")
	}
	return sites, fork
}
