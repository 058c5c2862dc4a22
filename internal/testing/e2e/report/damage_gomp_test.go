package report

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/inspect"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// gompCoreOf returns the core of a program of GCC on the runtime of Debian 12. Tasks may have priorities.
func gompCoreOf(tb testing.TB, program string) *omptest.Result {
	tb.Helper()
	exe := omptest.Compile(tb, omptest.Build{Program: program, Compiler: omptest.GCC})
	return omptest.Dump(tb, omptest.Run{Exe: exe, Runtime: omptest.Libgomp(tb),
		Env: []string{"OMP_MAX_TASK_PRIORITY=9"}, Mode: omptest.Kernel})
}

// gompCoreFor returns editCore of such a core.
func gompCoreFor(tb testing.TB, program string) *edit {
	tb.Helper()
	return editCore(tb, gompCoreOf(tb, program).Core)
}

// tls returns the address of the gomp_thread of the n-th OpenMP thread, in the order of their numbers.
func (e *edit) tls(n int) uint64 {
	e.tb.Helper()
	threads := slices.DeleteFunc(slices.Clone(e.pic.Threads), func(t picture.Thread) bool { return t.Number == nil })
	slices.SortFunc(threads, func(a, b picture.Thread) int { return cmp.Compare(*a.Number, *b.Number) })
	return uint64(*threads[n].Pthread) + e.global("gomp_tls_data")
}

// member returns the gomp_thread of a member of the team at an address, by its number.
func (e *edit) member(team uint64, num int) uint64 {
	e.tb.Helper()
	for _, t := range e.pic.Threads {
		if t.Region != "" && idAddress(e.tb, t.Region) == team && *t.ThreadNum == num {
			return uint64(*t.Pthread) + e.global("gomp_tls_data")
		}
	}
	e.tb.Fatalf("no thread %d in the team at %#x", num, team)
	return 0
}

// tasks returns the addresses of all tasks of a kind and state.
func (e *edit) tasks(kind, state string) []uint64 {
	e.tb.Helper()
	var all []uint64
	for _, t := range e.pic.Tasks {
		if string(t.Kind) == kind && string(t.State) == state {
			all = append(all, idAddress(e.tb, t.ID))
		}
	}
	if len(all) < 2 {
		e.tb.Fatalf("%d %s tasks are %s", len(all), kind, state)
	}
	return all
}

// dependers returns the address of the vector of the tasks that wait for the running one.
func (e *edit) dependers() uint64 {
	e.tb.Helper()
	return e.follow(e.taskIn("explicit", "running"), "gomp_task.dependers")
}

// gompCircles returns lists of tasks and teams that are made circular.
func gompCircles() []damage {
	return append(gompTaskCircles(), []damage{
		{name: "team around itself", program: "nested", do: func(e *edit) {
			e.put64(e.field(e.team(2), "gomp_team.prev_ts.team"), e.team(2))
		}},
		{name: "teams around each other", program: "nested", do: func(e *edit) {
			e.put64(e.field(e.team(1), "gomp_team.prev_ts.team"), e.team(2))
		}},
		{name: "queue of one", program: "tasks_queued", do: func(e *edit) {
			node := e.follow(e.team(1), "gomp_team.task_queue.l.tasks")
			e.put64(node, node)
		}, silent: true},
		{name: "queue without its beginning", program: "tasks_queued", do: func(e *edit) {
			first := e.follow(e.team(1), "gomp_team.task_queue.l.tasks")
			e.put64(e.word(first+8), e.word(first)) // the last element's next is the second
		}},
		{name: "queue within", program: "tasks_queued", do: func(e *edit) {
			first := e.follow(e.team(1), "gomp_team.task_queue.l.tasks")
			second := e.word(first)
			e.put64(e.word(second), second)
			e.put64(second+8, e.word(second))
		}},
		{name: "priorities", program: "tasks_priority", do: func(e *edit) {
			root := e.follow(e.team(1), "gomp_team.task_queue.t.root")
			e.put64(e.field(root, "prio_splay_tree_node_s.left"), root)
			e.put64(e.field(root, "prio_splay_tree_node_s.right"), root)
		}},
		{name: "threads all in one place", program: "nested", do: func(e *edit) {
			for n := range 3 {
				e.put64(e.field(e.tls(n), "gomp_thread.ts.team"), e.team(1))
				e.put32(e.field(e.tls(n), "gomp_thread.ts.team_id"), 0)
				e.put32(e.field(e.tls(n), "gomp_thread.ts.level"), 1)
			}
		}, silent: true},
	}...)
}

