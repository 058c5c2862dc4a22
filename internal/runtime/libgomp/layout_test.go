package libgomp

import (
	"errors"
	"slices"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/corefile"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/libomp"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

func openTestCore(t *testing.T, run omptest.Run) *corefile.Core {
	t.Helper()
	c, err := corefile.Open(omptest.Dump(t, run).Core, corefile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// TestDerived reads a release that is missing in the table: the newest rows are removed, and the offsets from
// the code determine the rest.
func TestDerived(t *testing.T) {
	whole, err := parseTable()
	if err != nil {
		t.Fatal(err)
	}
	for _, rt := range omptest.Libgomps(t) {
		if rt.Major < 13 {
			continue
		}
		l, mod := loadFile(t, rt.Lib)
		s := newCodeSource(l, mod)
		fp := &fingerprint{known: map[fieldName]layout.Field{}, name: "derived", table: &table{
			Rows: &layout.Rows{Places: map[fieldName]layout.Places{}, Order: whole.Order}, rows: whole.rows[:4],
		}}
		for n, p := range whole.Places {
			fp.table.Places[n] = p[:4]
		}
		fp.table.Gather(fp.known, []layout.Source{s})
		for row := range fp.table.rows {
			if fp.table.Fits(row, fp.known) {
				t.Errorf("%s: row %v fits", rt.Name, fp.table.rows[row])
			}
		}
		derived, unknown := 0, 0
		for _, n := range whole.Order {
			f, err := fp.deriveField(n)
			switch want := whole.Places[n][4]; {
			case errors.Is(err, layout.ErrUnknown):
				unknown++
			case err != nil || f != want && want.Size != 0:
				t.Errorf("%s: %v is at %v (%v), want %v", rt.Name, n, f, err, want)
			default:
				derived++
			}
		}
		t.Logf("%s: %d derived, %d unknown", rt.Name, derived, unknown)
		if derived < 70 {
			t.Errorf("%s: %d names derived, want 70 or more", rt.Name, derived)
		}
	}
}

// TestSourcesAlone uses each source alone, and checks that its answers equal those of all sources together.
func TestSourcesAlone(t *testing.T) {
	exe := omptest.Compile(t, omptest.Build{Program: "barrier", Compiler: omptest.GCC})
	c := openTestCore(t, omptest.Run{Exe: exe, Runtime: omptest.Libgomp(t), Mode: omptest.Kernel})
	mods, err := findModules(c)
	if err != nil || len(mods) != 1 {
		t.Fatalf("%d modules, %v", len(mods), err)
	}
	all, err := locate(c, mods[0], layout.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for source, least := range map[string]int{"code": 40, "memory": 10, "table": 60} {
		alone, err := locate(c, mods[0], layout.Options{Only: []string{source}})
		if err != nil {
			t.Errorf("%s: %v", source, err)
			continue
		}
		known := 0
		for _, e := range alone.Report.Entries {
			if e.Err != nil {
				continue
			}
			known++
			if want, _ := all.Report.Lookup(e.Type, e.Name); want.Field != e.Field || want.Global != e.Global {
				t.Errorf("%s: %v is %v %#x, all say %v %#x", source, e, e.Field, e.Global, want.Field, want.Global)
			}
		}
		if known < least {
			t.Errorf("%s knows %d names, want %d or more", source, known, least)
		}
	}
}

// TestForeignAlias runs a program compiled by GCC on LLVM's runtime under GCC's library name: this package must
// not claim it.
func TestForeignAlias(t *testing.T) {
	exe := omptest.Compile(t, omptest.Build{Program: "barrier", Compiler: omptest.GCC})
	c := openTestCore(t, omptest.Run{Exe: exe, Runtime: omptest.LibgompAlias(t), Mode: omptest.Kernel})
	rts, err := Open(c, handles.Stamp{Space: 1}, layout.Options{})
	if err != nil || len(rts) != 0 {
		t.Errorf("%d GNU runtimes (%v), want none", len(rts), err)
	}
	llvm, err := libomp.Open(c, handles.Stamp{Space: 1}, layout.Options{})
	if err != nil || len(llvm) != 1 {
		t.Errorf("%d LLVM runtimes (%v), want 1", len(llvm), err)
	}
}

// TestNotOurs opens a core of LLVM's compiler and runtime.
func TestNotOurs(t *testing.T) {
	exe := omptest.Compile(t, omptest.Build{Program: "barrier"})
	c := openTestCore(t, omptest.Run{Exe: exe, Runtime: omptest.RuntimeOf(t, 16), Mode: omptest.Kernel})
	if rts, err := Open(c, handles.Stamp{Space: 1}, layout.Options{}); err != nil || len(rts) != 0 {
		t.Errorf("%d GNU runtimes (%v), want none", len(rts), err)
	}
}

// TestStalePlaces uses handles of another stop, and handles of addresses that do not contain a structure.
func TestStalePlaces(t *testing.T) {
	exe := omptest.Compile(t, omptest.Build{Program: "barrier", Compiler: omptest.GCC})
	c := openTestCore(t, omptest.Run{Exe: exe, Runtime: omptest.Libgomp(t), Mode: omptest.Kernel})
	rts, err := Open(c, handles.Stamp{Space: 3, Epoch: 7}, layout.Options{})
	if err != nil || len(rts) != 1 {
		t.Fatalf("%d runtimes, %v", len(rts), err)
	}
	rt := rts[0]
	for h, err := range rt.Threads() {
		if err != nil {
			t.Fatal(err)
		}
		other := h
		other.Epoch++
		moved := h
		moved.Info = moved.Info.Add(8)
		for _, bad := range []handles.Thread{other, moved, {Stamp: h.Stamp}} {
			if _, err := rt.Thread(bad); !isStale(err) {
				t.Errorf("%v: %v", bad, err)
			}
			if _, err := rt.State(bad, nil); !isStale(err) {
				t.Errorf("state of %v: %v", bad, err)
			}
		}
		p, err := rt.CurrentParallel(h)
		if err != nil {
			t.Fatal(err)
		}
		for _, bad := range []handles.Parallel{{Stamp: p.Stamp}, {Stamp: p.Stamp, Team: p.Team, Level: p.Level + 1},
			{Team: p.Team, Level: p.Level}} {
			if _, err := rt.Parallel(bad); !isStale(err) {
				t.Errorf("%v: %v", bad, err)
			}
		}
		for _, n := range []int{-1, 4, 1 << 40} {
			if _, err := rt.ThreadInParallel(p, n); !isBadInput(err) {
				t.Errorf("thread %d: %v", n, err)
			}
			if _, err := rt.TaskInParallel(p, n); !isBadInput(err) {
				t.Errorf("task %d: %v", n, err)
			}
		}
	}
	if id := rt.Identity(); id.Family != "libgomp" || id.Version != "12" || id.Tracking || rt.Stamp().Epoch != 7 {
		t.Errorf("identity %+v", id)
	}
	if !slices.ContainsFunc(rt.ICVs(), func(v handles.ICV) bool { return v.Name == "nthreads-var" }) {
		t.Error("no nthreads-var")
	}
}
