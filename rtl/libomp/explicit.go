package libomp

import (
	"errors"
	"fmt"
	"iter"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/layout"
	"github.com/ompd-inspect/ompd-inspect/rtl"
)

const (
	// maxDeque bounds the number of elements of one queue of tasks. The
	// runtime doubles queues from 256 on; 1 Gi pointers are 8 GiB.
	maxDeque = 1 << 30
	// dequeBlock is how many elements are read at once: 64 KiB.
	dequeBlock = 8 << 10
	// maxPriorities bounds the list of queues of one priority each.
	maxPriorities = 1 << 16
)

// errStop ends a walk whose consumer has had enough.
var errStop = errors.New("stop")

// ExplicitTasks yields the explicit tasks of the region's team that are not
// finished: first those that threads run or have suspended, then the queued ones.
// Those that wait for a task follow the first such task.
//
// Queued tasks are not remembered, so that a million of them takes no memory.
func (rt *runtime) ExplicitTasks(h handles.Parallel) iter.Seq2[handles.Task, error] {
	return func(yield func(handles.Task, error) bool) {
		gs, err := rt.find(h)
		if err != nil {
			yield(handles.Task{}, err)
			return
		}
		if g := gs[0]; g.innermost() {
			rt.newWalk(g, yield).run()
		}
	}
}

// walk is one walk over the explicit tasks of a region.
type walk struct {
	rt       *runtime
	region   region
	yield    func(handles.Task, error) bool
	begun    map[uint64]bool // tasks that threads run or have suspended
	blocked  map[uint64]bool // dependence nodes of tasks that wait for others
	followed map[uint64]bool // dependence nodes whose successors were seen
	graph    *graph          // what is learned of dependences; nil if nobody asks
	steps    int             // elements of lists of dependences that were followed
	stopped  bool
}

func (rt *runtime) newWalk(g region, yield func(handles.Task, error) bool) *walk {
	return &walk{rt: rt, region: g, yield: yield, begun: map[uint64]bool{}, blocked: map[uint64]bool{}, followed: map[uint64]bool{}}
}

func (w *walk) run() {
	for _, step := range []func() error{w.held, w.queued, w.helperQueues, w.hashed} {
		if err := step(); err != nil && !errors.Is(err, errStop) && !w.stopped {
			w.stopped = !w.yield(handles.Task{}, err)
		}
		if w.stopped {
			return
		}
	}
}

// emit yields one task, and then those that wait for it.
func (w *walk) emit(t *task) error {
	if !w.yield(handles.Task{Stamp: w.rt.stamp, Data: t.addr}, nil) {
		w.stopped = true
		return errStop
	}
	if t.depnode.IsNull() {
		return nil
	}
	return w.successors(t.depnode)
}

// belongs tells whether a task is one of the region's: it binds to its team, or
// is a target task that one of the team's tasks gave to the hidden helpers.
func (w *walk) belongs(t *task) bool {
	if !t.explicit {
		return false
	}
	var loop rtl.Loop
	for range maxTaskDepth {
		if loop.At(t.addr) != nil {
			return false
		}
		if !t.explicit || !w.rt.helped(t) {
			return t.team == w.region.team.addr
		}
		p, err := w.rt.task(t.parent)
		if err != nil {
			return false
		}
		t = p
	}
	return false
}

// held yields the tasks that threads run or have suspended.
func (w *walk) held() error {
	for a := range w.rt.holders() {
		t, err := w.rt.task(callbacks.At(a))
		if err != nil || !w.belongs(t) {
			continue
		}
		w.begun[a] = true
		if err := w.emit(t); err != nil {
			return err
		}
	}
	return nil
}

// queued yields the tasks in the queues of the region's team.
func (w *walk) queued() error {
	if err := w.rt.l.Team.TaskTeam.Err(); err != nil {
		return err
	}
	both := w.region.team.taskTeams
	for i, a := range both {
		if a.IsNull() || i > 0 && a == both[0] {
			continue
		}
		if err := w.taskTeam(a); err != nil {
			return err
		}
	}
	return nil
}

