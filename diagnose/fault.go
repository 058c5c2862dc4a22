package diagnose

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// Sizes of stacks, in bytes.
const (
	// nearStack is the distance below its stack pointer at which a function may access its stack before it moves the
	// pointer: by calls, in the red zone, and by probes.
	nearStack = 64 << 10
	// handlerRoom is the size that the kernel needs on a stack to call a signal's handler: the registers of x86-64 with
	// all extensions take 11 KiB.
	handlerRoom = 12 << 10
	// hugeFrame is the size of a frame that is reported as the cause of an overflow.
	hugeFrame = 256 << 10
)

// minRecursion is the number of a function's frames on a stack that counts as endless recursion.
const minRecursion = 50

// explainFault returns the verdict on a program that a fault has ended.
func explainFault(x *index, f *fault) picture.Verdict {
	switch {
	case isOverflow(f):
		return explainOverflow(x, f)
	case f.NullPointer:
		return explainNoLock(x, f.lockCall(x), explainDead(x, f, explainNullPointer(x, f)))
	}
	return explainNoLock(x, f.lockCall(x), explainDead(x, f, explainSignal(x, f)))
}

// explainDead changes the verdict on a crash in an explicit task that uses a variable of a function that has returned:
// the function did not wait for the task.
func explainDead(x *index, f *fault, v picture.Verdict) picture.Verdict {
	t := x.threads[f.Thread]
	if len(f.Dead) == 0 || t == nil {
		return v
	}
	if k := x.tasks[t.Task]; k == nil || k.Kind != picture.TaskExplicit {
		return v
	}
	d := f.Dead[0]
	which, probably := "a variable", ""
	if d.Name != "" {
		which = "the variable " + d.Name
	}
	at := fmt.Sprintf("%s is at %v, on the stack of %s", cmp.Or(d.Name, "the variable"), d.Address,
		x.threadName(d.Thread))
	if d.Frame == nil {
		at += fmt.Sprintf(" below its frames: its stack pointer is %v", d.SP)
	} else {
		probably = "probably "
		at += fmt.Sprintf(" in the frame of %s, %s", place(*d.Frame), d.Reason)
	}
	v.Explanation = strings.TrimSpace(fmt.Sprintf("The task %suses %s of a function that has returned: the memory "+
		"has other contents now. %s", probably, which, v.Explanation))
	v.Fix = "wait for the task before the function ends that has the variable (taskwait, taskgroup), or give the " +
		"task a copy of it (firstprivate)"
	v.Evidence = append([]string{at}, v.Evidence...)
	return v
}

// lockCall returns the function for locks that a fault was in, "" for any other function.
func (f *fault) lockCall(x *index) string {
	if f.Callee != nil && isLockCall(f.Callee.Function) {
		return f.Callee.Function
	}
	return x.ended.call
}

// isLockCall reports whether a function of OpenMP uses a lock that must have been initialized.
func isLockCall(name string) bool {
	return strings.HasPrefix(name, "omp_") && strings.HasSuffix(name, "_lock") && !strings.HasPrefix(name, "omp_init_")
}

// explainNoLock changes the verdict on a crash in a function of OpenMP's locks, if call is not empty: the runtime has
// used the contents of memory that is no lock.
func explainNoLock(x *index, call string, v picture.Verdict) picture.Verdict {
	if call == "" {
		return v
	}
	l, given := x.ended.lock, ""
	if x.ended.target.Address != nil {
		given = phrase.Target(x.ended.target)
	}
	switch {
	case l == nil || l.InvalidReason == "" || given == "":
		v.Explanation = fmt.Sprintf("The memory that %s was given is no lock: omp_init_lock has not initialized it, "+
			"or the lock was destroyed, its memory freed, or overwritten.", call)
		v.Fix = "initialize each lock (omp_init_lock, omp_init_nest_lock) before its first use, and destroy it only " +
			"when no thread uses it any more; check the index of a lock in an array"
		if given != "" {
			v.Evidence = append(v.Evidence, fmt.Sprintf("%s was given %s", call, given))
		}
		if l != nil && l.InvalidReason != "" {
			v.Evidence = append(v.Evidence, l.InvalidReason)
		}
	case l.NeverLock:
		v.Explanation = fmt.Sprintf("%s was given %s, which is no lock: %s.", call, given, l.InvalidReason)
		v.Fix = initializeElements
	default:
		v.Explanation = fmt.Sprintf("%s was given %s, which is no lock any more: %s.", call, given, l.InvalidReason)
		v.Fix = "destroy a lock, and free its memory, only when no thread uses it any more"
	}
	return v
}

