package live

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// TestProfileFortran checks that the places of a profile are lines of Fortran, with the barrier and its late thread.
func TestProfileFortran(t *testing.T) {
	r := omptest.Start(t, omptest.Run{
		Exe:     omptest.Compile(t, omptest.Build{Program: "fortran_barrier", Compiler: omptest.GCC}),
		Runtime: omptest.Libgomp(t), Mode: omptest.Live,
	})
	p := profileOf(t, r.PID, "--samples", "2")
	if len(p.Barriers) != 1 || len(p.Barriers[0].Late) != 1 || p.Barriers[0].Late[0].ThreadNum != 2 {
		t.Fatalf("barriers %+v", p.Barriers)
	}
	b := p.Barriers[0]
	if f := b.Frame; f == nil || filepath.Base(f.File) != "fortran_barrier.f90" || f.Line == 0 {
		t.Errorf("barrier: %+v", f)
	}
	if b.Region == nil || filepath.Base(b.Region.File) != "fortran_barrier.f90" {
		t.Errorf("region %+v", b.Region)
	}
}

// TestProfileGo checks that the stacks of a profile have the lines of Go on both sides of C: the callbacks of the
// members, and the function that forked the region.
func TestProfileGo(t *testing.T) {
	r := omptest.Start(t, e2e.GoLanes[1].Run(t, omptest.Live))
	p := profileOf(t, r.PID, "--samples", "2")
	called, forked := 0, 0
	for _, s := range p.Stacks {
		if s.Outside {
			continue
		}
		line := func(function string) func(f picture.Frame) bool {
			return func(f picture.Frame) bool {
				return f.Function == function && filepath.Base(f.File) == "main.go" && f.Line > 0
			}
		}
		in, under := slices.IndexFunc(s.Frames, line("main.goMember")), slices.IndexFunc(s.Frames, line("main.solve"))
		if in >= 0 {
			called++
		}
		if under > in {
			forked++
		}
	}
	if called != 3 || forked != 4 {
		t.Errorf("%d stacks with main.goMember, want 3; %d with main.solve, want 4: %+v", called, forked, p.Stacks)
	}
}