// helperQueues yields the target tasks of the region that wait in the queues of
// the hidden helper threads.
func (w *walk) helperQueues() error {
	seen := map[uint64]bool{w.region.team.addr.Offset: true}
	for gtid := 1; gtid <= defaultHidden && gtid < len(w.rt.slots); gtid++ {
		th, err := w.rt.thread(w.rt.slots[gtid])
		if err != nil || th.team.IsNull() || seen[th.team.Offset] {
			continue
		}
		seen[th.team.Offset] = true
		gs, err := w.rt.regions(th)
		if err != nil || !w.rt.hiddenHelper(th, gs) {
			continue
		}
		if th.taskTeam.IsNull() {
			continue
		}
		if err := w.taskTeam(th.taskTeam); err != nil {
			return err
		}
	}
	return nil
}

// taskTeam yields the tasks in the queues of the kmp_task_team_t at a: one queue
// for each thread, and one for each priority.
func (w *walk) taskTeam(a callbacks.Address) error {
	f := &w.rt.l.TaskTeam
	r := layout.ReadSize(w.rt.mem, a, f.Size.Size)
	array, n := r.Address(f.ThreadsData), int(r.Int(f.Nproc))
	if err := r.Err(); err != nil {
		return fmt.Errorf("task team at %v: %w", a, err)
	}
	if n < 0 || n > maxTeamSize {
		return fmt.Errorf("task team at %v: tt_nproc is %d: %w", a, n, callbacks.Incomplete)
	}
	if !array.IsNull() {
		for i := range n {
			if err := w.threadData(array.Add(uint64(i) * w.rt.l.ThreadData.Size.Size)); err != nil {
				return err
			}
		}
	}
	if !f.TaskPriList.Known() {
		return nil
	}
	return w.priorities(r.Address(f.TaskPriList))
}

// priorities yields the tasks in the list of queues at a.
func (w *walk) priorities(a callbacks.Address) error {
	f := &w.rt.l.TaskPri
	var loop rtl.Loop
	for range maxPriorities {
		if a.IsNull() {
			return nil
		}
		if err := loop.At(a); err != nil {
			return fmt.Errorf("queues of priority tasks: %w", err)
		}
		if err := w.threadData(a.Add(f.Td.Offset)); err != nil {
			return err
		}
		r := layout.Read(w.rt.mem, a, f.Next)
		if a = r.Address(f.Next); r.Err() != nil {
			return fmt.Errorf("queue of priority tasks: %w", r.Err())
		}
	}
	return fmt.Errorf("more than %d priorities of tasks: %w", maxPriorities, callbacks.Incomplete)
}

// threadData yields the tasks in the queue of the kmp_thread_data_t at a. Only
// the elements between head and tail are tasks; the others are stale.
func (w *walk) threadData(a callbacks.Address) error {
	f := &w.rt.l.ThreadData
	r := layout.Read(w.rt.mem, a, f.Deque, f.DequeSize, f.DequeHead, f.DequeTail, f.DequeNtasks)
	deque, size, n, head := r.Address(f.Deque), r.Uint(f.DequeSize), r.Uint(f.DequeNtasks), r.Uint(f.DequeHead)
	if err := r.Err(); err != nil {
		return fmt.Errorf("task queue at %v: %w", a, err)
	}
	if n == 0 || deque.IsNull() {
		return nil
	}
	if size > maxDeque || n > size || head >= size || size&(size-1) != 0 {
		return fmt.Errorf("task queue at %v has %d tasks from element %d on in a ring of %d: %w", a, n, head, size, callbacks.Incomplete)
	}
	for n > 0 {
		count := min(n, size-head, dequeBlock)
		if err := w.elements(deque.Add(8*head), count); err != nil {
			return err
		}
		n, head = n-count, (head+count)&(size-1)
	}
	return nil
}

// elements yields the tasks that count pointers at a point to.
func (w *walk) elements(a callbacks.Address, count uint64) error {
	block := make([]byte, 8*count)
	if err := w.rt.mem.ReadMemory(a, block); err != nil {
		return fmt.Errorf("task queue: %w", errors.Join(err, callbacks.DeviceReadError))
	}
	for i := uint64(0); i < count; i++ {
		t, err := w.rt.task(callbacks.At(callbacks.Word(block[8*i : 8*i+8])))
		if err != nil {
			return fmt.Errorf("task in a queue: %w", err)
		}
		if !w.belongs(t) || w.begun[t.addr.Offset] {
			continue
		}
		if err := w.emit(t); err != nil {
			return err
		}
	}
	return nil
}
