package libomp_test

import (
	"fmt"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/libomp"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/rtltest"
)

// instances returns addresses of structures in the core, by type.
func (s *subject) instances(t *testing.T) map[string][]uint64 {
	t.Helper()
	at := map[string][]uint64{}
	for _, h := range s.ByLWP {
		at["kmp_base_info_t"] = append(at["kmp_base_info_t"], h.Info.Offset)
		p, err := s.CurrentParallel(h)
		for ; err == nil; p, err = s.EnclosingParallel(p) {
			at["kmp_base_team_t"] = append(at["kmp_base_team_t"], p.Team.Offset)
			for task := range s.ExplicitTasks(p) {
				at["kmp_taskdata_t"] = append(at["kmp_taskdata_t"], task.Data.Offset)
			}
		}
		if task, err := s.CurrentTask(h); err == nil {
			at["kmp_taskdata_t"] = append(at["kmp_taskdata_t"], task.Data.Offset)
		}
	}
	s.follow(t, at, "kmp_base_info_t", "th_root", "kmp_base_root_t")
	s.follow(t, at, "kmp_base_info_t", "th_task_team", "kmp_base_task_team_t")
	s.follow(t, at, "kmp_base_task_team_t", "tt_threads_data", "kmp_base_thread_data_t")
	s.follow(t, at, "kmp_taskdata_t", "td_depnode", "kmp_base_depnode_t")
	s.follow(t, at, "kmp_base_depnode_t", "successors", "kmp_depnode_list_t")
	s.follow(t, at, "kmp_taskdata_t", "td_dephash", "kmp_dephash_t")
	s.follow(t, at, "kmp_taskdata_t", "td_taskgroup", "kmp_taskgroup_t")
	s.follow(t, at, "kmp_taskdata_t", "td_ident", "ident_t")
	return at
}

// follow adds to the instances the structures to which a pointer field of others points.
func (s *subject) follow(t *testing.T, at map[string][]uint64, typ, field, to string) {
	t.Helper()
	e, ok := s.Layout().Lookup(typ, field)
	if !ok || e.Err != nil {
		t.Fatalf("no layout of %s.%s", typ, field)
	}
	p := make([]byte, 8)
	for _, a := range at[typ] {
		if err := s.Core.ReadMemory(callbacks.Addr(a+e.Field.Offset), p); err != nil {
			t.Fatal(err)
		}
		if v := callbacks.Word(p); v != 0 {
			at[to] = append(at[to], v)
		}
	}
}

// wild lists values that replace fields, in addition to addresses of structures.
var wild = []uint64{1 << 31, 0x10, 1<<31 - 1, ^uint64(0), 0xdeadbeefdeadbeef, 0}

// TestDamage replaces each field that the reader uses by values that make lists circular, counts huge and
// pointers wild. Each walk must end soon, with an answer or an error.
func TestDamage(t *testing.T) {
	for program, values := range map[string][]uint64{
		"tasks_deps": wild, "serialized_nested": wild[:2], "critical": wild[:1], "teams": wild[:1],
	} {
		t.Run(program, func(t *testing.T) {
			exe := omptest.Compile(t, omptest.Build{Program: program})
			s := openCore(t, omptest.Run{Exe: exe, Runtime: omptest.RuntimeOf(t, 19), Mode: omptest.Kernel,
				Env: []string{"OMP_DEBUG=enabled"}})
			seen := map[handles.Thread]*handles.Evidence{}
			for lwp, h := range s.ByLWP {
				seen[h] = s.Evidence(t, lwp)
			}
			evidence := func(h handles.Thread) *handles.Evidence { return seen[h] }
			if n := rtltest.Walk(t, s.Runtime, evidence); n < len(s.ByLWP) {
				t.Errorf("%d of %d threads answer without damage", n, len(s.ByLWP))
			}
			s.damageAll(t, evidence, values)
		})
	}
}

func (s *subject) damageAll(t *testing.T, evidence func(handles.Thread) *handles.Evidence, values []uint64) {
	at := s.instances(t)
	team, task := at["kmp_base_team_t"][0], at["kmp_taskdata_t"][0]
	walks := 0
	for _, e := range s.Layout().Entries {
		addresses := at[e.Type]
		if e.Name == "" || e.Err != nil || len(addresses) == 0 {
			continue
		}
		a := addresses[0]
		self := a + e.Field.Offset
		for _, v := range append([]uint64{a, self, team, task}, values...) {
			if e.Field.Size < 8 && v > 1<<32 && v < 1<<63 {
				continue // an address in an integer
			}
			d := &rtltest.Damaged{Core: s.Core}
			d.Put(self, v, int(e.Field.Size))
			rt, err := libomp.Reopen(s.Runtime, d)
			if err != nil {
				t.Fatal(err)
			}
			rtltest.Walk(t, rt, evidence)
			walks++
			if d.Reads > 5_000_000 {
				t.Errorf("%s.%s = %#x: %d reads", e.Type, e.Name, v, d.Reads)
			}
		}
	}
	t.Log(fmt.Sprint(walks), "walks")
	if walks < 300 {
		t.Errorf("only %d walks: the structures were not found", walks)
	}
}
