package rtltest

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/corefile"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
)

// Damaged is a core with some words of its memory replaced.
type Damaged struct {
	*corefile.Core
	Reads int // of its memory
	words map[uint64][]byte
}

// ReadMemory reads from the core and the replaced words.
func (d *Damaged) ReadMemory(a callbacks.Address, p []byte) error {
	d.Reads++
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

// Lend returns nil, so that all reads use ReadMemory.
func (*Damaged) Lend(callbacks.Address, uint64) []byte { return nil }

// Put replaces the integer of size bytes at address a.
func (d *Damaged) Put(a, value uint64, size int) {
	if d.words == nil {
		d.words = map[uint64][]byte{}
	}
	b := binary.LittleEndian.AppendUint64(nil, value)
	d.words[a] = b[:min(size, 8)]
}

// maxWalk bounds the lists that Walk follows: a runtime with longer lists in these small programs follows damaged
// data without a bound.
const maxWalk = 200_000

// Walk asks all questions about all objects that the runtime lists, and returns the number of threads that
// answered without an error.
func Walk(t *testing.T, rt rtl.Runtime, evidence func(handles.Thread) *handles.Evidence) (whole int) {
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
		askICVs(rt, handles.Subject{Thread: h})
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
	askICVs(rt, handles.Subject{Parallel: p})
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
		askICVs(rt, handles.Subject{Task: task})
		if n++; n > 100 { // a cycle that the caller must detect
			return
		}
	}
}

// askICVs reads all variables of the scopes that s names.
func askICVs(rt rtl.Runtime, s handles.Subject) {
	for i, v := range rt.ICVs() {
		s.Scope = v.Scope
		_, _ = rt.ICV(i+1, s)
	}
}
