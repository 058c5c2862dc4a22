package ompd

import (
	"errors"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/corefile"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// TestUnread reads a release that cannot be determined by the results of its own functions: LLVM 9 does not
// describe itself, and without its row the table has no release as old.
func TestUnread(t *testing.T) {
	exe := omptest.Compile(t, omptest.Build{Program: "nested"})
	r := omptest.Dump(t, omptest.Run{Exe: exe, Runtime: omptest.RuntimeOf(t, 9), Mode: omptest.Kernel})
	core, err := corefile.Open(r.Core, corefile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer core.Close()
	known, err := Open(core, Options{Epoch: 1})
	if err != nil || len(known) != 1 || known[0].Identity().Family != "libomp" {
		t.Fatalf("%d runtimes, %v", len(known), err)
	}
	ps, err := Open(core, Options{Epoch: 1, Without: []string{"9"}})
	if len(ps) != 1 || !errors.Is(err, callbacks.Incompatible) {
		t.Fatalf("%d runtimes, %v", len(ps), err)
	}
	told := 0
	for h, err := range ps[0].Threads() {
		if err != nil {
			t.Fatal(err)
		}
		id, err := ps[0].ThreadID(h, callbacks.ThreadIDPthread)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range r.Truth.Threads {
			if uint64(want.Pthread) != id.Value {
				continue
			}
			told++
			p, err := ps[0].CurrentParallel(h)
			if err != nil {
				t.Fatal(err)
			}
			info, err := ps[0].Parallel(p)
			if err != nil || info.Level != want.Level || info.ActiveLevel != want.ActiveLevel ||
				info.TeamSize != want.TeamSize {
				t.Errorf("LWP %d: %+v (%v), the program says %+v", want.LWP, info, err, want)
			}
		}
	}
	if told != len(r.Truth.Threads) {
		t.Errorf("%d of %d threads", told, len(r.Truth.Threads))
	}
}
