package recordtest

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ompd-inspect/ompd-inspect/internal/omptest"
)

// start runs a program with the recorder and returns it with what was recorded.
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
		t.Fatalf("the header is %+v", r.header)
	}
	return p, r
}

// gnu reports whether a runtime is GNU's.
func gnu(runtime omptest.Runtime) bool { return strings.HasPrefix(runtime.Name, "libgomp") }

// settleTime bounds the wait for threads that have said that they go to their places.
const settleTime = 5 * time.Minute

// settled reads the recording when all threads that are to wait for a lock do: they spin,
// so that the kernel does not tell.
func settled(t *testing.T, p *omptest.Process) recording {
	t.Helper()
	for begin := time.Now(); ; time.Sleep(time.Millisecond) {
		r := readRecording(t, p.PID)
		waits := func(th omptest.ThreadTruth) bool { return th.State != "wait_lock" || r.of(t, th.LWP).state() == 0x41 }
		if !slices.ContainsFunc(p.Truth.Threads, func(th omptest.ThreadTruth) bool { return !waits(th) }) {
			return r
		}
		if time.Since(begin) > settleTime {
			t.Fatalf("the threads do not come to wait")
		}
	}
}

// TestLockCycle holds what the recorder has of a deadlock against what the program's
// threads note of themselves: who has which lock, and who waits for which.
func TestLockCycle(t *testing.T) {
	for _, runtime := range append(omptest.Runtimes(t), omptest.Libgomp(t)) {
		t.Run(runtime.Name, func(t *testing.T) {
			t.Parallel()
			p, r := start(t, runtime, "lock_cycle")
			want := "LLVM OMP version"
			if gnu(runtime) {
				want = "GNU OpenMP runtime /"
			}
			if !strings.HasPrefix(string(r.Runtime[:]), want) {
				t.Errorf("the runtime is %q", r.Runtime)
			}
			primary := r.of(t, p.PID)
			if primary.Regions != 1 || primary.RegionTable[0].Code != 3 || primary.RegionTable[0].Value != 3 {
				t.Fatalf("the initial thread has %d regions, first %v", primary.Regions, primary.RegionTable[0])
			}
			waiters := 0
			for _, th := range p.Truth.Threads {
				g := r.of(t, th.LWP)
				if uint64(th.Pthread) != g.Pthread {
					t.Errorf("LWP %d has pthread %#x, want %#x", th.LWP, g.Pthread, th.Pthread)
				}
				if th.State != "wait_lock" {
					continue
				}
				waiters++
				checkWaiter(t, g, uint64(th.WaitID))
				in, region := g.TaskTable[g.Tasks-1], primary.RegionTable[0].B
				if in.Parallel != region || in.Task>>48 != uint64(g.Index+1) {
					t.Errorf("LWP %d is in task %#x of region %#x, want %#x", th.LWP, in.Task, in.Parallel, region)
				}
			}
			if waiters != 2 {
				t.Errorf("%d threads wait for a lock, want 2", waiters)
			}
		})
	}
}

// checkWaiter checks the ring of a thread that waits for one lock and has another.
func checkWaiter(t *testing.T, g ring, want uint64) {
	t.Helper()
	const acquire, acquired, waitLock = 26, 27, 0x41
	last := g.main[len(g.main)-1]
	if last.Code != acquire || last.B != want {
		t.Errorf("the last record is %v, want an acquisition of %#x", last, want)
	}
	if g.state() != waitLock || g.State>>16 != g.Head-1 {
		t.Errorf("the state is %#x since record %d of %d", g.state(), g.State>>16, g.Head)
	}
	if g.Held != 1 || g.HeldTable[0].Code != acquired || g.HeldTable[0].B == want {
		t.Fatalf("the thread has %d locks, first %v", g.Held, g.HeldTable[0])
	}
	if !slices.Contains(g.main, g.HeldTable[0]) {
		t.Errorf("%v is kept, and not in the ring", g.HeldTable[0])
	}
	if g.Tasks == 0 {
		t.Fatal("the thread is in no task")
	}
}