// initializeElements is the fix for memory that is no lock, near an array of locks.
const initializeElements = "check the index of the lock against the size of the array, and call omp_init_lock for " +
	"each element after the array grew"

// isOverflow reports whether a thread has used up its stack: the access was below its end, where the thread's own
// frames are or were about to be.
func isOverflow(f *fault) bool {
	if !f.hasAddress { // the kernel found no room for the frame of a signal's handler
		return f.Signal == "SIGSEGV" && f.Code == codeKernel && f.low != 0 && f.sp != 0 && f.sp < f.low+handlerRoom
	}
	return f.low != 0 && f.sp != 0 && f.address < f.low && f.address+nearStack >= f.sp && f.sp < f.low+nearStack
}

// explainOverflow returns the verdict on a thread that has used up its stack.
func explainOverflow(x *index, f *fault) picture.Verdict {
	v := newVerdict(picture.VerdictStackOverflow, picture.Certain)
	v.Threads = []int{f.Thread}
	size := "its stack of "
	if f.Initial { // the kernel maps more when it is used, up to the limit of the process
		size = "its stack, which grew to "
	}
	v.Summary = fmt.Sprintf("%s overflowed %s%s", x.threadName(f.Thread), size, sizeText(f.stackSize()))
	v.Evidence = []string{overflowEvidence(f), fmt.Sprintf("its stack pointer is %v", picture.Hex(f.sp))}
	if !f.hasAddress && f.sp >= f.low {
		v.Certainty = picture.Likely
	}
	if f.Frame != nil && f.Repeats < minRecursion {
		v.Summary += " in " + place(*f.Frame)
	}
	more := 4 * f.stackSize()
	switch {
	case f.Repeats >= minRecursion:
		n := fmt.Sprint(f.Repeats)
		if f.Truncated {
			n = "more than " + n
		}
		v.Explanation = fmt.Sprintf("%s is on the stack %s times: the recursion is endless, or deeper than the "+
			"stack allows.", place(*f.Repeated), n)
	case f.FrameSize >= min(hugeFrame, f.stackSize()):
		at := ""
		if f.Frame != nil {
			at = " of " + place(*f.Frame)
		}
		v.Explanation = fmt.Sprintf("The frame%s alone takes %s: %s.", at, sizeText(f.FrameSize), f.largeArrays())
		more = 2 * max(f.FrameSize, f.stackSize())
	default:
		v.Explanation = "Its functions need more stack than it has: large local arrays, private copies of arrays, " +
			"or deep recursion."
	}
	raise := fmt.Sprintf("set OMP_STACKSIZE=%s (worker threads have %s now)", sizeText(more), sizeText(f.stackSize()))
	if f.Initial {
		// With no limit at all, glibc would give the other threads 2 MB each.
		raise = fmt.Sprintf("raise the stack limit of the process (ulimit -s %d)", more>>10)
		if t := x.threads[f.Thread]; t != nil && t.Level != nil && *t.Level > 0 {
			raise = fmt.Sprintf("raise the stack limits of the process and of its other threads, which run the same "+
				"region (ulimit -s %d; OMP_STACKSIZE=%s)", more>>10, sizeText(more))
		}
	}
	v.Fix = raise + ", or put large arrays on the heap"
	if f.Repeats >= minRecursion {
		v.Fix = "look at what ends the recursion; if it is meant to be as deep, " + raise
	}
	return v
}

// largeArrays names the cause of a large frame.
func (f *fault) largeArrays() string {
	const most = 2 // a variable takes at least half of it
	if l := f.Largest; l != nil && l.Size >= f.FrameSize/most {
		s := fmt.Sprintf("its variable %s takes %s", l.Name, sizeText(l.Size))
		if l.Line != 0 {
			s += fmt.Sprintf(" (%s:%d)", filepath.Base(l.File), l.Line)
		}
		return s
	}
	return "it has large arrays on the stack"
}

