package libomp

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
)

const (
	// maxDeque bounds the number of elements in one queue of tasks. The runtime doubles queues from 256 on; 1 Gi
	// pointers take 8 GiB.
	maxDeque = 1 << 30
	// dequeBlock is the number of elements read at once: 64 KiB.
	dequeBlock = 8 << 10
	// maxPriorities bounds the list of queues, one for each priority.
	maxPriorities = 1 << 16
)

// errStop ends a walk early when the consumer stops.
var errStop = errors.New("stop")

// ExplicitTasks yields the unfinished explicit tasks of the region's team: first the tasks that threads execute
// or have suspended, then the queued tasks. The tasks that wait for others follow the first task for which they
// wait.
//
// Queued tasks are not cached, so a million of them takes no memory.
func (tk *tasks) ExplicitTasks(h handles.Parallel) iter.Seq2[handles.Task, error] {
	return func(yield func(handles.Task, error) bool) {
		gs, err := tk.regions.findRegions(h)
		if err != nil {
			yield(handles.Task{}, err)
			return
		}
		if g := gs[0]; g.innermost() {
			tk.newWalk(g, yield).run()
		}
	}
}

// walk is one walk over the explicit tasks of a region.
type walk struct {
	tasks    *tasks
	region   region
	yield    func(handles.Task, error) bool
	begun    map[uint64]bool // tasks that threads execute or have suspended
	blocked  map[uint64]bool // dependence nodes of tasks that wait for others
	followed map[uint64]bool // dependence nodes with visited successors
	graph    *graph          // collects dependences; nil if they are not requested
	steps    int             // number of visited elements in lists of dependences
	stopped  bool
}

func (tk *tasks) newWalk(g region, yield func(handles.Task, error) bool) *walk {
	return &walk{tasks: tk, region: g, yield: yield, begun: map[uint64]bool{}, blocked: map[uint64]bool{},
		followed: map[uint64]bool{}}
}

func (w *walk) run() {
	for _, step := range []func() error{w.checkHeld, w.queued, w.helperQueues, w.hashed} {
		if err := step(); err != nil && !errors.Is(err, errStop) && !w.stopped {
			w.stopped = !w.yield(handles.Task{}, err)
		}
		if w.stopped {
			return
		}
	}
}

// emit yields one task, and then the tasks that wait for it.
func (w *walk) emit(t *task) error {
	if !w.yield(handles.Task{Stamp: w.tasks.stamp, Data: t.addr}, nil) {
		w.stopped = true
		return errStop
	}
	if t.depnode.IsNull() {
		return nil
	}
	return w.successors(t.depnode)
}

// belongs reports whether a task belongs to the region: it binds to the region's team, or is a target task that
// one of the team's tasks passed to the hidden helpers.
func (w *walk) belongs(t *task) bool {
	if !t.explicit {
		return false
	}
	team, err := w.tasks.records.teamOf(t)
	return err == nil && team == w.region.team.addr
}

// checkHeld yields the tasks that threads execute or have suspended.
func (w *walk) checkHeld() error {
	for _, a := range w.tasks.held()[w.region.team.addr.Offset] {
		t, err := w.tasks.records.task(a)
		if err != nil {
			continue
		}
		w.begun[a.Offset] = true
		if err := w.emit(t); err != nil {
			return err
		}
	}
	return nil
}

// readHeld returns the tasks that threads execute or have suspended, sorted by address, by team.
func (tk *tasks) readHeld() map[uint64][]callbacks.Address {
	out := map[uint64][]callbacks.Address{}
	for _, a := range slices.Sorted(maps.Keys(tk.holders())) {
		t, err := tk.records.task(callbacks.Addr(a))
		if err != nil || !t.explicit {
			continue
		}
		if team, err := tk.records.teamOf(t); err == nil {
			out[team.Offset] = append(out[team.Offset], t.addr)
		}
	}
	return out
}

