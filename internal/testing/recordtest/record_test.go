package recordtest

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
	"github.com/ompd-inspect/ompd-inspect/trace"
)

// start runs a program with the recorder and returns it with its record.
func start(t *testing.T, runtime omptest.Runtime, program string) (*omptest.Process, recording) {
	t.Helper()
	b, env, source := omptest.Build{Program: program}, "OMP_TOOL_LIBRARIES", uint32(fromOMPT)
	if gnu(runtime) {
		b.Compiler, env, source = omptest.GCC, "LD_PRELOAD", fromLibgomp
	}
	p := omptest.Start(t, omptest.Run{
		Exe: omptest.Compile(t, b), Runtime: runtime, Mode: omptest.Live,
		Env: []string{env + "=" + omptest.Recorder(t), "OMPD_RECORDER_MEMORY=2M"},
	})
	r := settled(t, p)
	if r.PID != uint32(p.PID) || r.Unrecorded != 0 || r.Source != source {
		t.Fatalf("the header is %+v", r.Header)
	}
	return p, r
}

// gnu reports whether a runtime is GNU's.
func gnu(runtime omptest.Runtime) bool { return strings.HasPrefix(runtime.Name, "libgomp") }

// settleTime bounds the wait for threads that are about to reach their positions.
const settleTime = 20 * time.Minute

// settled reads the record when all threads that should wait for a lock do so: they spin, so the kernel does not
// show it.
func settled(t *testing.T, p *omptest.Process) recording {
	t.Helper()
	reader := open(t, p.PID)
	for begin := time.Now(); ; time.Sleep(time.Millisecond) {
		r := read(t, reader)
		waits := func(th omptest.ThreadTruth) bool {
			return th.State != "wait_lock" || r.ringOf(t,
				th.LWP).State == 0x41
		}
		if !slices.ContainsFunc(p.Truth.Threads, func(th omptest.ThreadTruth) bool { return !waits(th) }) {
			return r
		}
		if time.Since(begin) > settleTime {
			t.Fatalf("the threads do not come to wait")
		}
	}
}

// TestLockCycle compares the record of a deadlock with the notes of the program's threads: the holder of each
// lock, and each thread's wait.
func TestLockCycle(t *testing.T) {
	for _, runtime := range append(omptest.Runtimes(t), omptest.Libgomp(t)) {
		t.Run(runtime.Name, func(t *testing.T) {
			t.Parallel()
			p, r := start(t, runtime, "lock_cycle")
			want := "LLVM OMP version"
			if gnu(runtime) {
				want = "GNU OpenMP runtime /"
			}
			if !strings.HasPrefix(r.Runtime, want) {
				t.Errorf("the runtime is %q", r.Runtime)
			}
			primary := r.ringOf(t, p.PID)
			if len(primary.Forked) != 1 || primary.Forked[0].Value != 3 {
				t.Fatalf("the initial thread has %d regions", len(primary.Forked))
			}
			waiters := 0
			for _, th := range p.Truth.Threads {
				g := r.ringOf(t, th.LWP)
				if uint64(th.Pthread) != g.Pthread {
					t.Errorf("LWP %d has pthread %#x, want %#x", th.LWP, g.Pthread, th.Pthread)
				}
				if th.State != "wait_lock" {
					continue
				}
				waiters++
				checkWaiter(t, g, uint64(th.WaitID))
				in, region := g.Tasks[len(g.Tasks)-1], primary.Forked[0].Region
				if in.Region != region || in.ID>>48 != uint64(g.Index+1) {
					t.Errorf("LWP %d is in task %#x of region %#x, want %#x", th.LWP, in.ID, in.Region, region)
				}
			}
			if waiters != 2 {
				t.Errorf("%d threads wait for a lock, want 2", waiters)
			}
		})
	}
}

// TestWork has a worker that has ended its wait: it works in its region.
func TestWork(t *testing.T) {
	for _, runtime := range []omptest.Runtime{omptest.RuntimeOf(t, 19), omptest.Libgomp(t)} {
		t.Run(runtime.Name, func(t *testing.T) {
			t.Parallel()
			p, r := start(t, runtime, "healthy_lock_held")
			const workParallel = 0x001
			workers := 0
			for _, th := range p.Truth.Threads {
				if th.State != "work_parallel" {
					continue
				}
				workers++
				if g := r.ringOf(t, th.LWP); g.State != workParallel || len(g.Held) != 2 {
					t.Errorf("LWP %d has state %#x and %d locks", th.LWP, g.State, len(g.Held))
				}
			}
			if workers != 1 {
				t.Errorf("%d threads work, want 1", workers)
			}
		})
	}
}

// checkWaiter checks the ring of a thread that waits for one lock and holds another.
func checkWaiter(t *testing.T, g ring, want uint64) {
	t.Helper()
	const waitLock = 0x41
	last := g.last()
	if last.Code != trace.MutexAcquire || last.Lock() != want {
		t.Errorf("the last event is %s, want an acquisition of %#x", short(last), want)
	}
	if g.State != waitLock || g.Since != g.Main.Written-1 {
		t.Errorf("the state is %#x since record %d of %d", g.State, g.Since, g.Main.Written)
	}
	if len(g.Held) != 1 || g.Held[0].Lock() == want {
		t.Fatalf("the thread has %d locks", len(g.Held))
	}
	kept := func(e trace.Event) bool { return e.Time == g.Held[0].Time && e.Lock() == g.Held[0].Lock() }
	if !slices.ContainsFunc(g.main, kept) {
		t.Errorf("%s is kept, and not in the ring", short(&g.Held[0]))
	}
	if len(g.Tasks) == 0 {
		t.Fatal("the thread is in no task")
	}
}