// place returns " in foo x.c:12", the place of a fault: in the program's own code, or in a function that it called.
func (f *fault) place() string {
	switch {
	case f.Callee != nil && f.Caller != nil:
		return " in " + calleeName(f.Callee) + ", called at " + place(*f.Caller)
	case f.Callee != nil:
		return " in " + calleeName(f.Callee) + ", called at the end of a function (a tail call)"
	case f.Frame != nil:
		return " in " + place(*f.Frame)
	}
	return ""
}

// calleeName names a function outside of the program, with its module.
func calleeName(c *picture.Callee) string {
	name, module := phrase.WithoutParameters(c.Function), c.Module
	if name != "" && module != "" {
		module = " (" + module + ")"
	}
	return cmp.Or(name+module, "a function")
}

// overflowEvidence returns the evidence for a stack that is used up.
func overflowEvidence(f *fault) string {
	stack := fmt.Sprintf("its stack [%v, %v), taken from %s", picture.Hex(f.low), picture.Hex(f.high), f.Source)
	switch {
	case f.hasAddress:
		return fmt.Sprintf("it accessed %v, %s below the end of %s", picture.Hex(f.address),
			sizeText(f.low-f.address), stack)
	case f.sp >= f.low:
		return fmt.Sprintf("only %s are left of %s: the kernel had no room to call the handler of SIGSEGV",
			sizeText(f.sp-f.low), stack)
	}
	return fmt.Sprintf("it is %s below the end of %s: the kernel had no room to call the handler of SIGSEGV",
		sizeText(f.low-f.sp), stack)
}

// explainNullPointer returns the verdict on an access through a null pointer.
func explainNullPointer(x *index, f *fault) picture.Verdict {
	v := newVerdict(picture.VerdictCrash, picture.Certain)
	v.Threads = []int{f.Thread}
	v.Summary = fmt.Sprintf("%s dereferenced a null pointer", x.threadName(f.Thread)) + f.place()
	v.Evidence = []string{fmt.Sprintf("it accessed address %v; nothing is mapped there", picture.Hex(f.address))}
	if f.address != 0 {
		v.Explanation = fmt.Sprintf("It accessed offset %d of an object whose address is null.", f.address)
	}
	if f.NullVariable != nil {
		explainNullVariable(x, f, &v)
	}
	return v
}

// startsRegionOf reports whether a thread has number 0 in the team of another one.
func (x *index) startsRegionOf(lwp, member int) bool {
	t, o := x.threads[lwp], x.threads[member]
	return t != nil && o != nil && t.Region == o.Region && t.ThreadNum != nil && *t.ThreadNum == 0
}

// explainNullVariable adds the thread-local variable from which a null pointer was loaded. If the thread is in the team
// of a thread that has set its own copy, it was not copied to the team.
func explainNullVariable(x *index, f *fault, v *picture.Verdict) {
	n := f.NullVariable
	v.Explanation = strings.TrimSpace(fmt.Sprintf("%s The null pointer is the thread's own copy of %s, a thread-local "+
		"or threadprivate variable.", v.Explanation, n.Name))
	v.Evidence = append(v.Evidence,
		fmt.Sprintf("it loaded the pointer from %s, at %v, which is null", n.Name, n.Address))
	if len(n.Set) == 0 {
		return
	}
	other := n.Set[0]
	v.Fix = fmt.Sprintf("initialize %s in each thread before it is used", n.Name)
	if i := slices.IndexFunc(n.Set, func(lwp int) bool { return x.startsRegionOf(lwp, f.Thread) }); i >= 0 {
		other = n.Set[i]
		v.Fix += fmt.Sprintf(", or copy it from the thread that starts the region: copyin(%s)", n.Name)
	}
	v.Evidence = append(v.Evidence, fmt.Sprintf("the copy of %s is not null", x.threadName(other)))
}

