package diagnose_test

import (
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/diagnose"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// TestPause checks that a pause of all Python threads is part of a deadlock only if an attached thread can never
// continue.
func TestPause(t *testing.T) {
	pause := func(s scene, waiter int, name string, others ...int) {
		w := s.waits(waiter, picture.WaitPause, "")
		w.Name, w.Address, w.Lock, w.Threads, w.WaitOn, w.Evidence = name, nil, "", others, others[0], "attached"
	}
	const start = "the start of the pause of all Python threads, which depends on thread"
	check(t, []scenario{
		{"an attached thread waits for a lock of the requester", 2, func(s scene) {
			pause(s, 1, picture.PauseStart, 2)
			s.holds(1, 2, picture.WaitLock, "a")
		}, []want{hang(picture.VerdictDeadlock, "detach the thread from Python", start, 1, 2)}},
		{"only the last attached thread waits for ever", 3, func(s scene) {
			pause(s, 1, picture.PauseStart, 2, 3)
			s.holds(1, 3, picture.WaitLock, "a")
		}, []want{hang(picture.VerdictDeadlock, "detach the thread from Python", start, 1, 3)}},
		{"a suspended thread holds the lock", 3, func(s scene) {
			pause(s, 1, picture.PauseStart, 2)
			s.holds(3, 2, picture.WaitLock, "a")
			pause(s, 3, picture.PauseEnd, 1)
		}, []want{hang(picture.VerdictDeadlock, "detach the thread from Python", start, 1, 2, 3)}},
		{"the attached thread is at work", 3, func(s scene) {
			pause(s, 1, picture.PauseStart, 2)
			s.holds(1, 3, picture.WaitLock, "a")
		}, nil},
		{"the requester is at work in the pause", 2, func(s scene) { pause(s, 2, picture.PauseEnd, 1) }, nil},
	})
}

// TestOrdered checks that a thread that waits for its turn may delay the thread with the turn.
func TestOrdered(t *testing.T) {
	check(t, []scenario{
		{"the turn is one's who is at work", 3, func(s scene) {
			s.holds(1, 2, picture.WaitOrdered, "o")
			s.waits(3, picture.WaitOrdered, "o")
		}, nil},
		{"the turn is one's who waits for a lock of a waiter", 2, func(s scene) {
			s.holds(1, 2, picture.WaitOrdered, "o")
			s.holds(2, 1, picture.WaitLock, "a")
		}, []want{hang(picture.VerdictDeadlock, "ordered", "its turn in an ordered loop", 1, 2)}},
		{"a third waits for its turn too", 3, func(s scene) {
			s.holds(1, 2, picture.WaitOrdered, "o")
			s.holds(2, 1, picture.WaitCritical, "a")
			s.waits(3, picture.WaitOrdered, "o")
		}, []want{hang(picture.VerdictDeadlock, "ordered", "waiting behind: 3", 1, 2)}},
		{"its lock is of one who is at work", 3, func(s scene) {
			s.holds(1, 2, picture.WaitOrdered, "o")
			s.holds(3, 1, picture.WaitLock, "a")
		}, nil},
		{"whose turn it is, is not known", 2, func(s scene) {
			s.holds(0, 2, picture.WaitOrdered, "o")
			s.lock("o").Held = false
			s.holds(2, 1, picture.WaitLock, "a")
		}, nil},
		{"the turn is nobody's in the loop, and the other waits for a lock of the waiter", 2, func(s scene) {
			s.holds(0, 2, picture.WaitOrdered, "o")
			s.holds(2, 1, picture.WaitLock, "a")
		}, []want{hang(picture.VerdictDeadlock, "ordered", "its turn in an ordered loop", 1, 2)}},
		{"the turn is nobody's in the loop, and one more is at work", 3, func(s scene) {
			s.holds(0, 2, picture.WaitOrdered, "o")
			s.holds(2, 1, picture.WaitLock, "a")
		}, nil},
		{"the turn is nobody's in the loop, and the others have not come to it", 3, func(s scene) {
			s.holds(0, 2, picture.WaitOrdered, "o")
			s.arrived("b", 0x100, []int{1, 3}, 2)
		}, []want{hang(picture.VerdictDeadlock, "ordered", "", 1, 2), neverComplete(picture.Certain, 1, 3)}},
		{"the turn is nobody's in the loop, and who has not come to it waits for its own lock", 3, func(s scene) {
			s.holds(0, 1, picture.WaitOrdered, "o")
			s.waits(2, picture.WaitOrdered, "o")
			s.holds(3, 3, picture.WaitLock, "a")
		}, []want{hang(picture.VerdictSelfDeadlock, "lock", "", 3)}},
		{"all wait for a turn that is nobody's", 2, func(s scene) {
			s.holds(0, 1, picture.WaitOrdered, "o")
			s.waits(2, picture.WaitOrdered, "o")
		}, []want{hang(picture.VerdictDeadlock, "ordered", "", 1, 2)}},
		{"the turn has just come", 2, func(s scene) {
			s.holds(2, 2, picture.WaitOrdered, "o")
			s.holds(2, 1, picture.WaitLock, "a")
		}, nil},
		{"the turn is one's who waits at the barrier", 2, func(s scene) {
			s.holds(1, 2, picture.WaitOrdered, "o")
			s.arrived("b", 0x100, []int{1}, 2)
		}, []want{hang(picture.VerdictDeadlock, "ordered", "", 1, 2), neverComplete(picture.Certain, 1)}},
	})
}

// TestOutside checks that a thread that waits for another process hangs no thread, and that its waiters are named.
func TestOutside(t *testing.T) {
	outside := func(kind picture.WaitKind, name string) func(scene) {
		return func(s scene) {
			w := s.waits(1, kind, "")
			w.Address, w.Name, w.Lock = nil, name, ""
		}
	}
	told := func(says ...string) []want {
		var out []want
		for _, what := range says {
			out = append(out, want{kind: picture.VerdictBlockedOutside, severity: picture.SeverityInfo,
				certainty: picture.Certain, fix: "hold no lock", says: what, threads: []int{1}})
		}
		return out
	}
	check(t, []scenario{
		{"nobody waits for it", 2, outside(picture.WaitCall, "read of descriptor 3"), nil},
		{"one waits for its lock", 3, func(s scene) {
			outside(picture.WaitCall, "read of descriptor 3")(s)
			s.holds(1, 2, picture.WaitLock, "a")
		}, told("for the end of system call read of descriptor 3, and thread 1 (LWP 2) waits for it; it holds lock a")},
		{"one waits for its lock, another for him", 3, func(s scene) {
			outside(picture.WaitMPI, "MPI_Recv")(s)
			s.holds(1, 2, picture.WaitLock, "a")
			s.holds(2, 3, picture.WaitLock, "b")
		}, told("for other processes in MPI_Recv, and 2 threads wait for it; it holds lock a")},
		{"those who wait hang by themselves", 3, func(s scene) {
			outside(picture.WaitCall, "poll")(s)
			s.holds(2, 3, picture.WaitLock, "a")
			s.holds(3, 2, picture.WaitLock, "b")
		}, []want{hang(picture.VerdictDeadlock, "same order", "", 2, 3)}},
	})
}

// TestEndlessLoop checks that a loop without an exit is a hang, also while other threads work, unless a signal
// handler may leave it.
func TestEndlessLoop(t *testing.T) {
	loops := func(incomplete bool) func(scene) {
		return func(s scene) {
			s.waits(1, picture.WaitNothing, "n").Address = nil
			l := s.lock("n")
			l.Held, l.MayRelease = false, &picture.Candidates{Threads: []int{}, Incomplete: incomplete}
		}
	}
	says := "thread 0 (LWP 1) spins in a loop that reads no variable and has no way out"
	check(t, []scenario{
		{"another one works", 2, loops(false), []want{likely(picture.VerdictSpinning, "atomic", says, 1)}},
		{"a handler may leave it", 2, loops(true), []want{{kind: picture.VerdictSpinning,
			severity: picture.SeverityInfo, certainty: picture.Certain, says: says, threads: []int{1}}}},
	})
}

// TestFlagBehindLock checks a thread that spins for a flag, and a thread that waits for a lock that the first may
// release or hold. In the first case the holder is unknown, and the lock may have been left.
func TestFlagBehindLock(t *testing.T) {
	for certainty, unknown := range map[picture.Certainty]bool{picture.Possible: true, picture.Certain: false} {
		s := team(2)
		l, one := s.lock("a"), 1
		l.Waiting = &one
		l.Holders = []picture.Holder{{Thread: 2, Certainty: certainty}}
		if unknown {
			l.Holders = append(l.Holders, picture.Holder{Thread: 1, Certainty: certainty})
		}
		l.MayRelease = &picture.Candidates{Threads: []int{2}}
		flag := s.lock("turn")
		flag.Held, flag.MayRelease = false, &picture.Candidates{Threads: []int{1}}
		s.waits(1, picture.WaitLock, "a")
		s.waits(2, picture.WaitFlag, "turn").Asleep = false
		const says = " Or the cause is lock a, which thread 0 (LWP 1) waits for: who holds it is not known"
		vs := diagnose.Run(s.Picture)
		if len(vs) != 1 || vs[0].Kind != picture.VerdictSpinning || vs[0].Severity != picture.SeverityHang ||
			strings.Contains(vs[0].Explanation, says) != unknown {
			t.Errorf("%s: %v", certainty, vs)
		}
	}
}

// TestEndlessLoopsLanguage checks that the fix for a loop without an exit is in the language of the loop, and that
// a construct has no compiler's name.
func TestEndlessLoopsLanguage(t *testing.T) {
	in := func(at picture.Frame) func(scene) {
		return func(s scene) {
			w := s.waits(1, picture.WaitNothing, "n")
			w.Address, w.Awaited = nil, &picture.Awaited{Loop: &at}
			l := s.lock("n")
			l.Held, l.MayRelease = false, &picture.Candidates{Threads: []int{}}
		}
	}
	task := picture.Frame{Kind: picture.FrameUser, Function: ".omp_outlined.", File: "/src/wait.cpp", Line: 7,
		Inlined: true, Outlined: picture.Outlined{Construct: "task"}}
	inTask := func(s scene) {
		in(task)(s)
		f := task
		f.Line, f.In = 6, "serve" // the thread is at the start of the loop
		s.Threads[0].UserStack = []picture.Frame{f}
	}
	c := picture.Frame{Function: "wait_for", File: "/src/wait.c", Line: 7}
	fortran := picture.Frame{Function: "wait_for", File: "/src/wait.F90", Line: 7}
	clang := picture.Frame{Function: ".omp_outlined.", File: "/src/wait.cpp", Line: 7,
		Outlined: picture.Outlined{Construct: "parallel"}}
	check(t, []scenario{
		{"C", 2, in(c), []want{likely(picture.VerdictSpinning, "(#pragma omp atomic read, std::atomic)",
			"spins in wait_for wait.c:7", 1)}},
		{"Fortran", 2, in(fortran), []want{likely(picture.VerdictSpinning, "(!$omp atomic read)",
			"spins in wait_for wait.F90:7", 1)}},
		{"a region", 2, in(clang), []want{likely(picture.VerdictSpinning, "std::atomic",
			"spins in a parallel region wait.cpp:7", 1)}},
		{"a task", 2, inTask, []want{likely(picture.VerdictSpinning, "std::atomic", "spins in serve wait.cpp:7", 1)}},
	})
}

// TestJoin checks that a thread that waits for the end of another needs that one.
func TestJoin(t *testing.T) {
	check(t, []scenario{
		{"of one at work", 2, func(s scene) { s.joins(1, 2) }, nil},
		{"of each other", 2, func(s scene) {
			s.joins(1, 2)
			s.joins(2, 1)
		}, []want{hang(picture.VerdictDeadlock, "hold no lock", "waits for the end of thread 1", 1, 2)}},
		{"of one that waits for a lock of the waiter", 2, func(s scene) {
			s.joins(1, 2)
			s.holds(1, 2, picture.WaitMutex, "m")
		}, []want{hang(picture.VerdictDeadlock, "hold no lock", "mutex m", 1, 2)}},
		{"of one that waits for a lock of another", 3, func(s scene) {
			s.joins(1, 2)
			s.holds(3, 2, picture.WaitMutex, "m")
		}, nil},
		{"of one that waits for a lock whose owner is gone", 2, func(s scene) {
			s.joins(1, 2)
			s.lock("m").OwnerEnded = true
			s.waits(2, picture.WaitMutex, "m")
		}, []want{hang(picture.VerdictLockOrphaned, "release the lock", "ended without releasing", 2)}},
		{"of one that is not known", 1, func(s scene) { s.joins(1, 77) }, nil},
	})
}

// TestNestLocks checks that the thread that holds a nestable lock may acquire it again.
func TestNestLocks(t *testing.T) {
	held := func(nested, asleep bool, holders ...picture.Holder) func(scene) {
		return func(s scene) {
			l := s.lock("n")
			l.Owner, l.Nested, l.Holders = 1, nested, holders
			if len(holders) > 0 && !nested {
				l.Owner = 0
			}
			s.waits(1, picture.WaitNestLock, "n").Asleep = asleep
		}
	}
	itself := picture.Holder{Thread: 1, Certainty: picture.Certain, Evidence: "code"}
	self := hang(picture.VerdictSelfDeadlock, "omp_nest_lock_t", "which it holds itself", 1)
	check(t, []scenario{
		{"acquired again, spinning", 2, held(true, false), nil},
		{"acquired again, spinning, its code shows it", 2, held(true, false, itself), nil},
		{"plain, spinning, only just acquired", 2, held(false, false), nil},
		{"plain, spinning, its code shows it", 2, held(false, false, itself), []want{self}},
		{"asleep on what it has", 2, held(false, true), []want{self}},
		{"two in the opposite order", 2, func(s scene) {
			s.holds(1, 2, picture.WaitNestLock, "a")
			s.holds(2, 1, picture.WaitNestLock, "b")
		}, []want{hang(picture.VerdictDeadlock, "same order", "nestable lock", 1, 2)}},
		{"two in the same order", 2, func(s scene) {
			s.holds(1, 2, picture.WaitNestLock, "a")
		}, nil},
	})
}

// TestAcrossTasks checks a thread that holds a lock and waits for it in a task that it was given meanwhile.
func TestAcrossTasks(t *testing.T) {
	heldIn := func(in string, kind picture.WaitKind, by int, at *picture.Frame) func(scene) {
		return func(s scene) {
			s.lock("a").Holders = []picture.Holder{{Thread: by, Certainty: picture.Certain, SuspendedAt: at,
				SuspendedIn: in, Evidence: "code"}}
			s.waits(1, kind, "a")
		}
	}
	held := func(kind picture.WaitKind, by int, at *picture.Frame) func(scene) {
		return heldIn("taskwait", kind, by, at)
	}
	at := &picture.Frame{Function: "parent", File: "/src/a.c", Line: 9}
	fix := "release it before the taskwait in parent a.c:9"
	check(t, []scenario{
		{"a lock", 2, held(picture.WaitLock, 1, at), []want{hang(picture.VerdictSelfDeadlock, fix, "another task", 1)}},
		{"a critical section", 2, held(picture.WaitCritical, 1, at),
			[]want{hang(picture.VerdictSelfDeadlock, fix, "another task", 1)}},
		{"a region", 2, heldIn(picture.SuspendedInParallel, picture.WaitLock, 1, at),
			[]want{hang(picture.VerdictSelfDeadlock, "release it before the parallel region in parent a.c:9, whose "+
				"threads acquire it; a nestable lock does not help", "waits for its release in that region", 1)}},
		{"the same task", 2, held(picture.WaitLock, 1, nil),
			[]want{hang(picture.VerdictSelfDeadlock, "omp_nest_lock_t", "holds itself", 1)}},
		{"of another thread", 2, held(picture.WaitLock, 2, at), nil},
	})
}

// TestKindsOfSelfDeadlock checks the fix for each kind of lock.
func TestKindsOfSelfDeadlock(t *testing.T) {
	for kind, fix := range map[picture.WaitKind]string{
		picture.WaitLock: "nestable", picture.WaitCritical: "critical section",
		picture.WaitMutex: "PTHREAD_MUTEX_RECURSIVE",
	} {
		crowded := fix
		if kind == picture.WaitMutex { // a recursive one would help only its owner
			crowded = "a recursive mutex would let this thread go on, not the others"
		}
		check(t, []scenario{
			{string(kind) + " of its own", 2, func(s scene) {
				s.holds(1, 1, kind, "a")
			}, []want{hang(picture.VerdictSelfDeadlock, fix, "holds itself", 1)}},
			{string(kind) + " of its own, with one behind", 2, func(s scene) {
				s.holds(1, 1, kind, "a")
				s.waits(2, kind, "a")
			}, []want{hang(picture.VerdictSelfDeadlock, crowded, "holds itself", 1)}},
			{string(kind) + " of another", 2, func(s scene) { s.holds(2, 1, kind, "a") }, nil},
		})
	}
}

// TestFreedLock checks that the severity depends on the data about the holder.
func TestFreedLock(t *testing.T) {
	gone := func(change func(scene, *picture.Lock)) func(scene) {
		return func(s scene) {
			l := s.lock("a")
			l.InvalidReason = "its memory was freed"
			change(s, l)
			s.waits(1, picture.WaitLock, "a")
		}
	}
	freed := func(sev picture.Severity, c picture.Certainty, says string) []want {
		return []want{{picture.VerdictLockFreed, sev, c, []int{1}, "destroy a lock", says}}
	}
	check(t, []scenario{
		{"nobody has it", 2, gone(func(scene, *picture.Lock) {}),
			freed(picture.SeverityHang, picture.Likely, "has been freed")},
		{"something else is there", 2, gone(func(_ scene, l *picture.Lock) {
			l.Overwritten = true
		}), freed(picture.SeverityHang, picture.Likely, "has been reused")},
		{"destroyed", 2, gone(func(_ scene, l *picture.Lock) {
			l.Destroyed = true
		}), freed(picture.SeverityHang, picture.Certain, "has been destroyed")},
		{"one at work has it", 2, gone(func(_ scene, l *picture.Lock) {
			l.Owner = 2
		}), freed(picture.SeverityWarning, picture.Certain, "may still release it")},
		{"one at work may have it", 2, gone(func(_ scene, l *picture.Lock) {
			l.Holders = []picture.Holder{{Thread: 2, Certainty: picture.Possible}}
		}), freed(picture.SeverityHang, picture.Possible, "is not known")},
		{"stacks are not whole", 2, gone(func(s scene, _ *picture.Lock) {
			s.Facts.StacksComplete = false
		}), freed(picture.SeverityHang, picture.Possible, "is not known")},
	})
}

// waitedFor returns a scene with lock a, which threads 1 and 2 wait for and 3 may release.
func waitedFor(change func(scene, *picture.Lock)) func(scene) {
	return func(s scene) {
		l := s.lock("a")
		l.Waiting, l.MayRelease = some(2), &picture.Candidates{Threads: []int{3}}
		change(s, l)
		s.waits(1, picture.WaitLock, "a")
		s.waits(2, picture.WaitLock, "a")
	}
}

// TestMayRelease checks that a lock without a known holder is orphaned only if no thread that may still come to a
// release of it can proceed.
func TestMayRelease(t *testing.T) {
	orphaned := likely(picture.VerdictLockOrphaned, "release the lock", "nobody will release", 1, 2)
	behind := likely(picture.VerdictLockOrphaned, "same order", "may still release lock a, and none of them", 1, 2)
	check(t, []scenario{
		{"one at work may", 3, waitedFor(func(scene, *picture.Lock) {}), nil},
		{"nobody may", 3, waitedFor(func(_ scene, l *picture.Lock) { l.MayRelease.Threads = nil }), []want{orphaned}},
		{"one may who joins a waiter", 3, waitedFor(func(s scene, _ *picture.Lock) { s.joins(3, 1) }), []want{behind}},
		{"one may who waits for another lock", 4, waitedFor(func(s scene, _ *picture.Lock) {
			s.holds(4, 3, picture.WaitLock, "b")
		}), nil},
		{"some code is not known", 3, waitedFor(func(_ scene, l *picture.Lock) {
			l.MayRelease = &picture.Candidates{Incomplete: true}
		}), nil},
		{"a task may", 3, waitedFor(func(_ scene, l *picture.Lock) {
			l.MayRelease = &picture.Candidates{Tasks: []picture.ID{"t"}}
		}), nil},
		{"a task is about to be run", 3, waitedFor(func(s scene, l *picture.Lock) {
			l.MayRelease.Threads = nil
			s.task("t", "", picture.TaskQueued, 0)
		}), nil},
		{"a task is queued that only waiters could run", 2, waitedFor(func(s scene, l *picture.Lock) {
			l.MayRelease.Threads = nil
			s.task("t", "", picture.TaskQueued, 0)
		}), []want{orphaned}},
		{"a task has started on an unknown thread, and all members are waiters", 2, waitedFor(
			func(s scene, l *picture.Lock) {
				l.MayRelease.Threads = nil
				s.implicit()
				s.task("t", "i1", picture.TaskWaiting, 0)
			}), []want{orphaned}},
		{"a task has started on an unknown thread, and one member is no waiter", 3, waitedFor(
			func(s scene, l *picture.Lock) {
				l.MayRelease.Threads = nil
				s.implicit()
				s.task("t", "i1", picture.TaskWaiting, 0)
			}), nil},
		{"an untied task has started on an unknown thread", 2, waitedFor(
			func(s scene, l *picture.Lock) {
				l.MayRelease.Threads = nil
				s.implicit()
				s.task("t", "i1", picture.TaskWaiting, 0).Flags = []string{picture.FlagUntied}
			}), nil},
		{"by the line where it was left", 3, waitedFor(func(_ scene, l *picture.Lock) {
			l.MayRelease.Threads = nil
			l.Leaks = []picture.Leak{{Frame: picture.Frame{Function: "work", File: "/a/x.c", Line: 9}}}
		}), []want{likely(picture.VerdictLockOrphaned, "release", "without releasing it: by work x.c:9", 1, 2)}},
		{"by the call that throws", 3, waitedFor(func(_ scene, l *picture.Lock) {
			l.MayRelease.Threads = nil
			at := picture.Frame{Function: "work", File: "/a/x.c", Line: 9}
			l.Leaks = []picture.Leak{{Frame: at, ExitCall: "longjmp"}}
		}), []want{likely(picture.VerdictLockOrphaned, "release", "(longjmp) out of the call at work x.c:9", 1, 2)}},
		{"one may hold it", 3, waitedFor(func(_ scene, l *picture.Lock) {
			l.MayRelease.Threads = nil
			l.Holders = []picture.Holder{{Thread: 3, Certainty: picture.Possible}}
		}), nil},
		{"it is not held", 3, waitedFor(func(_ scene, l *picture.Lock) {
			l.Held, l.MayRelease.Threads = false, nil
		}), nil},
		{"nothing is known", 3, waitedFor(func(_ scene, l *picture.Lock) { l.MayRelease = nil }), nil},
	})
}

// TestMayHold checks that a lock that one thread may hold is part of a deadlock if no other thread can hold or
// release it.
func TestMayHold(t *testing.T) {
	orphaned := likely(picture.VerdictLockOrphaned, "release the lock", "nobody will release", 1, 2)
	circle := likely(picture.VerdictDeadlock, "waiting at a barrier",
		"thread 0 (LWP 1) waits for lock a, which thread 2", 3, 1)
	check(t, []scenario{
		{"one may hold it who is at a barrier that waiters do not reach", 3, waitedFor(func(s scene, l *picture.Lock) {
			l.Holders = []picture.Holder{{Thread: 3, Certainty: picture.Possible}}
			s.arrived("b", 0x100, []int{3}, 1, 2)
		}), []want{circle, neverComplete(picture.Likely, 3)}},
		{"the same, but its code may not release it any more", 3, waitedFor(func(s scene, l *picture.Lock) {
			l.MayRelease.Threads = nil
			l.Holders = []picture.Holder{{Thread: 3, Certainty: picture.Possible}}
			s.arrived("b", 0x100, []int{3}, 1, 2)
		}), []want{orphaned, neverComplete(picture.Likely, 3)}},
		{"the same, and another may release it", 4, waitedFor(func(s scene, l *picture.Lock) {
			l.MayRelease.Threads = []int{3, 4}
			l.Holders = []picture.Holder{{Thread: 3, Certainty: picture.Possible}}
			s.arrived("b", 0x100, []int{3}, 1, 2)
		}), []want{incomplete(3)}},
		{"one may hold it who is at a barrier that another will reach", 4, waitedFor(func(s scene, l *picture.Lock) {
			l.Holders = []picture.Holder{{Thread: 3, Certainty: picture.Possible}}
			s.arrived("b", 0x100, []int{3}, 4)
		}), []want{incomplete(3)}},
	})
}