// gompTaskCircles returns tasks that point to each other.
func gompTaskCircles() []damage {
	return []damage{
		{name: "parent of itself", program: "tasks_deps", do: func(e *edit) {
			a := e.taskIn("explicit", "blocked")
			e.put64(e.field(a, "gomp_task.parent"), a)
		}},
		{name: "parents of each other", program: "tasks_deps", do: func(e *edit) {
			two := e.tasks("explicit", "blocked")
			e.put64(e.field(two[0], "gomp_task.parent"), two[1])
			e.put64(e.field(two[1], "gomp_task.parent"), two[0])
		}},
		{name: "parents of what runs", program: "tasks_priority", do: func(e *edit) {
			a, b := e.taskIn("explicit", "running"), e.taskIn("explicit", "waiting")
			e.put64(e.field(a, "gomp_task.parent"), b)
			e.put64(e.field(b, "gomp_task.parent"), a)
		}, silent: true},
		{name: "depends on itself", program: "tasks_deps", do: func(e *edit) {
			v := e.dependers()
			e.put64(e.field(v, "gomp_dependers_vec.elem"), e.taskIn("explicit", "running"))
		}, silent: true},
		{name: "depend on each other", program: "tasks_deps", do: func(e *edit) {
			two := e.tasks("explicit", "blocked")
			for _, a := range two {
				e.put64(e.field(a, "gomp_task.dependers"), e.dependers())
			}
		}, silent: true},
		{name: "children", program: "tasks_priority", do: func(e *edit) {
			a := e.taskIn("explicit", "waiting")
			e.put64(e.field(a, "gomp_task.children_queue.l.tasks"), e.field(a, "gomp_task.pnode"))
		}, silent: true},
	}
}

func gompCounts() []damage {
	put32 := func(field string, v uint32, base func(e *edit) uint64) func(e *edit) {
		return func(e *edit) { e.put32(e.field(base(e), field), v) }
	}
	inner := func(e *edit) uint64 { return e.team(2) }
	outer := func(e *edit) uint64 { return e.team(1) }
	worker := func(e *edit) uint64 { return e.member(e.team(1), 1) }
	return []damage{
		{name: "team size", program: "nested", do: put32("gomp_team.nthreads", huge, inner)},
		{name: "team size, positive", program: "nested", do: put32("gomp_team.nthreads", huge-1, inner)},
		{name: "team size of 4 Mi", program: "nested", do: put32("gomp_team.nthreads", 4<<20, inner)},
		{name: "level around", program: "nested", do: put32("gomp_team.prev_ts.level", huge-1, inner)},
		{name: "number around", program: "nested", do: put32("gomp_team.prev_ts.team_id", huge-1, inner)},
		// like an idle thread
		{name: "thread number", program: "barrier", do: put32("gomp_thread.ts.team_id", huge-1, worker), silent: true},
		{name: "thread number of another", program: "barrier", do: put32("gomp_thread.ts.team_id", 2, worker),
			silent: true},
		{name: "thread number of the primary", program: "barrier", do: put32("gomp_thread.ts.team_id", 0, worker),
			silent: true},
		{name: "thread number -1", program: "barrier", do: put32("gomp_thread.ts.team_id", 1<<32-1, worker),
			silent: true},
		{name: "level of a thread", program: "barrier", do: put32("gomp_thread.ts.level", huge-1, worker),
			silent: true},
		{name: "active level of a thread", program: "barrier", do: put32("gomp_thread.ts.active_level", huge-1, worker),
			silent: true},
		{name: "awaited", program: "barrier", do: put32("gomp_team.barrier.awaited", huge, outer), silent: true},
		{name: "waiting tasks", program: "tasks_deps", do: put32("gomp_dependers_vec.n_elem", huge-1,
			(*edit).dependers)},
		{name: "16 Mi waiting tasks", program: "tasks_deps", do: put32("gomp_dependers_vec.n_elem", 1<<24,
			(*edit).dependers)},
		{name: "dependences", program: "tasks_deps", do: func(e *edit) {
			e.put64(e.field(e.taskIn("explicit", "blocked"), "gomp_task.num_dependees"), huge-1)
		}, silent: true},
		{name: "kind of a task", program: "tasks_deps",
			do: put32("gomp_task.kind", huge-1, func(e *edit) uint64 { return e.taskIn("explicit", "running") })},
		{name: "queued tasks", program: "tasks_queued", do: put32("gomp_team.task_queued_count", huge-1, outer),
			silent: true},
		{name: "tasks of a taskgroup", program: "taskgroup", do: func(e *edit) {
			group := e.follow(e.taskIn("implicit", "waiting"), "gomp_task.taskgroup")
			e.put64(e.field(group, "gomp_taskgroup.num_children"), huge-1)
		}, silent: true},
	}
}

