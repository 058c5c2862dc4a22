package report

import (
	"slices"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/cli"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// These tests damage the runtime's structures of a real core one word at a time. Each case must give a picture in
// time: with all threads, and with the damage among its complaints unless no part of the picture depends on the
// damaged word.

const (
	nowhere = 0x0000_1234_5678_9000 // not mapped
	kernel  = 0xffff_ffff_ff60_0000 // not in a process's address space
	odd     = 3                     // not a pointer
	huge    = 1 << 31               // a count
)

// damage is one change of a core.
type damage struct {
	name    string
	program string
	do      func(e *edit)
	silent  bool // a picture without complaints is correct as well
}

// taskIn returns the address of the structure of the explicit task in a state.
func (e *edit) taskIn(kind, state string) uint64 {
	e.tb.Helper()
	for _, t := range e.pic.Tasks {
		if string(t.Kind) == kind && string(t.State) == state {
			return idAddress(e.tb, t.ID)
		}
	}
	e.tb.Fatalf("no %s task is %s", kind, state)
	return 0
}

// team returns the address of the team of the region at a level.
func (e *edit) team(level int) uint64 {
	e.tb.Helper()
	for _, r := range e.pic.Regions {
		if r.Level == level {
			return idAddress(e.tb, r.ID)
		}
	}
	e.tb.Fatalf("no region of level %d", level)
	return 0
}

// thread returns the address of the runtime's structure of the n-th thread of the program, by the runtime's own
// numbers, which have gaps.
func (e *edit) thread(n int) uint64 {
	e.tb.Helper()
	var numbers []int64
	for _, t := range e.pic.Threads {
		numbers = append(numbers, *t.Number)
	}
	slices.Sort(numbers)
	return e.word(e.word(e.global("__kmp_threads")) + uint64(8*numbers[n]))
}

// deque returns the address of the first thread's deque in the team of level 1.
func (e *edit) deque() uint64 {
	e.tb.Helper()
	tt := e.follow(e.thread(0), "kmp_base_info_t.th_task_team")
	return e.follow(tt, "kmp_base_task_team_t.tt_threads_data")
}

func circles() []damage {
	return []damage{
		{name: "pool of one thread", program: "idle", do: func(e *edit) {
			e.put64(e.global("__kmp_thread_pool"), e.thread(3))
			e.put64(e.field(e.thread(3), "kmp_base_info_t.th_next_pool"), e.thread(3))
		}, silent: true},
		{name: "pool of three threads", program: "idle", do: func(e *edit) {
			e.put64(e.global("__kmp_thread_pool"), e.thread(1))
			for n := 1; n <= 3; n++ {
				e.put64(e.field(e.thread(n), "kmp_base_info_t.th_next_pool"), e.thread(n%3+1))
			}
		}, silent: true},
		{name: "parent of a team", program: "nested", do: func(e *edit) {
			e.put64(e.field(e.team(2), "kmp_base_team_t.t_parent"), e.team(2))
		}},
		{name: "parents of two teams", program: "nested", do: func(e *edit) {
			e.put64(e.field(e.team(1), "kmp_base_team_t.t_parent"), e.team(2))
		}},
		{name: "parent of a task", program: "tasks_deps", do: func(e *edit) {
			a := e.taskIn("explicit", "blocked")
			e.put64(e.field(a, "kmp_taskdata_t.td_parent"), a)
		}, silent: true},
		{name: "parent of an implicit task", program: "nested", do: func(e *edit) {
			a := e.taskIn("implicit", "running")
			e.put64(e.field(a, "kmp_taskdata_t.td_parent"), a)
		}, silent: true},
		{name: "successors", program: "tasks_deps", do: func(e *edit) {
			node := e.follow(e.taskIn("explicit", "running"), "kmp_taskdata_t.td_depnode")
			list := e.follow(node, "kmp_base_depnode_t.successors")
			e.put64(e.field(list, "kmp_depnode_list_t.next"), list)
		}},
		{name: "successor of itself", program: "tasks_deps", do: func(e *edit) {
			node := e.follow(e.taskIn("explicit", "blocked"), "kmp_taskdata_t.td_depnode")
			list := e.follow(node, "kmp_base_depnode_t.successors")
			e.put64(e.field(list, "kmp_depnode_list_t.node"), node)
		}, silent: true},
		{name: "hash bucket", program: "tasks_deps", do: func(e *edit) {
			hash := e.follow(e.taskIn("implicit", "running"), "kmp_taskdata_t.td_dephash")
			buckets := e.follow(hash, "kmp_dephash_t.buckets")
			n := e.word(e.field(hash, "kmp_dephash_t.size"))
			for i := range n {
				if entry := e.word(buckets + 8*i); entry != 0 {
					e.put64(e.field(entry, "kmp_dephash_entry_t.next_in_bucket"), entry)
				}
			}
		}},
		{name: "one task in all slots", program: "tasks_queued", do: func(e *edit) {
			slots := e.follow(e.deque(), "kmp_base_thread_data_t.td_deque")
			for i := range uint64(20) {
				e.put64(slots+8*i, e.word(slots))
			}
		}, silent: true},
		{name: "threads all the same", program: "nested", do: func(e *edit) {
			array := e.word(e.global("__kmp_threads"))
			for _, t := range e.pic.Threads {
				e.put64(array+8*uint64(*t.Number), e.word(array))
			}
		}},
		{name: "lock queue", program: "lock_cycle", do: func(e *edit) {
			for n := range 3 {
				// numbers are one higher in queues
				e.put32(e.field(e.thread(n), "kmp_base_info_t.th_next_waiting"), uint32(n+1))
			}
		}, silent: true},
	}
}

func counts() []damage {
	return []damage{
		{name: "team size", program: "nested", do: func(e *edit) {
			e.put32(e.field(e.team(2), "kmp_base_team_t.t_nproc"), huge)
		}},
		{name: "team size, positive", program: "nested", do: func(e *edit) {
			e.put32(e.field(e.team(2), "kmp_base_team_t.t_nproc"), huge-1)
		}},
		{name: "serialized", program: "serialized_nested", do: func(e *edit) {
			e.put32(e.field(e.team(1), "kmp_base_team_t.t_serialized"), huge-1)
		}},
		{name: "level", program: "nested", do: func(e *edit) {
			e.put32(e.field(e.team(2), "kmp_base_team_t.t_level"), huge-1)
		}},
		{name: "queued tasks", program: "tasks_queued", do: func(e *edit) {
			e.put32(e.field(e.deque(), "kmp_base_thread_data_t.td_deque_ntasks"), huge-1)
		}},
		{name: "queued tasks of a deque of 2^31", program: "tasks_queued", do: func(e *edit) {
			e.put32(e.field(e.deque(), "kmp_base_thread_data_t.td_deque_size"), huge)
			e.put32(e.field(e.deque(), "kmp_base_thread_data_t.td_deque_ntasks"), huge-1)
		}},
		{name: "head of a deque", program: "tasks_queued", do: func(e *edit) {
			e.put32(e.field(e.deque(), "kmp_base_thread_data_t.td_deque_head"), huge)
		}, silent: true},
		{name: "threads of a task team", program: "tasks_queued", do: func(e *edit) {
			tt := e.follow(e.thread(0), "kmp_base_info_t.th_task_team")
			e.put32(e.field(tt, "kmp_base_task_team_t.tt_max_threads"), huge-1)
			e.put32(e.field(tt, "kmp_base_task_team_t.tt_nproc"), huge-1)
		}, silent: true},
		{name: "hash buckets", program: "tasks_deps", do: func(e *edit) {
			hash := e.follow(e.taskIn("implicit", "running"), "kmp_taskdata_t.td_dephash")
			e.put64(e.field(hash, "kmp_dephash_t.size"), huge)
		}},
		{name: "thread number", program: "nested", do: func(e *edit) {
			e.put32(e.field(e.thread(3), "kmp_base_info_t.th_info.ds.ds_tid"), huge-1)
		}, silent: true}, // it is then no member of its team, like an idle thread

		{name: "global thread number", program: "nested", do: func(e *edit) {
			e.put32(e.field(e.thread(3), "kmp_base_info_t.th_info.ds.ds_gtid"), huge-1)
		}},
		{name: "child tasks", program: "taskwait", do: func(e *edit) {
			e.put32(e.field(e.taskIn("implicit", "waiting"), "kmp_taskdata_t.td_incomplete_child_tasks"), huge-1)
		}, silent: true},
		{name: "all threads", program: "idle", do: func(e *edit) {
			e.put32(e.global("__kmp_all_nth"), huge-1)
			e.put32(e.global("__kmp_nth"), huge-1)
		}, silent: true},
	}
}

// TestDamagedCores makes lists circular and counts enormous.
func TestDamagedCores(t *testing.T) {
	cores := map[string]*edit{}
	for kind, list := range map[string][]damage{"circular": circles(), "count": counts()} {
		for _, d := range list {
			if cores[d.program] == nil {
				cores[d.program], _ = coreFor(t, d.program)
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

// checkDamaged reports on the damaged core of e: the picture has every thread of the program, lists are bounded,
// and the damage is among the complaints unless silent.
func checkDamaged(t *testing.T, e *edit, silent bool) {
	t.Helper()
	core := e.write()
	pic := partial(t, core)
	said := complaints(pic)
	if said == "" && !silent {
		t.Error("no complaint")
	}
	lwps := map[int]bool{}
	for _, th := range pic.Threads {
		lwps[th.LWP] = true
	}
	for _, th := range e.pic.Threads {
		if !lwps[th.LWP] {
			t.Errorf("LWP %d is missing; %s", th.LWP, said)
		}
	}
	if len(pic.Regions) > 2*inspect.MaxLevels || len(pic.Tasks) > inspect.MaxTasks || len(said) > 1<<16 {
		t.Errorf("%d regions, %d tasks, %d bytes of complaints", len(pic.Regions), len(pic.Tasks), len(said))
	}
	for _, verb := range []string{"tasks", "icvs", "doctor", "layout"} {
		a := e2e.OutputInTime(t, verb, "--json", core)
		if a.Status != cli.ExitOK || len(a.Stdout) > 16<<20 {
			t.Errorf("%s: exit status %d, %d bytes, %s", verb, a.Status, len(a.Stdout), a.Errs)
			continue
		}
		omptest.Validate(t, "picture", []byte(a.Stdout))
	}
}

// TestReplacedPointers replaces, one after the other, each pointer that the picture depends on.
func TestReplacedPointers(t *testing.T) {
	e, _ := coreFor(t, "tasks_deps")
	team, thread, root := e.team(1), e.thread(0), e.word(e.word(e.global("__kmp_root")))
	task := e.taskIn("explicit", "running")
	blocked := e.taskIn("explicit", "blocked")
	node := e.follow(task, "kmp_taskdata_t.td_depnode")
	tt := e.follow(thread, "kmp_base_info_t.th_task_team")
	places := map[string]uint64{
		"__kmp_threads": e.global("__kmp_threads"), "__kmp_root": e.global("__kmp_root"),
		"__kmp_thread_pool": e.global("__kmp_thread_pool"),
		"a thread":          e.word(e.global("__kmp_threads")), "a root": e.word(e.global("__kmp_root")),
	}
	for base, names := range map[uint64][]string{
		thread: {"kmp_base_info_t.th_info.ds.ds_thread", "kmp_base_info_t.th_team", "kmp_base_info_t.th_root",
			"kmp_base_info_t.th_current_task", "kmp_base_info_t.th_task_team", "kmp_base_info_t.th_serial_team",
			"kmp_base_info_t.th_dispatch"},
		team: {"kmp_base_team_t.t_parent", "kmp_base_team_t.t_threads", "kmp_base_team_t.t_implicit_task_taskdata",
			"kmp_base_team_t.t_pkfn", "kmp_base_team_t.t_ident", "kmp_base_team_t.t_dispatch"},
		root: {"kmp_base_root_t.r_root_team", "kmp_base_root_t.r_hot_team", "kmp_base_root_t.r_uber_thread"},
		task: {"kmp_taskdata_t.td_team", "kmp_taskdata_t.td_parent", "kmp_taskdata_t.td_alloc_thread",
			"kmp_taskdata_t.td_depnode", "kmp_taskdata_t.td_ident"},
		node: {"kmp_base_depnode_t.successors", "kmp_base_depnode_t.task"},
		tt:   {"kmp_base_task_team_t.tt_threads_data", "kmp_base_task_team_t.tt_task_pri_list"},
	} {
		for _, n := range names {
			places[n] = e.field(base, n)
		}
	}
	places["blocked "+"td_depnode"] = e.field(blocked, "kmp_taskdata_t.td_depnode")
	for name, a := range places {
		for _, v := range []uint64{0, odd, nowhere, kernel, ^uint64(0), a, team, thread} {
			if e.word(a) == v {
				continue
			}
			t.Run(strings.ReplaceAll(name, " ", "_")+"/"+picture.Hex(v).String(), func(t *testing.T) {
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