// sizeText formats a size as in OMP_STACKSIZE: 4M, 64K, 100B. It is rounded to a size that a user may have requested:
// runtimes add a little to a stack.
func sizeText(n uint64) string {
	for _, u := range []struct {
		size uint64
		name string
	}{{1 << 30, "G"}, {1 << 20, "M"}, {1 << 10, "K"}} {
		if whole := n / u.size; whole > 0 && (n%u.size < n/64 || whole >= 10) {
			return strconv.FormatUint(whole, 10) + u.name
		}
	}
	return strconv.FormatUint(n, 10) + "B"
}

// stackSize returns the size of the stack without the part that a runtime adds to the requested size: each further
// stack may be a little larger than the previous one.
func (f *fault) stackSize() uint64 {
	size := f.high - f.low
	for unit := uint64(1) << 62; unit >= 1<<10; unit >>= 1 {
		if unit <= size && size%unit < size/16 {
			return size - size%unit
		}
	}
	return size
}

// fault is a fault with its addresses as numbers, 0 if they are unknown.
type fault struct {
	*picture.Fault
	*picture.FaultStack
	*picture.Nearby
	address, pc, sp uint64
	low, high       uint64 // of the stack
	hasAddress      bool
}

func newFault(f *picture.Fault) *fault {
	number := func(h *picture.Hex) uint64 {
		if h == nil {
			return 0
		}
		return uint64(*h)
	}
	out := &fault{Fault: f, FaultStack: f.Stack, Nearby: f.Memory, address: number(f.Address), pc: number(f.PC),
		hasAddress: f.Address != nil}
	if out.FaultStack == nil {
		out.FaultStack = &picture.FaultStack{}
	}
	if out.Nearby == nil {
		out.Nearby = &picture.Nearby{}
	}
	out.sp, out.low, out.high = number(out.SP), number(out.Low), number(out.High)
	return out
}

// Values of si_code (siginfo.h) that distinguish the causes of a signal.
const (
	codeKernel    = 0x80    // the processor gave no address
	segvAccess    = 2       // SEGV_ACCERR
	busAlign      = 1       // BUS_ADRALN
	busAddress    = 2       // BUS_ADRERR
	busMemory     = 4       // BUS_MCEERR_AR, and 5 for _AO
	maxNearMemory = 1 << 20 // memory farther from an address is not reported, in bytes
)

// floatFaults are the operations by the codes of SIGFPE from 2 on.
var floatFaults = map[int]string{
	2: "overflowed an integer", 3: "divided a floating-point number by zero", 4: "overflowed a floating-point number",
	5: "underflowed a floating-point number", 6: "got an inexact floating-point number",
	7: "performed an invalid floating-point operation",
	8: "used a subscript out of range", 14: "performed a floating-point operation that traps",
}

// explainSignal returns the verdict on a fault that is neither a null pointer nor a stack that is used up.
func explainSignal(x *index, f *fault) picture.Verdict {
	v := newVerdict(picture.VerdictCrash, picture.Certain)
	v.Threads = []int{f.Thread}
	did := ""
	switch f.Signal {
	case "SIGSEGV":
		did = explainAccess(f, &v)
	case "SIGBUS":
		did = explainBusError(f, &v)
	case "SIGFPE":
		if did = floatFaults[f.Code]; did != "" {
			v.Explanation = "Such operations raise SIGFPE only where trapping was enabled: feenableexcept, " +
				"-ffpe-trap, -fpe0, -ftrapv."
		} else {
			did = "divided an integer by zero"
			v.Explanation = "Or it divided the smallest integer of its type by -1: the processor reports both in " +
				"the same way."
		}
	case "SIGILL":
		did, v.Explanation = "executed an instruction that this processor does not support",
			"The program, or a library, was built for another processor (-march, -x), or it jumped to something "+
				"that is not code."
		if f.Trap {
			did, v.Explanation = "executed a trap that the compiler placed",
				"Compilers place a trap where execution must never arrive: __builtin_trap, __builtin_unreachable, "+
					"the end of a function that lacks its return, a failed check."
		}
	case "SIGTRAP":
		did = "hit a breakpoint with no debugger attached"
	case "SIGSYS":
		did, v.Explanation = "made a system call that is forbidden",
			"A system-call filter (seccomp) killed it: that of a container, or of a service."
	}
	v.Summary = x.threadName(f.Thread) + " " + did
	if at := f.place(); at != "" {
		v.Summary += at
	} else {
		v.Summary = strings.TrimSuffix(v.Summary, ",") // of a clause before the place
	}
	v.Evidence = append([]string{fmt.Sprintf("signal %s, si_code %d, at the instruction at %v", f.Signal, f.Code,
		picture.Hex(f.pc))}, v.Evidence...)
	return v
}

