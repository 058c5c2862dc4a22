package libomp_test

import (
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/libomp"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/rtltest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// field returns the location of a field.
func (s *subject) field(t *testing.T, typ, field string) layout.Field {
	t.Helper()
	e, ok := s.Layout().Lookup(typ, field)
	if !ok || e.Err != nil {
		t.Fatalf("no layout of %s.%s", typ, field)
	}
	return e.Field
}

// word returns the value of a pointer field of the structure at a.
func (s *subject) word(t *testing.T, a uint64, typ, field string) uint64 {
	t.Helper()
	v, err := layout.ReadUint(s.Core, callbacks.Addr(a+s.field(t, typ, field).Offset), 8)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// withField changes a field of the structure at a, and reads the runtime again.
func (s *subject) withField(t *testing.T, a uint64, typ, field string, value uint64) rtl.Runtime {
	t.Helper()
	f := s.field(t, typ, field)
	d := &rtltest.Damaged{Core: s.Core}
	d.Put(a+f.Offset, value, int(f.Size))
	rt, err := libomp.Reopen(s.Runtime, d)
	if err != nil {
		t.Fatal(err)
	}
	return rt
}

// TestTransit reads threads with fields that do not match their team, as while they enter or leave a team.
func TestTransit(t *testing.T) {
	for _, major := range []int{14, 15, 16, 19} {
		s := openCore(t, omptest.Run{Exe: omptest.Compile(t, omptest.Build{Program: "nested"}),
			Runtime: omptest.RuntimeOf(t, major), Mode: omptest.Kernel})
		checked := 0
		for _, h := range s.ByLWP {
			info, err := s.Thread(h)
			regions := s.Regions(t, h)
			if err != nil || len(regions) < 3 || info.ThreadNum != 0 {
				continue
			}
			checked++
			outer, err := s.Parallel(regions[2])
			if err != nil {
				t.Fatal(err)
			}
			// The number is already the one in the enclosing team.
			rt := s.withField(t, h.Info.Offset, "kmp_base_info_t", "th_info.ds.ds_tid", uint64(1-outer.PrimaryNum))
			if got, err := rt.Thread(h); err != nil || got.ThreadNum != 0 || got.Role != info.Role {
				t.Errorf("libomp %d: number %d, role %s, %v; want 0, %s", major, got.ThreadNum, got.Role, err,
					info.Role)
			}
			// The region is over, and the team still exists.
			rt = s.withField(t, regions[2].Team.Offset, "kmp_base_team_t", "t_pkfn", 0)
			p, err := rt.CurrentParallel(h)
			got, err2 := rt.Thread(h)
			if err != nil || err2 != nil || p != regions[1] || got.ThreadNum != outer.PrimaryNum {
				t.Errorf("libomp %d: %v number %d, %v, %v; want %v number %d", major, p, got.ThreadNum, err, err2,
					regions[1], outer.PrimaryNum)
			}
			s.checkFreed(t, rt, regions[2])
			s.checkForming(t, regions[2], regions[1])
		}
		if checked != 2 {
			t.Errorf("libomp %d: %d primary threads of inner teams, want 2", major, checked)
		}
	}
}

// checkFreed checks that the workers of a team with a finished region are idle.
func (s *subject) checkFreed(t *testing.T, rt rtl.Runtime, p handles.Parallel) {
	t.Helper()
	for n := 1; n < 3; n++ {
		h, err := s.ThreadInParallel(p, n)
		if err != nil {
			t.Fatal(err)
		}
		if info, err := rt.Thread(h); err != nil || info.Role != picture.RoleIdle {
			t.Errorf("thread %d of a region that is over: %+v, %v", n, info, err)
		}
	}
	if _, err := rt.Parallel(p); rtltest.RC(err) != callbacks.StaleHandle {
		t.Errorf("a region that is over: %v, want it stale", err)
	}
}

// checkForming checks that a team without its worker is reported as being formed, and that a team without
// threads is missing.
func (s *subject) checkForming(t *testing.T, p, around handles.Parallel) {
	t.Helper()
	h, err := s.ThreadInParallel(p, 0)
	if err != nil {
		t.Fatal(err)
	}
	threads := s.word(t, p.Team.Offset, "kmp_base_team_t", "t_threads")
	d := &rtltest.Damaged{Core: s.Core}
	d.Put(threads+8, 0, 8)
	for _, want := range []handles.Parallel{p, around} {
		rt, err := libomp.Reopen(s.Runtime, d)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := rt.CurrentParallel(h); err != nil || got != want {
			t.Errorf("the primary thread of a team that is being formed is in %v, %v; want %v", got, err, want)
		}
		if _, err := rt.ThreadInParallel(p, 1); want == p &&
			(rtltest.RC(err) != callbacks.Unavailable || !strings.Contains(err.Error(), "being formed")) {
			t.Errorf("a thread that is not there yet: %v", err)
		}
		d.Put(threads, 0, 8)
	}
}
