package diagnose_test

import (
	"testing"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// procs sets the number of processors that the runtime counts; no thread sleeps.
func procs(n int, change func(scene, *picture.Processors)) func(scene) {
	return func(s scene) {
		s.Facts.Forks = []picture.Fork{{Region: "r", NumProcs: some(n)}}
		p := &picture.Processors{Running: all(len(s.Threads))}
		if change != nil {
			change(s, p)
		}
		s.Facts.Processors = p
	}
}

// TestOversubscribed checks more threads at work than processors.
func TestOversubscribed(t *testing.T) {
	quota := func(n float64) func(scene, *picture.Processors) {
		return func(_ scene, p *picture.Processors) { p.Quota = &picture.Quota{Processors: n, Source: "cpu.max"} }
	}
	mask := func(processors ...int) func(scene, *picture.Processors) {
		return func(_ scene, p *picture.Processors) {
			p.Masks = []picture.Mask{{Processors: processors, Threads: all(4)}}
		}
	}
	cpuset := func(_ scene, p *picture.Processors) {
		mask(0, 1)(scene{}, p)
		p.Cpuset = &picture.Cpuset{Processors: "0-1", Source: "cpuset.cpus"}
	}
	spin := func(n int) func(scene, *picture.Processors) {
		return func(s scene, _ *picture.Processors) {
			s.lock("a").Owner = 4
			for lwp := 1; lwp <= n; lwp++ {
				s.waits(lwp, picture.WaitLock, "a").Asleep = false
			}
		}
	}
	over := picture.VerdictOversubscribed
	check(t, []scenario{
		{"as many as processors", 4, procs(4, nil), nil},
		{"more than processors", 4, procs(2, nil), []want{info(over, "OMP_NUM_THREADS=2", "4 threads of parallel "+
			"regions compete for 2", all(4)...)}},
		{"more, by a clause", 4, procs(2, func(s scene, _ *picture.Processors) {
			s.Facts.Forks[0].Clause, s.Facts.Forks[0].ClauseValue = true, some(4)
		}), []want{info(over, "use no more threads than processors: num_threads(4) requests more", "4 threads of "+
			"parallel regions compete for 2", all(4)...)}},
		{"more, but asleep", 4, procs(2, func(_ scene, p *picture.Processors) { p.Running = []int{1, 2} }), nil},
		{"more, and some spin", 4, procs(2, spin(2)), []want{warning(over, "OMP_WAIT_POLICY=passive", "Threads "+
			"that spin", all(4)...)}},
		{"more, and one spins in a loop of the program", 4, procs(2, func(s scene, _ *picture.Processors) {
			s.waits(1, picture.WaitFlag, "turn").Asleep = false
		}), []want{warning(over, "sched_yield", "Threads that spin", all(4)...),
			info(picture.VerdictSpinning, "", "until turn changes", 1)}},
		{"more, and one yields in a loop of the program", 4, procs(2, func(s scene, _ *picture.Processors) {
			w := s.waits(1, picture.WaitFlag, "turn")
			w.Asleep, w.Awaited = false, &picture.Awaited{Yields: true}
		}), []want{warning(over, "use no more threads than processors", "1 of them spins in a loop of the program's "+
			"own, which calls sched_yield", all(4)...), info(picture.VerdictSpinning, "", "until turn changes", 1)}},
		{"more, and some spin for a spin lock of the C library", 4, procs(2, func(s scene, _ *picture.Processors) {
			l := s.lock("a")
			l.Owner, l.Implementation = 4, "spin"
			s.waits(1, picture.WaitMutex, "a").Asleep = false
			s.waits(2, picture.WaitMutex, "a").Asleep = false
		}), []want{warning(over, "or use a mutex in place of the spin lock", "2 of them spin for a spin lock",
			all(4)...)}},
		{"more, and some spin for a lock of LLVM's runtime", 4, procs(2, func(s scene, p *picture.Processors) {
			spin(2)(s, p)
			s.setting("wait-policy-var", "passive")
			s.setting("kmp-blocktime-var", "0ms") // concerns no lock
		}), []want{warning(over, "or let them sleep: KMP_LOCK_KIND=futex", "2 of them spin", all(4)...)}},
		{"more, and some are in a deadlock", 4, procs(2, func(s scene, _ *picture.Processors) {
			s.setting("kmp-blocktime-var", "200ms")
			s.opposed(1, 2)
		}), []want{hang(picture.VerdictDeadlock, "same order", "LWP 1", 1, 2)}},
		{"more, and all spin", 4, procs(2, spin(4)), nil},
		{"some spin, on enough processors", 4, procs(4, spin(2)), nil},
		{"outside of regions", 4, func(s scene) {
			procs(2, nil)(s)
			for i := range s.Threads {
				s.Threads[i].Level = some(0)
			}
		}, nil},
		{"helpers of the runtime", 4, func(s scene) {
			procs(2, nil)(s)
			s.Threads[2].Hidden, s.Threads[3].Hidden = true, true
		}, nil},
		{"processors are not known", 4, func(s scene) {
			s.Facts.Processors = &picture.Processors{Running: all(4)}
		}, nil},
		{"a quota", 4, procs(8, quota(1.5)), []want{warning(over, "OMP_NUM_THREADS=1, or raise the quota",
			"1.5 processors' worth", all(4)...)}},
		{"a quota of less than one", 4, procs(8, quota(.5)),
			[]want{warning(over, "OMP_NUM_THREADS=1,", "0.5 processors' worth", all(4)...)}},
		{"a quota that is enough", 4, procs(8, quota(4)), nil},
		{"masks", 4, procs(8, mask(0, 1)), []want{warning(over, "OMP_PROC_BIND=spread",
			"2 processors, all that their affinity masks allow: 0-1", all(4)...)}},
		{"masks that are enough", 4, procs(8, mask(0, 1, 4, 5)), nil},
		{"a cpuset", 4, procs(8, cpuset), []want{warning(over, "OMP_PROC_BIND", "0-1", all(4)...)}},
		{"one thread alone", 1, procs(1, nil), nil},
	})
}

// TestSharedProcessor checks a thread that spins on the one processor of the thread that it waits for.
func TestSharedProcessor(t *testing.T) {
	shared := func(change func(scene, *picture.Processors)) func(scene) {
		return procs(8, func(s scene, p *picture.Processors) {
			p.Masks = []picture.Mask{{Processors: []int{3}, Threads: []int{1, 2}}}
			s.holds(1, 2, picture.WaitLock, "a")
			s.Facts.Waits[0].Asleep = false
			change(s, p)
		})
	}
	kind := picture.VerdictSharedProcessor
	both := []want{info(kind, "OMP_WAIT_POLICY=passive", "spins on processor 3", 1, 2)}
	check(t, []scenario{
		{"for a while", 2, shared(func(scene, *picture.Processors) {}), both},
		{"always", 2, shared(func(s scene, _ *picture.Processors) {
			s.Facts.Settings = []picture.Setting{{Name: "wait-policy-var", Value: "active"}}
		}), []want{warning(kind, "OMP_WAIT_POLICY=passive", "spins on processor 3", 1, 2)}},
		{"always, by a variable", 2, shared(func(s scene, _ *picture.Processors) {
			s.Facts.Environment = []picture.Variable{{
				Name: "KMP_BLOCKTIME", Value: "infinite", State: picture.VariableSet, Purpose: picture.PurposeSpin,
				AlwaysSpins: true,
			}}
		}), []want{warning(kind, "OMP_WAIT_POLICY=passive", "spins on processor 3", 1, 2)}},
		{"the waiter sleeps", 2, shared(func(_ scene, p *picture.Processors) { p.Running = []int{1} }), nil},
		{"the owner sleeps", 2, shared(func(_ scene, p *picture.Processors) { p.Running = []int{2} }), nil},
		{"on processors of their own", 2, shared(func(_ scene, p *picture.Processors) {
			p.Masks = []picture.Mask{{Processors: []int{3}, Threads: []int{1}},
				{Processors: []int{4}, Threads: []int{2}}}
		}), nil},
		{"on two processors", 2, shared(func(_ scene, p *picture.Processors) {
			p.Masks[0].Processors = []int{3,
				4}
		}), nil},
		{"nobody knows who has the lock", 2, shared(func(s scene, _ *picture.Processors) {
			s.Facts.Locks[0].Owner = 0
		}), []want{warning(picture.VerdictOversubscribed, "OMP_PROC_BIND", "1 processor", 1, 2)}},
	})
}

// TestForkChild checks a forked child, which lacks the parent's other threads.
func TestForkChild(t *testing.T) {
	lost := func(waiting ...int) func(scene) {
		return func(s scene) {
			s.Facts.LostThreads = []picture.LostThreads{{Runtime: "libgomp", Count: 3, Waiting: waiting,
				Evidence: "the pool has 4"}}
		}
	}
	kind := picture.VerdictForkChild
	check(t, []scenario{
		{"waits for them", 1, lost(1), []want{hang(kind, "before the first parallel region",
			"threads that do not exist", 1)}},
		{"does not wait yet", 1, lost(), []want{warning(kind, "spawn or forkserver", "expects 3 threads")}},
		{"none is lost", 1, func(scene) {}, nil},
		{"two of the team are there, so the third has ended", 2, func(s scene) {
			lost()(s)
			s.endThread(1)
			s.Regions[0].Runtime = "libgomp"
		}, nil},
	})
}

// endThread removes n members from the team, as if they had ended.
func (s scene) endThread(ended int) {
	s.Regions[0].TeamSize += ended
	for i := range s.Threads {
		s.Threads[i].Levels = []picture.LevelInfo{{Region: "r", ThreadNum: s.Threads[i].ThreadNum}}
	}
}

// TestEndedThread checks a team that waits at a barrier for a thread that has ended in the region.
func TestEndedThread(t *testing.T) {
	wait := func(s scene) {
		s.arrived("b", 0x100, []int{1, 2})
		s.Facts.LostThreads = []picture.LostThreads{{Count: 1, Waiting: []int{1, 2}, Evidence: "the pool has 3"}}
	}
	kind := picture.VerdictThreadEnded
	check(t, []scenario{
		{"one of three", 2, func(s scene) {
			wait(s)
			s.endThread(1)
		}, []want{hang(kind, "no pthread_exit", "thread 2 of the team of 3 ended inside", 1, 2)}},
		{"two of four", 2, func(s scene) {
			wait(s)
			s.endThread(2)
		}, []want{hang(kind, "no pthread_exit", "threads 2, 3 of the team of 4 ended inside", 1, 2)}},
		{"all are there", 2, func(s scene) {
			wait(s)
			s.Facts.LostThreads = nil
			s.endThread(0)
		}, nil},
		{"one that is ending", 3, func(s scene) {
			s.arrived("b", 0x100, []int{1, 2}, 3)
			s.Facts.LostThreads = []picture.LostThreads{{Ending: []int{3}, Waiting: []int{1, 2},
				Evidence: "in a destructor"}}
			s.endThread(0)
		}, []want{hang(kind, "no pthread_exit", "thread 2 of the team of 3 ended inside", 1, 2)}},
		{"one that is ending, of two", 2, func(s scene) {
			s.arrived("b", 0x100, []int{1}, 2)
			s.Facts.LostThreads = []picture.LostThreads{{Ending: []int{2}, Waiting: []int{1},
				Evidence: "in a destructor"}}
			s.endThread(0)
		}, []want{hang(kind, "no pthread_exit", "thread 1 of the team of 2 ended inside", 1)}},
		{"one of two, not the first of the process", 1, func(s scene) {
			s.arrived("b", 0x100, []int{1})
			s.Facts.LostThreads = []picture.LostThreads{{Count: 1, Waiting: []int{1}, Evidence: "the pool has 2"}}
			s.Target.PID = 7
			s.endThread(1)
		}, []want{hang(kind, "no pthread_exit", "thread 1 of the team of 2 ended inside", 1)}},
	})
}

// TestTwoRuntimes checks two runtimes, also with one that is only loaded.
func TestTwoRuntimes(t *testing.T) {
	runtimes := func(used ...string) func(scene) {
		return func(s scene) {
			s.Runtimes = []picture.Runtime{
				{ID: "libgomp", Name: "GNU", Path: "/lib/libgomp.so.1", Layout: "code"},
				{ID: "libomp", Name: "LLVM", Path: "/lib/libomp.so.5", Layout: "none: not used yet"},
			}
			for i, u := range used {
				s.Threads[i].Runtime = u
			}
		}
	}
	kind := picture.VerdictTwoRuntimes
	check(t, []scenario{
		{"both used", 2, runtimes("libgomp", "libomp"), []want{warning(kind, "one runtime", "libgomp.so.1, "+
			"libomp.so.5")}},
		{"one used", 2, runtimes("libgomp", "libgomp"), []want{info(kind, "one runtime", "libgomp.so.1, libomp.so.5")}},
		{"none used", 2, runtimes(), []want{info(kind, "one runtime", "2 OpenMP runtimes")}},
		{"one alone", 2, func(s scene) {
			runtimes("libgomp", "libgomp")(s)
			s.Runtimes = s.Runtimes[:1]
		}, nil},
	})
}

// TestDivergent checks members of a team at different barriers.
func TestDivergent(t *testing.T) {
	kind := picture.VerdictBarrierDivergent
	check(t, []scenario{
		{"they wait for each other", 2, func(s scene) {
			s.arrived("b", 0x100, []int{1}, 2)
			s.arrived("e", 0x200, []int{2}, 1)
			s.Facts.Waits[1].EndOfRegion = true
		}, []want{hang(kind, "only some threads execute", "different barriers", 1, 2),
			neverComplete(picture.Certain, 1), neverComplete(picture.Certain, 2)}},
		{"at one place in memory, one at the end", 2, func(s scene) {
			s.arrived("b", 0x100, []int{1}, 2)
			s.arrived("e", 0x100, []int{2}, 1)
			s.Facts.Waits[1].EndOfRegion = true
		}, []want{hang(kind, "only some threads execute", "same order", 1, 2), neverComplete(picture.Certain, 1),
			neverComplete(picture.Certain, 2)}},
		{"counted as one", 3, func(s scene) {
			s.arrived("b", 0x100, []int{1, 2}, 3)
			s.placeThread(1, 10, picture.StateBarrierExplicit)
			s.placeThread(2, 20, picture.StateBarrierExplicit)
		}, []want{incomplete(1, 2), warning(kind, "if, single, master", "treats as one", 1, 2)}},
		{"copies of the end of one construct", 3, func(s scene) {
			s.arrived("b", 0x100, []int{1, 2}, 3)
			s.placeThread(1, 10, picture.StateBarrierWorkshare)
			s.placeThread(2, 20, picture.StateBarrierWorkshare)
		}, []want{incomplete(1, 2)}},
		{"the end of a construct, and a barrier", 3, func(s scene) {
			s.arrived("b", 0x100, []int{1, 2}, 3)
			s.placeThread(1, 10, picture.StateBarrierWorkshare)
			s.placeThread(2, 20, picture.StateBarrierExplicit)
		}, []want{incomplete(1, 2), warning(kind, "if, single, master", "treats as one", 1, 2)}},
		{"one line", 3, func(s scene) {
			s.arrived("b", 0x100, []int{1, 2}, 3)
			s.placeThread(1, 10, picture.StateBarrierExplicit)
			s.placeThread(2, 10, picture.StateBarrierExplicit)
		}, []want{incomplete(1, 2)}},
		{"one line is not known", 3, func(s scene) {
			s.arrived("b", 0x100, []int{1, 2}, 3)
			s.placeThread(1, 10, picture.StateBarrierExplicit)
		}, []want{incomplete(1, 2)}},
		{"the end of the region has no line", 3, func(s scene) {
			s.arrived("b", 0x100, []int{1, 2}, 3)
			s.placeThread(1, 10, picture.StateBarrierExplicit)
			s.placeThread(2, 20, picture.StateBarrierParallel)
		}, []want{incomplete(1, 2)}},
		{"all have arrived", 2, func(s scene) { s.arrived("b", 0x100, []int{1, 2}) }, nil},
		{"one has, and is not counted yet", 2, func(s scene) {
			s.arrived("b", 0x100, []int{1}, 2)
			s.waits(2, picture.WaitBarrier, "").Address = hex(0x100)
		}, nil},
	})
}