// explainAccess returns the predicate on an access that ended in SIGSEGV, and adds its explanation.
func explainAccess(f *fault, v *picture.Verdict) string {
	if !f.hasAddress {
		v.Explanation = "The processor does not report the address: either it is not canonical (a pointer that was " +
			"overwritten, or never set), or the data is not aligned as the instruction requires."
		return "used an invalid address"
	}
	v.Evidence = append(v.Evidence, nearbyMemory(f))
	jumped := f.pc == f.address
	switch m := f.Mapping; {
	case m == nil && jumped:
		v.Explanation = "It called a function, or returned, to an address without code: an overwritten function " +
			"pointer or return address, or a library that was unloaded (dlclose)."
		return fmt.Sprintf("jumped to %v, where nothing is mapped,", picture.Hex(f.address))
	case m == nil:
		v.Explanation = "The pointer was never set, was overwritten, or points to memory that was unmapped, or " +
			"past the end of an array."
		return fmt.Sprintf("accessed %v, where nothing is mapped,", picture.Hex(f.address))
	case m.Access == "---":
		v.Explanation = "Memory without any access lies at the ends of stacks and heaps (guard pages), or was " +
			"protected by the program (mprotect)."
		return "accessed memory that permits no access"
	case jumped && !strings.Contains(m.Access, "x"):
		v.Explanation = "It called a function, or returned, to data: an overwritten function pointer or return address."
		return fmt.Sprintf("jumped to %v, which is not executable,", picture.Hex(f.address))
	case !strings.Contains(m.Access, "w") && f.Code == segvAccess:
		v.Explanation = "Constants, string literals and code are read-only, and so is memory that the program " +
			"protected (mprotect) or mapped for reading only."
		return "wrote to read-only memory"
	}
	return "accessed memory in a way that its protection forbids"
}

// explainBusError returns the predicate on an access that ended in SIGBUS, and adds its explanation.
func explainBusError(f *fault, v *picture.Verdict) string {
	if f.hasAddress {
		v.Evidence = append(v.Evidence, nearbyMemory(f))
	}
	switch {
	case f.Code == busAlign:
		return "accessed misaligned data"
	case f.Code == busMemory || f.Code == busMemory+1:
		return "accessed faulty memory: the machine reported a hardware error"
	case f.Code == busAddress && f.Mapping != nil && f.Mapping.File != "":
		v.Explanation = "The file was truncated while it was mapped, its disk is full, or it could not be read."
		return fmt.Sprintf("accessed the mapped file %s beyond its end", f.Mapping.File)
	case f.Code == busAddress:
		v.Explanation = "No memory was left for the page: huge pages, or shared memory (/dev/shm)."
		return "accessed memory for which the system had no page"
	}
	return "accessed memory that does not exist"
}

// nearbyMemory describes the memory at the address of an access, or near it.
func nearbyMemory(f *fault) string {
	s := fmt.Sprintf("it accessed address %v", picture.Hex(f.address))
	near := func(m *picture.Mapping, distance uint64, where string) string {
		if m == nil || distance >= maxNearMemory {
			return ""
		}
		return fmt.Sprintf(", %s %s %s", sizeText(distance), where, mappingText(*m))
	}
	if m := f.Mapping; m != nil {
		if s += ", in " + mappingText(*m); f.Description != "" {
			s += ": " + f.Description
		}
		return s
	}
	s += "; nothing is mapped there"
	if m := f.Below; m != nil {
		s += near(m, f.address-uint64(m.High), "past the end of")
	}
	if m := f.Above; m != nil {
		s += near(m, uint64(m.Low)-f.address, "before")
	}
	return s
}

// mappingText describes memory: [low, high) r-x of a file.
func mappingText(m picture.Mapping) string {
	s := fmt.Sprintf("[%v, %v) %s", picture.Hex(m.Low), picture.Hex(m.High), m.Access)
	if m.File != "" {
		s += " of " + m.File
	}
	return s
}
