package libomp

import (
	"strings"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
)

// A thread that takes a task from a queue has it in a register or in a frame until it makes the task its current one.
// So has a thread that is about to put a task into a queue. No list of the runtime contains the task meanwhile, and the
// thread may lose its processor there for long.

var _ rtl.TakenTaskReader = (*tasks)(nil)

// taskAlignment is the alignment of a kmp_taskdata_t, in bytes: the runtime allocates it in whole cache lines.
const taskAlignment = 64

// TakenTasks returns the tasks of a region that have not begun and to which members have a pointer in the runtime's
// frames or in a register. A member that sleeps has none in its hands.
func (tk *tasks) TakenTasks(p handles.Parallel, of func(handles.Thread) *handles.Evidence) []handles.Task {
	gs, err := tk.regions.findRegions(p)
	if err != nil || !gs[0].innermost() || !tk.foundTasks(gs[0]) {
		return nil
	}
	var out []handles.Task
	known := map[uint64]*task{} // by word; threads have most of them in common
	for n := range gs[0].numThreads() {
		th, err := tk.threads.member(gs[0].team, n)
		if err != nil {
			continue
		}
		ev := of(handles.Thread{Stamp: tk.stamp, Info: th.addr})
		low, high := runtimeStack(ev)
		if low.IsNull() || high.IsNull() || !ev.Futex.IsNull() {
			continue // it executes the program's code, or sleeps
		}
		own := takesOwn(ev)
		for _, w := range tk.clues(ev) {
			if _, inThread := tk.threads.threadOf(w); inThread || w >= low.Offset && w < high.Offset {
				continue // most words point to the thread's structure, or to its stack
			}
			t, ok := known[w]
			if !ok {
				t = tk.unbegun(w, gs[0].team.addr)
				known[w] = t
			}
			if t != nil && (!own || t.parent != th.task) {
				out = append(out, handles.Task{Stamp: tk.stamp, Data: t.addr})
			}
		}
	}
	return out
}

// foundTasks reports whether a task was ever in a queue of a region's team.
func (tk *tasks) foundTasks(g region) bool {
	f := &tk.l.TaskTeam
	for _, a := range g.team.taskTeams {
		if a.IsNull() {
			continue
		}
		r := layout.Read(tk.mem, a, f.ThreadsData)
		if array := r.Address(f.ThreadsData); r.Err() == nil && !array.IsNull() {
			return true
		}
	}
	return false
}

// takesOwn reports whether a thread waits for the predecessors of a task that it will execute itself, in its own code.
// No queue is to contain that task.
func takesOwn(ev *handles.Evidence) bool {
	_, name := enteredFunction(ev)
	return strings.Contains(name, "dep") || strings.HasPrefix(name, "GOMP_task ")
}

// unbegun returns the task of a team that has not begun, to whose kmp_taskdata_t, kmp_task_t or kmp_depnode_t a word
// points; nil if it points to none. The thread that ends the last predecessor of a task has its kmp_depnode_t.
func (tk *tasks) unbegun(w uint64, team callbacks.Address) *task {
	f := &tk.l.Taskdata
	for _, a := range [...]uint64{w, w - f.Size.Size} {
		if t := tk.unbegunAt(a, team); t != nil {
			return t
		}
	}
	if w%taskAlignment != 0 {
		return nil
	}
	r := layout.Read(tk.mem, callbacks.Addr(w), tk.l.Depnode.Task)
	at := r.Address(tk.l.Depnode.Task)
	if r.Err() != nil || at.IsNull() {
		return nil
	}
	t := tk.unbegunAt(at.Offset-f.Size.Size, team)
	if t == nil || t.depnode.Offset != w {
		return nil
	}
	return t
}

// unbegunAt returns the task of a team that has not begun, if its kmp_taskdata_t is at a; else nil.
func (tk *tasks) unbegunAt(a uint64, team callbacks.Address) *task {
	f := &tk.l.Taskdata
	if a%taskAlignment != 0 {
		return nil
	}
	r := layout.Read(tk.mem, callbacks.Addr(a), f.Team)
	if r.Address(f.Team) != team || r.Err() != nil {
		return nil
	}
	t, err := tk.records.readTask(callbacks.Addr(a))
	if err != nil || !t.explicit || t.bit(f.FlagStarted) || t.bit(f.FlagComplete) {
		return nil
	}
	maker := t.rec()
	if _, ok := tk.threads.gtids[maker.Address(f.AllocThread).Offset]; !ok || maker.Err() != nil {
		return nil
	}
	if p, err := tk.records.task(t.parent); err != nil || p.team != team {
		return nil
	}
	return t
}