// TestGompDamagedCores makes lists of GNU's runtime circular and counts enormous.
func TestGompDamagedCores(t *testing.T) {
	cores := map[string]*edit{}
	for kind, list := range map[string][]damage{"circular": gompCircles(), "count": gompCounts()} {
		for _, d := range list {
			if cores[d.program] == nil {
				cores[d.program] = gompCoreFor(t, d.program)
			}
			e := cores[d.program].copy()
			t.Run(kind+"/"+strings.ReplaceAll(d.name, " ", "_"), func(t *testing.T) {
				t.Parallel()
				e.tb = t
				d.do(e)
				checkDamaged(t, e, d.silent)
			})
		}
	}
}

// TestGompReplacedPointers replaces, one after the other, each pointer that the picture of a program of GCC
// depends on.
func TestGompReplacedPointers(t *testing.T) {
	e := gompCoreFor(t, "tasks_deps")
	team, thread := e.team(1), e.member(e.team(1), 0)
	task, blocked := e.taskIn("explicit", "running"), e.taskIn("explicit", "blocked")
	places := map[string]uint64{}
	for base, names := range map[uint64][]string{
		thread: {"gomp_thread.ts.team", "gomp_thread.task", "gomp_thread.thread_pool", "gomp_thread.ts.work_share"},
		team: {"gomp_team.prev_ts.team", "gomp_team.ordered_release", "gomp_team.task_queue.l.tasks",
			"gomp_team.task_queue.t.root"},
		task: {"gomp_task.parent", "gomp_task.dependers", "gomp_task.taskgroup", "gomp_task.taskwait",
			"gomp_task.children_queue.l.tasks", "gomp_task.fn"},
		blocked: {"gomp_task.pnode", "gomp_task.children_queue.t.root"},
	} {
		for _, n := range names {
			places[n] = e.field(base, n)
		}
	}
	places["elem"] = e.field(e.dependers(), "gomp_dependers_vec.elem")
	for name, a := range places {
		for _, v := range []uint64{0, odd, nowhere, kernel, ^uint64(0), a, team, thread, task} {
			if e.word(a) == v {
				continue
			}
			t.Run(name+"/"+picture.Hex(v).String(), func(t *testing.T) {
				c := e.copy()
				c.tb = t
				c.put64(a, v)
				pic := partial(t, c.write())
				if len(pic.Threads) < len(e.pic.Threads) || len(pic.Tasks) > inspect.MaxTasks {
					t.Errorf("%d threads, %d tasks", len(pic.Threads), len(pic.Tasks))
				}
			})
		}
	}
}