// queued yields the tasks in the queues of the region's team.
func (w *walk) queued() error {
	if err := w.tasks.l.Team.TaskTeam.Err(); err != nil {
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

// helperQueues yields the region's target tasks in the queues of the hidden helper threads.
func (w *walk) helperQueues() error {
	seen := map[uint64]bool{w.region.team.addr.Offset: true}
	for gtid := 1; gtid <= defaultHidden && gtid < len(w.tasks.threads.slots); gtid++ {
		th, err := w.tasks.threads.readThread(w.tasks.threads.slots[gtid])
		if err != nil || th.team.IsNull() || seen[th.team.Offset] {
			continue
		}
		seen[th.team.Offset] = true
		gs, err := w.tasks.regions.regionsOf(th)
		if err != nil || !w.tasks.threads.hiddenHelper(th, gs) {
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

// taskTeam yields the tasks in the queues of the kmp_task_team_t at a: one queue for each thread, and one for
// each priority.
func (w *walk) taskTeam(a callbacks.Address) error {
	f := &w.tasks.l.TaskTeam
	r := layout.ReadSize(w.tasks.mem, a, f.Size.Size)
	array, n := r.Address(f.ThreadsData), int(r.Int(f.Nproc))
	if err := r.Err(); err != nil {
		return fmt.Errorf("task team at %v: %w", a, err)
	}
	if n < 0 || n > maxTeamSize {
		return fmt.Errorf("task team at %v: tt_nproc is %d: %w", a, n, callbacks.Incomplete)
	}
	if !array.IsNull() {
		for i := range n {
			if err := w.threadData(array.Add(uint64(i) * w.tasks.l.ThreadData.Size.Size)); err != nil {
				return err
			}
		}
	}
	if !f.TaskPriList.IsKnown() {
		return nil
	}
	return w.priorities(r.Address(f.TaskPriList))
}

// priorities yields the tasks in the list of queues at a.
func (w *walk) priorities(a callbacks.Address) error {
	f := &w.tasks.l.TaskPri
	var loop rtl.Loop
	for range maxPriorities {
		if a.IsNull() {
			return nil
		}
		if err := loop.Visit(a); err != nil {
			return fmt.Errorf("queues of priority tasks: %w", err)
		}
		if err := w.threadData(a.Add(f.Td.Offset)); err != nil {
			return err
		}
		r := layout.Read(w.tasks.mem, a, f.Next)
		if a = r.Address(f.Next); r.Err() != nil {
			return fmt.Errorf("queue of priority tasks: %w", r.Err())
		}
	}
	return fmt.Errorf("more than %d priorities of tasks: %w", maxPriorities, callbacks.Incomplete)
}

// threadData yields the tasks in the queue of the kmp_thread_data_t at a. Only the elements between head and
// tail are tasks; the others are stale.
func (w *walk) threadData(a callbacks.Address) error {
	f := &w.tasks.l.ThreadData
	r := layout.Read(w.tasks.mem, a, f.Deque, f.DequeSize, f.DequeHead, f.DequeTail, f.DequeNtasks)
	deque, size, n, head := r.Address(f.Deque), r.Uint(f.DequeSize), r.Uint(f.DequeNtasks), r.Uint(f.DequeHead)
	if err := r.Err(); err != nil {
		return fmt.Errorf("task queue at %v: %w", a, err)
	}
	if n == 0 || deque.IsNull() {
		return nil
	}
	if size > maxDeque || n > size || head >= size || size&(size-1) != 0 {
		return fmt.Errorf("task queue at %v has %d tasks from element %d on in a ring of %d: %w", a, n, head, size,
			callbacks.Incomplete)
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

// elements yields the tasks to which count pointers at a point.
func (w *walk) elements(a callbacks.Address, count uint64) error {
	block := make([]byte, 8*count)
	if err := w.tasks.mem.ReadMemory(a, block); err != nil {
		return fmt.Errorf("task queue: %w", errors.Join(err, callbacks.DeviceReadError))
	}
	for i := uint64(0); i < count; i++ {
		t, err := w.tasks.records.task(callbacks.Addr(callbacks.Word(block[8*i : 8*i+8])))
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
