package libomp_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/corefile"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/omptest"
	"github.com/ompd-inspect/ompd-inspect/rtl"
	"github.com/ompd-inspect/ompd-inspect/rtl/libomp"
)

// damaged is a core with some words of its memory replaced.
type damaged struct {
	*corefile.Core
	words map[uint64][]byte
	reads int
}

func (d *damaged) ReadMemory(a callbacks.Address, p []byte) error {
	d.reads++
	if err := d.Core.ReadMemory(a, p); err != nil {
		return err
	}
	for at, b := range d.words {
		for i := range b {
			if off := at + uint64(i) - a.Offset; off < uint64(len(p)) {
				p[off] = b[i]
			}
		}
	}
	return nil
}

// put replaces the integer of size bytes at address a.
func (d *damaged) put(a, value uint64, size int) {
	b := binary.LittleEndian.AppendUint64(nil, value)
	d.words[a] = b[:min(size, 8)]
}

// maxWalk bounds the lists that walkAll follows: a runtime that lists more of
// these small programs follows damage without a bound.
const maxWalk = 200_000

// walkAll asks everything of everything that the runtime lists, and returns how
// many threads answered without an error.
func walkAll(t *testing.T, rt rtl.Runtime, evidence func(handles.Thread) *rtl.Evidence) (whole int) {
	t.Helper()
	regions := map[handles.Parallel]bool{}
	for h, err := range rt.Threads() {
		if err == nil {
			_, err = rt.Thread(h)
		}
		_, stateErr := rt.State(h, evidence(h))
		_, bareErr := rt.State(h, nil)
		p, parallelErr := rt.CurrentParallel(h)
		for n := 0; parallelErr == nil; p, parallelErr = rt.EnclosingParallel(p) {
			regions[p] = true
			if n++; n > maxWalk {
				t.Fatalf("more than %d regions around %v", n, h)
			}
		}
		task, taskErr := rt.CurrentTask(h)
		walkTasks(t, rt, task, taskErr)
		askICVs(rt, rtl.Subject{Thread: h})
		if errors.Join(err, stateErr, bareErr) == nil {
			whole++
		}
	}
	for p := range regions {
		walkRegion(t, rt, p)
	}
	_, _ = rt.ControlVars()
	return whole
}

func walkRegion(t *testing.T, rt rtl.Runtime, p handles.Parallel) {
	t.Helper()
	info, err := rt.Parallel(p)
	if err == nil && (info.TeamSize < 1 || info.Level < 0) {
		t.Errorf("%v: %+v", p, info)
	}
	for n := range min(info.TeamSize, 20) {
		_, _ = rt.ThreadInParallel(p, n)
		task, err := rt.TaskInParallel(p, n)
		walkTasks(t, rt, task, err)
	}
	askICVs(rt, rtl.Subject{Parallel: p})
	count := 0
	for task, err := range rt.ExplicitTasks(p) {
		if count++; count > maxWalk {
			t.Fatalf("%v has more than %d tasks", p, maxWalk)
		}
		if count < 200 {
			walkTasks(t, rt, task, err)
		}
	}
}

func walkTasks(t *testing.T, rt rtl.Runtime, task handles.Task, err error) {
	t.Helper()
	for n := 0; err == nil; task, err = rt.GeneratingTask(task) {
		_, _ = rt.Task(task)
		_, _ = rt.SchedulingTask(task)
		_, _ = rt.TaskParallel(task)
		_, _ = rt.WaitsFor(task)
		askICVs(rt, rtl.Subject{Task: task})
		if n++; n > 100 { // a circle that the one who asks must see
			return
		}
	}
}

// askICVs reads all variables of the scopes that s names.
func askICVs(rt rtl.Runtime, s rtl.Subject) {
	for i, v := range rt.ICVs() {
		s.Scope = v.Scope
		_, _ = rt.ICV(i+1, s)
	}
}

// instances are addresses of structures of each type that the core has.
func (s *subject) instances(t *testing.T) map[string][]uint64 {
	t.Helper()
	at := map[string][]uint64{}
	for _, h := range s.threads {
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

// follow adds to the instances what a pointer field of the others points to.
func (s *subject) follow(t *testing.T, at map[string][]uint64, typ, field, to string) {
	t.Helper()
	e, ok := s.Layout().Lookup(typ, field)
	if !ok || e.Err != nil {
		t.Fatalf("no layout of %s.%s", typ, field)
	}
	p := make([]byte, 8)
	for _, a := range at[typ] {
		if err := s.core.ReadMemory(callbacks.At(a+e.Field.Offset), p); err != nil {
			t.Fatal(err)
		}
		if v := callbacks.Word(p); v != 0 {
			at[to] = append(at[to], v)
		}
	}
}

// wild are the values that fields are replaced by, beside addresses of structures.
var wild = []uint64{1 << 31, 0x10, 1<<31 - 1, ^uint64(0), 0xdeadbeefdeadbeef, 0}

// TestDamage replaces each field of each structure that the reader looks at by
// values that make lists circular, counts huge and pointers wild. Every walk must
// end soon, and answer or say why it cannot.
func TestDamage(t *testing.T) {
	for program, values := range map[string][]uint64{
		"tasks_deps": wild, "serialized_nested": wild[:2], "critical": wild[:1], "teams": wild[:1],
	} {
		t.Run(program, func(t *testing.T) {
			exe := omptest.Compile(t, omptest.Build{Program: program})
			s := openCore(t, omptest.Run{Exe: exe, Runtime: omptest.RuntimeOf(t, 19), Mode: omptest.Kernel, Env: []string{"OMP_DEBUG=enabled"}})
			w := newWitness(t, s)
			seen := map[handles.Thread]*rtl.Evidence{}
			for lwp, h := range s.threads {
				seen[h] = w.evidence(t, lwp)
			}
			evidence := func(h handles.Thread) *rtl.Evidence { return seen[h] }
			if n := walkAll(t, s.Runtime, evidence); n < len(s.threads) {
				t.Errorf("%d of %d threads answer without damage", n, len(s.threads))
			}
			s.damageAll(t, evidence, values)
		})
	}
}

func (s *subject) damageAll(t *testing.T, evidence func(handles.Thread) *rtl.Evidence, values []uint64) {
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
			d := &damaged{Core: s.core, words: map[uint64][]byte{}}
			d.put(self, v, int(e.Field.Size))
			rt, err := libomp.Reopen(s.Runtime, d)
			if err != nil {
				t.Fatal(err)
			}
			walkAll(t, rt, evidence)
			walks++
			if d.reads > 5_000_000 {
				t.Errorf("%s.%s = %#x: %d reads", e.Type, e.Name, v, d.reads)
			}
		}
	}
	t.Log(fmt.Sprint(walks), "walks")
	if walks < 300 {
		t.Errorf("only %d walks: the structures were not found", walks)
	}
}
