package diagnose

import (
	"slices"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// Kind is a row of the table of verdicts. docs/verdicts has a page for each.
type Kind struct {
	Name     picture.VerdictKind
	Title    string           // the heading of such verdicts
	Severity picture.Severity // the worst
	// Fix is the change to make. A family replaces it where the fix depends on the facts, and adds it where the
	// table has no fix.
	Fix string
	// Recorded is set if such verdicts follow from a recorder's history alone.
	Recorded bool
}

// Kinds returns the table of verdicts.
func Kinds() []Kind { return slices.Clone(kinds) }

var kinds = []Kind{
	{Name: picture.VerdictCrash, Title: "CRASH", Severity: picture.SeverityCrash},
	{Name: picture.VerdictStackOverflow, Title: "STACK OVERFLOW", Severity: picture.SeverityCrash},
	{
		Name: picture.VerdictOverwritten, Title: "MEMORY OVERWRITTEN", Severity: picture.SeverityCrash,
		Fix: "build the program with -fsanitize=address, or run it in valgrind, to find the first write that is " +
			"out of bounds",
	},
	{
		Name: picture.VerdictDoacrossStuck, Title: "DOACROSS STUCK", Severity: picture.SeverityHang,
		Fix: "post every iteration on every path through it, also where it has nothing to do: ordered " +
			"depend(source) (doacross(source:)); wait for iterations only that come before the own one",
	},
	{
		Name: picture.VerdictDeadlock, Title: "DEADLOCK", Severity: picture.SeverityHang,
		Fix: "hold no lock while waiting for tasks or threads that need the same lock",
	},
	{Name: picture.VerdictSelfDeadlock, Title: "SELF-DEADLOCK", Severity: picture.SeverityHang},
	{
		Name: picture.VerdictLockFreed, Title: "INVALID LOCK", Severity: picture.SeverityHang,
		Fix: "destroy a lock, or free its memory, only when no thread uses it any more: wait for the " +
			"threads first (a barrier, a taskwait, a join)",
	},
	{
		Name: picture.VerdictLockOrphaned, Title: "ORPHANED LOCK", Severity: picture.SeverityHang,
		Fix: "release the lock on every path out of the code that acquires it, also before a thread ends",
	},
	{Name: picture.VerdictNeverWoken, Title: "NEVER WOKEN", Severity: picture.SeverityHang},
	{
		Name: picture.VerdictSpinning, Title: "SPINNING ON A FLAG", Severity: picture.SeverityHang,
		Fix: "change it, by an atomic write, on every path that lets the others wait for it; or use what OpenMP has " +
			"for waiting: a barrier, a taskwait, depend clauses",
	},
	{
		Name: picture.VerdictIllegalBarrier, Title: "ILLEGAL BARRIER", Severity: picture.SeverityHang,
		Fix: "move the barrier, or the call of the function that has it, out of the construct, to where all threads " +
			"of the team come",
	},
	{
		Name: picture.VerdictTaskStarved, Title: "STARVED TASKS", Severity: picture.SeverityHang,
		Fix: "make the task a child of the task that waits for it, wait outside of tied tasks, or use one more thread",
	},
	{
		Name: picture.VerdictThreadEnded, Title: "ENDED THREAD", Severity: picture.SeverityHang,
		Fix: "let each thread of a team reach the end of its region: no pthread_exit, thrd_exit or pthread_cancel " +
			"(also by a library, or a signal handler) on a thread of OpenMP's",
	},
	{Name: picture.VerdictBarrierMissing, Title: "INCOMPLETE BARRIER", Severity: picture.SeverityHang},
	{
		Name: picture.VerdictBarrierDivergent, Title: "DIVERGENT BARRIERS", Severity: picture.SeverityHang,
		Fix: "move the barriers out of code that only some threads execute (if, single, master)",
	},
	{
		Name: picture.VerdictBlockedOutside, Title: "BLOCKED OUTSIDE OF OPENMP", Severity: picture.SeverityInfo,
		Fix: "find out why what it waits for does not come; hold no lock, and be in no critical section, during a " +
			"call that may take long",
	},
	{
		Name: picture.VerdictLockHandedOver, Title: "LOCK HANDED OVER", Severity: picture.SeverityInfo,
		Fix: "hand over from thread to thread by task dependences, a semaphore (sem_post) or a condition variable, " +
			"and let each thread release the locks that it has acquired",
	},
	{Name: picture.VerdictOneThread, Title: "FEWER THREADS THAN REQUESTED", Severity: picture.SeverityWarning},
	{
		Name: picture.VerdictTwoRuntimes, Title: "TWO OPENMP RUNTIMES", Severity: picture.SeverityWarning,
		Fix: "build everything with one compiler's OpenMP, or link everything against one runtime (LLVM's " +
			"also runs code built by GCC)",
	},
	{
		Name: picture.VerdictForkChild, Title: "FORKED CHILD", Severity: picture.SeverityHang,
		Fix: "call fork before the first parallel region, or exec in the child; in Python, use the " +
			"start method spawn or forkserver",
	},
	{Name: picture.VerdictSharedProcessor, Title: "SPINNING ON A SHARED CPU", Severity: picture.SeverityWarning},
	{Name: picture.VerdictOversubscribed, Title: "OVERSUBSCRIBED", Severity: picture.SeverityWarning},
	{
		Name: picture.VerdictHostFallback, Title: "HOST FALLBACK", Severity: picture.SeverityWarning,
		Fix: "check that the process can use a device (CUDA_VISIBLE_DEVICES, ROCR_VISIBLE_DEVICES), and that the " +
			"program has code for it (-fopenmp-targets, --offload-arch); OMP_TARGET_OFFLOAD=mandatory ends the " +
			"program where no device is there",
	},
	{
		Name: picture.VerdictLockOrder, Title: "LOCK ORDER", Severity: picture.SeverityWarning, Recorded: true,
		Fix: "acquire them in the same order everywhere, such as by their addresses, or one lock around both",
	},
	{
		Name: picture.VerdictContention, Title: "CONTENTION", Severity: picture.SeverityWarning, Recorded: true,
		Fix: "hold it for a shorter time: only around what must be; a reduction or atomic in place of it; or one " +
			"lock for each part of the data",
	},
	{
		Name: picture.VerdictImbalance, Title: "IMBALANCE", Severity: picture.SeverityWarning, Recorded: true,
		Fix: "divide the work evenly: schedule(dynamic) or schedule(guided), smaller chunks, collapse, " +
			"or tasks",
	},
	{
		Name: picture.VerdictTinyTasks, Title: "TINY TASKS", Severity: picture.SeverityWarning, Recorded: true,
		Fix: "make fewer and larger tasks: taskloop with grainsize, or no tasks below some size " +
			"(if or final clause)",
	},
}

// kindOf returns the row of a kind; that of an unknown one has its name alone.
func kindOf(name picture.VerdictKind) Kind {
	for _, k := range kinds {
		if k.Name == name {
			return k
		}
	}
	return Kind{Name: name}
}

// newVerdict returns a verdict with the severity and the fix that the table has for its kind.
func newVerdict(kind picture.VerdictKind, certainty picture.Certainty) picture.Verdict {
	k := kindOf(kind)
	return picture.Verdict{Kind: kind, Severity: k.Severity, Certainty: certainty, Fix: k.Fix}
}

// Names returns the names of the kinds, in the order of the table.
func Names() []string {
	var out []string
	for _, k := range kinds {
		out = append(out, string(k.Name))
	}
	return out
}

// Title returns the heading of verdicts of a kind, "" for an unknown one.
func Title(name picture.VerdictKind) string { return kindOf(name).Title }

// isHang reports whether a verdict is one of a hang.
func isHang(v picture.Verdict) bool { return v.Severity == picture.SeverityHang }

// Hangs reports whether a verdict is one of a hang that is more than a possibility.
func Hangs(v picture.Verdict) bool { return isHang(v) && v.Certainty != picture.Possible }

// Crashes reports whether a verdict reports a crash, with certainty certain or likely.
func Crashes(v picture.Verdict) bool {
	return v.Severity == picture.SeverityCrash && v.Certainty != picture.Possible
}
